//! Bytes arrive where they should.

use cudarc::driver::sys::CUpointer_attribute as Attribute;
use cudarc::driver::{CudaContext, DevicePtr as _, result, sys};

use crate::bench::{Gate, code, device_0, on_stand_in};

#[test]
fn what_goes_to_a_device_comes_back() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let there = stream.clone_htod(&[1, 2, 3, 4]).unwrap();
        assert_eq!(stream.clone_dtoh(&there).unwrap(), [1, 2, 3, 4]);
        let zeros = stream.alloc_zeros::<f32>(5).unwrap();
        assert_eq!(stream.clone_dtoh(&zeros).unwrap(), [0.0; 5]);
    });
}

#[test]
fn a_copy_into_a_part_leaves_the_rest() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let from = stream.clone_htod(&[7_u16, 8]).unwrap();
        let mut into = stream.clone_htod(&[1_u16, 2, 3, 4, 5]).unwrap();
        stream.memcpy_dtod(&from, &mut into.slice_mut(1..3)).unwrap();
        assert_eq!(stream.clone_dtoh(&into).unwrap(), [1, 7, 8, 4, 5]);
        stream.memset_zeros(&mut into.slice_mut(3..)).unwrap();
        assert_eq!(stream.clone_dtoh(&into).unwrap(), [1, 7, 8, 0, 0]);
    });
}

#[test]
fn blocks_are_aligned_and_hold_no_zeros_at_first() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        // SAFETY: what it holds at first is what is looked at.
        let fresh = unsafe { stream.alloc::<u8>(3) }.unwrap();
        assert_eq!(fresh.device_ptr(&stream).0 % 256, 0);
        assert_eq!(stream.clone_dtoh(&fresh).unwrap(), [0xfb; 3]);
    });
}

#[test]
fn devices_copy_to_each_other() {
    on_stand_in(|| {
        let (a, on_a) = device_0();
        let b = CudaContext::new(1).unwrap();
        let on_b = b.new_stream().unwrap();
        let from = on_a.clone_htod(&[1_u8, 2, 3]).unwrap();
        let into = on_b.alloc_zeros::<u8>(3).unwrap();
        on_a.synchronize().unwrap();
        on_b.synchronize().unwrap();
        let (from, into_start) = (from.device_ptr(&on_a).0, into.device_ptr(&on_b).0);
        let copy = |into_context, from_context| {
            let stream = on_b.cu_stream();
            // SAFETY: both are three bytes long.
            unsafe {
                result::memcpy_peer_async(into_context, into_start, from_context, from, 3, stream)
            }
        };
        copy(b.cu_ctx(), a.cu_ctx()).unwrap();
        assert_eq!(on_b.clone_dtoh(&into).unwrap(), [1, 2, 3]);
        assert_eq!(code(copy(a.cu_ctx(), b.cu_ctx())), sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    });
}

#[test]
fn pageable_memory_is_read_before_a_copy_from_it_returns() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let gate = Gate::before(&stream);
        let mut source = vec![1, 2, 3];
        let there = stream.clone_htod(&source).unwrap();
        source.fill(0);
        drop(source);
        gate.open();
        assert_eq!(stream.clone_dtoh(&there).unwrap(), [1, 2, 3]);
    });
}

#[test]
fn pinned_memory_is_read_and_written_when_the_stream_comes_to_it() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        // SAFETY: it is written before it is read.
        let mut pinned = unsafe { context.alloc_pinned::<i32>(3) }.unwrap();
        pinned.as_mut_slice().unwrap().copy_from_slice(&[1, 2, 3]);
        let raw = pinned.as_mut_ptr().unwrap();

        let gate = Gate::before(&stream);
        let there = stream.clone_htod(&pinned).unwrap();
        let done = stream.record_event(None).unwrap();
        assert!(!done.is_complete());
        // SAFETY: the stream is held up before the copy, so nobody reads it yet.
        unsafe { raw.write(40) };
        gate.open();
        assert_eq!(stream.clone_dtoh(&there).unwrap(), [40, 2, 3]);

        let gate = Gate::before(&stream);
        let source = stream.clone_htod(&[7, 8, 9]).unwrap();
        stream.memcpy_dtoh(&source, &mut pinned).unwrap();
        // SAFETY: the stream is held up before the copy, so nobody writes it yet.
        assert_eq!(unsafe { raw.read() }, 40);
        gate.open();
        assert_eq!(pinned.as_slice().unwrap(), [7, 8, 9]);
    });
}

#[test]
fn memory_in_use_is_counted() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let (before, total) = context.mem_get_info().unwrap();
        assert_eq!(total, context.total_mem().unwrap());
        let held = stream.alloc_zeros::<u8>(1000).unwrap();
        assert_eq!(context.mem_get_info().unwrap().0, before - 1000);
        drop(held);
        stream.synchronize().unwrap();
        assert_eq!(context.mem_get_info().unwrap().0, before);
        // SAFETY: only whether there is room is looked at.
        let too_much = unsafe { stream.alloc::<u8>(total + 1) };
        assert_eq!(code(too_much), sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    });
}

#[test]
fn an_address_says_whose_it_is() {
    on_stand_in(|| {
        let context = CudaContext::new(2).unwrap();
        let stream = context.new_stream().unwrap();
        let held = stream.clone_htod(&[0_u64; 4]).unwrap();
        let start = held.device_ptr(&stream).0;
        let ask = |attribute, pointer| {
            let mut answer = 0_u64;
            // SAFETY: the attributes asked for have at most eight bytes.
            let asked =
                unsafe { sys::cuPointerGetAttribute((&raw mut answer).cast(), attribute, pointer) };
            asked.result().map(|()| answer)
        };
        let ordinal = Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        assert_eq!(ask(ordinal, start + 31), Ok(2));
        assert_eq!(ask(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, start), Ok(2));
        assert_eq!(ask(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, start + 9), Ok(start));
        assert_eq!(ask(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, start + 9), Ok(32));
        let beyond = code(ask(ordinal, start + 32));
        assert_eq!(beyond, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
        drop(held);
        let freed = code(ask(ordinal, start));
        assert_eq!(freed, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    });
}

#[test]
fn nothing_is_allocated_copied_and_freed() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let nothing = stream.alloc_zeros::<f64>(0).unwrap();
        assert_eq!(stream.clone_dtoh(&nothing).unwrap(), []);
        drop(nothing);
        stream.synchronize().unwrap();
    });
}
