//! What the ranks of a group hold, in closed form over the ranks.

use alloc::vec::Vec;
use core::ops::Range;

use rankwise_model::Dtype;

use super::series::{Series, Sources};
use super::{Content, Held, Vector};

/// Vectors that differ in their terms, or in where they read, and in nothing else:
/// member `q` reads `q` strides after the first.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    dtype: Dtype,
    members: u64,
    count: u64,
    alike: Alike,
    stride: u64,
}

#[derive(Clone, Debug)]
enum Alike {
    /// One run each; the first reads at `at`.
    Runs { terms: Sources, at: u64 },
    /// The same series each, but for where it reads; this is the first member's.
    Series(Series),
}

impl Family {
    /// The vectors of a group's members as a family, if they are one.
    pub(crate) fn of<'v>(vectors: impl Iterator<Item = &'v Vector>) -> Option<Self> {
        let mut vectors = vectors.peekable();
        let first: &Vector = vectors.peek()?;
        let (dtype, count) = (first.dtype(), first.count());
        let [entry] = first.entries() else { return None };
        let mut stride: Option<u64> = None;
        let mut members = 0_u64;
        let mut next_at = |at: u64, first: u64, member: u64| {
            let ahead = at.checked_sub(first)?;
            match (member, stride) {
                (0, _) => {}
                (1, _) => stride = Some(ahead),
                (member, Some(stride)) if stride.checked_mul(member) == Some(ahead) => {}
                _ => return None,
            }
            Some(())
        };
        let alike = match &entry.held {
            Held::Run(Content::Gap(_)) => return None,
            Held::Run(Content::Term(placed)) => {
                let mut terms = Vec::new();
                for vector in vectors {
                    let [entry] = vector.entries() else { return None };
                    let Held::Run(Content::Term(own)) = &entry.held else { return None };
                    if (vector.dtype(), entry.end) != (dtype, count) {
                        return None;
                    }
                    next_at(own.at, placed.at, members)?;
                    terms.push(own.term);
                    members = members.saturating_add(1);
                }
                Alike::Runs { terms: Sources::each(terms), at: placed.at }
            }
            Held::Series(series) => {
                for vector in vectors {
                    let [entry] = vector.entries() else { return None };
                    let Held::Series(own) = &entry.held else { return None };
                    if (vector.dtype(), entry.end) != (dtype, count) {
                        return None;
                    }
                    next_at(series.ahead(own)?, 0, members)?;
                    members = members.saturating_add(1);
                }
                Alike::Series((**series).clone())
            }
        };
        Some(Self { dtype, members, count, alike, stride: stride.unwrap_or(0) })
    }

    /// The number of elements of each member.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The elements at `positions` of every member, one member after the other. `None`
    /// if they are not there, or have no closed form.
    pub(crate) fn in_turn(&self, positions: Range<u64>) -> Option<Vector> {
        let block = positions.end.checked_sub(positions.start)?;
        if positions.end > self.count {
            return None;
        }
        if block == 0 {
            return Some(Vector::empty(self.dtype));
        }
        let (terms, at) = match &self.alike {
            Alike::Runs { terms, at } => (terms.clone(), at.checked_add(positions.start)?),
            Alike::Series(series) => match series.cut(positions)? {
                Held::Run(Content::Term(placed)) => (Sources::Same(placed.term), placed.at),
                _ => return None,
            },
        };
        Vector::series(self.dtype, block, self.members, terms, at, self.stride)
    }
}
