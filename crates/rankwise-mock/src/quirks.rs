//! What a library does differently from the specification, on request.

use core::fmt;

use rankwise_comm::{Capabilities, Communicator, DtypeSet, Error, FoldOrder, Post};
use rankwise_model::{Dtype, GroupSize, Reduction};
use rankwise_program::Verb;

use crate::comm::Comm;
use crate::submit::submit_plainly;

/// One thing that a library does differently from the specification.
///
/// The values of a call that is done are never different: quirks are about which calls are
/// refused, and who waits for whom.
///
/// | quirk | the mock usually | with it |
/// |---|---|---|
/// | [`ZeroIsDropped`](Self::ZeroIsDropped) | a collective of count 0 needs all its ranks, and has a number | it is checked, then dropped: no barrier, no number, no mismatch. Messages of count 0 still need their peer |
/// | [`OneRankAtOnce`](Self::OneRankAtOnce) | a collective of a group waits for the other calls of the group | on a communicator of one rank it goes ahead of them, and stays done if the group fails |
/// | [`Fp8AloneRefused`](Self::Fp8AloneRefused) | averages and pre-multiplied sums of fp8 are done on one rank | they are not declared there, and refused |
/// | [`PoisonedGroups`](Self::PoisonedGroups) | a group whose closure goes on after a refused call makes the others | it makes none, and returns the refusal |
/// | [`StickyRefusals`](Self::StickyRefusals) | a refused call changes nothing | every later call of the rank on that communicator gets the same refusal, as on a non-blocking communicator of NCCL |
///
/// Source: what NCCL 2.32.3 was seen to do, and its code (`enqueue.cc`, `onerank.cu`,
/// `group.cc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quirk {
    /// A collective of count 0 is no barrier.
    ZeroIsDropped,
    /// A collective of one rank is not part of its group.
    OneRankAtOnce,
    /// `avg` and `premul_sum` of fp8 do not exist on one rank.
    Fp8AloneRefused,
    /// A refused call makes its group fail.
    PoisonedGroups,
    /// A refused call makes the communicator refuse everything.
    StickyRefusals,
}

/// A set of [`Quirk`]s, for [`World::with_quirks`](crate::World::with_quirks).
///
/// ```
/// use rankwise_comm::prelude::*;
/// use rankwise_mock::{Quirks, World};
///
/// let alone = |quirks| {
///     World::of(2).with_quirks(quirks).run(|comm| {
///         if comm.rank().index() == 0 {
///             let mut empty = comm.buffer::<f32>(0)?;
///             comm.all_reduce_in_place(Reduction::Sum, &mut empty)?; // rank 1 never calls
///             comm.stream().fence()?.wait()?;
///         }
///         Ok::<_, Error>(())
///     })
/// };
/// assert!(alone(Quirks::NONE)[0].is_err()); // rank 1 is missing
/// assert!(alone(Quirks::NCCL_2_32)[0].is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quirks(u8);

impl Quirk {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ZeroIsDropped,
        Self::OneRankAtOnce,
        Self::Fp8AloneRefused,
        Self::PoisonedGroups,
        Self::StickyRefusals,
    ];

    const fn bit(self) -> u8 {
        1_u8.wrapping_shl(self as u32)
    }
}

impl Quirks {
    /// The specification, and nothing else.
    pub const NONE: Self = Self(0);

    /// What NCCL 2.32 does on a blocking communicator.
    pub const NCCL_2_32: Self = Self::NONE
        .with(Quirk::ZeroIsDropped)
        .with(Quirk::OneRankAtOnce)
        .with(Quirk::Fp8AloneRefused)
        .with(Quirk::PoisonedGroups);

    /// What NCCL 2.32 does on a non-blocking communicator.
    pub const NCCL_2_32_NONBLOCKING: Self = Self::NCCL_2_32.with(Quirk::StickyRefusals);

    /// With one more.
    #[must_use]
    pub const fn with(self, quirk: Quirk) -> Self {
        Self(self.0 | quirk.bit())
    }

    /// Without one.
    #[must_use]
    pub const fn without(self, quirk: Quirk) -> Self {
        Self(self.0 & !quirk.bit())
    }

    /// Whether it is among them.
    pub const fn contains(self, quirk: Quirk) -> bool {
        self.0 & quirk.bit() != 0
    }

    /// What communicators of so many ranks declare.
    pub(crate) fn capabilities(self, ranks: GroupSize) -> Capabilities {
        let backend = match self {
            Self::NONE => concat!("mock ", env!("CARGO_PKG_VERSION")),
            Self::NCCL_2_32 => {
                concat!("mock ", env!("CARGO_PKG_VERSION"), " with the quirks of NCCL 2.32")
            }
            _ => concat!("mock ", env!("CARGO_PKG_VERSION"), " with quirks"),
        };
        let mut capabilities = Capabilities::everything(backend, FoldOrder::Rank);
        if self.contains(Quirk::PoisonedGroups) {
            capabilities = capabilities.with_poisoned_groups();
        }
        if self.contains(Quirk::Fp8AloneRefused) && ranks == GroupSize::ONE {
            let scaled = DtypeSet::all().without(Dtype::F8E4M3).without(Dtype::F8E5M2);
            for reduction in [Reduction::Avg, Reduction::PreMulSum] {
                capabilities = capabilities.with_reduction(reduction, scaled);
            }
        }
        capabilities
    }
}

/// Enqueues what the quirks leave of the calls.
pub(crate) fn submit(quirks: Quirks, posts: &[&Post<'_, Comm>]) -> Result<(), Error> {
    let mut together = Vec::with_capacity(posts.len());
    for post in posts {
        let (comm, call) = (post.comm(), post.call());
        comm.check_usable()?;
        match call.signature().verb() {
            Verb::Collective(_) if call.count() == 0 && quirks.contains(Quirk::ZeroIsDropped) => {}
            Verb::Collective(_)
                if comm.ranks() == GroupSize::ONE && quirks.contains(Quirk::OneRankAtOnce) =>
            {
                submit_plainly(&[post])?;
            }
            _ => together.push(*post),
        }
    }
    submit_plainly(&together)
}

impl fmt::Display for Quirks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Quirk::ALL.into_iter().filter(|quirk| self.contains(*quirk))).finish()
    }
}
