//! The laws: what must hold between calls, whatever the values.

mod collectives;
mod endings;
mod memory;
mod numbers;
mod refusals;
mod splits;
mod streams;

use core::fmt;
use core::time::Duration;

use rankwise_comm::{Capabilities, Communicator};
use rankwise_model::{Dtype, GroupSize, OperationKind, Reduction};

use crate::crew::Seat;
use crate::defect::Defect;
use crate::meeting::Meeting;

/// What must hold between calls. Laws are about 32-bit integers: the matrix is about types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Law {
    /// `reduce_scatter`, then `all_gather` of the shards, is `all_reduce`.
    ReduceScatterThenAllGather,
    /// `reduce` to a root, then `broadcast` from it, is `all_reduce`.
    ReduceThenBroadcast,
    /// `gather` to a root, then `broadcast` from it, is `all_gather`.
    GatherThenBroadcast,
    /// `scatter` from a root, then `gather` to it, changes nothing.
    ScatterThenGather,
    /// `all_to_all` twice changes nothing.
    AllToAllTwice,
    /// A broadcast from each root in turn gives everybody everything, without waits.
    BroadcastFromEachRoot,
    /// Calls of several kinds in one group do what they do alone.
    GroupOfManyCalls,
    /// Messages between two ranks arrive in the order in which they were sent.
    MessagesInOrder,
    /// Many calls that feed each other need no wait between them.
    ManyCallsOneWait,
    /// A call of no elements disturbs neither the one before nor the one after.
    NothingInBetween,

    /// Reversed ranks: blocks and shards move with them, the sum stays.
    Relabelling,
    /// Each colour is a group of its own.
    SplitByColour,
    /// Keys order a new group, equal keys leave the order of the old one, and no colour
    /// is no group.
    SplitOrder,
    /// Calls on a communicator and on what was split from it may alternate.
    ParentAndChild,

    /// A call sees what was written before it on the stream, and not what comes after.
    StreamOrder,
    /// A fence covers everything before it: it is not passed early.
    FenceNotEarly,
    /// A fence covers nothing after it: it is passed although later work waits.
    FenceNotLate,
    /// A stream that waits for a fence of another sees what that one has done.
    StreamWaitsForStream,
    /// A fetch is what the memory held then, whatever is written later.
    FetchIsASnapshot,
    /// A read waits for the last writer, on whichever stream.
    ReadWaitsForWriter,

    /// Input and output may be parts of one buffer.
    PartsOfOneBuffer,
    /// Buffers that are dropped with work in flight are still read and written.
    DroppedInFlight,
    /// Leaked buffers, fences and pending values harm nobody.
    Leaks,

    /// Calls that are wrong on paper are refused with both numbers, and leave no trace.
    Refusals,
    /// A group that is given up halfway posts nothing; one that goes on after a refused call
    /// posts the others, or nothing if that is declared.
    GroupGivenUp,

    /// An abort ends a wait, and says that it does.
    AbortEndsAWait,
    /// A close waits for what was enqueued.
    CloseFinishes,
    /// A close gives up at its deadline.
    CloseGivesUp,
}

/// What a law can rely on beside the communicator.
pub(crate) struct Around {
    /// Where the ranks can meet outside the backend.
    pub(crate) meeting: Meeting,
    /// How long anything may take that must not wait for peers.
    pub(crate) patience: Duration,
}

/// What a backend must declare for a law to be about it.
struct Needs {
    least_ranks: u32,
    splits: bool,
    calls: &'static [(OperationKind, Option<Reduction>)],
}

const SUM: Option<Reduction> = Some(Reduction::Sum);
const ALL_REDUCE: (OperationKind, Option<Reduction>) = (OperationKind::AllReduce, SUM);
const ALL_GATHER: (OperationKind, Option<Reduction>) = (OperationKind::AllGather, None);
const BROADCAST: (OperationKind, Option<Reduction>) = (OperationKind::Broadcast, None);
const GATHER: (OperationKind, Option<Reduction>) = (OperationKind::Gather, None);
const REDUCE_SCATTER: (OperationKind, Option<Reduction>) = (OperationKind::ReduceScatter, SUM);
const MESSAGE: (OperationKind, Option<Reduction>) = (OperationKind::Message, None);

