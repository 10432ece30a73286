//! More than one rank differs, or one differs and another does not come.

use rankwise_comm::prelude::*;
use rankwise_mock::Comm;

use super::calls::{Asked, sum};
use super::{RANKS, Way, make, named, one_text};
use crate::watchdog::in_time;

fn of(count: usize) -> Asked {
    sum().of(Dtype::F32, count, &format!("{count} × f32"))
}

/// A sum of the rank's own count; a rank without one returns.
fn own_count(comm: &Comm, way: Way, counts: &[Option<usize>]) -> Result<(), Error> {
    let own = usize::try_from(comm.rank().index()).expect("small");
    let Some(count) = counts[own] else { return Ok(()) };
    make!(comm, way, &of(count))?;
    comm.stream().fence()?.wait()
}

fn site() -> String {
    const LINE: u32 = line!() - 5;
    format!("{}:{LINE}:5", file!())
}

/// What all ranks that have called are told, by each way.
fn told(counts: &[Option<usize>]) -> String {
    let ranks = u32::try_from(counts.len()).expect("small");
    let mut texts = Way::ALL.map(|way| {
        let ended = way.world(ranks).run(|comm| own_count(comm, way, counts));
        let called = ended.into_iter().zip(counts).filter(|(_, count)| count.is_some());
        one_text(called.map(|(ended, _)| ended).collect())
    });
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
    std::mem::take(&mut texts[0])
}

/// The side of those ranks.
fn side(ranks: &[u32], count: usize) -> String {
    format!("\n  rank {}: all_reduce(sum) of {count} × f32\n    at {}", named(ranks), site())
}

/// The headline up to who it was.
fn headline(ranks: u32) -> String {
    format!("mismatch of count: all_reduce(sum), collective 0 of world ({ranks} ranks)")
}

#[test]
fn half_of_the_ranks_against_the_other_half() {
    in_time(|| {
        for ranks in [2, 4, 6, 8] {
            // The first half, or every second rank.
            let halves: [fn(u32, u32) -> bool; 2] =
                [|rank, ranks| rank < ranks / 2, |rank, _| rank % 2 == 0];
            for is_of_first in halves {
                let of_side =
                    |first| (0..ranks).filter(|rank| is_of_first(*rank, ranks) == first).collect();
                let (first, second): (Vec<u32>, Vec<u32>) = (of_side(true), of_side(false));
                for (one, other) in [(4, 5), (5, 4), (0, 4)] {
                    let count = |rank| if first.contains(&rank) { one } else { other };
                    let counts: Vec<_> = (0..ranks).map(|rank| Some(count(rank))).collect();
                    let wanted = headline(ranks)
                        + ", no majority: an even split"
                        + &side(&first, one)
                        + &side(&second, other);
                    assert_eq!(told(&counts), wanted);
                }
            }
        }
    });
}

#[test]
fn every_rank_against_every_other() {
    in_time(|| {
        for ranks in RANKS {
            let counts: Vec<usize> = (0..ranks).zip(10..).map(|(_, count)| count).collect();
            let wanted = headline(ranks)
                + ", no majority: an even split"
                + &(0..ranks)
                    .zip(&counts)
                    .map(|(rank, count)| side(&[rank], *count))
                    .collect::<String>();
            assert_eq!(told(&counts.into_iter().map(Some).collect::<Vec<_>>()), wanted);
        }
    });
}

/// Two ranks and two and one: the largest side is no majority, and stands first all the same.
#[test]
fn sides_of_which_none_is_a_majority() {
    let text = in_time(|| told(&[Some(6), Some(5), Some(4), Some(5), Some(4)]));
    let wanted =
        headline(5) + ", no majority" + &side(&[1, 3], 5) + &side(&[2, 4], 4) + &side(&[0], 6);
    assert_eq!(text, wanted);
}

#[test]
fn two_outliers_of_different_kinds() {
    in_time(|| {
        for ranks in 5..=8 {
            for (one, other) in pairs(ranks).filter(|(one, other)| one < other) {
                let count = |rank| {
                    if rank == one {
                        3
                    } else if rank == other {
                        5
                    } else {
                        4
                    }
                };
                let counts: Vec<_> = (0..ranks).map(|rank| Some(count(rank))).collect();
                let rest: Vec<u32> =
                    (0..ranks).filter(|rank| ![one, other].contains(rank)).collect();
                let wanted = headline(ranks)
                    + &format!(", outliers rank {one}, {other}")
                    + &side(&rest, 4)
                    + &side(&[one], 3)
                    + &side(&[other], 5);
                assert_eq!(told(&counts), wanted);
            }
        }
    });
}

/// The majority is one of those that have called.
#[test]
fn one_rank_differs_and_another_does_not_come() {
    let compared = in_time(|| {
        let mut compared = 0;
        for ranks in 3..=8 {
            for (odd, absent) in pairs(ranks) {
                let count = |rank| (rank != absent).then_some(if rank == odd { 5 } else { 4 });
                let counts: Vec<_> = (0..ranks).map(count).collect();
                let rest: Vec<u32> =
                    (0..ranks).filter(|rank| ![odd, absent].contains(rank)).collect();
                let (of_rest, of_odd) = (side(&rest, 4), side(&[odd], 5));
                // Of three ranks two have called: there is no majority.
                let sides = match ranks {
                    3 if odd < rest[0] => {
                        ", no majority: an even split".to_owned() + &of_odd + &of_rest
                    }
                    3 => ", no majority: an even split".to_owned() + &of_rest + &of_odd,
                    _ => format!(", outlier rank {odd}") + &of_rest + &of_odd,
                };
                let wanted = headline(ranks) + &sides + &format!("\n  rank {absent} returned");
                assert_eq!(told(&counts), wanted);
                compared += 1;
            }
        }
        compared
    });
    assert_eq!(compared, 6 + 12 + 20 + 30 + 42 + 56);
}

/// Every two ranks, in either order.
fn pairs(ranks: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..ranks)
        .flat_map(move |one| (0..ranks).map(move |other| (one, other)))
        .filter(|(one, other)| one != other)
}
