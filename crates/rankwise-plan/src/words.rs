//! The words of the format that no other crate defines.
//!
//! Collectives, reductions and element types get their names from
//! `rankwise_model`; these are the rest, each written once, for the reader, the
//! schema and the messages.

use rankwise_model::{OperationKind, Reduction};

use rankwise_topology::Sharing;

use crate::plan::Attachment;

/// The version of the format that this crate reads.
pub(crate) const FORMAT: u64 = 1;

/// The name of the partition whose one group is everybody.
pub(crate) const WORLD: &str = "world";

/// What a step may do that is no collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnCall {
    Send,
    Recv,
    Copy,
    Slice,
    Concat,
    Fold,
    Scale,
    Cast,
    Alloc,
    Fill,
    Pad,
    Shard,
    Unshard,
    /// Several communications as one.
    Group,
    /// A collective with a count for each rank.
    Vector(OperationKind),
}

impl OwnCall {
    pub(crate) const ALL: [(&'static str, Self); 19] = [
        ("send", Self::Send),
        ("recv", Self::Recv),
        ("copy", Self::Copy),
        ("slice", Self::Slice),
        ("concat", Self::Concat),
        ("fold", Self::Fold),
        ("scale", Self::Scale),
        ("cast", Self::Cast),
        ("alloc", Self::Alloc),
        ("fill", Self::Fill),
        ("pad", Self::Pad),
        ("shard", Self::Shard),
        ("unshard", Self::Unshard),
        ("group", Self::Group),
        ("all_gather_v", Self::Vector(OperationKind::AllGather)),
        ("reduce_scatter_v", Self::Vector(OperationKind::ReduceScatter)),
        ("gather_v", Self::Vector(OperationKind::Gather)),
        ("scatter_v", Self::Vector(OperationKind::Scatter)),
        ("all_to_all_v", Self::Vector(OperationKind::AllToAll)),
    ];
}

/// What only a rank's own program may do: its host waits for a stream, or a stream for
/// another.
pub(crate) const PROGRAM_CALLS: [&str; 2] = [WAIT, FENCE];
pub(crate) const WAIT: &str = "wait";
pub(crate) const FENCE: &str = "fence";

/// The stream of a step that names none.
pub(crate) const STREAM: &str = "main";

/// The collectives: every operation but the message, whose two sides are calls.
pub(crate) fn collectives() -> impl Iterator<Item = OperationKind> + Clone {
    OperationKind::ALL.into_iter().filter(|kind| *kind != OperationKind::Message)
}

/// Every word that `call` may be.
pub(crate) fn calls() -> impl Iterator<Item = &'static str> + Clone {
    let own = OwnCall::ALL.into_iter().map(|(name, _)| name);
    collectives().map(OperationKind::name).chain(own)
}

/// Every word that `op` may be.
pub(crate) fn reductions() -> impl Iterator<Item = &'static str> + Clone {
    Reduction::ALL.into_iter().map(Reduction::name)
}

/// What `by` may be.
pub(crate) const ATTACHMENTS: [(&str, Attachment); 2] =
    [("device", Attachment::Device), ("rank", Attachment::Rank)];

/// Whose is what in one array file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slicing {
    Blocks,
    Whole,
}

/// What `slice` of an input may be.
pub(crate) const SLICINGS: [(&str, Slicing); 2] =
    [("blocks", Slicing::Blocks), ("whole", Slicing::Whole)];

/// What `sharing` may be.
pub(crate) const SHARINGS: [(&str, Sharing); 2] =
    [("exclusive", Sharing::Exclusive), ("shared", Sharing::Shared)];
