//! The reference: what every rank's output holds, bit for bit.
//!
//! Simple before fast. It reads the [pieces](crate::RankLayout::pieces) of the
//! definition, allocates nothing, and folds in rank order. Whoever needs another
//! order, or speed, is compared with this.

use core::fmt;

use crate::element::Element;
use crate::fold::{Domain, fold};
use crate::layout::{Layout, Piece, RankLayout, Source};
use crate::rank::{GroupSize, Rank};
use crate::reduction::{Combine, Reduction};

/// Buffers that do not fit the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReferenceError {
    /// Not one buffer per rank.
    Buffers {
        /// Which buffers.
        side: Side,
        /// How many were given.
        found: usize,
        /// How many ranks there are.
        ranks: GroupSize,
    },
    /// A buffer of another length than the operation needs.
    Length {
        /// Which buffer.
        side: Side,
        /// Whose.
        rank: Rank,
        /// Its length in elements.
        found: u64,
        /// The length it must have.
        needed: u64,
    },
    /// A pre-multiplied sum without one scalar per rank, or scalars for another reduction.
    Scalars {
        /// How many were given.
        found: usize,
        /// How many are needed.
        needed: u32,
    },
}

/// One of the buffers of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What the rank contributes.
    Input,
    /// What the rank receives.
    Output,
    /// The one buffer of an in-place call.
    InPlace,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::InPlace => "in-place buffer",
        })
    }
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffers { side, found, ranks } => {
                write!(f, "{found} {side}s were given for {ranks} ranks")
            }
            Self::Length { side, rank, found, needed } => {
                write!(f, "rank {rank}: the {side} has {found} elements, needs {needed}")
            }
            Self::Scalars { found, needed } => {
                write!(
                    f,
                    "{found} scalars were given, {needed} are needed (one per rank, for a pre-multiplied sum only)"
                )
            }
        }
    }
}

impl core::error::Error for ReferenceError {}

/// Writes every rank's output.
///
/// `inputs` and `outputs` hold one slice per rank, in rank order, of exactly the
/// lengths that [`RankLayout::input_len`] and [`RankLayout::output_len`] state: an
/// empty one where a rank has no input or is promised no output. `scalars` holds
/// one scalar per rank for [`Reduction::PreMulSum`] and is empty otherwise.
///
/// Nothing is written if any length is wrong.
pub fn evaluate<T: Element>(
    layout: &Layout,
    scalars: &[T],
    inputs: &[&[T]],
    outputs: &mut [&mut [T]],
) -> Result<(), ReferenceError> {
    check_scalars(layout, scalars)?;
    check_each(layout, Side::Input, inputs.iter().map(|input| input.len()), RankLayout::input_len)?;
    let lengths = outputs.iter().map(|output| output.len());
    check_each(layout, Side::Output, lengths, RankLayout::output_len)?;

    let read = |rank: Rank, position: u64| element(inputs, rank, position);
    for (at, output) in layout.each().zip(outputs.iter_mut()) {
        for piece in at.pieces() {
            for position in piece.output.clone() {
                let value = value_at(layout, scalars, &piece, position, read);
                if let (Some(slot), Some(value)) = (slot(output, position), value) {
                    *slot = value;
                }
            }
        }
    }
    Ok(())
}

/// Replaces every rank's input by its output, in one buffer per rank.
///
/// Buffer `r` is as long as the longer side of rank `r`; input and output lie in
/// it where [`RankLayout::in_place`] says, or at its start on a rank that has one
/// side only. Positions outside the output keep what they held.
///
/// Returns `Ok(false)` without touching anything if the operation has no in-place form.
pub fn evaluate_in_place<T: Element>(
    layout: &Layout,
    scalars: &[T],
    buffers: &mut [&mut [T]],
) -> Result<bool, ReferenceError> {
    check_scalars(layout, scalars)?;
    let buffer_len = |at: &RankLayout| at.input_len().max(at.output_len());
    check_each(layout, Side::InPlace, buffers.iter().map(|buffer| buffer.len()), buffer_len)?;
    let has_both = |at: &RankLayout| at.has_input() && at.has_output();
    if layout.each().any(|at| has_both(&at) && at.in_place().is_none()) {
        return Ok(false);
    }

    let starts = |at: &RankLayout| {
        at.in_place().map_or((0, 0), |relation| (relation.input.start, relation.output.start))
    };
    let first = layout.at(layout.ranks().first()).ok();
    for at in layout.each() {
        for piece in at.pieces() {
            // What an earlier rank has stored may be an input of this one in one case
            // only: a fold of the same positions (all_reduce). Its value is the same
            // too, so it is copied from the first rank, which folded before any write.
            let earlier = first.as_ref().filter(|first| {
                first.rank() != at.rank()
                    && piece.source == Source::EveryRank
                    && first.pieces().any(|earlier| earlier == piece)
            });
            for position in piece.output.clone() {
                let value = match earlier {
                    Some(first) => {
                        let (_, start) = starts(first);
                        let from = start.checked_add(position);
                        from.and_then(|from| element(buffers, first.rank(), from))
                    }
                    None => value_at(layout, scalars, &piece, position, |rank, position| {
                        let (input_start, _) = starts(&layout.at(rank).ok()?);
                        element(buffers, rank, input_start.checked_add(position)?)
                    }),
                };
                let (_, output_start) = starts(&at);
                let target = output_start.checked_add(position);
                let buffer = index(at.rank()).and_then(|index| buffers.get_mut(index));
                if let (Some(value), Some(target), Some(buffer)) = (value, target, buffer)
                    && let Some(slot) = slot(buffer, target)
                {
                    *slot = value;
                }
            }
        }
    }
    Ok(true)
}

