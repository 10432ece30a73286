//! MPI's conventions, beside NCCL's.
//!
//! Source: the MPI 4.1 standard, sections as given per call. What an operation
//! leaves on every rank is the same; how its counts are passed, and where input and
//! output lie when a call is made in place, is not.

use rankwise_model::operation::{Holders, InPlaceRule};
use rankwise_model::{InPlace, OperationKind, RankLayout};

/// One MPI function that does what an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiCall {
    /// The function, in its C spelling.
    pub function: &'static str,
    /// The section of the MPI 4.1 standard.
    pub section: &'static str,
    /// Its count arguments, in their order.
    pub counts: &'static [MpiCount],
    /// How it is asked to work in place.
    pub in_place: MpiInPlace,
    /// Where input and output then lie.
    pub relation: InPlaceRule,
}

/// One count argument of an MPI function, in elements of its datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiCount {
    /// The parameter.
    pub name: &'static str,
    /// The ranks on which it is significant.
    pub read_on: Holders,
    /// What it counts.
    pub counts: MpiCounts,
}

/// What an MPI count argument counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MpiCounts {
    /// The whole buffer.
    Whole,
    /// What goes to, or comes from, **one** rank; the buffer holds `n` such blocks.
    OneOfMany,
    /// A vector with one entry per rank, which may differ.
    PerRank,
    /// The room for a message, which may be shorter.
    AtMost,
}

/// How an MPI call says that it works in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MpiInPlace {
    /// `MPI_IN_PLACE` for `sendbuf`, on these ranks.
    ForSendBuffer(Holders),
    /// `MPI_IN_PLACE` for `recvbuf`, on these ranks.
    ForRecvBuffer(Holders),
    /// The call has one buffer.
    OneBuffer,
    /// It cannot.
    Never,
}

const fn whole(name: &'static str) -> MpiCount {
    MpiCount { name, read_on: Holders::Everyone, counts: MpiCounts::Whole }
}

const fn one_of_many(name: &'static str, read_on: Holders) -> MpiCount {
    MpiCount { name, read_on, counts: MpiCounts::OneOfMany }
}

const fn per_rank(name: &'static str, read_on: Holders) -> MpiCount {
    MpiCount { name, read_on, counts: MpiCounts::PerRank }
}

const ALL_REDUCE: &[MpiCall] = &[MpiCall {
    function: "MPI_Allreduce",
    section: "6.9.6",
    counts: &[whole("count")],
    in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
    relation: InPlaceRule::SameBuffer,
}];

const REDUCE: &[MpiCall] = &[MpiCall {
    function: "MPI_Reduce",
    section: "6.9.1",
    counts: &[whole("count")],
    in_place: MpiInPlace::ForSendBuffer(Holders::Root),
    relation: InPlaceRule::SameBuffer,
}];

const BROADCAST: &[MpiCall] = &[MpiCall {
    function: "MPI_Bcast",
    section: "6.4",
    counts: &[whole("count")],
    in_place: MpiInPlace::OneBuffer,
    relation: InPlaceRule::SameBuffer,
}];

const ALL_GATHER: &[MpiCall] = &[
    MpiCall {
        function: "MPI_Allgather",
        section: "6.7",
        counts: &[whole("sendcount"), one_of_many("recvcount", Holders::Everyone)],
        in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
        relation: InPlaceRule::InputIsOwnBlock,
    },
    MpiCall {
        function: "MPI_Allgatherv",
        section: "6.7",
        counts: &[whole("sendcount"), per_rank("recvcounts", Holders::Everyone)],
        in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
        relation: InPlaceRule::InputIsOwnBlock,
    },
];

const REDUCE_SCATTER: &[MpiCall] = &[
    MpiCall {
        function: "MPI_Reduce_scatter_block",
        section: "6.10.1",
        counts: &[one_of_many("recvcount", Holders::Everyone)],
        in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
        // The result goes to the start of the buffer, whatever the rank.
        relation: InPlaceRule::SameBuffer,
    },
    MpiCall {
        function: "MPI_Reduce_scatter",
        section: "6.10.2",
        counts: &[per_rank("recvcounts", Holders::Everyone)],
        in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
        relation: InPlaceRule::SameBuffer,
    },
];

