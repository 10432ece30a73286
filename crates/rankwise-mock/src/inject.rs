//! Faults on request: what goes wrong, on which rank, in which of its calls.

mod strike;

use core::fmt;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rankwise_program::CommId;
use rankwise_topology::WorldRank;

pub(crate) use self::strike::submit;

/// Faults on request, for a [`World`](crate::World) to run into.
///
/// A fault strikes one rank in one of its calls: the rank of the world, the name of the
/// communicator, and how many calls the rank has made there before (collectives, sends and
/// recvs alike, from 0; splits are not counted). The same faults and the same program fail
/// in the same way, whatever the timing.
///
/// ```
/// use rankwise_comm::prelude::*;
/// use rankwise_mock::{Fault, Faults, World};
///
/// let faults = Faults::none().at(1, "world", 2, Fault::Kill);
/// let ended = World::of(2).with_faults(faults).run(|comm| {
///     let mut x = comm.buffer::<f32>(4)?;
///     for _ in 0..5 {
///         comm.all_reduce_in_place(Reduction::Sum, &mut x)?;
///         comm.stream().fence()?.wait()?;
///     }
///     Ok::<_, Error>(())
/// });
/// let told = ended[0].clone().unwrap_err();
/// assert!(told.to_string().contains("was killed"), "{told}");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    calls: Vec<(Place, Fault)>,
    /// By rank, which of its allocations is refused, from 0.
    refused: Vec<(u32, u64)>,
}

/// What goes wrong in a call.
///
/// | fault | the rank itself | its peers |
/// |---|---|---|
/// | [`Kill`](Self::Kill) | the call and everything after is refused as closed; what it has enqueued and is not being done is taken back | a report that it was killed, in every call that lacks it |
/// | [`Delay`](Self::Delay) | its host comes later | wait |
/// | [`Drop`](Self::Drop) | the call is taken for made, and is not; its output keeps what it held | its next call meets theirs: a mismatch, or a rank that never came |
/// | [`Duplicate`](Self::Duplicate) | the call is made twice | their next call meets the second |
/// | [`Corrupt`](Self::Corrupt) | one bit of its output is wrong, and nothing says so | nothing |
/// | [`InProgress`](Self::InProgress) | the call is enqueued, and its stream does not come to it for so long | wait |
/// | [`LateError`](Self::LateError) | the call is done, then its stream fails: the next wait says so | a report that it was killed, once they lack it |
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The rank is gone from this call on.
    Kill,
    /// The rank makes the call so much later: the thread that makes it sleeps.
    Delay(Duration),
    /// The call is lost.
    Drop,
    /// The call is made twice.
    Duplicate,
    /// After the call, one bit of one element of the rank's output is another. Nothing
    /// happens where the rank has no such element or the element no such bit.
    Corrupt {
        /// Which element of the output, from 0.
        element: u64,
        /// Which bit of it, from the lowest.
        bit: u32,
    },
    /// The device is busy for so long before it comes to the call.
    InProgress(Duration),
    /// After the call, the device reports an error with this text.
    LateError(String),
}

/// A call of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    rank: u32,
    communicator: String,
    number: u64,
}

impl Faults {
    /// None: everything goes well.
    pub const fn none() -> Self {
        Self { calls: Vec::new(), refused: Vec::new() }
    }

    /// And one more: of what `rank` calls on the communicator of that name, call `number`,
    /// from 0. The first communicator is called `world`.
    ///
    /// A call may have several faults; they strike in the order of [`Fault`]'s variants.
    #[must_use]
    pub fn at(mut self, rank: u32, communicator: &str, number: u64, fault: Fault) -> Self {
        let communicator = communicator.to_owned();
        self.calls.push((Place { rank, communicator, number }, fault));
        self
    }

    /// And one more: allocation `number` of `rank`, from 0, finds no memory.
    #[must_use]
    pub fn refuse_memory(mut self, rank: u32, number: u64) -> Self {
        self.refused.push((rank, number));
        self
    }

    /// Some faults among the first `calls` calls of each of `ranks` ranks on the first
    /// communicator: the same ones for the same seed. Delays are short.
    pub fn random(seed: u64, ranks: u32, calls: u64) -> Self {
        let mut state = seed;
        // SplitMix64 (Steele, Lea and Flood, 2014): enough to choose by.
        let mut below = |sides: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)).checked_rem(sides).unwrap_or_default()
        };
        let mut faults = Self::none();
        for _ in 0..1_u64.saturating_add(below(3)) {
            let rank = u32::try_from(below(ranks.into())).unwrap_or_default();
            let (number, short) = (below(calls), Duration::from_micros(below(300)));
            let fault = match below(8) {
                0 => Fault::Kill,
                1 => Fault::Delay(short),
                2 => Fault::Drop,
                3 => Fault::Duplicate,
                4 => {
                    let bit = u32::try_from(below(8)).unwrap_or_default();
                    Fault::Corrupt { element: below(16), bit }
                }
                5 => Fault::InProgress(short),
                6 => Fault::LateError("an uncorrectable error of its memory".to_owned()),
                _ => {
                    faults = faults.refuse_memory(rank, below(4));
                    continue;
                }
            };
            faults = faults.at(rank, "world", number, fault);
        }
        faults
    }
}

impl Fault {
    /// Where it strikes among several of one call.
    const fn order(&self) -> u8 {
        match self {
            Self::Kill => 0,
            Self::Delay(_) => 1,
            Self::Drop => 2,
            Self::Duplicate => 3,
            Self::Corrupt { .. } => 4,
            Self::InProgress(_) => 5,
            Self::LateError(_) => 6,
        }
    }
}

impl fmt::Display for Faults {
    /// As Rust would write it, so that a seed's faults can be copied into a test.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults::none()")?;
        for (Place { rank, communicator, number }, fault) in &self.calls {
            write!(f, ".at({rank}, {communicator:?}, {number}, Fault::{fault:?})")?;
        }
        for (rank, number) in &self.refused {
            write!(f, ".refuse_memory({rank}, {number})")?;
        }
        Ok(())
    }
}

/// The faults of one world, and how far its ranks have come.
pub(crate) struct Injection {
    faults: Faults,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    calls: HashMap<(WorldRank, CommId), u64>,
    allocations: HashMap<WorldRank, u64>,
}

impl Injection {
    /// `None` if nothing goes wrong.
    pub(crate) fn of(faults: &Faults) -> Option<Arc<Self>> {
        let faults = faults.clone();
        (faults != Faults::none()).then(|| Arc::new(Self { faults, made: Mutex::default() }))
    }

    /// What goes wrong in the rank's next call on a communicator, in the order in which it
    /// does; and the call's number.
    pub(crate) fn next_call(
        &self,
        rank: WorldRank,
        comm: CommId,
        name: &str,
    ) -> (u64, Vec<&Fault>) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.calls.entry((rank, comm)).or_default();
        let number = core::mem::replace(count, count.saturating_add(1));
        drop(made);
        let mut here: Vec<&Fault> = self
            .faults
            .calls
            .iter()
            .filter(|(at, _)| {
                (at.rank, at.communicator.as_str(), at.number) == (rank.index(), name, number)
            })
            .map(|(_, fault)| fault)
            .collect();
        here.sort_by_key(|fault| fault.order());
        (number, here)
    }

    /// Whether the rank's next allocation is refused.
    pub(crate) fn refuses_memory(&self, rank: WorldRank) -> bool {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.allocations.entry(rank).or_default();
        let number = core::mem::replace(count, count.saturating_add(1));
        self.faults.refused.contains(&(rank.index(), number))
    }
}
