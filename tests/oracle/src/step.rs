//! What a plan does, in the oracle's own words.

use std::ops::Range;

use crate::kind::Kind;

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collective {
    /// Everybody gets the fold of everybody's vector.
    AllReduce,
    /// The root does.
    Reduce,
    /// Everybody gets the root's vector.
    Broadcast,
    /// Everybody gets everybody's vector, one after the other.
    AllGather,
    /// Each gets its own block of the fold.
    ReduceScatter,
    /// Each gets its own block of everybody's vector.
    AllToAll,
    /// The root gets everybody's vector.
    Gather,
    /// Each gets its own block of the root's vector.
    Scatter,
}

impl Collective {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AllReduce,
        Self::Reduce,
        Self::Broadcast,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Gather,
        Self::Scatter,
    ];

    /// How plans spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::Reduce => "reduce",
            Self::Broadcast => "broadcast",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
        }
    }

    /// Whether it folds.
    pub const fn folds(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter)
    }

    /// Whether it has a root.
    pub const fn is_rooted(self) -> bool {
        matches!(self, Self::Reduce | Self::Broadcast | Self::Gather | Self::Scatter)
    }
}

/// A way to combine values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fold {
    /// Added.
    Sum,
    /// Multiplied.
    Prod,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Added and divided by how many they are.
    Avg,
}

impl Fold {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Prod, Self::Max, Self::Min, Self::Avg];

    /// How plans spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Avg => "avg",
        }
    }
}

/// One step. Ranks are those of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A collective in each of some disjoint groups, each in its rank order.
    Collective {
        /// Which.
        collective: Collective,
        /// How it folds, if it does.
        fold: Option<Fold>,
        /// The root in each group, if it has one.
        root: Option<usize>,
        /// The groups.
        groups: Vec<Vec<usize>>,
        /// The buffer read.
        send: String,
        /// The buffer written; the same is in place.
        recv: String,
    },
    /// A message.
    Message {
        /// Who sends.
        from: usize,
        /// Who receives.
        to: usize,
        /// The sender's buffer.
        send: String,
        /// The receiver's.
        recv: String,
    },
    /// An act of one rank, or of each, by itself.
    Local {
        /// Whose; everybody's if `None`.
        on: Option<usize>,
        /// What is done.
        act: Act,
        /// The buffer written.
        recv: String,
    },
}

/// A local act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The same under another name.
    Copy(String),
    /// Some positions.
    Slice(String, Range<usize>),
    /// One after the other.
    Concat(Vec<String>),
    /// Combined position by position.
    Fold(Fold, Vec<String>),
    /// Times a fraction.
    Scale(String, (i128, i128)),
    /// Converted.
    Cast(String, Kind),
}

impl Step {
    /// A collective of the whole world of `n` ranks.
    pub fn collective(
        collective: Collective,
        fold: Option<Fold>,
        root: Option<usize>,
        n: usize,
        send: &str,
        recv: &str,
    ) -> Self {
        Self::Collective {
            collective,
            fold,
            root,
            groups: vec![(0..n).collect()],
            send: send.to_owned(),
            recv: recv.to_owned(),
        }
    }

    /// The name of what is done.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Collective { collective, .. } => collective.word(),
            Self::Message { .. } => "send/recv",
            Self::Local { act, .. } => match act {
                Act::Copy(_) => "copy",
                Act::Slice(..) => "slice",
                Act::Concat(_) => "concat",
                Act::Fold(..) => "fold",
                Act::Scale(..) => "scale",
                Act::Cast(..) => "cast",
            },
        }
    }

    /// The names of everything that can be done.
    pub const WORDS: [&'static str; 15] = [
        "all_reduce",
        "reduce",
        "broadcast",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "gather",
        "scatter",
        "send/recv",
        "copy",
        "slice",
        "concat",
        "fold",
        "scale",
        "cast",
    ];

    /// The buffer written.
    pub fn writes(&self) -> &str {
        match self {
            Self::Collective { recv, .. }
            | Self::Message { recv, .. }
            | Self::Local { recv, .. } => recv,
        }
    }
}
