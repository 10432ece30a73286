//! Tensors cut along one axis: a rank's share, and the whole of all shares.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Range;

use rankwise_account::{Division, ElemCount, Shares};
use rankwise_model::{GroupSize, Rank};

use crate::error::Fault;
use crate::plan::{Sharding, Uneven};
use crate::term::Terms;
use crate::vector::{Content, Vector};

/// What is wrong, what was found and what was expected; the place is the caller's.
pub(crate) type Refusal = (Fault, String, String);

/// A tensor as its divided axis sees it: `outer` times, rows of `inner` elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor {
    outer: u64,
    rows: u64,
    inner: u64,
}

impl Tensor {
    /// The tensor of a sharding; `count` elements in one axis where it has no shape.
    pub(crate) fn new(sharding: &Sharding, count: u64) -> Result<Self, Refusal> {
        let Some(shape) = &sharding.shape else {
            return Ok(Self { outer: 1, rows: count, inner: 1 });
        };
        let too_large = || {
            let found = format!("a tensor of shape {shape:?}");
            (Fault::Overflow, found, "fewer than 2^64 elements".to_string())
        };
        let product =
            |axes: &[u64]| axes.iter().try_fold(1_u64, |product, axis| product.checked_mul(*axis));
        let (before, rest) = shape.split_at_checked(sharding.dim).unwrap_or((shape, &[]));
        let (rows, after) = rest.split_first().ok_or_else(|| {
            let found = format!("dim {} of a tensor of shape {shape:?}", sharding.dim);
            (
                Fault::Contradiction,
                found,
                format!("an axis from 0 to {}", shape.len().saturating_sub(1)),
            )
        })?;
        product(shape).ok_or_else(too_large)?;
        let outer = product(before).ok_or_else(too_large)?;
        let inner = product(after).ok_or_else(too_large)?;
        Ok(Self { outer, rows: *rows, inner })
    }

    fn count(&self) -> u64 {
        self.rows.saturating_mul(self.outer).saturating_mul(self.inner)
    }
}

/// A part of a share.
pub(crate) enum Piece {
    /// Positions of the tensor.
    Held(Range<u64>),
    /// So many that only fill up.
    Padding(u64),
}

/// A tensor cut for the ranks of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    tensor: Tensor,
    shares: Shares,
    ranks: GroupSize,
}

impl Cut {
    /// Fails where the axis does not divide and the sharding says nothing of that.
    pub(crate) fn new(
        sharding: &Sharding,
        tensor: Tensor,
        ranks: GroupSize,
    ) -> Result<Self, Refusal> {
        let division = Division::new(ElemCount::new(tensor.rows), ranks);
        let lost = division.lost_by_truncating();
        if sharding.uneven.is_none() && lost != ElemCount::ZERO {
            let of = if sharding.shape.is_some() { "rows" } else { "elements" };
            return Err((
                Fault::Contradiction,
                format!("a shard of {} {of} over {ranks} ranks", tensor.rows),
                format!(
                    "a length that {ranks} divides, or `uneven`: equal shards would lose {lost}"
                ),
            ));
        }
        let shares = Shares::new(division, sharding.uneven.unwrap_or(Uneven::Balanced));
        let shares = shares.map_err(|error| {
            (Fault::Overflow, error.to_string(), "padded shards below 2^64 elements".to_string())
        })?;
        Ok(Self { tensor, shares, ranks })
    }

    /// The rows of `rank`, and how many of its share are padding.
    fn rows(&self, rank: Rank) -> (Range<u64>, u64) {
        // The ranks are those of the group that it was cut for.
        let owned = self.shares.owned_by(rank).unwrap_or_default();
        (owned, self.shares.padding_on(rank).map_or(0, ElemCount::get))
    }