impl Law {
    /// Every law.
    pub const ALL: [Self; 28] = [
        Self::ReduceScatterThenAllGather,
        Self::ReduceThenBroadcast,
        Self::GatherThenBroadcast,
        Self::ScatterThenGather,
        Self::AllToAllTwice,
        Self::BroadcastFromEachRoot,
        Self::GroupOfManyCalls,
        Self::MessagesInOrder,
        Self::ManyCallsOneWait,
        Self::NothingInBetween,
        Self::Relabelling,
        Self::SplitByColour,
        Self::SplitOrder,
        Self::ParentAndChild,
        Self::StreamOrder,
        Self::FenceNotEarly,
        Self::FenceNotLate,
        Self::StreamWaitsForStream,
        Self::FetchIsASnapshot,
        Self::ReadWaitsForWriter,
        Self::PartsOfOneBuffer,
        Self::DroppedInFlight,
        Self::Leaks,
        Self::Refusals,
        Self::GroupGivenUp,
        Self::AbortEndsAWait,
        Self::CloseFinishes,
        Self::CloseGivesUp,
    ];

    /// What it is called in the names of cases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReduceScatterThenAllGather => "reduce_scatter then all_gather",
            Self::ReduceThenBroadcast => "reduce then broadcast",
            Self::GatherThenBroadcast => "gather then broadcast",
            Self::ScatterThenGather => "scatter then gather",
            Self::AllToAllTwice => "all_to_all twice",
            Self::BroadcastFromEachRoot => "broadcast from each root",
            Self::GroupOfManyCalls => "group of many calls",
            Self::MessagesInOrder => "messages in order",
            Self::ManyCallsOneWait => "many calls, one wait",
            Self::NothingInBetween => "nothing in between",
            Self::Relabelling => "relabelling",
            Self::SplitByColour => "split by colour",
            Self::SplitOrder => "split order",
            Self::ParentAndChild => "parent and child",
            Self::StreamOrder => "stream order",
            Self::FenceNotEarly => "fence not early",
            Self::FenceNotLate => "fence not late",
            Self::StreamWaitsForStream => "stream waits for stream",
            Self::FetchIsASnapshot => "fetch is a snapshot",
            Self::ReadWaitsForWriter => "read waits for writer",
            Self::PartsOfOneBuffer => "parts of one buffer",
            Self::DroppedInFlight => "dropped in flight",
            Self::Leaks => "leaks",
            Self::Refusals => "refusals",
            Self::GroupGivenUp => "group given up",
            Self::AbortEndsAWait => "abort ends a wait",
            Self::CloseFinishes => "close finishes",
            Self::CloseGivesUp => "close gives up",
        }
    }

    const fn needs(self) -> Needs {
        const fn calls(calls: &'static [(OperationKind, Option<Reduction>)]) -> Needs {
            Needs { least_ranks: 1, splits: false, calls }
        }
        const fn of_two(calls: &'static [(OperationKind, Option<Reduction>)]) -> Needs {
            Needs { least_ranks: 2, splits: false, calls }
        }
        const fn splits(calls: &'static [(OperationKind, Option<Reduction>)]) -> Needs {
            Needs { least_ranks: 1, splits: true, calls }
        }
        match self {
            Self::ReduceScatterThenAllGather => calls(&[ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER]),
            Self::ReduceThenBroadcast => {
                calls(&[ALL_REDUCE, (OperationKind::Reduce, SUM), BROADCAST])
            }
            Self::GatherThenBroadcast => calls(&[ALL_GATHER, GATHER, BROADCAST]),
            Self::ScatterThenGather => calls(&[(OperationKind::Scatter, None), GATHER]),
            Self::AllToAllTwice => calls(&[(OperationKind::AllToAll, None)]),
            Self::BroadcastFromEachRoot => calls(&[BROADCAST]),
            Self::GroupOfManyCalls => calls(&[ALL_REDUCE, ALL_GATHER, MESSAGE]),
            Self::MessagesInOrder => of_two(&[MESSAGE]),
            Self::Relabelling => splits(&[ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER]),
            Self::SplitByColour => splits(&[ALL_REDUCE, ALL_GATHER]),
            Self::SplitOrder => splits(&[ALL_GATHER]),
            Self::ParentAndChild => splits(&[ALL_REDUCE]),
            Self::FenceNotEarly
            | Self::FenceNotLate
            | Self::StreamWaitsForStream
            | Self::ReadWaitsForWriter
            | Self::DroppedInFlight
            | Self::AbortEndsAWait
            | Self::CloseGivesUp => of_two(&[ALL_REDUCE]),
            Self::Refusals => calls(&[ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST]),
            Self::ManyCallsOneWait
            | Self::NothingInBetween
            | Self::StreamOrder
            | Self::FetchIsASnapshot
            | Self::PartsOfOneBuffer
            | Self::Leaks
            | Self::GroupGivenUp
            | Self::CloseFinishes => calls(&[ALL_REDUCE]),
        }
    }

    /// Why the law is not about groups of this size on a backend that declares this.
    pub(crate) fn skipped_for(
        self,
        ranks: GroupSize,
        capabilities: &Capabilities,
    ) -> Option<String> {
        let needs = self.needs();
        let backend = capabilities.backend();
        if ranks.get() < needs.least_ranks {
            return Some(format!("it needs {} ranks", needs.least_ranks));
        }
        if needs.splits && !capabilities.splits() {
            return Some(format!("{backend} does not declare splits"));
        }
        let missing = needs
            .calls
            .iter()
            .find(|(kind, reduction)| !capabilities.supports(*kind, *reduction, Dtype::I32));
        missing.map(|(kind, _)| format!("{backend} does not declare {kind} over {}", Dtype::I32))
    }

    /// What one rank does.
    pub(crate) fn hold<C: Communicator>(
        self,
        seat: &mut Seat<C>,
        around: &Around,
    ) -> Result<(), Defect> {
        match self {
            Self::ReduceScatterThenAllGather => {
                collectives::reduce_scatter_then_all_gather(seat.comm()?)
            }
            Self::ReduceThenBroadcast => collectives::reduce_then_broadcast(seat.comm()?),
            Self::GatherThenBroadcast => collectives::gather_then_broadcast(seat.comm()?),
            Self::ScatterThenGather => collectives::scatter_then_gather(seat.comm()?),
            Self::AllToAllTwice => collectives::all_to_all_twice(seat.comm()?),
            Self::BroadcastFromEachRoot => collectives::broadcast_from_each_root(seat.comm()?),
            Self::GroupOfManyCalls => collectives::group_of_many_calls(seat.comm()?),
            Self::MessagesInOrder => collectives::messages_in_order(seat.comm()?),
            Self::ManyCallsOneWait => collectives::many_calls_one_wait(seat.comm()?),
            Self::NothingInBetween => collectives::nothing_in_between(seat.comm()?),
            Self::Relabelling => splits::relabelling(seat.comm()?),
            Self::SplitByColour => splits::split_by_colour(seat.comm()?),
            Self::SplitOrder => splits::split_order(seat.comm()?),
            Self::ParentAndChild => splits::parent_and_child(seat.comm()?),
            Self::StreamOrder => streams::stream_order(seat.comm()?),
            Self::FenceNotEarly => streams::fence_not_early(seat.comm()?, around),
            Self::FenceNotLate => streams::fence_not_late(seat.comm()?, around),
            Self::StreamWaitsForStream => streams::stream_waits_for_stream(seat.comm()?, around),
            Self::FetchIsASnapshot => streams::fetch_is_a_snapshot(seat.comm()?),
            Self::ReadWaitsForWriter => streams::read_waits_for_writer(seat.comm()?, around),
            Self::PartsOfOneBuffer => memory::parts_of_one_buffer(seat.comm()?),
            Self::DroppedInFlight => memory::dropped_in_flight(seat.comm()?, around),
            Self::Leaks => memory::leaks(seat.comm()?),
            Self::Refusals => refusals::refusals(seat.comm()?),
            Self::GroupGivenUp => refusals::group_given_up(seat.comm()?),
            Self::AbortEndsAWait => endings::abort_ends_a_wait(seat.take()?, around),
            Self::CloseFinishes => endings::close_finishes(seat.take()?, around),
            Self::CloseGivesUp => endings::close_gives_up(seat.take()?, around),
        }
    }

    /// Whether the communicators are gone afterwards.
    pub(crate) const fn is_an_ending(self) -> bool {
        matches!(self, Self::AbortEndsAWait | Self::CloseFinishes | Self::CloseGivesUp)
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
