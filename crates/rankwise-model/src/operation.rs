//! The table of operations: the one place that defines them.
//!
//! Everything else (lengths, pieces, payloads, terms, pictures, the expectations
//! of a test suite) is derived from the [`Row`] of an operation.

use core::fmt;
use core::str::FromStr;

use crate::rank::Rank;
use crate::reduction::Reduction;
use crate::spelling::{without_prefix, write_unknown};

/// One communication as the whole group sees it.
///
/// A send and its recv are one operation here, [`Message`](Self::Message): half
/// of it is not a function from inputs to outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Every rank gets the fold of all inputs.
    AllReduce {
        /// How the inputs combine.
        reduction: Reduction,
    },
    /// The root gets the fold of all inputs.
    Reduce {
        /// How the inputs combine.
        reduction: Reduction,
        /// Who gets the result.
        root: Rank,
    },
    /// Every rank gets the root's input.
    Broadcast {
        /// Whose input it is.
        root: Rank,
    },
    /// Every rank gets all inputs, one block after the other in rank order.
    AllGather,
    /// Rank `r` gets block `r` of the fold of all inputs.
    ReduceScatter {
        /// How the inputs combine.
        reduction: Reduction,
    },
    /// Rank `r` gets block `r` of every input, in rank order.
    AllToAll,
    /// The root gets all inputs, one block after the other in rank order.
    Gather {
        /// Who gets them.
        root: Rank,
    },
    /// Rank `r` gets block `r` of the root's input.
    Scatter {
        /// Whose input it is.
        root: Rank,
    },
    /// One rank's send and another's matching recv.
    Message {
        /// Who sends.
        from: Rank,
        /// Who receives. May be the sender.
        to: Rank,
    },
}

/// An operation without its root and reduction: a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OperationKind {
    /// See [`Operation::AllReduce`].
    AllReduce,
    /// See [`Operation::Reduce`].
    Reduce,
    /// See [`Operation::Broadcast`].
    Broadcast,
    /// See [`Operation::AllGather`].
    AllGather,
    /// See [`Operation::ReduceScatter`].
    ReduceScatter,
    /// See [`Operation::AllToAll`].
    AllToAll,
    /// See [`Operation::Gather`].
    Gather,
    /// See [`Operation::Scatter`].
    Scatter,
    /// See [`Operation::Message`].
    Message,
}

/// Which length the single `count` argument of a call names.
///
/// "Count 4" is different calls until this is settled. With two ranks:
///
/// | meaning                                | input     | output    |
/// |----------------------------------------|-----------|-----------|
/// | [`Whole`](Self::Whole)                 | 4         | 4         |
/// | [`Contribution`](Self::Contribution)   | 4         | 4 × 2 = 8 |
/// | [`Shard`](Self::Shard)                 | 4 × 2 = 8 | 4         |
/// | [`Block`](Self::Block)                 | 4 × 2 = 8 | 4 × 2 = 8 |
/// | [`Message`](Self::Message)             | 4         | 4         |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CountMeaning {
    /// The whole vector.
    Whole,
    /// One rank's contribution (NCCL's *sendcount*).
    Contribution,
    /// One rank's share of the result (NCCL's *recvcount*).
    Shard,
    /// One block per peer.
    Block,
    /// One message.
    Message,
}

/// How long a buffer is, in terms of the count argument `c` and `n` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// `c` elements.
    Count,
    /// `n · c` elements: one block of `c` per rank.
    CountPerRank,
}

/// Which ranks have a side (an input, an output) at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holders {
    /// Every rank of the group.
    Everyone,
    /// Only the root.
    Root,
    /// Only the sender of a message.
    Sender,
    /// Only the receiver of a message.
    Receiver,
}

/// Where one output block comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reads {
    /// One block: every rank's input, folded.
    FoldOfAll,
    /// One block: the input of the root, or of the sender.
    One,
    /// `n` blocks: block `q` of the output comes from rank `q`.
    EachInTurn,
}

/// Where in its source a block starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At the beginning.
    Zero,
    /// At block `r`, `r` being the rank whose output it is.
    OwnBlock,
}

/// What *in place* means, on the ranks that have both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InPlaceRule {
    /// Input and output are the same buffer.
    SameBuffer,
    /// The input is block `r` of the output, `r` the own rank.
    InputIsOwnBlock,
    /// The output is block `r` of the input; the other blocks are then not promised.
    OutputIsOwnBlock,
    /// There is no in-place form.
    Refused,
}

