//! What is wrong is refused, and with the right code.

use std::ptr;
use std::sync::mpsc::{self, TryRecvError};

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, DevicePtr as _, result};

use crate::bench::{Gate, call, code, device_0, on_stand_in};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const ILLEGAL_ADDRESS: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

#[test]
fn a_copy_must_lie_in_one_allocation() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let held = stream.clone_htod(&[0_u8; 16]).unwrap();
        let other = stream.clone_htod(&[0_u8; 16]).unwrap();
        stream.synchronize().unwrap();
        let (start, other) = (held.device_ptr(&stream).0, other.device_ptr(&stream).0);
        let queue = stream.cu_stream();
        let mut bytes = [0_u8; 17];
        let at_host = bytes.as_ptr().expose_provenance() as u64;
        // SAFETY: the host's side of each copy is long enough; the rest is looked up.
        unsafe {
            assert!(result::memcpy_htod_async(start, &bytes[..16], queue).is_ok());
            assert!(result::memcpy_htod_async(start + 15, &bytes[..1], queue).is_ok());
            for (into, length) in [(start, 17), (start + 1, 16), (start + 16, 1), (start - 1, 1)] {
                let refused = result::memcpy_htod_async(into, &bytes[..length], queue);
                assert_eq!(code(refused), INVALID_VALUE, "{length} bytes");
            }
            for wild in [0, 1, 0xdead_beef, u64::MAX, at_host] {
                let refused = result::memcpy_dtoh_async(&mut bytes[..1], wild, queue);
                assert_eq!(code(refused), INVALID_VALUE, "{wild:#x}");
                let refused = result::memset_d8_async(wild, 0, 1, queue);
                assert_eq!(code(refused), INVALID_VALUE, "{wild:#x}");
            }
            for (into, length) in [(start, 16), (start + 8, 8 + 1), (other, 17)] {
                let refused = result::memcpy_dtod_async(into, start, length, queue);
                assert_eq!(code(refused), INVALID_VALUE, "{length} bytes");
            }
            assert!(result::memcpy_dtod_async(start + 8, start, 8, queue).is_ok());
            let device = ptr::with_exposed_provenance(usize::try_from(start).unwrap());
            let refused = sys::cuMemcpyHtoDAsync_v2(other, device, 1, queue).result();
            assert_eq!(code(refused), INVALID_VALUE, "a device's address as the host's");
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn what_was_freed_is_gone_for_every_later_call() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let queue = stream.cu_stream();
        // SAFETY: this test is about what is not sound on a device; addresses are looked up.
        unsafe {
            let freed = result::malloc_sync(8).unwrap();
            result::free_sync(freed).unwrap();
            let freed_later = result::malloc_async(queue, 8).unwrap();
            result::free_async(freed_later, queue).unwrap();
            for stale in [freed, freed_later] {
                assert_eq!(code(result::memset_d8_async(stale, 0, 8, queue)), INVALID_VALUE);
                let read = result::memcpy_dtoh_async(&mut [0_u8; 8], stale, queue);
                assert_eq!(code(read), INVALID_VALUE);
                assert_eq!(code(result::free_sync(stale)), INVALID_VALUE);
                assert_eq!(code(result::free_async(stale, queue)), INVALID_VALUE);
            }
            let pinned = result::malloc_host(8, 0).unwrap();
            result::free_host(pinned).unwrap();
            assert_eq!(code(result::free_host(pinned)), INVALID_VALUE);
            let inside = result::malloc_sync(8).unwrap() + 4;
            assert_eq!(code(result::free_sync(inside)), INVALID_VALUE);
            assert_eq!(code(result::free_host(ptr::without_provenance_mut(16))), INVALID_VALUE);
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn a_missing_wait_before_a_free_is_found() {
    on_stand_in(|| {
        let (context, first) = device_0();
        let second = context.new_stream().unwrap();
        // SAFETY: this test is about what is not sound on a device; addresses are looked up.
        let shared = unsafe { result::malloc_sync(8) }.unwrap();
        let gate = Gate::before(&first);
        // SAFETY: as above.
        unsafe {
            result::memset_d8_async(shared, 1, 8, first.cu_stream()).unwrap();
            result::free_async(shared, second.cu_stream()).unwrap();
        }
        let (send, receive) = mpsc::channel();
        call(first.cu_stream(), move || send.send(()).unwrap());
        second.synchronize().unwrap();
        gate.open();
        assert_eq!(code(first.synchronize()), ILLEGAL_ADDRESS);
        assert_eq!(receive.try_recv(), Err(TryRecvError::Empty), "called after a fault");
        // It stays, for every stream of the context, and nobody hangs.
        assert_eq!(code(second.synchronize()), ILLEGAL_ADDRESS);
        assert_eq!(code(context.synchronize()), ILLEGAL_ADDRESS);
        assert_eq!(code(first.clone_htod(&[1])), ILLEGAL_ADDRESS);
        drop((first, second, context));
        // The device's next context knows nothing of it.
        let (_, stream) = device_0();
        assert_eq!(stream.clone_dtoh(&stream.clone_htod(&[1]).unwrap()).unwrap(), [1]);
    });
}

#[test]
fn a_missing_wait_after_an_allocation_is_found() {
    on_stand_in(|| {
        let (context, first) = device_0();
        let second = context.new_stream().unwrap();
        let gate = Gate::before(&first);
        // SAFETY: this test is about what is not sound on a device; addresses are looked up.
        unsafe {
            let shared = result::malloc_async(first.cu_stream(), 8).unwrap();
            result::memset_d8_async(shared, 1, 8, second.cu_stream()).unwrap();
        }
        assert_eq!(code(second.synchronize()), ILLEGAL_ADDRESS);
        gate.open();
    });
}

#[test]
fn a_byte_outside_is_found_when_the_block_is_freed() {
    for offset in [-1, 8] {
        on_stand_in(move || {
            let (_, stream) = device_0();
            let held = stream.clone_htod(&[0_u8; 8]).unwrap();
            let start = usize::try_from(held.device_ptr(&stream).0).unwrap();
            call(stream.cu_stream(), move || {
                let place = start.checked_add_signed(offset).unwrap();
                // SAFETY: a guard of the stand-in is there, which is what is tested.
                unsafe { ptr::with_exposed_provenance_mut::<u8>(place).write(0) };
            });
            drop(held);
            assert_eq!(code(stream.synchronize()), ILLEGAL_ADDRESS, "{offset}");
        });
    }
}

#[test]
fn a_host_function_may_not_call_the_driver() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let (send, receive) = mpsc::channel();
        call(stream.cu_stream(), move || {
            let answer = result::ctx::get_current().map(drop);
            send.send((answer, CudaContext::device_count().map(drop))).unwrap();
        });
        let (one, other) = receive.recv().unwrap();
        assert_eq!(code(one), CUresult::CUDA_ERROR_NOT_PERMITTED);
        assert_eq!(code(other), CUresult::CUDA_ERROR_NOT_PERMITTED);
        stream.synchronize().unwrap();
        CudaContext::device_count().unwrap();
    });
}

