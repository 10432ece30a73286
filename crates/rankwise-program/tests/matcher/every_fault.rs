//! Every way in which one rank's call can differ, every rank as the one that does, and
//! every order of arrival.

use rankwise_model::{Dtype, GroupSize, Operation, Rank, Reduction};
use rankwise_program::{Aspect, Aspects, Collective, Ending, Kind, Report, Seq, Signature, Why};

use super::driver::Dice;
use super::driver::{
    Act, Call, Driver, Fate, Story, all_reduce, call, post, posted_and_waited, run, run_all,
};

/// What the others call, what the culprit calls, and in what they differ.
struct Fault {
    name: &'static str,
    usual: Call,
    odd: Call,
    aspects: Aspects,
}

fn rank(index: u32) -> Rank {
    GroupSize::new(4).unwrap().rank(index).unwrap()
}

fn collective(operation: Operation, dtype: Dtype, count: u64) -> Signature {
    Signature::collective(Collective::new(operation).unwrap(), dtype, count)
}

fn faults() -> Vec<Fault> {
    let reduce = |reduction, root| {
        collective(Operation::Reduce { reduction, root: rank(root) }, Dtype::F32, 4)
    };
    let broadcast = |root| collective(Operation::Broadcast { root: rank(root) }, Dtype::F32, 4);
    let fault = |name, usual, odd, aspects: &[Aspect]| Fault {
        name,
        usual: call(0, usual),
        odd: call(0, odd),
        aspects: aspects.iter().copied().collect(),
    };
    let mut faults = vec![
        fault("count", all_reduce(4), all_reduce(5), &[Aspect::Count]),
        fault("a count of 0", all_reduce(4), all_reduce(0), &[Aspect::Count]),
        fault(
            "element type",
            all_reduce(4),
            collective(Operation::AllReduce { reduction: Reduction::Sum }, Dtype::Bf16, 4),
            &[Aspect::ElementType],
        ),
        fault(
            "reduction",
            all_reduce(4),
            collective(Operation::AllReduce { reduction: Reduction::Max }, Dtype::F32, 4),
            &[Aspect::Reduction],
        ),
        fault("root", broadcast(0), broadcast(1), &[Aspect::Root]),
        fault(
            "reduction and root",
            reduce(Reduction::Sum, 0),
            reduce(Reduction::Avg, 1),
            &[Aspect::Reduction, Aspect::Root],
        ),
        fault("operation", all_reduce(4), Signature::barrier(), &[Aspect::Operation]),
        fault(
            "split against barrier",
            Signature::split(Some(0), 0),
            Signature::barrier(),
            &[Aspect::Operation],
        ),
        // A sendcount of 4 and a whole vector of 8 are no two counts of one thing.
        fault(
            "operations that count differently",
            collective(Operation::AllGather, Dtype::F32, 4),
            all_reduce(8),
            &[Aspect::Operation],
        ),
        fault(
            "operations that count the same",
            broadcast(0),
            all_reduce(8),
            &[Aspect::Operation, Aspect::Count],
        ),
        fault(
            "count and element type",
            collective(Operation::AllToAll, Dtype::F32, 4),
            collective(Operation::AllToAll, Dtype::I8, 16),
            &[Aspect::Count, Aspect::ElementType],
        ),
    ];
    faults.push(Fault {
        name: "tag",
        usual: Call { tag: Some("loss"), ..call(0, all_reduce(1)) },
        odd: Call { tag: Some("acc"), ..call(0, all_reduce(1)) },
        aspects: Aspects::NONE.with(Aspect::Tag),
    });
    faults
}

/// Each rank does something alike first, calls and waits.
fn story(fault: &Fault, ranks: u32, culprit: u32, first: bool) -> Story {
    let acts = (0..ranks).map(|rank| {
        let odd = if rank == culprit { &fault.odd } else { &fault.usual };
        let mut acts = Vec::new();
        if first {
            acts.push(post(0, all_reduce(1)));
        }
        acts.push(Act::Post { stream: 0, calls: vec![odd.clone()] });
        acts.push(Act::Wait { stream: 0 });
        acts
    });
    Story { comms: vec![(0..ranks).collect()], ranks: acts.collect() }
}

fn indices(side: &rankwise_program::Side) -> Vec<u32> {
    side.members.iter().map(|member| member.world.index()).collect()
}

/// That everybody is told the one report, which is as it should be.
fn is_told(driver: &Driver<'_>, name: &str, check: impl Fn(&Report)) {
    let [report] = driver.reports.as_slice() else {
        panic!("{name}: {} reports", driver.reports.len())
    };
    for fate in driver.fates() {
        assert_eq!(fate, Fate::Told(report.clone()), "{name}");
    }
    check(report);
}

