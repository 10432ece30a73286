//! Programs that somebody would write: legal ones, and their twins that hang.

use rankwise_model::{Dtype, GroupSize, Rank};
use rankwise_program::{
    Activity, Drivers, Ending, Entry, Kind, Matcher, Progress, Refused, Report, Seq, Signature,
    Site, Standing, Verdict, Wait, Why,
};
use rankwise_topology::{Group, WorldRank};

use super::driver::{
    Act, Dice, Driver, Fate, Story, all_reduce, call, post, posted_and_waited, run, run_all, world,
};

fn rank(index: u32) -> Rank {
    GroupSize::new(64).unwrap().rank(index).unwrap()
}

fn send(to: u32) -> Signature {
    Signature::send(rank(to), Dtype::F32, 1)
}

fn recv(from: u32) -> Signature {
    Signature::recv(rank(from), Dtype::F32, 1)
}

fn cycle(report: &Report) -> Vec<u32> {
    report.cycle().iter().map(|rank| rank.index()).collect()
}

fn all_finish(driver: &Driver<'_>) {
    assert!(driver.reports.is_empty(), "{}", driver.reports[0]);
    assert!(driver.fates().iter().all(|fate| *fate == Fate::Finished));
    assert_eq!(driver.matcher.open_instances(), 0);
}

/// That everybody is told of one deadlock, and its cycle.
fn all_wait(driver: &Driver<'_>, expected: &[u32]) {
    let [report] = driver.reports.as_slice() else { panic!("{} reports", driver.reports.len()) };
    assert_eq!(report.kind, Kind::Deadlock);
    assert_eq!(cycle(report), expected);
    for fate in driver.fates() {
        assert_eq!(fate, Fate::Told(report.clone()));
    }
}

#[test]
fn a_message_and_then_a_collective_is_legal_and_its_twin_is_not() {
    let sum = || post(0, all_reduce(1));
    let wait = Act::Wait { stream: 0 };
    let legal = Story {
        comms: vec![vec![0, 1, 2]],
        ranks: vec![
            vec![post(0, send(1)), sum(), wait.clone()],
            vec![post(0, recv(0)), sum(), wait.clone()],
            vec![sum(), wait.clone()],
        ],
    };
    run_all(&legal, 3_000, all_finish);

    let mut twin = legal;
    twin.ranks[1].swap(0, 1);
    run_all(&twin, 3_000, |driver| {
        let [report] = driver.reports.as_slice() else { panic!("one report") };
        assert_eq!(report.kind, Kind::Deadlock);
        // Rank 0 is in the send, rank 1 in the all-reduce; rank 2 waits with rank 1.
        assert_eq!(cycle(report), [0, 1]);
        let edges: Vec<_> = report
            .waits
            .iter()
            .map(|edge| (edge.rank.index(), edge.call.signature.verb().name()))
            .collect();
        assert_eq!(edges, [(0, "send"), (1, "all_reduce"), (2, "all_reduce")]);
        for fate in driver.fates() {
            assert_eq!(fate, Fate::Told(report.clone()));
        }
    });

    // On two streams the twin is legal again.
    twin.ranks[1][1] = Act::Post { stream: 1, calls: vec![call(0, recv(0))] };
    run_all(&twin, 3_000, all_finish);
}

#[test]
fn two_communicators_in_opposite_orders() {
    let acts = |first, second| {
        let one = posted_and_waited(first, all_reduce(1));
        let other = posted_and_waited(second, all_reduce(1));
        [one, other].concat()
    };
    let story = Story { comms: vec![vec![0, 1], vec![0, 1]], ranks: vec![acts(0, 1), acts(1, 0)] };
    run_all(&story, 3_000, |driver| {
        all_wait(driver, &[0, 1]);
        let report = &driver.reports[0];
        let names: Vec<_> = report.waits.iter().map(|edge| &*edge.call.communicator).collect();
        assert_eq!(names, ["c0", "c1"]);
        assert_eq!(&*report.communicator, "c0");
    });
}

#[test]
fn a_ring_of_sends_that_are_waited_for() {
    let mut dice = Dice::new(6);
    for ranks in 1..=5_u32 {
        let acts = |at: u32, both: bool| {
            let [to, from] = [(at + 1) % ranks, (at + ranks - 1) % ranks];
            if both {
                let calls = vec![call(0, send(to)), call(0, recv(from))];
                return vec![Act::Post { stream: 0, calls }, Act::Wait { stream: 0 }];
            }
            [posted_and_waited(0, send(to)), posted_and_waited(0, recv(from))].concat()
        };
        let ring = |both| Story {
            comms: vec![(0..ranks).collect()],
            ranks: (0..ranks).map(|at| acts(at, both)).collect(),
        };
        let everyone: Vec<u32> = (0..ranks).collect();
        for _ in 0..40 {
            all_wait(&run(&ring(false), |ways| dice.below(ways)), &everyone);
            all_finish(&run(&ring(true), |ways| dice.below(ways)));
        }
    }
}

