//! An operation at a size: lengths, pieces and the in-place relation per rank.

use core::fmt;
use core::ops::Range;

use crate::operation::{Extent, InPlaceRule, Operation, Reads, Start};
use crate::rank::{GroupSize, Rank};

/// An [`Operation`] with its group size and count argument.
///
/// Holding a `Layout` tells you that the root (or both ends of a message) is in
/// the group and that no length of it overflows `u64`. It does not tell you that
/// buffers of these lengths exist anywhere.
///
/// Lengths and positions are **elements**, as `u64`: a plan may speak of vectors
/// that no machine holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    operation: Operation,
    ranks: GroupSize,
    count: u64,
}

/// Why an operation has no layout at some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// The operation names a rank that the group does not have.
    NotInGroup {
        /// The operation.
        operation: Operation,
        /// The rank and the group.
        found: NotInGroup,
    },
    /// `count · ranks` does not fit in 64 bits.
    Overflow {
        /// The operation.
        operation: Operation,
        /// The count argument.
        count: u64,
        /// The size of the group.
        ranks: GroupSize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInGroup { operation, found } => write!(f, "{operation}: {found}"),
            Self::Overflow { operation, count, ranks } => {
                write!(f, "{operation}: count {count} × {ranks} ranks does not fit in 64 bits")
            }
        }
    }
}

impl core::error::Error for LayoutError {}

/// A rank that a group does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInGroup {
    /// The rank.
    pub rank: Rank,
    /// The group's size.
    pub ranks: GroupSize,
}

impl fmt::Display for NotInGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.ranks.get().saturating_sub(1);
        write!(f, "rank {} is not in a group of {} (ranks 0 to {last})", self.rank, self.ranks)
    }
}

impl core::error::Error for NotInGroup {}

impl Layout {
    /// Checks the root and every length, once.
    ///
    /// ```
    /// use rankwise_model::{GroupSize, Layout, LayoutError, Operation};
    ///
    /// let three = GroupSize::new(3).unwrap();
    /// let gathered = Layout::new(Operation::AllGather, three, 4)?;
    /// for at in gathered.each() {
    ///     assert_eq!((at.input_len(), at.output_len()), (4, 12));
    /// }
    ///
    /// let too_long = Layout::new(Operation::AllGather, three, u64::MAX);
    /// assert!(matches!(too_long, Err(LayoutError::Overflow { .. })));
    /// # Ok::<(), LayoutError>(())
    /// ```
    #[inline]
    pub fn new(operation: Operation, ranks: GroupSize, count: u64) -> Result<Self, LayoutError> {
        if let Some(rank) = operation.named_ranks().find(|rank| !ranks.contains(*rank)) {
            return Err(LayoutError::NotInGroup { operation, found: NotInGroup { rank, ranks } });
        }
        let row = operation.kind().row();
        let fits = [row.input, row.output].into_iter().all(|extent| match extent {
            Extent::Count => true,
            Extent::CountPerRank => count.checked_mul(u64::from(ranks.get())).is_some(),
        });
        if fits {
            Ok(Self { operation, ranks, count })
        } else {
            Err(LayoutError::Overflow { operation, count, ranks })
        }
    }

    /// The operation.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The size of the group.
    pub const fn ranks(&self) -> GroupSize {
        self.ranks
    }

    /// The count argument, in elements; what it counts is in the operation's row.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The layout as one rank sees it.
    #[inline]
    pub const fn at(&self, rank: Rank) -> Result<RankLayout, NotInGroup> {
        if self.ranks.contains(rank) {
            Ok(RankLayout { layout: *self, rank })
        } else {
            Err(NotInGroup { rank, ranks: self.ranks })
        }
    }

    /// The layout as each rank sees it, in rank order.
    pub fn each(&self) -> impl ExactSizeIterator<Item = RankLayout> + use<> {
        let layout = *self;
        self.ranks.ranks().map(move |rank| RankLayout { layout, rank })
    }

    /// `blocks · count`; [`new`](Self::new) proved that `ranks · count` fits where it is used.
    #[inline]
    fn blocks(&self, blocks: u32) -> u64 {
        self.count.saturating_mul(u64::from(blocks))
    }

    #[inline]
    fn block_of(&self, rank: Rank) -> Range<u64> {
        let start = self.blocks(rank.index());
        start..start.saturating_add(self.count)
    }

    #[inline]
    fn extent(&self, extent: Extent) -> u64 {
        match extent {
            Extent::Count => self.count,
            Extent::CountPerRank => self.blocks(self.ranks.get()),
        }
    }
}

/// A [`Layout`] as one rank of its group sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RankLayout {
    layout: Layout,
    rank: Rank,
}

/// A contiguous run of one rank's output, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The positions of the output that this piece fills.
    pub output: Range<u64>,
    /// Whose inputs they are made of.
    pub source: Source,
    /// Where in that input (in each of them, for a fold) the run starts.
    pub start: u64,
}

/// Whose inputs a [`Piece`] is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// One rank's input, moved.
    Rank(Rank),
    /// Every rank's input, folded position by position with the operation's reduction.
    EveryRank,
}

/// Where input and output lie when a call is made in place, in elements from the
/// start of the one buffer that holds both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// The length of the buffer.
    pub buffer_len: u64,
    /// The input's positions in it.
    pub input: Range<u64>,
    /// The output's positions in it.
    pub output: Range<u64>,
}