const ALL_TO_ALL: &[MpiCall] = &[
    MpiCall {
        function: "MPI_Alltoall",
        section: "6.8",
        counts: &[
            one_of_many("sendcount", Holders::Everyone),
            one_of_many("recvcount", Holders::Everyone),
        ],
        in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
        relation: InPlaceRule::SameBuffer,
    },
    MpiCall {
        function: "MPI_Alltoallv",
        section: "6.8",
        counts: &[
            per_rank("sendcounts", Holders::Everyone),
            per_rank("recvcounts", Holders::Everyone),
        ],
        in_place: MpiInPlace::ForSendBuffer(Holders::Everyone),
        relation: InPlaceRule::SameBuffer,
    },
];

const GATHER: &[MpiCall] = &[
    MpiCall {
        function: "MPI_Gather",
        section: "6.5",
        counts: &[whole("sendcount"), one_of_many("recvcount", Holders::Root)],
        in_place: MpiInPlace::ForSendBuffer(Holders::Root),
        relation: InPlaceRule::InputIsOwnBlock,
    },
    MpiCall {
        function: "MPI_Gatherv",
        section: "6.5",
        counts: &[whole("sendcount"), per_rank("recvcounts", Holders::Root)],
        in_place: MpiInPlace::ForSendBuffer(Holders::Root),
        relation: InPlaceRule::InputIsOwnBlock,
    },
];

const SCATTER: &[MpiCall] = &[
    MpiCall {
        function: "MPI_Scatter",
        section: "6.6",
        counts: &[one_of_many("sendcount", Holders::Root), whole("recvcount")],
        in_place: MpiInPlace::ForRecvBuffer(Holders::Root),
        relation: InPlaceRule::OutputIsOwnBlock,
    },
    MpiCall {
        function: "MPI_Scatterv",
        section: "6.6",
        counts: &[per_rank("sendcounts", Holders::Root), whole("recvcount")],
        in_place: MpiInPlace::ForRecvBuffer(Holders::Root),
        relation: InPlaceRule::OutputIsOwnBlock,
    },
];

const MESSAGE: &[MpiCall] = &[
    MpiCall {
        function: "MPI_Send",
        section: "3.2.1",
        counts: &[MpiCount { name: "count", read_on: Holders::Sender, counts: MpiCounts::Whole }],
        in_place: MpiInPlace::Never,
        relation: InPlaceRule::Refused,
    },
    MpiCall {
        function: "MPI_Recv",
        section: "3.2.4",
        counts: &[MpiCount {
            name: "count",
            read_on: Holders::Receiver,
            counts: MpiCounts::AtMost,
        }],
        in_place: MpiInPlace::Never,
        relation: InPlaceRule::Refused,
    },
];

impl MpiCall {
    /// The functions that do what an operation does: first the one with equal
    /// blocks, as NCCL's, then the one with a count per rank, which NCCL lacks. A
    /// message has one function per side.
    ///
    /// ```
    /// use rankwise_account::{MpiCall, MpiCounts};
    /// use rankwise_model::OperationKind;
    ///
    /// // recvcount is one rank's block, although the receive buffer holds n of them.
    /// let [_, recvcount] = MpiCall::of(OperationKind::AllGather)[0].counts else { panic!() };
    /// assert_eq!((recvcount.name, recvcount.counts), ("recvcount", MpiCounts::OneOfMany));
    /// ```
    pub const fn of(operation: OperationKind) -> &'static [Self] {
        match operation {
            OperationKind::AllReduce => ALL_REDUCE,
            OperationKind::Reduce => REDUCE,
            OperationKind::Broadcast => BROADCAST,
            OperationKind::AllGather => ALL_GATHER,
            OperationKind::ReduceScatter => REDUCE_SCATTER,
            OperationKind::AllToAll => ALL_TO_ALL,
            OperationKind::Gather => GATHER,
            OperationKind::Scatter => SCATTER,
            OperationKind::Message => MESSAGE,
            _ => &[],
        }
    }
}

