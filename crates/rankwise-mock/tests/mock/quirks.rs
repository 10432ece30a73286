//! Each quirk against the default.

use std::sync::{Mutex, mpsc};

use rankwise_comm::prelude::*;
use rankwise_comm::{Fault, ReduceOp, Side};
use rankwise_mock::{Comm, Quirk, Quirks, World};
use rstest::rstest;

use crate::watchdog::in_time;

const NONE: Quirks = Quirks::NONE;

fn only(quirk: Quirk) -> Quirks {
    NONE.with(quirk)
}

fn sum_in_place(comm: &Comm, x: &mut Buffer<f32, rankwise_mock::HostMemory>) -> Result<(), Error> {
    comm.all_reduce_in_place(Reduction::Sum, x)?;
    comm.stream().fence()?.wait()
}

#[test]
fn the_sets_are_those_of_the_library() {
    let blocking =
        [Quirk::ZeroIsDropped, Quirk::OneRankAtOnce, Quirk::Fp8AloneRefused, Quirk::PoisonedGroups];
    for quirk in Quirk::ALL {
        assert!(!NONE.contains(quirk));
        assert_eq!(Quirks::NCCL_2_32.contains(quirk), blocking.contains(&quirk));
        assert!(Quirks::NCCL_2_32_NONBLOCKING.contains(quirk));
        assert_eq!(only(quirk).without(quirk), NONE);
    }
    assert_eq!(only(Quirk::PoisonedGroups).to_string(), "{PoisonedGroups}");
}

/// Rank 0 makes a call of nothing that rank 1 does not make; then both make one of two.
#[rstest]
#[case(NONE, false)]
#[case(only(Quirk::ZeroIsDropped), true)]
#[case(Quirks::NCCL_2_32, true)]
fn zero_is_a_barrier_or_is_dropped(#[case] quirks: Quirks, #[case] dropped: bool) {
    let ended = in_time(move || {
        World::of(2).with_quirks(quirks).run(|comm| {
            if comm.rank().index() == 0 {
                let mut empty = comm.buffer::<f32>(0)?;
                comm.all_reduce_in_place(Reduction::Sum, &mut empty)?;
            }
            let mut x = comm.buffer::<f32>(2)?;
            comm.stream().write(&mut x, &[1.5, 2.0])?;
            sum_in_place(comm, &mut x)?;
            comm.stream().read(&x)
        })
    });
    if dropped {
        assert_eq!(ended, [Ok(vec![3.0, 4.0]), Ok(vec![3.0, 4.0])]);
    } else {
        let error = ended[0].clone().unwrap_err();
        assert_eq!(ended[1], Err(error.clone()));
        assert!(error.to_string().starts_with("mismatch of count: all_reduce(sum), collective 0"));
    }
}

/// What is dropped has no number: the next collective is the communicator's first.
#[test]
fn what_is_dropped_is_not_counted() {
    let ended = in_time(|| {
        World::of(2).with_quirks(Quirks::NCCL_2_32).run(|comm| {
            let mut empty = comm.buffer::<f32>(0)?;
            comm.all_reduce_in_place(Reduction::Sum, &mut empty)?;
            let mut x = comm.buffer::<f32>(2 + comm.rank().index() as usize)?;
            sum_in_place(comm, &mut x)
        })
    });
    let error = ended[0].clone().unwrap_err().to_string();
    assert!(error.contains("all_reduce(sum), collective 0 of world"), "{error}");
}

/// A message of nothing needs its peer all the same.
#[rstest]
#[case(NONE)]
#[case(Quirks::NCCL_2_32)]
fn a_message_of_nothing_is_not_dropped(#[case] quirks: Quirks) {
    let ended = in_time(move || {
        World::of(2).with_quirks(quirks).run(|comm| {
            if comm.rank().index() == 1 {
                return Ok(());
            }
            let empty = comm.buffer::<f32>(0)?;
            comm.send(comm.ranks().rank(1).unwrap(), &empty)?;
            comm.stream().fence()?.wait()
        })
    });
    assert_eq!(ended[0].clone().unwrap_err().kind(), ErrorKind::Peer);
}