/// The value at one output position; `None` only if a buffer is too short, which
/// the callers have excluded.
fn value_at<T: Element>(
    layout: &Layout,
    scalars: &[T],
    piece: &Piece,
    position: u64,
    read: impl Fn(Rank, u64) -> Option<T>,
) -> Option<T> {
    let offset = position.checked_sub(piece.output.start)?.checked_add(piece.start)?;
    match (piece.source, layout.operation().reduction()) {
        (Source::Rank(rank), _) => read(rank, offset),
        (Source::EveryRank, Some(reduction)) => {
            let recipe = reduction.recipe(T::DTYPE);
            let mut numbers = Numbers { scalars };
            fold(&mut numbers, recipe, layout.ranks(), |_, rank| read(rank, offset))
                .map(T::canonical)
        }
        (Source::EveryRank, None) => None,
    }
}

/// Numbers as a domain. A missing number stays missing.
struct Numbers<'a, T> {
    scalars: &'a [T],
}

impl<T: Element> Domain for Numbers<'_, T> {
    type Value = Option<T>;

    fn times_reciprocal(&mut self, value: Option<T>, ranks: GroupSize) -> Option<T> {
        value.map(|value| value.average_before(ranks))
    }

    fn times_scalar_of(&mut self, rank: Rank, value: Option<T>) -> Option<T> {
        let scalar = *self.scalars.get(index(rank)?)?;
        value.map(|value| value.combine(Combine::Prod, scalar))
    }

    fn combine(&mut self, how: Combine, running: Option<T>, next: Option<T>) -> Option<T> {
        Some(running?.combine(how, next?))
    }

    fn divide_truncating(&mut self, value: Option<T>, ranks: GroupSize) -> Option<T> {
        value.map(|value| value.average_after(ranks))
    }
}

fn index(rank: Rank) -> Option<usize> {
    usize::try_from(rank.index()).ok()
}

fn element<T: Copy>(buffers: &[impl AsRef<[T]>], rank: Rank, position: u64) -> Option<T> {
    buffers.get(index(rank)?)?.as_ref().get(usize::try_from(position).ok()?).copied()
}

fn slot<T>(buffer: &mut [T], position: u64) -> Option<&mut T> {
    buffer.get_mut(usize::try_from(position).ok()?)
}

fn check_scalars<T>(layout: &Layout, scalars: &[T]) -> Result<(), ReferenceError> {
    let needed = match layout.operation().reduction() {
        Some(Reduction::PreMulSum) => layout.ranks().get(),
        _ => 0,
    };
    if usize::try_from(needed) == Ok(scalars.len()) {
        Ok(())
    } else {
        Err(ReferenceError::Scalars { found: scalars.len(), needed })
    }
}

fn check_each(
    layout: &Layout,
    side: Side,
    lengths: impl ExactSizeIterator<Item = usize>,
    needed: impl Fn(&RankLayout) -> u64,
) -> Result<(), ReferenceError> {
    let ranks = layout.ranks();
    if usize::try_from(ranks.get()) != Ok(lengths.len()) {
        return Err(ReferenceError::Buffers { side, found: lengths.len(), ranks });
    }
    for (at, found) in layout.each().zip(lengths) {
        let (needed, found) = (needed(&at), u64::try_from(found).unwrap_or(u64::MAX));
        if found != needed {
            return Err(ReferenceError::Length { side, rank: at.rank(), found, needed });
        }
    }
    Ok(())
}