    /// The share of `rank` of the tensor in `whole`; `None` if it is too much work.
    pub(crate) fn share(
        &self,
        terms: &mut Terms,
        whole: &Vector,
        rank: Rank,
        padding: Content,
    ) -> Result<Option<Vector>, Refusal> {
        self.fits(whole, self.tensor.count())?;
        let mut share = Vector::empty(whole.dtype());
        for piece in self.share_pieces(rank) {
            match piece {
                Piece::Held(positions) => {
                    if !append(terms, &mut share, whole, positions) {
                        return Ok(None);
                    }
                }
                Piece::Padding(count) => share.push(count, padding),
            }
        }
        Ok(Some(share))
    }

    /// Of what the share of `rank` is put together.
    pub(crate) fn share_pieces(&self, rank: Rank) -> impl Iterator<Item = Piece> {
        let Tensor { outer, rows, inner } = self.tensor;
        let (owned, padded) = self.rows(rank);
        let nothing = inner == 0 || (owned.is_empty() && padded == 0);
        (0..if nothing { 0 } else { outer }).flat_map(move |block| {
            let first = block.saturating_mul(rows);
            let start = first.saturating_add(owned.start).saturating_mul(inner);
            let end = first.saturating_add(owned.end).saturating_mul(inner);
            [Piece::Held(start..end), Piece::Padding(padded.saturating_mul(inner))]
        })
    }

    /// The tensor of which `shares` are the shares, in rank order; `None` if it is too
    /// much work.
    pub(crate) fn whole(
        &self,
        terms: &mut Terms,
        shares: &Vector,
    ) -> Result<Option<Vector>, Refusal> {
        let Tensor { outer, inner, .. } = self.tensor;
        let mut total = 0_u64;
        for rank in self.ranks.ranks() {
            total = total.saturating_add(self.length(rank));
        }
        self.fits(shares, total.saturating_mul(outer).saturating_mul(inner))?;
        let mut whole = Vector::empty(shares.dtype());
        for positions in self.whole_pieces() {
            if !append(terms, &mut whole, shares, positions) {
                return Ok(None);
            }
        }
        Ok(Some(whole))
    }

    /// Of which positions of all shares, in rank order, the tensor is put together.
    pub(crate) fn whole_pieces(&self) -> impl Iterator<Item = Range<u64>> {
        let Tensor { outer, inner, .. } = self.tensor;
        let outer = if self.tensor.count() == 0 { 0 } else { outer };
        (0..outer).flat_map(move |block| {
            self.ranks.ranks().scan(0_u64, move |base, rank| {
                let (owned, _) = self.rows(rank);
                let (length, valid) = (self.length(rank), owned.end.saturating_sub(owned.start));
                let first = block.saturating_mul(length).saturating_mul(inner);
                let start = base.saturating_add(first);
                let end = start.saturating_add(valid.saturating_mul(inner));
                *base = base.saturating_add(length.saturating_mul(outer).saturating_mul(inner));
                Some(start..end)
            })
        })
    }

    /// The rows of a rank's share, padding included.
    fn length(&self, rank: Rank) -> u64 {
        let (owned, padded) = self.rows(rank);
        owned.end.saturating_sub(owned.start).saturating_add(padded)
    }

    fn fits(&self, vector: &Vector, count: u64) -> Result<(), Refusal> {
        if vector.count() == count {
            return Ok(());
        }
        let Tensor { outer, rows, inner } = self.tensor;
        let found = format!("a buffer of {} elements", vector.count());
        let expected = format!("{count}: {outer} × {rows} × {inner} over {} ranks", self.ranks);
        Err((Fault::Contradiction, found, expected))
    }
}

/// Appends some positions; false if that is too much work.
fn append(terms: &mut Terms, to: &mut Vector, from: &Vector, positions: Range<u64>) -> bool {
    let mut fits = terms.spend(1);
    for run in from.within(positions) {
        fits &= terms.spend(1);
        if !fits {
            break;
        }
        to.push(run.count(), run.content);
    }
    fits
}
