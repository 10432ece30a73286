//! What goes wrong in a program of four ranks.

pub(crate) const RANKS: usize = 4;

/// Every rank contributes ones, unless it is said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    /// An all-reduce of 3 elements on rank 0, of 2 on the others.
    Count,
    /// An all-reduce with another reduction on rank 2.
    Reductions,
    /// Rank 1 takes itself for the root of a broadcast, the others take rank 0.
    BroadcastRoots,
    /// The same of a reduce.
    ReduceRoots,
    /// Rank 3 returns instead of calling.
    Missing,
    /// Two all-reduces, of ones and of tens, in the other order on rank 0.
    Swapped,
    /// The same, by calls that say what they move.
    SwappedAndTagged,
    /// Rank 0 forgets the first of the two.
    Forgotten,
}

impl Situation {
    pub(crate) const ALL: [Self; 8] = [
        Self::Count,
        Self::Reductions,
        Self::BroadcastRoots,
        Self::ReduceRoots,
        Self::Missing,
        Self::Swapped,
        Self::SwappedAndTagged,
        Self::Forgotten,
    ];

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Count => "rank 0 has another count",
            Self::Reductions => "rank 2 has another reduction",
            Self::BroadcastRoots => "rank 1 has another root, of a broadcast",
            Self::ReduceRoots => "rank 1 has another root, of a reduce",
            Self::Missing => "rank 3 returns, its peers call",
            Self::Swapped => "two calls of equal shape, swapped on rank 0",
            Self::SwappedAndTagged => "the same, tagged",
            Self::Forgotten => "two calls of equal shape, rank 0 forgets the first",
        }
    }

    /// What the rank contributes, call after call; the sums are 4 and 40 if all agree.
    pub(crate) fn contributions(self, rank: usize) -> Vec<Vec<f32>> {
        let (ones, tens) = (vec![1.0; 2], vec![10.0; 2]);
        match (self, rank) {
            (Self::Count, 0) => vec![vec![1.0; 3]],
            (Self::Missing, 3) => vec![],
            (Self::Swapped | Self::SwappedAndTagged, 0) => vec![tens, ones],
            (Self::Forgotten, 0) => vec![tens],
            (Self::Swapped | Self::SwappedAndTagged | Self::Forgotten, _) => vec![ones, tens],
            _ => vec![ones],
        }
    }

    /// Whom the rank takes for the root.
    pub(crate) fn root(self, rank: usize) -> usize {
        usize::from(matches!(self, Self::BroadcastRoots | Self::ReduceRoots) && rank == 1)
    }

    /// Whether the rank reduces in another way than by a sum.
    pub(crate) fn reduces_otherwise(self, rank: usize) -> bool {
        self == Self::Reductions && rank == 2
    }
}
