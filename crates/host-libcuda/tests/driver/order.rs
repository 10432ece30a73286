//! Streams keep their order, and no other than they were asked for.

use std::sync::{Arc, Barrier, Mutex};

use cudarc::driver::sys::{CUevent_flags, CUresult};
use cudarc::driver::{DevicePtr as _, DevicePtrMut as _, result};

use crate::bench::{Gate, call, code, device_0, on_stand_in};

const TIMED: Option<CUevent_flags> = Some(CUevent_flags::CU_EVENT_DEFAULT);

#[test]
fn a_stream_that_waits_for_an_event_sees_what_came_before() {
    on_stand_in(|| {
        let (context, first) = device_0();
        let second = context.new_stream().unwrap();
        // SAFETY: what is waited for here is waited for by hand.
        unsafe { context.disable_event_tracking() };
        let mut passed_on = first.clone_htod(&[1, 2, 3]).unwrap();
        let mut received = second.alloc_zeros::<i32>(3).unwrap();

        let gate = Gate::before(&first);
        first.memcpy_htod(&[4, 5, 6], &mut passed_on).unwrap();
        second.wait(&first.record_event(None).unwrap()).unwrap();
        second.memcpy_dtod(&passed_on, &mut received).unwrap();
        let done = second.record_event(None).unwrap();
        assert!(!done.is_complete());
        gate.open();
        assert_eq!(second.clone_dtoh(&received).unwrap(), [4, 5, 6]);
        assert!(done.is_complete());
        first.synchronize().unwrap();
    });
}

#[test]
fn to_record_an_event_again_moves_no_earlier_wait() {
    on_stand_in(|| {
        let (context, first) = device_0();
        let second = context.new_stream().unwrap();
        let event = first.record_event(None).unwrap();
        second.wait(&event).unwrap();
        let gate = Gate::before(&first);
        event.record(&first).unwrap();
        // Hangs, and so fails, if the wait has moved behind the gate.
        second.synchronize().unwrap();
        assert!(!event.is_complete());

        second.wait(&event).unwrap();
        let later = second.record_event(None).unwrap();
        assert!(!later.is_complete());
        gate.open();
        second.synchronize().unwrap();
        assert!(event.is_complete() && later.is_complete());
    });
}

#[test]
fn an_event_that_was_never_recorded_holds_nobody_up() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let event = context.new_event(None).unwrap();
        assert_eq!(event.try_is_complete(), Ok(true));
        stream.wait(&event).unwrap();
        event.synchronize().unwrap();
        stream.synchronize().unwrap();
    });
}

#[test]
fn the_time_between_two_events_is_not_negative() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let start = stream.record_event(TIMED).unwrap();
        let gate = Gate::before(&stream);
        let end = stream.record_event(TIMED).unwrap();
        // SAFETY: both events are alive.
        let early = unsafe { result::event::elapsed(start.cu_event(), end.cu_event()) };
        assert_eq!(code(early), CUresult::CUDA_ERROR_NOT_READY);
        gate.open();
        assert!(start.elapsed_ms(&end).unwrap() >= 0.0);
        assert!(end.elapsed_ms(&start).unwrap() <= 0.0);

        let untimed = stream.record_event(None).unwrap();
        assert_eq!(code(start.elapsed_ms(&untimed)), CUresult::CUDA_ERROR_INVALID_HANDLE);
        let unrecorded = context.new_event(TIMED).unwrap();
        assert_eq!(code(start.elapsed_ms(&unrecorded)), CUresult::CUDA_ERROR_INVALID_HANDLE);
    });
}

#[test]
fn host_functions_are_called_in_their_place() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let mut value = stream.alloc_zeros::<u8>(1).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let address = usize::try_from(value.device_ptr_mut(&stream).0).unwrap();
        for turn in 1..=50 {
            stream.memcpy_htod(&[turn], &mut value).unwrap();
            let seen = Arc::clone(&seen);
            call(stream.cu_stream(), move || {
                // SAFETY: device memory is this process's, and the stream is here.
                let now = unsafe { std::ptr::with_exposed_provenance::<u8>(address).read() };
                seen.lock().unwrap().push(now);
            });
        }
        stream.synchronize().unwrap();
        assert_eq!(*seen.lock().unwrap(), (1..=50).collect::<Vec<u8>>());
    });
}

