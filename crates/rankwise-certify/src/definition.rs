//! What each collective is, in this crate's own words.
//!
//! `n` ranks, `r` the rank whose output is meant, `c` the count argument. An output is
//! a list of blocks: where each comes from, and at which position that starts. This is
//! the table of the semantics a second time, on purpose: it shares nothing with the one
//! that it checks.

use alloc::vec::Vec;

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Collective {
    AllReduce,
    Reduce,
    Broadcast,
    AllGather,
    ReduceScatter,
    AllToAll,
    Gather,
    Scatter,
}

/// How the ranks' values are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
    Premul,
}

/// Where a block of an output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// All ranks, combined.
    Everyone,
    /// One rank of the group.
    One(u64),
}

/// So many positions of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) from: From,
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// A collective at a size. Every product of it has been seen to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sized {
    collective: Collective,
    ranks: u64,
    root: u64,
    count: u64,
    all: u64,
}

/// How input and output may share a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlace {
    /// The output starts so many positions after the input.
    OutputAfter(u64),
    /// The input starts so many positions after the output.
    InputAfter(u64),
    Never,
}

impl Collective {
    pub(crate) const fn reduces(self) -> bool {
        matches!(self, Self::AllReduce | Self::Reduce | Self::ReduceScatter)
    }

    pub(crate) const fn is_rooted(self) -> bool {
        matches!(self, Self::Reduce | Self::Broadcast | Self::Gather | Self::Scatter)
    }

    /// At a size; `None` if n·c does not fit. `root` counts for rooted ones only.
    pub(crate) fn sized(self, ranks: u64, root: u64, count: u64) -> Option<Sized> {
        let all = ranks.checked_mul(count)?;
        Some(Sized { collective: self, ranks, root, count, all })
    }
}

impl Sized {
    /// How many elements rank `r` reads; `None` where it reads nothing.
    pub(crate) const fn input(&self, r: u64) -> Option<u64> {
        match self.collective {
            Collective::AllReduce
            | Collective::Reduce
            | Collective::AllGather
            | Collective::Gather => Some(self.count),
            Collective::ReduceScatter | Collective::AllToAll => Some(self.all),
            Collective::Broadcast if r == self.root => Some(self.count),
            Collective::Scatter if r == self.root => Some(self.all),
            Collective::Broadcast | Collective::Scatter => None,
        }
    }

    /// How long an output is.
    pub(crate) const fn output(&self) -> u64 {
        match self.collective {
            Collective::AllReduce
            | Collective::Reduce
            | Collective::Broadcast
            | Collective::ReduceScatter
            | Collective::Scatter => self.count,
            Collective::AllGather | Collective::AllToAll | Collective::Gather => self.all,
        }
    }

    /// Whether every rank that gets an output gets the same one.
    pub(crate) const fn is_shared(&self) -> bool {
        !matches!(
            self.collective,
            Collective::ReduceScatter | Collective::AllToAll | Collective::Scatter
        )
    }

    /// Whether rank `r` is promised anything.
    pub(crate) const fn promises(&self, r: u64) -> bool {
        let at_root = matches!(self.collective, Collective::Reduce | Collective::Gather);
        r == self.root || !at_root
    }

    /// What rank `r` is left with; `None` where nothing is promised.
    pub(crate) fn blocks(&self, r: u64) -> Option<Vec<Block>> {
        let length = self.count;
        let own = r.saturating_mul(length);
        let one = |from, start| Some(alloc::vec![Block { from, start, length }]);
        let each = |start| {
            Some((0..self.ranks).map(|q| Block { from: From::One(q), start, length }).collect())
        };
        match self.collective {
            Collective::AllReduce => one(From::Everyone, 0),
            Collective::Reduce if r == self.root => one(From::Everyone, 0),
            Collective::Broadcast => one(From::One(self.root), 0),
            Collective::AllGather => each(0),
            Collective::ReduceScatter => one(From::Everyone, own),
            Collective::AllToAll => each(own),
            Collective::Gather if r == self.root => each(0),
            Collective::Scatter => one(From::One(self.root), own),
            Collective::Reduce | Collective::Gather => None,
        }
    }

    /// How input and output of rank `r` may overlap.
    pub(crate) const fn in_place(&self, r: u64) -> InPlace {
        let block = r.saturating_mul(self.count);
        match self.collective {
            Collective::AllReduce | Collective::Reduce | Collective::Broadcast => {
                InPlace::OutputAfter(0)
            }
            Collective::AllGather | Collective::Gather => InPlace::InputAfter(block),
            Collective::ReduceScatter | Collective::Scatter => InPlace::OutputAfter(block),
            Collective::AllToAll => InPlace::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Three ranks, root 1, count 2: every row, for rank 2 and where it matters the root.
    #[test]
    fn each_collective_at_three_ranks() {
        let block = |from, start| Block { from, start, length: 2 };
        let all = |start| vec![block(From::Everyone, start)];
        let each = |start| (0..3).map(|q| block(From::One(q), start)).collect::<Vec<_>>();
        let root = |start| vec![block(From::One(1), start)];
        let of = |collective: Collective, r| {
            let sized = collective.sized(3, 1, 2).unwrap();
            (sized.input(r), sized.blocks(r), sized.output())
        };
        assert_eq!(of(Collective::AllReduce, 2), (Some(2), Some(all(0)), 2));
        assert_eq!(of(Collective::Reduce, 2), (Some(2), None, 2));
        assert_eq!(of(Collective::Reduce, 1), (Some(2), Some(all(0)), 2));
        assert_eq!(of(Collective::Broadcast, 2), (None, Some(root(0)), 2));
        assert_eq!(of(Collective::Broadcast, 1), (Some(2), Some(root(0)), 2));
        assert_eq!(of(Collective::AllGather, 2), (Some(2), Some(each(0)), 6));
        assert_eq!(of(Collective::ReduceScatter, 2), (Some(6), Some(all(4)), 2));
        assert_eq!(of(Collective::AllToAll, 2), (Some(6), Some(each(4)), 6));
        assert_eq!(of(Collective::Gather, 2), (Some(2), None, 6));
        assert_eq!(of(Collective::Gather, 1), (Some(2), Some(each(0)), 6));
        assert_eq!(of(Collective::Scatter, 2), (None, Some(root(4)), 2));
        assert_eq!(of(Collective::Scatter, 1), (Some(6), Some(root(2)), 2));
    }

    #[test]
    fn a_length_that_does_not_fit_is_none() {
        assert!(Collective::AllGather.sized(2, 0, 1 << 63).is_none());
    }
}