/// One line of the table: everything that distinguishes an operation.
///
/// With `n` ranks, own rank `r`, position `p` and count `c`, the output is
///
/// | [`reads`](Self::reads) | [`start`](Self::start) | `out[r][p]` |
/// |---|---|---|
/// | `FoldOfAll`  | `Zero`     | fold over q of `in[q][p]` |
/// | `FoldOfAll`  | `OwnBlock` | fold over q of `in[q][r·c + p]` |
/// | `One`        | `Zero`     | `in[root][p]` |
/// | `One`        | `OwnBlock` | `in[root][r·c + p]` |
/// | `EachInTurn` | `Zero`     | `in[p div c][p mod c]` |
/// | `EachInTurn` | `OwnBlock` | `in[p div c][r·c + p mod c]` |
///
/// Source: NCCL's `nccl.h` and user guide for 2.32.3; the worked integers of each
/// row are in `docs/semantics.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// What the count argument counts.
    pub count: CountMeaning,
    /// Who has an input.
    pub input_on: Holders,
    /// How long it is there.
    pub input: Extent,
    /// Who has an output. Elsewhere nothing is promised of the output buffer.
    pub output_on: Holders,
    /// How long it is there.
    pub output: Extent,
    /// Which inputs the output is made of.
    pub reads: Reads,
    /// Where in those inputs it starts.
    pub start: Start,
    /// The relation that *in place* demands.
    pub in_place: InPlaceRule,
}

impl OperationKind {
    /// Every row of the table.
    pub const ALL: [Self; 9] = [
        Self::AllReduce,
        Self::Reduce,
        Self::Broadcast,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Gather,
        Self::Scatter,
        Self::Message,
    ];

    /// **The definition.** No other place states what an operation does.
    #[inline]
    pub const fn row(self) -> Row {
        use Extent::{Count, CountPerRank};
        use Holders::{Everyone, Receiver, Root, Sender};
        use InPlaceRule::{InputIsOwnBlock, OutputIsOwnBlock, Refused, SameBuffer};
        use Reads::{EachInTurn, FoldOfAll, One};
        use Start::{OwnBlock, Zero};

        // In the order of the fields of `Row`.
        let (count, (input_on, input), (output_on, output), (reads, start), in_place) = match self {
            Self::AllReduce => (
                CountMeaning::Whole,
                (Everyone, Count),
                (Everyone, Count),
                (FoldOfAll, Zero),
                SameBuffer,
            ),
            Self::Reduce => (
                CountMeaning::Whole,
                (Everyone, Count),
                (Root, Count),
                (FoldOfAll, Zero),
                SameBuffer,
            ),
            Self::Broadcast => {
                (CountMeaning::Whole, (Root, Count), (Everyone, Count), (One, Zero), SameBuffer)
            }
            Self::AllGather => (
                CountMeaning::Contribution,
                (Everyone, Count),
                (Everyone, CountPerRank),
                (EachInTurn, Zero),
                InputIsOwnBlock,
            ),
            Self::ReduceScatter => (
                CountMeaning::Shard,
                (Everyone, CountPerRank),
                (Everyone, Count),
                (FoldOfAll, OwnBlock),
                OutputIsOwnBlock,
            ),
            Self::AllToAll => (
                CountMeaning::Block,
                (Everyone, CountPerRank),
                (Everyone, CountPerRank),
                (EachInTurn, OwnBlock),
                Refused,
            ),
            Self::Gather => (
                CountMeaning::Contribution,
                (Everyone, Count),
                (Root, CountPerRank),
                (EachInTurn, Zero),
                InputIsOwnBlock,
            ),
            Self::Scatter => (
                CountMeaning::Shard,
                (Root, CountPerRank),
                (Everyone, Count),
                (One, OwnBlock),
                OutputIsOwnBlock,
            ),
            Self::Message => {
                (CountMeaning::Message, (Sender, Count), (Receiver, Count), (One, Zero), Refused)
            }
        };
        Row { count, input_on, input, output_on, output, reads, start, in_place }
    }

    /// The name used in plans and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::Reduce => "reduce",
            Self::Broadcast => "broadcast",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Message => "send/recv",
        }
    }

    /// Whether the operation combines values, so that a [`Reduction`] must be named.
    pub const fn reduces(self) -> bool {
        matches!(self.row().reads, Reads::FoldOfAll)
    }

    /// Whether the operation has a root.
    pub const fn is_rooted(self) -> bool {
        let row = self.row();
        matches!(row.input_on, Holders::Root) || matches!(row.output_on, Holders::Root)
    }
}