#[test]
fn a_hundred_streams_block_at_once() {
    on_stand_in(|| {
        let (context, _) = device_0();
        let all_there = Arc::new(Barrier::new(100));
        let streams: Vec<_> = (0..100).map(|_| context.new_stream().unwrap()).collect();
        for stream in &streams {
            let all_there = Arc::clone(&all_there);
            // Nobody comes through unless all are in their functions together.
            call(stream.cu_stream(), move || {
                let _ = all_there.wait();
            });
        }
        context.synchronize().unwrap();
    });
}

#[test]
fn memory_freed_in_stream_order_serves_what_was_queued_before() {
    on_stand_in(|| {
        let (_, stream) = device_0();
        let mut into = stream.alloc_zeros::<i32>(2).unwrap();
        let gate = Gate::before(&stream);
        let from = stream.clone_htod(&[5, 6]).unwrap();
        stream.memcpy_dtod(&from, &mut into).unwrap();
        drop(from);
        gate.open();
        assert_eq!(stream.clone_dtoh(&into).unwrap(), [5, 6]);
    });
}

#[test]
fn a_destroyed_stream_still_does_its_work() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let doomed = context.new_stream().unwrap();
        let gate = Gate::before(&doomed);
        let seen = Arc::new(Mutex::new(false));
        let later = Arc::clone(&seen);
        call(doomed.cu_stream(), move || *later.lock().unwrap() = true);
        drop(doomed);
        assert!(!*seen.lock().unwrap());
        stream.synchronize().unwrap();
        gate.open();
        context.synchronize().unwrap();
        assert!(*seen.lock().unwrap());
    });
}

#[test]
fn blocking_streams_and_the_null_stream_wait_for_each_other() {
    on_stand_in(|| {
        let (context, independent) = device_0();
        let null = context.default_stream();
        let blocking = result::stream::create(result::stream::StreamKind::Default).unwrap();
        // SAFETY: just created, destroyed below.
        let blocking = unsafe { context.wrap_borrowed_stream(blocking) };

        for (first, second) in [(&null, &blocking), (&blocking, &null)] {
            let gate = Gate::before(first);
            let behind = second.record_event(None).unwrap();
            let beside = independent.record_event(None).unwrap();
            beside.synchronize().unwrap();
            assert!(!behind.is_complete());
            gate.open();
            behind.synchronize().unwrap();
        }
        // SAFETY: it is not used any more.
        unsafe { result::stream::destroy(blocking.cu_stream()) }.unwrap();
    });
}

#[test]
fn priorities_are_kept_within_their_range() {
    on_stand_in(|| {
        let (context, stream) = device_0();
        let (least, greatest) = result::stream::get_priority_range().unwrap();
        assert!(greatest < least);
        let urgent = context.new_stream_with_priority(greatest - 7).unwrap();
        for (stream, expected) in [(&stream, least), (&urgent, greatest)] {
            let mut kept = i32::MAX;
            let handle = stream.cu_stream();
            // SAFETY: the stream is alive.
            let asked = unsafe { cudarc::driver::sys::cuStreamGetPriority(handle, &raw mut kept) };
            asked.result().unwrap();
            assert_eq!(kept, expected);
        }
    });
}

#[test]
fn tracked_buffers_are_safe_across_streams() {
    on_stand_in(|| {
        let (context, first) = device_0();
        let second = context.new_stream().unwrap();
        let mut shared = first.alloc_zeros::<u32>(64).unwrap();
        for round in 1..=20 {
            first.memcpy_htod(&[round; 64], &mut shared).unwrap();
            let seen = second.clone_dtod(&shared).unwrap();
            assert_eq!(second.clone_dtoh(&seen).unwrap(), [round; 64]);
        }
        assert_eq!(shared.device_ptr(&second).0 % 256, 0);
    });
}