/// Where MPI's in-place form of an operation with equal blocks puts input and output
/// on one rank, for comparison with NCCL's [`RankLayout::in_place`].
///
/// ```
/// use rankwise_account::mpi;
/// use rankwise_model::{GroupSize, Layout, Operation, Reduction};
///
/// let ranks = GroupSize::new(2).unwrap();
/// let operation = Operation::ReduceScatter { reduction: Reduction::Sum };
/// let at_1 = Layout::new(operation, ranks, 2)?.at(ranks.rank(1).unwrap())?;
/// assert_eq!(at_1.in_place().unwrap().output, 2..4); // NCCL: block 1
/// assert_eq!(mpi::in_place(&at_1).unwrap().output, 0..2); // MPI: the start
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub fn in_place(at: &RankLayout) -> Option<InPlace> {
    let relation = MpiCall::of(at.layout().operation().kind()).first()?.relation;
    if !(at.has_input() && at.has_output()) {
        return None;
    }
    let (input, output) = (0..at.input_len(), 0..at.output_len());
    let count = at.layout().count();
    // Below n · count, which the layout has shown to fit.
    let start = count.saturating_mul(u64::from(at.rank().index()));
    let own = start..start.saturating_add(count);
    let buffer_len = input.end.max(output.end);
    let (input, output) = match relation {
        InPlaceRule::SameBuffer => (input, output),
        InPlaceRule::InputIsOwnBlock => (own, output),
        InPlaceRule::OutputIsOwnBlock => (input, own),
        InPlaceRule::Refused => return None,
    };
    Some(InPlace { buffer_len, input, output })
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use rankwise_model::{GroupSize, Layout, Operation, Reduction};

    use super::*;

    fn three() -> GroupSize {
        GroupSize::new(3).unwrap()
    }

    #[test]
    fn every_operation_has_a_function() {
        for operation in OperationKind::ALL {
            assert!(!MpiCall::of(operation).is_empty(), "{operation}");
        }
    }

    /// Three ranks, count 2, seen from rank 1 (the root where there is one).
    #[test]
    fn in_place_agrees_except_for_reduce_scatter_and_all_to_all() {
        let root = three().rank(1).unwrap();
        let reduction = Reduction::Sum;
        let of = |operation| {
            let at = Layout::new(operation, three(), 2).unwrap().at(root).unwrap();
            let ranges = |relation: InPlace| (relation.buffer_len, relation.input, relation.output);
            (at.in_place().map(ranges), in_place(&at).map(ranges))
        };
        let same =
            |relation: (u64, Range<u64>, Range<u64>)| (Some(relation.clone()), Some(relation));
        assert_eq!(of(Operation::AllReduce { reduction }), same((2, 0..2, 0..2)));
        assert_eq!(of(Operation::Reduce { reduction, root }), same((2, 0..2, 0..2)));
        assert_eq!(of(Operation::Broadcast { root }), same((2, 0..2, 0..2)));
        assert_eq!(of(Operation::AllGather), same((6, 2..4, 0..6)));
        assert_eq!(of(Operation::Gather { root }), same((6, 2..4, 0..6)));
        assert_eq!(of(Operation::Scatter { root }), same((6, 0..6, 2..4)));
        assert_eq!(
            of(Operation::ReduceScatter { reduction }),
            (Some((6, 0..6, 2..4)), Some((6, 0..6, 0..2)))
        );
        assert_eq!(of(Operation::AllToAll), (None, Some((6, 0..6, 0..6))));
        assert_eq!(of(Operation::Message { from: root, to: root }), (None, None));
    }

    #[test]
    fn nothing_is_in_place_beside_the_root() {
        let root = three().rank(1).unwrap();
        let layout = Layout::new(Operation::Gather { root }, three(), 2).unwrap();
        assert_eq!(in_place(&layout.at(three().first()).unwrap()), None);
    }
}