impl Operation {
    /// The row of the table that this operation is in.
    #[inline]
    pub const fn kind(self) -> OperationKind {
        match self {
            Self::AllReduce { .. } => OperationKind::AllReduce,
            Self::Reduce { .. } => OperationKind::Reduce,
            Self::Broadcast { .. } => OperationKind::Broadcast,
            Self::AllGather => OperationKind::AllGather,
            Self::ReduceScatter { .. } => OperationKind::ReduceScatter,
            Self::AllToAll => OperationKind::AllToAll,
            Self::Gather { .. } => OperationKind::Gather,
            Self::Scatter { .. } => OperationKind::Scatter,
            Self::Message { .. } => OperationKind::Message,
        }
    }

    /// The reduction, for operations that combine values.
    pub const fn reduction(self) -> Option<Reduction> {
        match self {
            Self::AllReduce { reduction }
            | Self::Reduce { reduction, .. }
            | Self::ReduceScatter { reduction } => Some(reduction),
            _ => None,
        }
    }

    /// The root, for rooted operations.
    pub const fn root(self) -> Option<Rank> {
        match self {
            Self::Reduce { root, .. }
            | Self::Broadcast { root }
            | Self::Gather { root }
            | Self::Scatter { root } => Some(root),
            _ => None,
        }
    }

    /// Every rank that the operation names: its root, or sender and receiver.
    pub(crate) fn named_ranks(self) -> impl Iterator<Item = Rank> {
        let (first, second) = match self {
            Self::Message { from, to } => (Some(from), Some(to)),
            other => (other.root(), None),
        };
        first.into_iter().chain(second)
    }

    /// Whether `rank` is among `holders` of this operation.
    pub(crate) fn is_holder(self, holders: Holders, rank: Rank) -> bool {
        match (holders, self) {
            (Holders::Everyone, _) => true,
            (Holders::Root, _) => self.root() == Some(rank),
            (Holders::Sender, Self::Message { from, .. }) => from == rank,
            (Holders::Receiver, Self::Message { to, .. }) => to == rank,
            (Holders::Sender | Holders::Receiver, _) => false,
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Operation {
    /// As a call: `reduce_scatter(sum)`, `broadcast(root 1)`, `send/recv(0 to 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name())?;
        match *self {
            Self::Message { from, to } => write!(f, "({from} to {to})"),
            operation => match (operation.reduction(), operation.root()) {
                (Some(reduction), Some(root)) => write!(f, "({reduction}, root {root})"),
                (Some(reduction), None) => write!(f, "({reduction})"),
                (None, Some(root)) => write!(f, "(root {root})"),
                (None, None) => Ok(()),
            },
        }
    }
}

impl CountMeaning {
    /// One word for it, as files say it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Contribution => "contribution",
            Self::Shard => "shard",
            Self::Block => "block",
            Self::Message => "message",
        }
    }
}

impl fmt::Display for CountMeaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Whole => "the whole vector",
            Self::Contribution => "one rank's contribution (sendcount)",
            Self::Shard => "one rank's shard (recvcount)",
            Self::Block => "one block per peer",
            Self::Message => "the message",
        })
    }
}

/// A word that names no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownOperation;

impl fmt::Display for UnknownOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_unknown(f, "operation", OperationKind::ALL.into_iter().map(OperationKind::name))
    }
}

impl core::error::Error for UnknownOperation {}

/// The letters and digits that tell one spelling of a name from another.
fn letters(word: &str) -> impl Iterator<Item = u8> + '_ {
    word.bytes()
        .filter(|byte| !matches!(byte, b'_' | b'-' | b'/'))
        .map(|byte| byte.to_ascii_lowercase())
}

impl FromStr for OperationKind {
    type Err = UnknownOperation;

    /// Reads `all_reduce`, and the spellings of NCCL, MPI, nccl-tests and HLO:
    /// case, `_`, `-` and a leading `nccl` or `MPI_` make no difference.
    fn from_str(word: &str) -> Result<Self, UnknownOperation> {
        const ALIASES: [(&str, OperationKind); 4] = [
            ("bcast", OperationKind::Broadcast),
            ("reducescatterblock", OperationKind::ReduceScatter),
            ("sendrecv", OperationKind::Message),
            ("message", OperationKind::Message),
        ];
        let bare = without_prefix(word, &["nccl", "mpi_"]);
        Self::ALL
            .into_iter()
            .map(|kind| (kind.name(), kind))
            .chain(ALIASES)
            .find(|(name, _)| letters(name).eq(letters(bare)))
            .map(|(_, kind)| kind)
            .ok_or(UnknownOperation)
    }
}