#[test]
fn every_mismatch_by_every_rank() {
    let mut dice = Dice::new(3);
    let mut runs = 0;
    for fault in faults() {
        for ranks in 2..=4 {
            for culprit in 0..ranks {
                let name = format!("{}, rank {culprit} of {ranks}", fault.name);
                let others: Vec<u32> = (0..ranks).filter(|rank| *rank != culprit).collect();
                let check = |seq: u64, report: &Report| {
                    assert_eq!(report.kind, Kind::Mismatch, "{name}");
                    assert_eq!(report.aspects, fault.aspects, "{name}");
                    assert_eq!((&*report.communicator, report.ranks.get()), ("c0", ranks));
                    assert_eq!(report.seq, Some(Seq::Collective(seq)), "{name}");
                    let sides: Vec<_> = report.sides.iter().map(indices).collect();
                    let outliers: Vec<_> =
                        report.outliers.iter().map(|rank| rank.index()).collect();
                    if ranks == 2 {
                        assert_eq!(sides, [[0], [1]], "{name}");
                        assert!(outliers.is_empty(), "{name}");
                    } else {
                        assert_eq!(sides, [others.as_slice(), &[culprit]], "{name}");
                        assert_eq!(outliers, [culprit], "{name}");
                    }
                    let odd = report.sides.iter().find(|side| indices(side) == [culprit]);
                    let odd = odd.unwrap();
                    assert_eq!(odd.signature, fault.odd.signature, "{name}");
                    let site = format!("rank {culprit}, call {seq}");
                    assert_eq!(odd.sites[0].0.to_string(), site, "{name}");
                    assert!(report.absent.is_empty() && report.waits.is_empty(), "{name}");
                };
                // Every interleaving of two and three ranks.
                if ranks < 4 {
                    let story = story(&fault, ranks, culprit, false);
                    runs += run_all(&story, 2_000, |driver| {
                        is_told(driver, &name, |report| check(0, report));
                    });
                }
                let story = story(&fault, ranks, culprit, true);
                for _ in 0..8 {
                    let driver = run(&story, |ways| dice.below(ways));
                    is_told(&driver, &name, |report| check(1, report));
                    runs += 1;
                }
            }
        }
    }
    assert!(runs > 5_000, "{runs}");
}

#[test]
fn an_even_split_names_both_sides() {
    let acts = |count| posted_and_waited(0, all_reduce(count)).to_vec();
    let story =
        Story { comms: vec![vec![0, 1, 2, 3]], ranks: vec![acts(2), acts(1), acts(1), acts(2)] };
    let mut dice = Dice::new(4);
    for _ in 0..50 {
        let driver = run(&story, |ways| dice.below(ways));
        is_told(&driver, "two against two", |report| {
            let sides: Vec<_> = report.sides.iter().map(indices).collect();
            assert_eq!(sides, [[0, 3], [1, 2]]);
            assert!(report.outliers.is_empty());
            assert_eq!(report.aspects, Aspects::NONE.with(Aspect::Count));
        });
    }
}

#[test]
fn three_sides_without_a_majority_differ_in_pairs() {
    let acts = |signature| posted_and_waited(0, signature).to_vec();
    let max = collective(Operation::AllReduce { reduction: Reduction::Max }, Dtype::F32, 1);
    let ranks = vec![acts(all_reduce(1)), acts(max), acts(all_reduce(2))];
    let story = Story { comms: vec![vec![0, 1, 2]], ranks };
    run_all(&story, 2_000, |driver| {
        is_told(driver, "three sides", |report| {
            assert!(report.outliers.is_empty());
            let aspects = [Aspect::Count, Aspect::Reduction].into_iter().collect();
            assert_eq!(report.aspects, aspects);
        });
    });
}

#[test]
fn a_rank_that_tags_nothing_is_on_no_side_of_a_tag() {
    let acts = |tag| {
        let call = Call { tag, ..call(0, all_reduce(1)) };
        vec![Act::Post { stream: 0, calls: vec![call] }, Act::Wait { stream: 0 }]
    };
    let ranks = vec![acts(Some("a")), acts(None), acts(None), acts(None), acts(Some("b"))];
    let story = Story { comms: vec![(0..5).collect()], ranks };
    let mut dice = Dice::new(5);
    for _ in 0..50 {
        let driver = run(&story, |ways| dice.below(ways));
        is_told(&driver, "tags", |report| {
            assert_eq!(report.aspects, Aspects::NONE.with(Aspect::Tag));
            // The majority contradicts nobody.
            assert!(report.outliers.is_empty());
            let sides: Vec<_> = report.sides.iter().map(indices).collect();
            assert_eq!(sides, [[1, 2, 3].as_slice(), &[0], &[4]]);
        });
    }
}