#[test]
fn a_handle_is_good_for_one_thing_and_one_life() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let event = context.new_event(None).unwrap();
        let other = CudaContext::new(1).unwrap();
        let elsewhere = other.new_stream().unwrap();
        let create = || result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
        context.bind_to_thread().unwrap();
        let gone = create();
        // SAFETY: handles are looked up, so a wrong one is refused and not followed.
        unsafe {
            result::stream::destroy(gone).unwrap();
            assert_ne!(create(), gone);
            for not_a_stream in [gone, event.cu_event().cast(), context.cu_ctx().cast()] {
                let refused = result::stream::synchronize(not_a_stream);
                assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_HANDLE);
            }
            let refused = result::event::record(event.cu_event(), elsewhere.cu_stream());
            assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_HANDLE);
            let refused = result::event::synchronize(stream.cu_stream().cast());
            assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_HANDLE);
            let refused = result::ctx::set_current(stream.cu_stream().cast());
            assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
    });
}

#[test]
fn a_context_ends_with_its_last_holder() {
    on_stand_in(|| {
        let (context, _) = device_0();
        let handle = context.cu_ctx();
        let again = CudaContext::new(0).unwrap();
        assert_eq!(again.cu_ctx(), handle);
        drop(context);
        again.synchronize().unwrap();
        drop(again);
        assert_eq!(result::ctx::get_current(), Ok(Some(handle)));
        assert_eq!(code(result::ctx::synchronize()), CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        // SAFETY: contexts are looked up.
        let refused = unsafe { result::ctx::set_current(handle) };
        assert_eq!(code(refused), CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        // SAFETY: as above; there is nothing left to release.
        let refused = unsafe { result::primary_ctx::release(0) };
        assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    });
}

#[test]
fn what_a_context_leaves_behind_is_gone() {
    on_stand_in(|| {
        let (context, _) = device_0();
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).unwrap();
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).unwrap();
        // SAFETY: this test is about what is not sound on a device; all is looked up.
        let (memory, pinned) =
            unsafe { (result::malloc_sync(8).unwrap(), result::malloc_host(8, 0).unwrap()) };
        drop(context);
        let (context, _) = device_0();
        // SAFETY: as above.
        unsafe {
            let refused = result::stream::synchronize(stream);
            assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_HANDLE);
            let refused = result::event::synchronize(event);
            assert_eq!(code(refused), CUresult::CUDA_ERROR_INVALID_HANDLE);
            assert_eq!(code(result::free_sync(memory)), INVALID_VALUE);
            assert_eq!(code(result::free_host(pinned)), INVALID_VALUE);
        }
        let (free, total) = context.mem_get_info().unwrap();
        assert_eq!(free, total);
    });
}

#[test]
fn a_thread_without_a_context_is_told() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let other = CudaContext::new(1).unwrap();
        context.bind_to_thread().unwrap();
        let device = || {
            let mut device = -1;
            // SAFETY: a valid place.
            unsafe { sys::cuCtxGetDevice(&raw mut device) }.result().map(|()| device)
        };
        // SAFETY: contexts are looked up.
        unsafe {
            assert_eq!(device(), Ok(0));
            sys::cuCtxPushCurrent_v2(other.cu_ctx()).result().unwrap();
            assert_eq!(device(), Ok(1));
            let mut of_stream = ptr::null_mut();
            sys::cuStreamGetCtx(stream.cu_stream(), &raw mut of_stream).result().unwrap();
            assert_eq!(of_stream, context.cu_ctx());
            let mut popped = ptr::null_mut();
            sys::cuCtxPopCurrent_v2(&raw mut popped).result().unwrap();
            assert_eq!(popped, other.cu_ctx());
            assert_eq!(device(), Ok(0));
            result::ctx::set_current(ptr::null_mut()).unwrap();
            assert_eq!(code(device()), CUresult::CUDA_ERROR_INVALID_CONTEXT);
            assert_eq!(code(result::malloc_sync(8)), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
    });
}