#[test]
fn a_send_to_oneself_ends_only_beside_its_recv() {
    // Behind the send in a stream, the recv waits for the send and the send for it.
    let story = |posts: Vec<Act>| Story {
        comms: vec![vec![0]],
        ranks: vec![[posts, vec![Act::Wait { stream: 0 }]].concat()],
    };
    let apart = story(vec![post(0, send(0)), post(0, recv(0))]);
    run_all(&apart, 100, |driver| all_wait(driver, &[0]));
    let calls = vec![call(0, send(0)), call(0, recv(0))];
    run_all(&story(vec![Act::Post { stream: 0, calls }]), 100, all_finish);
}

#[test]
fn a_stream_that_waits_for_another_joins_their_orders() {
    // Without the wait each communicator has a stream of its own, in any order.
    let acts = |first: usize, joined: bool| {
        let mut acts = vec![Act::Post { stream: first, calls: vec![call(first, all_reduce(1))] }];
        if joined {
            acts.push(Act::StreamWait { stream: 1 - first, on: first });
        }
        let calls = vec![call(1 - first, all_reduce(1))];
        acts.push(Act::Post { stream: 1 - first, calls });
        acts.extend([Act::Wait { stream: 0 }, Act::Wait { stream: 1 }]);
        acts
    };
    let story = |joined| Story {
        comms: vec![vec![0, 1], vec![0, 1]],
        ranks: vec![acts(0, joined), acts(1, joined)],
    };
    run_all(&story(false), 3_000, all_finish);
    run_all(&story(true), 3_000, |driver| all_wait(driver, &[0, 1]));
}

#[test]
fn one_death_is_one_story() {
    // Rank 3 dies; 2 waits for it, 1 for 2 and 0 for 1, each on its own communicator.
    let comms = vec![vec![0, 1], vec![1, 2], vec![2, 3]];
    let both = |first, second| {
        let one = posted_and_waited(first, all_reduce(1));
        let other = posted_and_waited(second, all_reduce(1));
        [one, other].concat()
    };
    let story = Story {
        comms,
        ranks: vec![
            posted_and_waited(0, all_reduce(1)).to_vec(),
            both(1, 0),
            both(2, 1),
            vec![Act::End(Ending::Panicked)],
        ],
    };
    run_all(&story, 5_000, |driver| {
        let [report] = driver.reports.as_slice() else { panic!("{:#?}", driver.reports) };
        assert_eq!((report.kind, &*report.communicator), (Kind::MissingRank, "c2"));
        for fate in &driver.fates()[..3] {
            assert_eq!(*fate, Fate::Told(report.clone()));
        }
    });
}

#[test]
fn a_member_that_is_blocked_for_good_is_named_with_its_call() {
    // Ranks 0 and 1 contradict each other; rank 2 waits elsewhere for rank 0, for ever.
    let story = Story {
        comms: vec![vec![0, 1, 2], vec![0, 2]],
        ranks: vec![
            posted_and_waited(0, all_reduce(1)).to_vec(),
            posted_and_waited(0, all_reduce(2)).to_vec(),
            posted_and_waited(1, all_reduce(1)).to_vec(),
        ],
    };
    run_all(&story, 5_000, |driver| {
        let [report] = driver.reports.as_slice() else { panic!("{:#?}", driver.reports) };
        assert_eq!(report.kind, Kind::Mismatch);
        let [absent] = report.absent.as_slice() else { panic!("{report}") };
        assert_eq!(absent.member.world.index(), 2);
        let Why::Blocked { call: Some(call) } = &absent.why else { panic!("{report}") };
        assert_eq!((&*call.communicator, call.seq), ("c1", Seq::Collective(0)));
        // It waits because of the mismatch: that is what it is told.
        assert_eq!(driver.fates()[2], Fate::Told(report.clone()));
    });
}

/// A matcher of three ranks with a communicator and a stream each.
fn three() -> (Matcher, impl Fn(u32) -> WorldRank, impl Fn(Signature) -> Entry) {
    let world = world(3);
    let mut matcher = Matcher::new(world);
    let comm = matcher.add_communicator("tp", &Group::whole(world));
    let entry = move |signature| Entry { comm, signature, site: Site::Unknown, tag: None };
    (matcher, move |rank| world.rank(rank).unwrap(), entry)
}

fn wait_for(matcher: &mut Matcher, rank: WorldRank, entry: Entry) -> Wait {
    let stream = matcher.add_stream(rank, "s0");
    let point = matcher.post(rank, stream, &[entry], &mut Vec::new()).unwrap();
    let wait = Wait::Point(point);
    matcher.block(rank, wait);
    wait
}

