//! What one line of the table is about.

use std::fmt;

use rankwise_model::{Dtype, GroupSize, Layout, Operation, Reduction};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    AllReduce,
    AllGather,
    ReduceScatter,
}

/// An operation, a type, a group and a length; and how often it is called before a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) ranks: u32,
    pub(crate) op: Op,
    pub(crate) dtype: Dtype,
    /// Of one rank's longer side.
    pub(crate) bytes: u64,
    pub(crate) calls: u32,
}

impl Op {
    pub(crate) const ALL: [Self; 3] = [Self::AllReduce, Self::AllGather, Self::ReduceScatter];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
        }
    }

    const fn operation(self) -> Operation {
        match self {
            Self::AllReduce => Operation::AllReduce { reduction: Reduction::Sum },
            Self::AllGather => Operation::AllGather,
            Self::ReduceScatter => Operation::ReduceScatter { reduction: Reduction::Sum },
        }
    }
}

impl Cell {
    /// Its layout, unless its length is not that of whole blocks of whole elements.
    pub(crate) fn layout(self) -> Option<Layout> {
        let ranks = GroupSize::new(self.ranks)?;
        let elements = self.bytes / self.dtype.bytes();
        let blocks = match self.op {
            Op::AllReduce => 1,
            Op::AllGather | Op::ReduceScatter => u64::from(self.ranks),
        };
        let whole = elements > 0 && elements.is_multiple_of(blocks);
        whole.then(|| Layout::new(self.op.operation(), ranks, elements / blocks).ok())?
    }

    /// The least that can be read and written: every input once, every output once; of an
    /// all-gather, each contribution once for all.
    pub(crate) fn traffic(self) -> u64 {
        let n = u64::from(self.ranks);
        match self.op {
            Op::AllReduce => 2 * n * self.bytes,
            Op::AllGather | Op::ReduceScatter => (n + 1) * self.bytes,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, op, dtype, bytes, calls } = self;
        let dtype = dtype.name();
        write!(f, "{:<14} {dtype:<4} {ranks:>2} {:>8} {calls:>5}", op.name(), Size(*bytes))
    }
}

/// Bytes as people read them.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
            bytes => format!("{bytes} B"),
        };
        f.pad(&text)
    }
}
