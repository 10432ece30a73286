//! Each fault on request: what the rank itself is told, and what its peers.

use std::time::Duration;

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Fault, Faults, World};

use crate::watchdog::in_time;

/// What each of three ranks ends with: `calls` sums of its rank + 1, each waited for.
fn sums(faults: Faults, calls: u32) -> Vec<Result<Vec<i32>, Error>> {
    in_time(move || {
        World::of(3).with_faults(faults).run(move |comm| {
            let (mut x, mut y) = (comm.buffer::<i32>(2)?, comm.buffer::<i32>(2)?);
            let mine = i32::try_from(comm.rank().index()).expect("small") + 1;
            comm.stream().write(&mut x, &[mine, 10 * mine])?;
            comm.stream().write(&mut y, &[-1, -1])?;
            for _ in 0..calls {
                comm.all_reduce(Reduction::Sum, &x, &mut y)?;
                comm.stream().fence()?.wait()?;
            }
            comm.stream().read(&y)
        })
    })
}

const SUM: [i32; 2] = [6, 60];

fn texts(ended: Vec<Result<Vec<i32>, Error>>) -> Vec<String> {
    ended.into_iter().map(|ended| ended.expect_err("a fault").to_string()).collect()
}

#[test]
fn a_killed_rank_is_closed_and_its_peers_are_told_so() {
    let ended = texts(sums(Faults::none().at(1, "world", 2, Fault::Kill), 5));
    assert!(ended[1].contains("killed on request, before its call 2"), "{}", ended[1]);
    assert_eq!(ended[0], ended[2]);
    assert!(ended[0].contains("rank 1 was killed"), "{}", ended[0]);
    assert!(ended[0].contains("collective 2 of world"), "{}", ended[0]);
}

#[test]
fn late_hosts_and_busy_devices_are_waited_for() {
    let faults = Faults::none().at(0, "world", 1, Fault::Delay(Duration::from_millis(5))).at(
        2,
        "world",
        2,
        Fault::InProgress(Duration::from_millis(5)),
    );
    for ended in sums(faults, 4) {
        assert_eq!(ended, Ok(SUM.to_vec()));
    }
}

#[test]
fn a_busy_device_lets_the_host_go_on() {
    let late = Duration::from_millis(50);
    let faults = Faults::none().at(0, "world", 0, Fault::InProgress(late));
    let ended = in_time(move || {
        World::of(1).with_faults(faults).run(move |comm| {
            let mut x = comm.buffer::<i32>(1)?;
            let start = std::time::Instant::now();
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            let fence = comm.stream().fence()?;
            // Slower than that, and it is the test that is late.
            let early = start.elapsed() >= late || !fence.is_done();
            fence.wait()?;
            Ok::<_, Error>(early && start.elapsed() >= late)
        })
    });
    assert_eq!(ended, [Ok(true)]);
}

#[test]
fn a_lost_call_is_missed_at_the_end() {
    let ended = sums(Faults::none().at(1, "world", 0, Fault::Drop), 3);
    assert_eq!(ended[1], Ok(SUM.to_vec()), "its later calls met theirs");
    let ended = texts(vec![ended[0].clone(), ended[2].clone()]);
    assert_eq!(ended[0], ended[1]);
    assert!(ended[0].contains("rank 1 returned"), "{}", ended[0]);
    assert!(ended[0].contains("collective 2 of world"), "{}", ended[0]);
}

#[test]
fn the_output_of_a_lost_call_keeps_what_it_held() {
    let ended = sums(Faults::none().at(1, "world", 0, Fault::Drop), 1);
    assert_eq!(ended[1], Ok(vec![-1, -1]));
}

#[test]
fn a_call_made_twice_is_one_too_many() {
    let ended = sums(Faults::none().at(1, "world", 1, Fault::Duplicate), 3);
    assert_eq!((&ended[0], &ended[2]), (&Ok(SUM.to_vec()), &Ok(SUM.to_vec())));
    let text = texts(vec![ended[1].clone()]).remove(0);
    assert!(text.contains("collective 3 of world") && text.contains("returned"), "{text}");
}

#[test]
fn one_bit_is_wrong_on_one_rank() {
    let faults = Faults::none().at(1, "world", 2, Fault::Corrupt { element: 1, bit: 9 });
    let ended = sums(faults, 3);
    assert_eq!((&ended[0], &ended[2]), (&Ok(SUM.to_vec()), &Ok(SUM.to_vec())));
    assert_eq!(ended[1], Ok(vec![6, 0b11_1100 ^ (1 << 9)]));
    for nowhere in [Fault::Corrupt { element: 2, bit: 0 }, Fault::Corrupt { element: 0, bit: 32 }] {
        let ended = sums(Faults::none().at(1, "world", 2, nowhere), 3);
        assert_eq!(ended[1], Ok(SUM.to_vec()));
    }
}

