//! What a rank does by itself, without communication.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::{Dtype, Reduction};
use rankwise_topology::{Partition, WorldRank};

use super::{On, Operand, Sharding};

/// A local act, by each rank of `on`.
#[derive(Clone, Debug)]
pub struct LocalStep {
    /// Who does it.
    pub on: On,
    /// What is done.
    pub act: LocalAct,
    /// What is written.
    pub recv: Operand,
}

/// An act without communication.
#[derive(Clone, Debug)]
pub enum LocalAct {
    /// The same values under another name.
    Copy {
        /// What is read.
        from: Operand,
    },
    /// Some positions of a buffer.
    Slice {
        /// What is read.
        from: Operand,
        /// The positions.
        positions: Range<u64>,
    },
    /// Buffers one after the other.
    Concat {
        /// What is read, in order.
        from: Vec<Operand>,
    },
    /// Buffers of equal length combined position by position, in the order given.
    Fold {
        /// What is read, in order.
        from: Vec<Operand>,
        /// How; `None` if the plan does not say.
        reduction: Option<Reduction>,
    },
    /// A buffer times a constant (written as in the plan: `0.5`, `1/8`).
    Scale {
        /// What is read.
        from: Operand,
        /// The constant: numerator and denominator as written, `1` if absent.
        by: (String, String),
    },
    /// A buffer converted to another element type.
    Cast {
        /// What is read.
        from: Operand,
        /// The new type.
        to: Dtype,
    },
    /// A buffer of which no position is written yet.
    Alloc {
        /// The element type.
        dtype: ElementType,
        /// Elements.
        count: u64,
    },
    /// A constant at every position.
    Fill {
        /// The constant, as written.
        value: String,
        /// The element type.
        dtype: Dtype,
        /// Elements.
        count: u64,
    },
    /// A buffer and a constant behind it, up to a length.
    Pad {
        /// What is read.
        from: Operand,
        /// Elements of the result.
        count: u64,
        /// The constant, as written.
        value: String,
    },
    /// The rank's own share of a tensor.
    Shard {
        /// What is read: the whole tensor.
        from: Operand,
        /// How it is shared out.
        sharding: Sharding,
        /// Among whom.
        over: Partition,
        /// The name of that partition, if it has one.
        over_name: Option<String>,
    },
    /// The tensor of which every rank's share is read, one after the other.
    Unshard {
        /// What is read: the shares in rank order.
        from: Operand,
        /// How the tensor was shared out.
        sharding: Sharding,
        /// Among whom.
        over: Partition,
        /// The name of that partition, if it has one.
        over_name: Option<String>,
    },
}

/// An element type, named or that of another buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// This one.
    Is(Dtype),
    /// That of this buffer, the rank's own or that of another.
    Of(Operand, Option<WorldRank>),
}

impl LocalAct {
    /// What it reads, in order.
    pub fn reads(&self) -> Vec<&Operand> {
        match self {
            Self::Copy { from }
            | Self::Slice { from, .. }
            | Self::Scale { from, .. }
            | Self::Cast { from, .. }
            | Self::Pad { from, .. }
            | Self::Shard { from, .. }
            | Self::Unshard { from, .. } => Vec::from([from]),
            Self::Concat { from } | Self::Fold { from, .. } => from.iter().collect(),
            Self::Alloc { .. } | Self::Fill { .. } => Vec::new(),
        }
    }

    /// Its word in a plan.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Copy { .. } => "copy",
            Self::Slice { .. } => "slice",
            Self::Concat { .. } => "concat",
            Self::Fold { .. } => "fold",
            Self::Scale { .. } => "scale",
            Self::Cast { .. } => "cast",
            Self::Alloc { .. } => "alloc",
            Self::Fill { .. } => "fill",
            Self::Pad { .. } => "pad",
            Self::Shard { .. } => "shard",
            Self::Unshard { .. } => "unshard",
        }
    }

    /// Whether each position of the result is made of the same positions of what is read.
    pub(crate) const fn is_position_wise(&self) -> bool {
        matches!(
            self,
            Self::Copy { .. } | Self::Fold { .. } | Self::Scale { .. } | Self::Cast { .. }
        )
    }
}