#[test]
fn a_message_differs_in_count_or_type() {
    let to_1 = |dtype, count| Signature::send(rank(1), dtype, count);
    let from_0 = |dtype, count| Signature::recv(rank(0), dtype, count);
    for (recv, aspect) in
        [(from_0(Dtype::F32, 3), Aspect::Count), (from_0(Dtype::I32, 4), Aspect::ElementType)]
    {
        let ranks = vec![
            posted_and_waited(0, to_1(Dtype::F32, 4)).to_vec(),
            posted_and_waited(0, recv).to_vec(),
        ];
        let story = Story { comms: vec![vec![0, 1]], ranks };
        run_all(&story, 2_000, |driver| {
            is_told(driver, "message", |report| {
                assert_eq!(report.kind, Kind::Mismatch);
                assert_eq!(report.aspects, Aspects::NONE.with(aspect));
                let seq = Seq::Message { from: rank(0), to: rank(1), number: 0 };
                assert_eq!(report.seq, Some(seq));
                assert_eq!(report.sides.len(), 2);
                assert!(report.outliers.is_empty());
            });
        });
    }
}

const ENDINGS: [Ending; 6] = [
    Ending::Returned,
    Ending::Panicked,
    Ending::Dropped,
    Ending::Closed,
    Ending::Aborted,
    Ending::Killed,
];

#[test]
fn a_rank_that_is_gone_releases_its_peers_however_it_went() {
    for how in ENDINGS {
        for ranks in 2..=4_u32 {
            for missing in 0..ranks {
                for leaves in [false, true] {
                    let acts = (0..ranks).map(|rank| {
                        if rank != missing {
                            return posted_and_waited(0, all_reduce(4)).to_vec();
                        }
                        // To leave one communicator is enough: then it may live on.
                        let leave = Act::Leave { comm: 0, how };
                        if leaves { vec![leave] } else { vec![Act::End(how)] }
                    });
                    let story = Story { comms: vec![(0..ranks).collect()], ranks: acts.collect() };
                    run_all(&story, 300, |driver| missing_rank(driver, ranks, missing, how));
                }
            }
        }
    }
}

fn missing_rank(driver: &Driver<'_>, ranks: u32, missing: u32, how: Ending) {
    let [report] = driver.reports.as_slice() else { panic!("{} reports", driver.reports.len()) };
    assert_eq!(report.kind, Kind::MissingRank);
    assert_eq!(report.seq, Some(Seq::Collective(0)));
    assert!(report.aspects.is_empty() && report.outliers.is_empty());
    let [side] = report.sides.as_slice() else { panic!("{report}") };
    let others: Vec<u32> = (0..ranks).filter(|rank| *rank != missing).collect();
    assert_eq!(indices(side), others);
    let [absent] = report.absent.as_slice() else { panic!("{report}") };
    assert_eq!(absent.member.world.index(), missing);
    assert_eq!(absent.why, Why::Ended { how, words: None });
    for (rank, fate) in driver.fates().into_iter().enumerate() {
        let is_missing = u32::try_from(rank).unwrap() == missing;
        let expected = if is_missing { Fate::Finished } else { Fate::Told(report.clone()) };
        assert_eq!(fate, expected);
    }
}

#[test]
fn a_message_to_or_from_a_rank_that_is_gone_is_unmatched() {
    let send = Signature::send(rank(1), Dtype::F32, 1);
    let recv = Signature::recv(rank(1), Dtype::F32, 1);
    for (signature, from, to) in [(send, 0, 1), (recv, 1, 0)] {
        for how in ENDINGS {
            let ranks = vec![posted_and_waited(0, signature).to_vec(), vec![Act::End(how)], vec![]];
            let story = Story { comms: vec![vec![0, 1, 2]], ranks };
            run_all(&story, 300, |driver| {
                let [report] = driver.reports.as_slice() else { panic!("one report") };
                assert_eq!(report.kind, Kind::UnmatchedMessage);
                let seq = Seq::Message { from: rank(from), to: rank(to), number: 0 };
                assert_eq!(report.seq, Some(seq));
                assert_eq!(report.absent[0].member.world.index(), 1);
                assert_eq!(report.absent[0].why, Why::Ended { how, words: None });
                let fates = driver.fates();
                assert_eq!(fates[0], Fate::Told(report.clone()));
                assert_eq!(fates[1..], [Fate::Finished, Fate::Finished]);
            });
        }
    }
}
