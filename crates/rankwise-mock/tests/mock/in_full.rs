//! Every way in which one rank's call can differ or lack × every rank × 2 to 8 ranks, by
//! each way that a call can go: the report of every rank, word for word.
//!
//! What is expected is put together here, from the case alone.

mod absence;
mod calls;
mod differences;
mod messages;
mod sides;

use rankwise_comm::prelude::*;
use rankwise_mock::{Comm, World};

use self::calls::{Asked, post};

/// Numbers of ranks that are tried.
const RANKS: core::ops::RangeInclusive<u32> = 2..=8;

/// How a call comes to its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Without a lock that ranks share, as far as that goes.
    Short,
    /// Through the matcher, as all calls of a strict world go.
    Strict,
    /// Through the matcher, as all calls of a group go.
    Group,
}

impl Way {
    const ALL: [Self; 3] = [Self::Short, Self::Strict, Self::Group];

    fn world(self, ranks: u32) -> World {
        let world = World::of(ranks);
        if self == Self::Strict { world.strict() } else { world }
    }
}

/// Makes the call of that way, from the line where this stands.
macro_rules! make {
    ($comm:expr, $way:expr, $asked:expr) => {{
        use $crate::in_full::{Asked, Way, post};
        let (comm, asked): (&rankwise_mock::Comm, &Asked) = ($comm, $asked);
        asked.buffers(comm).and_then(|(x, mut y)| {
            let tag = asked.tag();
            let on = comm.on(comm.stream());
            let on = tag.as_ref().map_or(on, |tag| on.tagged(tag));
            match $way {
                Way::Group => on.group(|group| post(group, asked, &x, &mut y)),
                Way::Short | Way::Strict => post(&on, asked, &x, &mut y),
            }
        })
    }};
}
use make;

/// Calls that all agree on; then rank `odd` asks for something else, or all for the same.
fn odd_one(comm: &Comm, way: Way, odd: u32, peers: &Asked, other: &Asked) -> Result<(), Error> {
    make!(comm, way, &calls::first())?;
    if comm.rank().index() == odd {
        make!(comm, way, other)?;
    } else {
        make!(comm, way, peers)?;
    }
    comm.stream().fence()?.wait()
}

/// Where the first call, the odd one's and its peers' stand.
fn sites() -> [String; 3] {
    const FIRST: u32 = line!() - 11;
    [(FIRST, 5), (FIRST + 2, 9), (FIRST + 4, 9)]
        .map(|(line, column)| format!("{}:{line}:{column}", file!()))
}

/// The one text that all of these are, or a panic.
fn one_text<T>(ended: Vec<Result<T, Error>>) -> String {
    let told = |ended: Result<T, Error>| ended.err().expect("a report").to_string();
    let mut texts: Vec<String> = ended.into_iter().map(told).collect();
    texts.dedup();
    assert_eq!(texts.len(), 1, "one report on every rank: {texts:#?}");
    texts.remove(0)
}

/// Ranks as a report names them: more than two in a row by the first and the last.
fn named(ranks: &[u32]) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut rest = ranks;
    while let Some(first) = rest.first() {
        let mut row = 1;
        while rest.get(row) == Some(&(rest[row - 1] + 1)) {
            row += 1;
        }
        match row {
            1 => names.push(first.to_string()),
            2 => names.push(format!("{first}, {}", first + 1)),
            _ => names.push(format!("{first} to {}", rest[row - 1])),
        }
        rest = &rest[row..];
    }
    names.join(", ")
}

/// All ranks but one.
fn others(ranks: u32, odd: u32) -> Vec<u32> {
    (0..ranks).filter(|rank| *rank != odd).collect()
}
