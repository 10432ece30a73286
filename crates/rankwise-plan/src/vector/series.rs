//! Equal blocks in a row, in closed form.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Content, Held};
use crate::term::{Placed, TermId};

/// Blocks of one length. Block `k` holds a term at `at + k · stride`, position for
/// position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Series {
    terms: Sources,
    /// Elements in a block; never 0.
    block: u64,
    /// How many elements of block 0 were cut off at its start.
    skip: u64,
    at: u64,
    stride: u64,
}

/// Which term each block of a series holds.
#[derive(Clone, Debug)]
pub(crate) enum Sources {
    /// All the same one.
    Same(TermId),
    /// Block `k` the one at `first + k` of a list that many vectors share.
    Each { list: Arc<[TermId]>, first: usize },
}

impl Sources {
    /// One term for each block.
    pub(crate) fn each(terms: Vec<TermId>) -> Self {
        match terms.split_first() {
            Some((first, others)) if others.iter().all(|term| term == first) => Self::Same(*first),
            _ => Self::Each { list: terms.into(), first: 0 },
        }
    }

    fn get(&self, block: u64) -> Option<TermId> {
        match self {
            Self::Same(term) => Some(*term),
            Self::Each { list, first } => {
                list.get(first.checked_add(usize::try_from(block).ok()?)?).copied()
            }
        }
    }

    fn after(&self, blocks: u64) -> Option<Self> {
        Some(match self {
            Self::Same(term) => Self::Same(*term),
            Self::Each { list, first } => {
                let first = first.checked_add(usize::try_from(blocks).ok()?)?;
                Self::Each { list: Arc::clone(list), first }
            }
        })
    }

    fn terms(&self) -> &[TermId] {
        match self {
            Self::Same(term) => core::slice::from_ref(term),
            Self::Each { list, first } => list.get(*first..).unwrap_or_default(),
        }
    }
}

impl PartialEq for Sources {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Same(one), Self::Same(other)) => one == other,
            (Self::Each { list: one, first }, Self::Each { list: two, first: from })
                if first == from && Arc::ptr_eq(one, two) =>
            {
                true
            }
            (Self::Each { .. }, Self::Each { .. }) => self.terms() == other.terms(),
            _ => false,
        }
    }
}

impl Eq for Sources {}

impl Series {
    /// Blocks of `block` elements, which is not 0.
    pub(super) const fn new(terms: Sources, block: u64, at: u64, stride: u64) -> Self {
        Self { terms, block, skip: 0, at, stride }
    }

    /// How many blocks the first `count` elements touch.
    pub(super) fn blocks(&self, count: u64) -> u64 {
        self.skip.saturating_add(count).div_ceil(self.block.max(1))
    }

    /// The terms of the blocks that the first `count` elements touch.
    pub(super) fn terms_of(&self, count: u64) -> &[TermId] {
        let terms = self.terms.terms();
        let blocks = usize::try_from(self.blocks(count)).unwrap_or(usize::MAX);
        terms.get(..blocks).unwrap_or(terms)
    }

    /// How much further the other reads, where that is all in which they differ.
    pub(super) fn ahead(&self, other: &Self) -> Option<u64> {
        let alike = (self.block, self.skip, self.stride) == (other.block, other.skip, other.stride)
            && self.terms == other.terms;
        alike.then(|| other.at.checked_sub(self.at)).flatten()
    }

    /// Which block the element at `offset` is in, and how far into it.
    fn locate(&self, offset: u64) -> Option<(u64, u64)> {
        let position = self.skip.checked_add(offset)?;
        Some((position.checked_div(self.block)?, position.checked_rem(self.block)?))
    }

    /// What the element at `offset` holds, and how many are left of its block from there.
    pub(super) fn run_at(&self, offset: u64) -> Option<(Content, u64)> {
        let (block, into) = self.locate(offset)?;
        let at = self.at.saturating_add(block.saturating_mul(self.stride)).saturating_add(into);
        let content = Content::Term(Placed { term: self.terms.get(block)?, at });
        Some((content, self.block.saturating_sub(into)))
    }

    /// The elements at `offsets`, of which there is at least one.
    pub(super) fn cut(&self, offsets: Range<u64>) -> Option<Held> {
        let (content, left) = self.run_at(offsets.start)?;
        // If the last block has a term, all before it have.
        self.run_at(offsets.end.checked_sub(1)?)?;
        let is_one_run = matches!(self.terms, Sources::Same(_)) && self.stride == self.block;
        if is_one_run || offsets.end.saturating_sub(offsets.start) <= left {
            return Some(Held::Run(content));
        }
        let (block, into) = self.locate(offsets.start)?;
        Some(Held::Series(Box::new(Self {
            terms: self.terms.after(block)?,
            at: self.at.saturating_add(block.saturating_mul(self.stride)),
            skip: into,
            ..*self
        })))
    }

    /// Each term changed, over the first `count` elements; `None` if the changed ones
    /// do not all read as far from where they did.
    pub(super) fn map(
        &self,
        count: u64,
        change: &mut impl FnMut(Placed) -> Placed,
    ) -> Option<Self> {
        let mut further: Option<u64> = None;
        let mut terms = Vec::new();
        let blocks = match self.terms {
            Sources::Same(_) => 1,
            Sources::Each { .. } => usize::try_from(self.blocks(count)).ok()?,
        };
        for term in self.terms.terms().get(..blocks)? {
            let Placed { term, at } = change(Placed { term: *term, at: self.at });
            let by = at.checked_sub(self.at)?;
            if *further.get_or_insert(by) != by {
                return None;
            }
            terms.push(term);
        }
        let at = self.at.checked_add(further?)?;
        let terms = match self.terms {
            Sources::Same(_) => Sources::Same(*terms.first()?),
            Sources::Each { .. } => Sources::Each { list: terms.into(), first: 0 },
        };
        Some(Self { terms, at, ..*self })
    }
}