/// Of what has ended, nothing can be called, not even a call of nothing.
#[test]
fn a_call_of_nothing_is_checked() {
    let ended = in_time(|| {
        World::of(1).with_quirks(Quirks::NCCL_2_32).run(|comm| {
            let mut empty = comm.buffer::<f32>(0).unwrap();
            comm.abort_handle().abort("enough");
            comm.all_reduce_in_place(Reduction::Sum, &mut empty)
        })
    });
    assert!(matches!(ended[0].clone().unwrap_err().fault(), Fault::Closed { .. }));
}

/// One group holds a collective of the rank alone and a recv that nobody serves yet.
#[rstest]
#[case(NONE, false)]
#[case(only(Quirk::OneRankAtOnce), true)]
#[case(Quirks::NCCL_2_32, true)]
fn one_rank_alone_waits_for_its_group_or_not(#[case] quirks: Quirks, #[case] at_once: bool) {
    let seen = in_time(move || {
        let (told, hears) = mpsc::channel();
        let hears = Mutex::new(hears);
        World::of(2).with_quirks(quirks).run(|comm| {
            let own = comm.split(Some(comm.rank().index()), 0)?.wait()?.unwrap();
            let (mut x, mut y) = (comm.buffer::<f32>(1)?, comm.buffer::<f32>(1)?);
            comm.stream().write(&mut x, &[4.0])?;
            if comm.rank().index() == 1 {
                // Serves the recv when rank 0 has looked.
                let seen = hears.lock().unwrap().recv().unwrap();
                comm.send(comm.ranks().rank(0).unwrap(), &x)?;
                comm.stream().fence()?.wait()?;
                return Ok(seen);
            }
            let peer = comm.ranks().rank(1).unwrap();
            let mut sum = comm.buffer::<f32>(1)?;
            comm.group(|group| {
                group.on(&own, comm.stream()).all_reduce(Reduction::Sum, &x, &mut sum)?;
                group.recv(peer, &mut y)
            })?;
            // A read on another stream waits for what writes the sum, and for nothing behind.
            let landed = at_once && comm.new_stream()?.read(&sum)? == [4.0];
            let over = comm.stream().fence()?.is_done();
            told.send(landed).unwrap();
            comm.stream().fence()?.wait()?;
            assert!(!over, "the recv was done before its send");
            assert_eq!(comm.stream().read(&sum)?, [4.0]);
            Ok::<_, Error>(landed)
        })
    });
    assert_eq!(seen, [Ok(at_once), Ok(at_once)]);
}

/// The group fails for another of its calls.
#[rstest]
#[case(NONE, -1.0)]
#[case(Quirks::NCCL_2_32, 4.0)]
fn one_rank_alone_stays_done_if_its_group_fails(#[case] quirks: Quirks, #[case] left: f32) {
    let seen = in_time(move || {
        World::of(1).with_quirks(quirks).run(|comm| {
            let (mut x, mut y) = (comm.buffer::<f32>(1)?, comm.buffer::<f32>(1)?);
            comm.stream().write(&mut x, &[4.0])?;
            comm.stream().write(&mut y, &[-1.0])?;
            let other = comm.new_stream()?;
            let mut raced = comm.buffer::<f32>(1)?;
            // Nothing orders this and the message on the other stream.
            comm.stream().write(&mut raced, &[0.0])?;
            let me = comm.rank();
            let mut got = comm.buffer::<f32>(1)?;
            let refused = comm.group(|group| {
                group.all_reduce(Reduction::Sum, &x, &mut y)?;
                group.on(comm, &other).send(me, &raced)?;
                group.on(comm, &other).recv(me, &mut got)
            });
            assert!(matches!(refused.unwrap_err().fault(), Fault::Hazard { .. }));
            comm.stream().read(&y)
        })
    });
    assert_eq!(seen, [Ok(vec![left])]);
}

#[rstest]
#[case(NONE, Dtype::F8E4M3, Reduction::Avg.into(), false)]
#[case(Quirks::NCCL_2_32, Dtype::F8E4M3, Reduction::Avg.into(), true)]
#[case(Quirks::NCCL_2_32, Dtype::F8E5M2, Reduction::Avg.into(), true)]
#[case(Quirks::NCCL_2_32, Dtype::F8E4M3, Reduction::Sum.into(), false)]
#[case(Quirks::NCCL_2_32, Dtype::F16, Reduction::Avg.into(), false)]
#[case(Quirks::NCCL_2_32.without(Quirk::Fp8AloneRefused), Dtype::F8E4M3, Reduction::Avg.into(), false)]
fn averages_of_fp8_alone(
    #[case] quirks: Quirks,
    #[case] dtype: Dtype,
    #[case] op: ReduceOp,
    #[case] refused: bool,
) {
    let ended = in_time(move || {
        World::of(1).with_quirks(quirks).run(|comm| {
            let mut x = comm.dyn_buffer(dtype, 3)?;
            comm.all_reduce_in_place(op, &mut x)?;
            comm.stream().fence()?.wait()
        })
    });
    match ended[0].clone() {
        Ok(()) => assert!(!refused),
        Err(error) => {
            assert!(refused);
            let Fault::Unsupported { backend, what, .. } = error.fault() else { panic!("{error}") };
            assert!(backend.ends_with("with the quirks of NCCL 2.32"), "{backend}");
            assert!(what.starts_with(&format!("all_reduce(avg) over {dtype} (")), "{what}");
        }
    }
}

