//! What each collective is, in this crate's own words.
//!
//! Of what every rank hands in, a rank is after the whole or after its own block. That,
//! from all ranks, is combined position by position or put one after the other in rank
//! order; or it is the root's alone. This is the table of the semantics a second time,
//! on purpose: it shares nothing with the one that it checks.

use alloc::string::String;
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
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
    /// A sum of each rank's value times the scalar of that rank.
    Premul(Vec<String>),
}

/// What becomes of the parts that a rank is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// All are combined.
    Combined,
    /// They are put one after the other.
    Joined,
    /// There is one, the root's.
    Roots,
}

/// Which part of what each rank hands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    OwnBlock,
}

/// Who is left with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Every,
    Root,
}

impl Collective {
    /// The table.
    pub(crate) const fn row(self) -> (Made, Part, On) {
        match self {
            Self::AllReduce => (Made::Combined, Part::Whole, On::Every),
            Self::Reduce => (Made::Combined, Part::Whole, On::Root),
            Self::ReduceScatter => (Made::Combined, Part::OwnBlock, On::Every),
            Self::AllGather => (Made::Joined, Part::Whole, On::Every),
            Self::Gather => (Made::Joined, Part::Whole, On::Root),
            Self::AllToAll => (Made::Joined, Part::OwnBlock, On::Every),
            Self::Broadcast => (Made::Roots, Part::Whole, On::Every),
            Self::Scatter => (Made::Roots, Part::OwnBlock, On::Every),
        }
    }

    pub(crate) const fn is_rooted(self) -> bool {
        matches!(self.row(), (Made::Roots, ..) | (.., On::Root))
    }
}

/// A collective at a size: so many ranks, and the count argument, which is the length of
/// a block where there are blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sized {
    pub(crate) made: Made,
    pub(crate) part: Part,
    on: On,
    root: u64,
    pub(crate) count: u64,
    all: u64,
}

impl Sized {
    /// `None` if all blocks together do not fit. `root` counts for rooted ones only.
    pub(crate) fn new(collective: Collective, ranks: u64, root: u64, count: u64) -> Option<Self> {
        let (made, part, on) = collective.row();
        Some(Self { made, part, on, root, count, all: ranks.checked_mul(count)? })
    }

    /// How many elements rank `r` hands in, if it hands in any.
    pub(crate) fn input(&self, r: u64) -> Option<u64> {
        let hands_in = self.made != Made::Roots || r == self.root;
        hands_in.then_some(if self.part == Part::OwnBlock { self.all } else { self.count })
    }

    /// How many elements there are in what is left.
    pub(crate) fn output(&self) -> u64 {
        if self.made == Made::Joined { self.all } else { self.count }
    }

    /// Whether rank `r` is promised anything.
    pub(crate) fn promises(&self, r: u64) -> bool {
        self.on == On::Every || r == self.root
    }

    /// Where, in what each rank hands in, the part starts that rank `r` is after.
    pub(crate) fn start(&self, r: u64) -> u64 {
        if self.part == Part::OwnBlock { r.saturating_mul(self.count) } else { 0 }
    }

    /// Where input and output of rank `r` start in the one buffer that both may be in:
    /// one is the other's own block, or both are the same.
    pub(crate) fn in_place(&self, r: u64) -> Option<(u64, u64)> {
        let own = r.saturating_mul(self.count);
        match (self.made, self.part) {
            (Made::Joined, Part::OwnBlock) => None,
            (Made::Joined, Part::Whole) => Some((own, 0)),
            (_, Part::OwnBlock) => Some((0, own)),
            (_, Part::Whole) => Some((0, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three ranks, root 1, count 2: every row, for rank 2 and where it matters the root.
    #[test]
    fn each_collective_at_three_ranks() {
        let of = |collective: Collective, r| {
            let sized = Sized::new(collective, 3, 1, 2).unwrap();
            let left = sized.promises(r).then(|| (sized.made, sized.start(r), sized.output()));
            (sized.input(r), left, sized.in_place(r))
        };
        let combined = |start| Some((Made::Combined, start, 2));
        let joined = |start| Some((Made::Joined, start, 6));
        let roots = |start| Some((Made::Roots, start, 2));
        assert_eq!(of(Collective::AllReduce, 2), (Some(2), combined(0), Some((0, 0))));
        assert_eq!(of(Collective::Reduce, 2), (Some(2), None, Some((0, 0))));
        assert_eq!(of(Collective::Reduce, 1), (Some(2), combined(0), Some((0, 0))));
        assert_eq!(of(Collective::Broadcast, 2), (None, roots(0), Some((0, 0))));
        assert_eq!(of(Collective::Broadcast, 1), (Some(2), roots(0), Some((0, 0))));
        assert_eq!(of(Collective::AllGather, 2), (Some(2), joined(0), Some((4, 0))));
        assert_eq!(of(Collective::ReduceScatter, 2), (Some(6), combined(4), Some((0, 4))));
        assert_eq!(of(Collective::AllToAll, 2), (Some(6), joined(4), None));
        assert_eq!(of(Collective::Gather, 2), (Some(2), None, Some((4, 0))));
        assert_eq!(of(Collective::Gather, 1), (Some(2), joined(0), Some((2, 0))));
        assert_eq!(of(Collective::Scatter, 2), (None, roots(4), Some((0, 4))));
        assert_eq!(of(Collective::Scatter, 1), (Some(6), roots(2), Some((0, 2))));
    }

    #[test]
    fn a_length_that_does_not_fit_is_none() {
        assert!(Sized::new(Collective::AllGather, 2, 0, 1 << 63).is_none());
    }
}