impl RankLayout {
    /// The whole group's layout.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The rank whose view this is.
    pub const fn rank(&self) -> Rank {
        self.rank
    }

    /// Whether this rank's input is read.
    #[inline]
    pub fn has_input(&self) -> bool {
        self.layout.operation.is_holder(self.row().input_on, self.rank)
    }

    /// Whether this rank is promised an output.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.layout.operation.is_holder(self.row().output_on, self.rank)
    }

    /// The length of this rank's input; 0 where its input is not read.
    #[inline]
    pub fn input_len(&self) -> u64 {
        if self.has_input() { self.layout.extent(self.row().input) } else { 0 }
    }

    /// The length of this rank's output; 0 where no output is promised.
    #[inline]
    pub fn output_len(&self) -> u64 {
        if self.has_output() { self.layout.extent(self.row().output) } else { 0 }
    }

    /// This rank's output as contiguous runs, in order and without gaps.
    ///
    /// Empty where there is no output, and for count 0.
    ///
    /// ```
    /// use rankwise_model::{GroupSize, Layout, Operation, Source};
    ///
    /// let two = GroupSize::new(2).unwrap();
    /// let at_1 = Layout::new(Operation::AllGather, two, 4)?.at(two.rank(1).unwrap())?;
    /// let pieces: Vec<_> = at_1.pieces().collect();
    /// assert_eq!(pieces[1].output, 4..8);
    /// assert_eq!(pieces[1].source, Source::Rank(two.rank(1).unwrap()));
    /// assert_eq!(pieces[1].start, 0);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        let layout = self.layout;
        let row = self.row();
        let start = self.start();
        let whole = |source| (0..layout.count, source);
        let one = match (row.reads, layout.operation) {
            (Reads::FoldOfAll, _) => Some(whole(Source::EveryRank)),
            (Reads::One, Operation::Message { from, .. }) => Some(whole(Source::Rank(from))),
            (Reads::One, operation) => operation.root().map(|root| whole(Source::Rank(root))),
            (Reads::EachInTurn, _) => None,
        };
        let promised = self.has_output() && layout.count > 0;
        let each = self
            .part_of_each()
            .filter(|_| promised)
            .map(|_| layout.ranks.ranks().map(move |q| (layout.block_of(q), Source::Rank(q))))
            .into_iter()
            .flatten();
        one.filter(|_| promised).into_iter().chain(each).map(move |(output, source)| Piece {
            output,
            source,
            start,
        })
    }

    /// The part of every rank's input that this rank's output is made of, where the
    /// output is that part of each in rank order: [`pieces`](Self::pieces) in closed
    /// form. `None` for outputs of another kind, and where none is promised.
    ///
    /// ```
    /// use rankwise_model::{GroupSize, Layout, Operation};
    ///
    /// let three = GroupSize::new(3).unwrap();
    /// let at_1 = Layout::new(Operation::AllToAll, three, 4)?.at(three.rank(1).unwrap())?;
    /// assert_eq!(at_1.part_of_each(), Some(4..8));
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn part_of_each(&self) -> Option<Range<u64>> {
        let in_turn = self.has_output() && matches!(self.row().reads, Reads::EachInTurn);
        let start = self.start();
        in_turn.then(|| start..start.saturating_add(self.layout.count))
    }

    /// Where in its sources the output starts to be read.
    fn start(&self) -> u64 {
        match self.row().start {
            Start::Zero => 0,
            Start::OwnBlock => self.layout.blocks(self.rank.index()),
        }
    }

    /// The in-place relation, if the operation has one and this rank has both sides.
    ///
    /// On a rank with one side only (a non-root rank of a rooted call) nothing is
    /// in place, and `None` is returned too.
    #[inline]
    pub fn in_place(&self) -> Option<InPlace> {
        if !(self.has_input() && self.has_output()) {
            return None;
        }
        let (input_len, output_len) = (self.input_len(), self.output_len());
        let own = self.layout.block_of(self.rank);
        let (input, output) = match self.row().in_place {
            InPlaceRule::SameBuffer => (0..input_len, 0..output_len),
            InPlaceRule::InputIsOwnBlock => (own, 0..output_len),
            InPlaceRule::OutputIsOwnBlock => (0..input_len, own),
            InPlaceRule::Refused => return None,
        };
        Some(InPlace { buffer_len: input_len.max(output_len), input, output })
    }

    /// What of the one buffer of an in-place call is not promised afterwards: all that is
    /// not output, before it and behind it. On a rank with an input only, all of it.
    ///
    /// ```
    /// use rankwise_model::{GroupSize, Layout, Operation, Reduction};
    ///
    /// let three = GroupSize::new(3).unwrap();
    /// let operation = Operation::ReduceScatter { reduction: Reduction::Sum };
    /// let at_1 = Layout::new(operation, three, 4)?.at(three.rank(1).unwrap())?;
    /// assert_eq!(at_1.lost_in_place(), [0..4, 8..12]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[inline]
    pub fn lost_in_place(&self) -> [Range<u64>; 2] {
        let (whole, output) = match self.in_place() {
            Some(InPlace { buffer_len, output, .. }) => (buffer_len, output),
            None => (self.input_len().max(self.output_len()), 0..self.output_len()),
        };
        [0..output.start, output.end..whole]
    }

    #[inline]
    fn row(&self) -> crate::operation::Row {
        self.layout.operation.kind().row()
    }
}