/// Two ranks have their average.
#[test]
fn averages_of_fp8_by_two_are_done() {
    let ended = in_time(|| {
        World::of(2).with_quirks(Quirks::NCCL_2_32).run(|comm| {
            let mut x = comm.dyn_buffer(Dtype::F8E4M3, 3)?;
            comm.all_reduce_in_place(Reduction::Avg, &mut x)?;
            comm.stream().fence()?.wait()
        })
    });
    assert_eq!(ended, [Ok(()), Ok(())]);
}

/// A group goes on after a wrong call.
#[rstest]
#[case(NONE, 2.0)]
#[case(only(Quirk::PoisonedGroups), -1.0)]
#[case(Quirks::NCCL_2_32, -1.0)]
fn a_wrong_call_poisons_its_group_or_not(#[case] quirks: Quirks, #[case] left: f32) {
    let ended = in_time(move || {
        World::of(2).with_quirks(quirks).run(|comm| {
            let (mut x, mut y) = (comm.buffer::<f32>(1)?, comm.buffer::<f32>(1)?);
            comm.stream().write(&mut x, &[1.0])?;
            comm.stream().write(&mut y, &[-1.0])?;
            let mut wrong = comm.buffer::<f32>(2)?;
            let group = comm.group(|group| {
                group.all_reduce(Reduction::Sum, &x, &mut wrong).unwrap_err();
                group.all_reduce(Reduction::Sum, &x, &mut y)
            });
            Ok::<_, Error>((group, comm.stream().read(&y)?))
        })
    });
    for (group, y) in ended.into_iter().map(Result::unwrap) {
        assert_eq!(y, [left]);
        match group {
            Ok(()) => assert_eq!(quirks, NONE),
            Err(error) => {
                let length = |fault: &Fault| {
                    matches!(fault, Fault::Length { side: Side::Output, found: 2, needed: 1, .. })
                };
                assert!(length(error.fault()), "{error}");
            }
        }
    }
}

/// After a wrong call comes a right one, and one on another communicator.
#[rstest]
#[case(NONE, false)]
#[case(Quirks::NCCL_2_32, false)]
#[case(only(Quirk::StickyRefusals), true)]
#[case(Quirks::NCCL_2_32_NONBLOCKING, true)]
fn a_refusal_is_remembered_or_not(#[case] quirks: Quirks, #[case] sticky: bool) {
    let ended = in_time(move || {
        World::of(1).with_quirks(quirks).run(|comm| {
            let child = comm.split(Some(0), 0)?.wait()?.unwrap();
            let (mut x, mut wrong) = (comm.buffer::<f32>(1)?, comm.buffer::<f32>(2)?);
            let first = comm.all_reduce(Reduction::Sum, &x, &mut wrong).unwrap_err();
            let right = comm.all_reduce_in_place(Reduction::Sum, &mut x);
            let split = comm.split(Some(0), 0).map(drop);
            let empty = comm.buffer::<f32>(0)?;
            let another = comm.all_reduce(Reduction::Sum, &empty, &mut wrong);
            let mut its = child.buffer::<f32>(1)?;
            child.all_reduce_in_place(Reduction::Sum, &mut its)?;
            Ok::<_, Error>((first, right, split, another))
        })
    });
    let (first, right, split, another) = ended[0].clone().unwrap();
    if sticky {
        assert_eq!(right, Err(first.clone()));
        assert_eq!(split, Err(first.clone()));
        assert_eq!(another, Err(first));
    } else {
        assert_eq!((right, split), (Ok(()), Ok(())));
        assert_ne!(another, Err(first));
    }
}