#[test]
fn a_late_error_is_the_devices_and_comes_after_its_call() {
    let faults = Faults::none().at(1, "world", 1, Fault::LateError("its memory is broken".into()));
    let ended = sums(faults, 3);
    let own = ended[1].clone().expect_err("a fault");
    assert_eq!(own.kind(), ErrorKind::Device);
    assert!(own.to_string().contains("its memory is broken"), "{own}");
    let peers = texts(vec![ended[0].clone(), ended[2].clone()]);
    assert_eq!(peers[0], peers[1]);
    assert!(peers[0].contains("collective 2 of world"), "{}", peers[0]);
    assert!(peers[0].contains("rank 1 returned"), "{}", peers[0]);
}

/// The call behind the error is lost; on another stream the rank is told that it has left.
#[test]
fn a_rank_that_lost_a_call_calls_nothing_more_there() {
    let faults = Faults::none().at(0, "world", 0, Fault::LateError("its memory is broken".into()));
    let ended = in_time(move || {
        World::of(2).with_faults(faults).run(|comm| {
            let (mut x, mut y) = (comm.buffer::<i32>(1)?, comm.buffer::<i32>(1)?);
            let other = comm.new_stream()?;
            if comm.rank().index() == 1 {
                std::thread::sleep(Duration::from_millis(5));
            }
            // Both are enqueued before the peer comes, and the device fails between them.
            comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
            let second = comm.all_reduce_in_place(Reduction::Sum, &mut x);
            if comm.rank().index() == 0 {
                assert_eq!(second, Ok(()));
                let failed = comm.stream().fence()?.wait().map_err(|error| error.kind());
                assert_eq!(failed, Err(ErrorKind::Device));
            }
            comm.on(&other).all_reduce_in_place(Reduction::Sum, &mut y)?;
            comm.stream().fence()?.wait()
        })
    });
    let own = ended[0].clone().expect_err("it has left").to_string();
    assert!(own.contains("its memory is broken"), "{own}");
    let peer = ended[1].clone().expect_err("it waits for nobody").to_string();
    assert!(peer.contains("rank 0 was killed"), "{peer}");
}

#[test]
fn an_allocation_is_refused_once() {
    let ended = in_time(|| {
        World::of(1).with_faults(Faults::none().refuse_memory(0, 1)).run(|comm| {
            let sizes = [1, 2, 3].map(|len| comm.buffer::<f32>(len).map(|_| ()));
            sizes.map(|made| made.map_err(|error| (error.kind(), error.to_string())))
        })
    });
    let [first, second, third] = &ended[0];
    assert_eq!((first, third), (&Ok(()), &Ok(())));
    let (kind, text) = second.clone().expect_err("refused");
    assert_eq!(kind, ErrorKind::Device);
    assert!(text.contains('8') && text.contains('0'), "{text}");
}

#[test]
fn faults_strike_by_the_name_of_the_communicator() {
    let program = |comm: &Comm| {
        let pair = comm.split(Some(0), 0)?.wait()?.expect("a colour");
        let mut x = comm.buffer::<i32>(1)?;
        for on in [comm, &pair, comm, &pair] {
            on.all_reduce_in_place(Reduction::Max, &mut x)?;
            on.stream().fence()?.wait()?;
        }
        Ok::<_, Error>(pair.name().to_owned())
    };
    let name = World::of(2).run(program).remove(0).expect("no fault");
    let faults = Faults::none().at(0, &name, 1, Fault::Kill);
    let ended = in_time(move || World::of(2).with_faults(faults).run(program));
    let text = ended[1].clone().expect_err("a peer is gone").to_string();
    assert!(text.contains(&format!("collective 1 of {name}")), "{text}");
}

/// The same faults and the same program end in the same way, whatever the timing.
#[test]
fn faults_are_replayed_by_their_seed() {
    for seed in 0..60 {
        let faults = Faults::random(seed, 3, 4);
        assert_eq!(faults, Faults::random(seed, 3, 4));
        let first = sums(faults.clone(), 4);
        for _ in 0..3 {
            assert_eq!(sums(faults.clone(), 4), first, "seed {seed}: {faults}");
        }
    }
}