#[test]
fn who_computes_is_waited_for_and_named() {
    let (mut matcher, rank, entry) = three();
    wait_for(&mut matcher, rank(0), entry(all_reduce(1)));
    wait_for(&mut matcher, rank(1), entry(all_reduce(2)));
    assert!(matcher.take_verdicts().is_empty(), "rank 2 may still call");

    let lines: Vec<String> = matcher.status().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "rank 0     waits in all_reduce(sum) of 1 × f32, collective 0 of tp, \
             at an unrecorded place for 1, 2"
                .replace(" for 1, 2", " for 2"),
            "rank 1     waits in all_reduce(sum) of 2 × f32, collective 0 of tp, \
             at an unrecorded place for 2"
                .to_owned(),
            "rank 2     computes".to_owned(),
        ]
    );

    let report = matcher.give_up(rank(0));
    assert_eq!(report.kind, Kind::Inconclusive);
    assert_eq!(report.absent[0].why, Why::Computing);
    assert_eq!(
        report.to_string().lines().next().unwrap(),
        "inconclusive of count: all_reduce(sum), collective 0 of tp (3 ranks)"
    );

    wait_for(&mut matcher, rank(2), entry(all_reduce(1)));
    let verdicts = matcher.take_verdicts();
    let [Verdict { report, instances, comms, victims }] = verdicts.as_slice() else {
        panic!("{verdicts:?}")
    };
    assert_eq!((instances.len(), comms.len(), victims.len()), (1, 1, 3));
    assert_eq!(report.outliers, [rank(1)]);
    assert!(matcher.status().iter().all(|status| status.activity == Activity::Computing));
}

#[test]
fn a_failed_communicator_takes_no_calls_and_others_do() {
    let (mut matcher, rank, entry) = three();
    let other = matcher.add_communicator("dp", &Group::whole(world(3)));
    for (at, count) in [1, 1, 2].into_iter().enumerate() {
        wait_for(&mut matcher, rank(u32::try_from(at).unwrap()), entry(all_reduce(count)));
    }
    let report = matcher.take_verdicts().remove(0).report;
    let again = matcher.post_beside(rank(0), entry(Signature::barrier()));
    assert_eq!(again, Err(Refused::Failed(report)));
    for at in 0..3 {
        let entry = Entry { comm: other, ..entry(Signature::barrier()) };
        let seat = matcher.post_beside(rank(at), entry).unwrap();
        let agreed = if at == 2 { Standing::Agreed } else { Standing::Open };
        assert_eq!(seat.standing, agreed);
    }
    assert_eq!(matcher.runnable().len(), 1);
}

#[test]
fn a_rank_of_many_drivers_is_gone_only_when_it_ends() {
    let (mut matcher, rank, entry) = three();
    let pair = Group::new(world(3), [0, 1]).unwrap();
    let other = matcher.add_communicator("pair", &pair);
    matcher.set_drivers(rank(0), Drivers::Many);
    // Rank 0 waits for 1, and 1 for 0: another thread of rank 0 may still come.
    let zero = wait_for(&mut matcher, rank(0), entry(all_reduce(1)));
    let on_pair = Entry { comm: other, ..entry(all_reduce(1)) };
    let one = wait_for(&mut matcher, rank(1), on_pair.clone());
    assert!(matcher.take_verdicts().is_empty());

    let second = wait_for(&mut matcher, rank(0), on_pair);
    let [run] = matcher.runnable()[..] else { panic!("one can run") };
    matcher.completed(run);
    assert_eq!(matcher.progress(one), Progress::Done);
    assert_eq!(matcher.progress(second), Progress::Done);
    matcher.resume_from(rank(0), second);
    matcher.resume(rank(1));

    matcher.last_words(rank(1), "index out of bounds");
    matcher.end(rank(1), Ending::Panicked);
    matcher.end(rank(2), Ending::Returned);
    let verdicts = matcher.take_verdicts();
    assert_eq!(verdicts[0].victims, [(rank(0), zero)]);
    assert_eq!(
        verdicts[0].report.to_string(),
        "missing rank: all_reduce(sum), collective 0 of tp (3 ranks), without rank 1, 2
  rank 0: all_reduce(sum) of 1 × f32
    at an unrecorded place
  rank 1 panicked: index out of bounds
  rank 2 returned
  last call of rank 1:
    all_reduce(sum) of 1 × f32, collective 0 of pair, at an unrecorded place"
    );
}

