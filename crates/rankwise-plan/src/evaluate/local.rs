//! Local acts in terms.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use rankwise_model::{Dtype, GroupSize, Reduction, Scalar};
use rankwise_topology::WorldRank;

use super::collective::Folds;
use super::{At, Cut, Machine, Tensor, Turn};
use crate::error::{Fault, PlanError};
use crate::plan::{ElementType, LocalAct, LocalStep, Operand};
use crate::term::{Constant, Factor};
use crate::vector::{Content, Gap, Vector, side_by_side};

impl Machine<'_> {
    pub(super) fn local(
        &mut self,
        at: &At<'_>,
        step: &LocalStep,
        rank: WorldRank,
    ) -> Result<(), PlanError> {
        let position_wise = step.act.is_position_wise();
        self.local_overlap(at, rank, &step.act.reads(), &step.recv, position_wise)?;
        let read = match step.act.reads().first() {
            Some(Operand { positions: Some(positions), .. }) => {
                positions.end.saturating_sub(positions.start)
            }
            Some(whole) => self.buffer(at, rank, whole)?.count(),
            None => 0,
        };
        let vector = match &step.act {
            LocalAct::Copy { from } => self.read(at, rank, from)?,
            LocalAct::Slice { from, positions } => {
                let buffer = self.read(at, rank, from)?;
                Arc::new(buffer.slice(positions.clone()).ok_or_else(|| {
                    at.error(
                        Fault::Contradiction,
                        None,
                        format!("positions {}..{} of `{from}`", positions.start, positions.end),
                        format!("positions within 0..{}", buffer.count()),
                    )
                })?)
            }
            LocalAct::Concat { from } => Arc::new(self.concatenated(at, rank, from)?),
            LocalAct::Fold { from, reduction } => {
                Arc::new(self.folded(at, rank, from, *reduction)?)
            }
            LocalAct::Scale { from, by } => self.scaled(at, rank, from, by)?,
            LocalAct::Cast { from, to } => {
                let buffer = self.read(at, rank, from)?;
                Arc::new(buffer.map(*to, |placed| self.terms.cast(placed, *to)))
            }
            LocalAct::Alloc { dtype, count } => {
                let dtype = match dtype {
                    ElementType::Is(dtype) => *dtype,
                    ElementType::Of(like, of) => self.buffer(at, of.unwrap_or(rank), like)?.dtype(),
                };
                let gap = Content::Gap(Gap::Unwritten { step: at.index });
                Arc::new(Vector::of(dtype, *count, gap))
            }
            LocalAct::Fill { value, dtype, count } => {
                let constant = self.constant(at, value, *dtype, Constant::Filled)?;
                Arc::new(Vector::of(*dtype, *count, constant))
            }
            LocalAct::Pad { from, count, value } => {
                let buffer = self.read(at, rank, from)?;
                let more = count.checked_sub(buffer.count()).ok_or_else(|| {
                    let found = format!("`{from}` of {} elements", buffer.count());
                    at.error(
                        Fault::Contradiction,
                        None,
                        found,
                        format!("at most {count}, its padded length"),
                    )
                })?;
                if count.checked_mul(buffer.dtype().bytes()).is_none() {
                    let found = format!("{count} elements of {}", buffer.dtype());
                    return Err(at.error(Fault::Overflow, None, found, "fewer than 2^64 bytes"));
                }
                let padding = self.constant(at, value, buffer.dtype(), Constant::Padding)?;
                let mut padded = Vector::clone(&buffer);
                padded.push(more, padding);
                Arc::new(padded)
            }
            LocalAct::Shard { from, sharding, over, over_name } => {
                let (group, own) = at.group_of(over, over_name.as_deref(), rank)?;
                let whole = self.read(at, rank, from)?;
                let padding = match &sharding.value {
                    None => Content::Gap(Gap::Unwritten { step: at.index }),
                    Some(value) => self.constant(at, value, whole.dtype(), Constant::Padding)?,
                };
                let refused = |(kind, found, expected)| at.error(kind, None, found, expected);
                let tensor = Tensor::new(sharding, whole.count()).map_err(refused)?;
                let cut = Cut::new(sharding, tensor, group.size()).map_err(refused)?;
                let share = cut.share(self.terms, &whole, own, padding).map_err(refused)?;
                Arc::new(share.ok_or_else(|| at.too_much_work())?)
            }
            LocalAct::Unshard { from, sharding, over, over_name } => {
                let (group, _) = at.group_of(over, over_name.as_deref(), rank)?;
                let shares = self.read(at, rank, from)?;
                let refused = |(kind, found, expected)| at.error(kind, None, found, expected);
                let tensor = Tensor::new(sharding, shares.count()).map_err(refused)?;
                let cut = Cut::new(sharding, tensor, group.size()).map_err(refused)?;
                let whole = cut.whole(self.terms, &shares).map_err(refused)?;
                Arc::new(whole.ok_or_else(|| at.too_much_work())?)
            }
        };
        let dtype = vector.dtype();
        self.turns.push(Turn::Local { rank, done: at.done(), dtype, read });
        self.write(at, rank, &step.recv, vector)
    }

    fn scaled(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        from: &Operand,
        by: &(String, String),
    ) -> Result<Arc<Vector>, PlanError> {
        let buffer = self.read(at, rank, from)?;
        let factor = constant(at, by)?;
        if !buffer.dtype().is_float() && !factor.is_integer() {
            return Err(at.error(
                Fault::Contradiction,
                None,
                format!("the factor {}/{} for `{from}`, which is {}", by.0, by.1, buffer.dtype()),
                "an integer: integers have no fractions, only multiplicities modulo 2^w",
            ));
        }
        let scaled = buffer.map(buffer.dtype(), |placed| {
            self.terms.scaled(placed, Factor::Constant(factor.clone()))
        });
        Ok(Arc::new(scaled))
    }

    /// A constant of the plan as an element.
    fn constant(
        &mut self,
        at: &At<'_>,
        text: &str,
        dtype: Dtype,
        purpose: Constant,
    ) -> Result<Content, PlanError> {
        let literal = Scalar::parse(dtype, text).map_err(|error| {
            let expected = format!("an element of {dtype}; this is {error}");
            at.error(Fault::Value, None, format!("the value `{text}`"), expected)
        })?;
        Ok(Content::Term(self.terms.constant(literal.scalar, purpose)))
    }

    fn all_of(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        from: &[Operand],
    ) -> Result<(Arc<Vector>, Vec<Arc<Vector>>), PlanError> {
        let mut buffers = Vec::new();
        for name in from {
            buffers.push(self.read(at, rank, name)?);
        }
        let first = buffers.first().cloned().ok_or_else(|| {
            at.error(Fault::Missing, None, "no buffers", "at least one buffer to read")
        })?;
        for (name, buffer) in from.iter().zip(&buffers) {
            if buffer.dtype() != first.dtype() {
                return Err(at.error(
                    Fault::Contradiction,
                    None,
                    format!("`{name}` of {}", buffer.dtype()),
                    format!("{}, like the first buffer", first.dtype()),
                ));
            }
        }
        Ok((first, buffers))
    }

    fn concatenated(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        from: &[Operand],
    ) -> Result<Vector, PlanError> {
        let (first, buffers) = self.all_of(at, rank, from)?;
        let mut whole = Vector::empty(first.dtype());
        for buffer in buffers {
            if whole.count().checked_add(buffer.count()).is_none() {
                let found = format!("{} + {} elements", whole.count(), buffer.count());
                return Err(at.error(Fault::Overflow, None, found, "a length below 2^64"));
            }
            if !self.terms.spend(buffer.entries_kept()) {
                return Err(at.too_much_work());
            }
            whole.extend(&buffer);
        }
        Ok(whole)
    }

    fn folded(
        &mut self,
        at: &At<'_>,
        rank: WorldRank,
        from: &[Operand],
        reduction: Option<Reduction>,
    ) -> Result<Vector, PlanError> {
        let (first, buffers) = self.all_of(at, rank, from)?;
        for (name, buffer) in from.iter().zip(&buffers) {
            if buffer.count() != first.count() {
                return Err(at.error(
                    Fault::Contradiction,
                    None,
                    format!("`{name}` of {} elements", buffer.count()),
                    format!("{}, like the first buffer", first.count()),
                ));
            }
        }
        let parts = u32::try_from(buffers.len()).ok().and_then(GroupSize::new);
        let mut folds =
            Folds { terms: &mut *self.terms, scalars: &[], ranks: parts.unwrap_or(GroupSize::ONE) };
        let place = u64::try_from(at.index).unwrap_or(u64::MAX);
        let buffers: Vec<&Vector> = buffers.iter().map(AsRef::as_ref).collect();
        let mut result = Vector::empty(first.dtype());
        for (positions, contents) in side_by_side(&buffers) {
            if !folds.terms.spend(contents.len()) {
                return Err(at.too_much_work());
            }
            let content = folds.fold(reduction, first.dtype(), place, at.index, &contents);
            result.push(positions.end.saturating_sub(positions.start), content);
        }
        Ok(result)
    }
}

/// A constant of the plan, exactly: each side is a decimal number.
fn constant(at: &At<'_>, (over, under): &(String, String)) -> Result<BigRational, PlanError> {
    let side = |text: &str| {
        decimal(text).ok_or_else(|| {
            at.error(Fault::Value, None, format!("the factor `{text}`"), "a decimal number")
        })
    };
    let (over, under) = (side(over)?, side(under)?);
    if under.is_zero() {
        return Err(at.error(Fault::Value, None, "a division by 0", "another divisor"));
    }
    Ok(over / under)
}

/// The factor of a [`LocalAct::Scale`], exactly, if it is one.
pub(crate) fn factor((over, under): &(String, String)) -> Option<BigRational> {
    let (over, under) = (decimal(over)?, decimal(under)?);
    (!under.is_zero()).then(|| over / under)
}

/// A plain decimal number (`12`, `-0.125`), exactly.
fn decimal(text: &str) -> Option<BigRational> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: BigInt = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    let scale = core::iter::repeat_n(BigInt::from(10), usize::try_from(places).ok()?)
        .fold(BigInt::one(), |product, ten| product * ten);
    Some(BigRational::new(digits, scale))
}
