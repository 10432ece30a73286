//! Leaking or dropping anything frees and aliases nothing early.

use std::mem;

use rankwise_comm::prelude::*;
use rankwise_mock::World;

use crate::watchdog::in_time;

#[test]
fn buffers_may_go_while_their_work_is_in_flight() {
    let sum = in_time(|| {
        let comms = World::of(2).communicators();
        for _ in 0..50 {
            let mut gone = comms[0].buffer::<f64>(4096)?;
            comms[0].stream().write(&mut gone, &vec![1.5; 4096])?;
            comms[0].all_reduce_in_place(Reduction::Sum, &mut gone)?;
            drop(gone); // the peer has not come yet: the work holds the memory
            // Whoever gets that memory now must not be written to.
            let mut other = comms[0].buffer::<f64>(4096)?;
            comms[0].stream().fence()?; // dropped at once
            mem::forget(comms[0].stream().fence()?);

            let mut x = comms[1].buffer::<f64>(4096)?;
            comms[1].stream().write(&mut x, &vec![2.0; 4096])?;
            comms[1].all_reduce_in_place(Reduction::Sum, &mut x)?;
            assert_eq!(comms[1].stream().read(&x)?, vec![3.5; 4096]);
            let other_stream = comms[0].new_stream()?;
            other_stream.write(&mut other, &vec![0.0; 4096])?;
            assert_eq!(other_stream.read(&other)?, vec![0.0; 4096]);
            mem::forget(x);
        }
        Ok::<_, Error>(())
    });
    assert_eq!(sum, Ok(()));
}

#[test]
fn a_forgotten_fetch_or_a_refused_group_changes_nothing() {
    let left = in_time(|| {
        let comm = World::of(1).communicators().remove(0);
        let mut x = comm.buffer::<i32>(4)?;
        comm.stream().write(&mut x, &[1, 2, 3, 4])?;
        mem::forget(comm.stream().fetch(&x)?);
        let mut y = comm.buffer::<i32>(3)?;
        let refused = comm.group(|group| {
            group.broadcast_in_place(comm.rank(), &mut x)?;
            group.reduce_scatter_in_place(Reduction::Sum, y.slice_mut(0..9)?)
        });
        assert!(refused.is_err(), "nothing of a group with an error is enqueued");
        comm.stream().read(&x)
    });
    assert_eq!(left, Ok(vec![1, 2, 3, 4]));
}

#[test]
fn a_leaked_handle_keeps_nobody_from_finishing() {
    let result = in_time(|| {
        let mut comms = World::of(2).communicators();
        let leaked = comms.remove(0);
        mem::forget(leaked);
        let mut x = comms[0].buffer::<i32>(1)?;
        comms[0].all_reduce_in_place(Reduction::Sum, &mut x)?;
        comms[0].stream().fence()?.wait_within(std::time::Duration::from_millis(50))
    });
    // Nobody can tell a leaked handle from a rank that computes: the wait ends by its
    // deadline, and says for whom it waited.
    let text = result.expect_err("a time-out").to_string();
    assert!(text.contains("gave up"), "{text}");
}