#[test]
fn a_rank_in_several_waits_goes_on_when_one_ends() {
    let (mut matcher, rank, entry) = three();
    let mut on = |name: &str, members: [u32; 2]| {
        let group = Group::new(world(3), members).unwrap();
        let comm = matcher.add_communicator(name, &group);
        Entry { comm, ..entry(all_reduce(1)) }
    };
    let (kept, opened) = (on("kept", [0, 1]), on("opened", [0, 2]));
    // Ranks 1 and 2 contradict each other. Rank 1 waits, rank 2 computes.
    wait_for(&mut matcher, rank(1), entry(all_reduce(1)));
    let stream = matcher.add_stream(rank(2), "s0");
    matcher.post(rank(2), stream, &[entry(all_reduce(2))], &mut Vec::new()).unwrap();
    // Rank 0 waits for either: for rank 1 in vain, but if rank 2 comes, rank 0 may still
    // call where the two contradict each other, and be the majority with one of them.
    wait_for(&mut matcher, rank(0), kept);
    let open = wait_for(&mut matcher, rank(0), opened.clone());
    assert_eq!(matcher.take_verdicts(), []);

    // Rank 2 comes behind its contradiction: now both waits are in vain.
    matcher.post(rank(2), stream, &[opened], &mut Vec::new()).unwrap();
    let verdicts = matcher.take_verdicts();
    let [Verdict { report, .. }] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!(report.kind, Kind::Mismatch);
    assert_eq!(matcher.progress(open), Progress::Failed(report.clone()));
}

#[test]
fn a_call_that_is_withdrawn_is_missing_and_holds_nothing_up() {
    let (mut matcher, rank, entry) = three();
    let mut seats = Vec::new();
    let stream = matcher.add_stream(rank(0), "s0");
    let point = matcher.post(rank(0), stream, &[entry(all_reduce(1))], &mut seats).unwrap();
    assert_eq!(matcher.progress(Wait::Point(point)), Progress::Pending);
    matcher.withdraw(seats[0].instance, rank(0));
    assert_eq!(matcher.progress(Wait::Point(point)), Progress::Done);

    for at in [1, 2] {
        let seat = matcher.post_beside(rank(at), entry(all_reduce(1))).unwrap();
        assert_eq!(seat.instance, seats[0].instance);
        assert_eq!(seat.standing, Standing::Open, "rank 0 is missing again");
        matcher.block(rank(at), Wait::Instance(seat.instance));
    }
    assert_eq!((matcher.runnable(), matcher.take_verdicts()), (vec![], vec![]));

    matcher.leave(entry(all_reduce(1)).comm, rank(0), Ending::Aborted);
    let verdicts = matcher.take_verdicts();
    let [Verdict { report, victims, .. }] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!(report.kind, Kind::MissingRank);
    assert_eq!(
        report.absent.iter().map(|absent| absent.member.world).collect::<Vec<_>>(),
        [rank(0)]
    );
    assert_eq!(victims.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [rank(1), rank(2)]);
}

#[test]
fn what_is_refused_is_refused_by_name() {
    let (mut matcher, rank, entry) = three();
    let pair = matcher.add_communicator("pair", &Group::new(world(3), [0, 1]).unwrap());
    let on_pair = |signature| Entry { comm: pair, ..entry(signature) };
    let stream = matcher.add_stream(rank(0), "s0");
    let mut seats = Vec::new();
    let text = |refused: Result<_, Refused>| refused.unwrap_err().to_string();

    let foreign = matcher.post(rank(1), stream, &[on_pair(all_reduce(1))], &mut seats);
    assert_eq!(text(foreign.map(|_| ())), "rank 1 calls on stream 0, which is rank 0's");
    let outsider = matcher.post_beside(rank(2), on_pair(Signature::barrier()));
    assert_eq!(
        text(outsider.map(|_| ())),
        "rank 2 calls on communicator pair and is no member of it"
    );
    // All or none: the first call of the unit is not taken either.
    let unit = [on_pair(all_reduce(1)), on_pair(send(2))];
    let no_peer = matcher.post(rank(0), stream, &unit, &mut seats);
    assert_eq!(text(no_peer.map(|_| ())), "peer 2 is not in communicator pair, which has 2 ranks");
    assert_eq!((seats.len(), matcher.open_instances()), (0, 0));
    assert_eq!(matcher.last_point(stream), None);

    matcher.leave(pair, rank(0), Ending::Closed);
    let left = matcher.post_beside(rank(0), on_pair(Signature::barrier()));
    assert_eq!(
        text(left.map(|_| ())),
        "rank 0 calls on communicator pair after it closed the communicator"
    );
    matcher.end(rank(0), Ending::Aborted);
    let ended = matcher.post_beside(rank(0), entry(Signature::barrier()));
    assert_eq!(text(ended.map(|_| ())), "rank 0 calls after it aborted");
}
