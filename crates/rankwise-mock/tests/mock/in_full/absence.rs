//! One rank does not come.

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, Fault, Faults};

use super::calls::{first, sum};
use super::{RANKS, Way, make, named, one_text, others};
use crate::watchdog::in_time;

/// How a rank fails to come to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    /// It has called nothing at all.
    ReturnsAtOnce,
    Returns,
    Panics,
    IsKilled,
    Aborts,
}

impl Absence {
    const ALL: [Self; 5] =
        [Self::ReturnsAtOnce, Self::Returns, Self::Panics, Self::IsKilled, Self::Aborts];

    /// Which call it does not come to.
    const fn call(self) -> u32 {
        if matches!(self, Self::ReturnsAtOnce) { 0 } else { 1 }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::ReturnsAtOnce | Self::Returns => "returned",
            // A message of two lines.
            Self::Panics => "panicked: gives up\n    for good",
            Self::IsKilled => "was killed: killed on request, before its call 1",
            Self::Aborts => "aborted: no more",
        }
    }
}

/// A call to which all come, unless the odd one has called nothing; then one without it.
fn without(comm: &Comm, way: Way, odd: u32, how: Absence) -> Result<(), Error> {
    let is_odd = comm.rank().index() == odd;
    if how != Absence::ReturnsAtOnce {
        make!(comm, way, &first())?;
        comm.stream().fence()?.wait()?;
    }
    match how {
        Absence::ReturnsAtOnce | Absence::Returns if is_odd => return Ok(()),
        Absence::Panics => assert!(!is_odd, "gives up\nfor good"),
        Absence::Aborts if is_odd => comm.abort_handle().abort("no more"),
        _ => {}
    }
    make!(comm, way, &sum())?;
    comm.stream().fence()?.wait()
}

/// Where the first call stands, and the one that lacks a rank.
fn sites() -> [String; 2] {
    const FIRST: u32 = line!() - 15;
    [(FIRST, 9), (FIRST + 9, 5)].map(|(line, column)| format!("{}:{line}:{column}", file!()))
}

/// What every peer must be told.
fn expected(ranks: u32, odd: u32, how: Absence) -> String {
    let [at_first, at_sum] = sites();
    let (call, peers) = (how.call(), named(&others(ranks, odd)));
    let mut text = format!(
        "missing rank: all_reduce(sum), collective {call} of world ({ranks} ranks), without rank {odd}
  rank {peers}: all_reduce(sum) of 4 × f32
    at {at_sum}
  rank {odd} {}",
        how.words()
    );
    if call > 0 {
        // Of the rank that is missed, and of the first that has called, in rank order.
        let min = format!("all_reduce(min) of 2 × u8, collective 0 of world, at {at_first}");
        let sum = format!("all_reduce(sum) of 4 × f32, collective 1 of world, at {at_sum}");
        let of_odd = format!("\n  last call of rank {odd}:\n    {min}");
        let peer = u32::from(odd == 0);
        let of_peer = format!("\n  last calls of rank {peer}:\n    {min}\n    {sum}");
        text += &if odd == 0 { of_odd + &of_peer } else { of_peer + &of_odd };
    }
    text
}

#[test]
fn a_rank_that_does_not_come() {
    let compared = in_time(|| {
        let mut compared = 0;
        for (ranks, way) in RANKS.flat_map(|ranks| Way::ALL.map(|way| (ranks, way))) {
            for (odd, how) in (0..ranks).flat_map(|odd| Absence::ALL.map(|how| (odd, how))) {
                let faults = match how {
                    Absence::IsKilled => Faults::none().at(odd, "world", 1, Fault::Kill),
                    _ => Faults::none(),
                };
                let world = way.world(ranks).with_faults(faults);
                let ended = world.try_run(|comm| without(comm, way, odd, how));
                let peers = ended.into_iter().zip(0..).filter(|(_, rank)| *rank != odd);
                let peers = peers.map(|(ended, _)| ended.expect("no panic")).collect();
                assert_eq!(one_text::<()>(peers), expected(ranks, odd, how), "{way:?}");
                compared += 1;
            }
        }
        compared
    });
    assert_eq!(compared, 35 * 3 * 5);
}
