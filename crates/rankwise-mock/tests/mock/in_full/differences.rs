//! One rank asks for something else.

use rankwise_comm::prelude::*;

use super::calls::{self, Asked, Does, asked, sum};
use super::{RANKS, Way, named, odd_one, one_text, others, sites};
use crate::watchdog::in_time;

/// What the peers ask for, what the odd one does, and in what the two differ.
type Difference = (Asked, Asked, &'static str);

/// Counts of different things are not compared, nor what only one of the two has.
fn operations() -> Vec<Difference> {
    let odd = [
        asked(Does::Reduce(Reduction::Sum, 0), "reduce(sum, root 0)"),
        asked(Does::Broadcast(0), "broadcast(root 0)"),
        asked(Does::AllGather, "all_gather"),
        asked(Does::ReduceScatter(Reduction::Sum), "reduce_scatter(sum)"),
        asked(Does::AllToAll, "all_to_all"),
        asked(Does::Gather(0), "gather(root 0)"),
        asked(Does::Scatter(0), "scatter(root 0)"),
    ];
    let mut all: Vec<Difference> = Vec::new();
    for odd in odd {
        all.push((sum(), odd.clone(), "operation"));
        all.push((odd, sum(), "operation"));
    }
    let gather = || asked(Does::AllGather, "all_gather");
    all.push((gather().of(Dtype::F32, 5, "5 × f32"), sum(), "operation"));
    let reduce = asked(Does::Reduce(Reduction::Max, 1), "reduce(max, root 1)");
    let reduce = reduce.of(Dtype::I32, 5, "5 × i32").tagged("accuracy");
    let everything = "operation, count, element type, reduction, tag";
    all.push((sum().tagged("loss"), reduce.clone(), everything));
    let broadcast = asked(Does::Broadcast(0), "broadcast(root 0)");
    all.push((broadcast, reduce, "operation, count, element type, root"));
    all
}

fn element_types() -> Vec<Difference> {
    let odd = [
        (Dtype::I8, "4 × i8"),
        (Dtype::U8, "4 × u8"),
        (Dtype::I32, "4 × i32"),
        (Dtype::U32, "4 × u32"),
        (Dtype::I64, "4 × i64"),
        (Dtype::U64, "4 × u64"),
        (Dtype::F16, "4 × f16"),
        (Dtype::Bf16, "4 × bf16"),
        (Dtype::F64, "4 × f64"),
        (Dtype::F8E4M3, "4 × f8e4m3"),
        (Dtype::F8E5M2, "4 × f8e5m2"),
    ];
    odd.map(|(dtype, moves)| (sum(), sum().of(dtype, 4, moves), "element type")).into()
}

fn counts() -> Vec<Difference> {
    let of = |count, moves| sum().of(Dtype::F32, count, moves);
    vec![
        (sum(), of(3, "3 × f32"), "count"),
        (sum(), of(1000, "1000 × f32"), "count"),
        (sum(), of(0, "0 × f32"), "count"),
        (of(0, "0 × f32"), sum(), "count"),
        // As many bytes.
        (sum(), sum().of(Dtype::F64, 2, "2 × f64"), "count, element type"),
    ]
}

fn reductions() -> Vec<Difference> {
    let odd = [
        (Reduction::Prod, "all_reduce(prod)"),
        (Reduction::Max, "all_reduce(max)"),
        (Reduction::Min, "all_reduce(min)"),
        (Reduction::Avg, "all_reduce(avg)"),
        (Reduction::PreMulSum, "all_reduce(premul)"),
    ];
    odd.map(|(by, verb)| (sum(), asked(Does::AllReduce(by), verb), "reduction")).into()
}

fn tags() -> Vec<Difference> {
    vec![(sum().tagged("loss"), sum().tagged("accuracy"), "tag")]
}

/// Each other root than the peers', which is the first or the last rank.
fn roots(ranks: u32) -> Vec<Difference> {
    let last = ranks - 1;
    let broadcast = |root| asked(Does::Broadcast(root), format!("broadcast(root {root})"));
    let scatter = |root| asked(Does::Scatter(root), format!("scatter(root {root})"));
    let reduce =
        |by, root| asked(Does::Reduce(by, root), format!("reduce({}, root {root})", by.name()));
    let mut all: Vec<Difference> =
        (1..ranks).map(|root| (broadcast(0), broadcast(root), "root")).collect();
    all.push((scatter(last), scatter(0), "root"));
    let odd = reduce(Reduction::Max, 0);
    all.push((reduce(Reduction::Sum, last), odd, "reduction, root"));
    all
}

/// What every rank must be told.
fn expected(ranks: u32, odd: u32, (peers, other, aspects): &Difference) -> String {
    let [at_first, at_odd, at_peers] = sites();
    let first = calls::first().words();
    let of_peers = (named(&others(ranks, odd)), peers, at_peers);
    let of_odd = (odd.to_string(), other, at_odd);
    // The majority stands first; of two, rank 0.
    let sides = if ranks == 2 && odd == 0 { [of_odd, of_peers] } else { [of_peers, of_odd] };
    let verbs = match &sides {
        [(_, one, _), (_, other, _)] if one.verb == other.verb => one.verb.clone(),
        [(_, one, _), (_, other, _)] => format!("{} against {}", one.verb, other.verb),
    };
    let who = match ranks {
        2 => ", no majority: an even split".to_owned(),
        _ => format!(", outlier rank {odd}"),
    };
    let headline =
        format!("mismatch of {aspects}: {verbs}, collective 1 of world ({ranks} ranks){who}");
    let side = |(ranks, asked, site): &(String, &Asked, String)| {
        format!("\n  rank {ranks}: {}\n    at {site}", asked.words())
    };
    // What came before: of the outlier, or of both.
    let recent = sides.iter().filter(|(whose, ..)| ranks == 2 || *whose == odd.to_string());
    let last = |(whose, asked, site): &(String, &Asked, String)| {
        let own = asked.words();
        format!(
            "\n  last calls of rank {whose}:
    {first}, collective 0 of world, at {at_first}
    {own}, collective 1 of world, at {site}"
        )
    };
    headline + &sides.iter().map(side).chain(recent.map(last)).collect::<String>()
}

/// How many reports were compared, by one way, for such differences.
fn compare(way: Way, differences: impl Fn(u32) -> Vec<Difference> + Send + 'static) -> usize {
    in_time(move || {
        let mut compared = 0;
        for ranks in RANKS {
            for difference in differences(ranks) {
                for odd in 0..ranks {
                    let (peers, other, _) = &difference;
                    let ended = way.world(ranks).run(|comm| odd_one(comm, way, odd, peers, other));
                    assert_eq!(one_text(ended), expected(ranks, odd, &difference), "{way:?}");
                    compared += 1;
                }
            }
        }
        compared
    })
}

#[test]
fn an_operation_that_differs() {
    for way in Way::ALL {
        // 2 to 8 ranks have 35 culprits.
        assert_eq!(compare(way, |_| operations()), 35 * (14 + 3));
    }
}

#[test]
fn an_element_type_that_differs() {
    for way in Way::ALL {
        assert_eq!(compare(way, |_| element_types()), 35 * 11);
    }
}

#[test]
fn a_count_that_differs_and_one_of_nothing() {
    for way in Way::ALL {
        assert_eq!(compare(way, |_| counts()), 35 * 5);
    }
}

#[test]
fn a_reduction_that_differs() {
    for way in Way::ALL {
        assert_eq!(compare(way, |_| reductions()), 35 * 5);
    }
}

#[test]
fn a_root_that_differs() {
    for way in Way::ALL {
        // Of each number of ranks n: n culprits, n - 1 roots and two more.
        assert_eq!(compare(way, roots), (2..=8).map(|ranks| ranks * (ranks + 1)).sum::<usize>());
    }
}

#[test]
fn a_tag_that_differs() {
    for way in Way::ALL {
        assert_eq!(compare(way, |_| tags()), 35);
    }
}
