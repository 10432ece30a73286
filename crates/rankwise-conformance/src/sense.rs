//! In which sense a result must be the expected one, and which others are as good.

use rankwise_comm::FoldOrder;
use rankwise_model::{Dtype, DtypeClass, Element, GroupSize, Rank, Reduction, Scalar};

use crate::plan::Contributions;
use crate::values::Contributors;
use rankwise_comm::bytes::{element_at, width};

/// In which sense a result is compared with the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sense {
    /// Bit for bit: moved, integers, the same in every order, or the order is declared.
    Exactly,
    /// One of the results that an average of two contributions has: a multiplication and
    /// an addition, or both fused, whichever comes first.
    FusedOrNot,
    /// Within the bound that holds for every order.
    Bounded,
}

/// What one output must be.
#[derive(Debug)]
pub(crate) struct Expectation {
    dtype: Dtype,
    bytes: Vec<u8>,
    poison: Vec<u8>,
    allowed: Allowances,
}

/// For each position, what else is right.
#[derive(Debug)]
pub(crate) enum Allowances {
    Nothing,
    /// These bit patterns too.
    Patterns(Vec<Vec<u64>>),
    /// Everything as near to a value as that.
    Near(Vec<(f64, f64)>),
}

impl Sense {
    /// The sense for the rounds of a case.
    pub(crate) fn of(
        dtype: Dtype,
        reduction: Option<Reduction>,
        contributors: Contributors,
        ranks: GroupSize,
        order: FoldOrder,
    ) -> Self {
        let Some(reduction) = reduction else { return Self::Exactly };
        if order == FoldOrder::Rank || !dtype.is_float() {
            return Self::Exactly;
        }
        match (contributors, reduction) {
            (_, Reduction::Max | Reduction::Min) => Self::Exactly,
            (Contributors::Everyone, _) => Self::Bounded,
            (Contributors::Two, Reduction::Avg) if !ranks.get().is_power_of_two() => {
                Self::FusedOrNot
            }
            _ => Self::Exactly,
        }
    }

    pub(crate) const fn allowances(self) -> Allowances {
        match self {
            Self::Exactly => Allowances::Nothing,
            Self::FusedOrNot => Allowances::Patterns(Vec::new()),
            Self::Bounded => Allowances::Near(Vec::new()),
        }
    }
}

impl Allowances {
    /// Notes what is right at the next position, a fold of the inputs' position `from`.
    pub(crate) fn note<T: Element>(
        &mut self,
        all: &Contributions<'_, T>,
        ranks: GroupSize,
        from: u64,
    ) {
        let reciprocal = T::from_f64(1.0).average_before(ranks).to_f64();
        let factor = |rank: Rank| match all.reduction {
            Some(Reduction::Avg) => reciprocal,
            Some(Reduction::PreMulSum) => all.scalar_of(rank).map_or(1.0, Element::to_f64),
            _ => 1.0,
        };
        let each = ranks.ranks().filter_map(|rank| Some((factor(rank), all.read(rank, from)?)));
        match self {
            Self::Nothing => {}
            Self::Patterns(patterns) => {
                let given: Vec<T> =
                    each.map(|(_, value)| value).filter(|value| value.to_f64() != 0.0).collect();
                let fused = given.iter().enumerate().flat_map(|(at, last)| {
                    let others = given.iter().enumerate().filter(move |(other, _)| *other != at);
                    others.map(|(_, first)| {
                        let before = first.average_before(ranks).to_f64();
                        last.to_f64().mul_add(reciprocal, before)
                    })
                });
                patterns.push(fused.flat_map(roundings::<T>).collect());
            }
            Self::Near(near) => {
                // Jeannerod and Rump: (n − 1)·u·Σ|xᵢ| for a sum in any order, n·u·Σ|kᵢ·xᵢ|
                // with products, without terms of higher order; and for each product
                // that underflows, the smallest number. The centre is summed in
                // binary64, which for binary64 itself may err by as much again.
                let products = matches!(all.reduction, Some(Reduction::Avg | Reduction::PreMulSum));
                let (mut sum, mut magnitudes) = (0.0, 0.0);
                for (factor, value) in each {
                    sum += factor * value.to_f64();
                    magnitudes += (factor * value.to_f64()).abs();
                }
                let hops = f64::from(ranks.get()) - if products { 0.0 } else { 1.0 };
                let bound = hops * unit(T::DTYPE) * magnitudes;
                let tiny = f64::from(ranks.get()) * T::from_bits(1).to_f64();
                let twice = if T::DTYPE == Dtype::F64 { 2.0 } else { 1.0 };
                near.push((sum, twice * (bound + if products { tiny } else { 0.0 })));
            }
        }
    }
}

/// The unit roundoff: half the distance from 1 to the next number. fp8 is rounded to
/// binary16 on the way.
fn unit(dtype: Dtype) -> f64 {
    match dtype.class() {
        DtypeClass::Integer { .. } => 0.0,
        DtypeClass::Float { precision } => {
            let unit = |digits: u32| 0.5_f64.powi(i32::try_from(digits).unwrap_or(0));
            let on_the_way = if dtype.bytes() == 1 { unit(11) } else { 0.0 };
            unit(precision) + on_the_way
        }
    }
}

/// A value rounded to `T`: at once, or through binary16 as fp8 is.
fn roundings<T: Element>(value: f64) -> Vec<u64> {
    let mut all = vec![T::from_f64(value).to_bits()];
    if T::DTYPE.bytes() == 1 {
        let half = Scalar::of(value).convert(Dtype::F16);
        all.push(half.convert(T::DTYPE).bits());
    }
    all
}

impl Expectation {
    pub(crate) fn new(dtype: Dtype, bytes: Vec<u8>, allowed: Allowances) -> Self {
        let mut poison = vec![POISON; bytes.len()];
        let width = width(dtype);
        for (own, expected) in poison.chunks_mut(width).zip(bytes.chunks(width)) {
            if own == expected {
                own.fill(!POISON);
            }
        }
        Self { dtype, bytes, poison, allowed }
    }

    /// The model's result.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first position that holds something else: what it holds, and what it should.
    pub(crate) fn first_difference(&self, found: &[u8]) -> Option<(usize, Scalar, Scalar)> {
        if found == self.bytes {
            return None;
        }
        let positions = self.bytes.len() / width(self.dtype);
        (0..positions).find_map(|at| {
            let expected = element_at(self.dtype, &self.bytes, at)?;
            let held = element_at(self.dtype, found, at)?;
            (held != expected && !self.allows(at, held)).then_some((at, held, expected))
        })
    }

    fn allows(&self, at: usize, held: Scalar) -> bool {
        match &self.allowed {
            Allowances::Nothing => false,
            Allowances::Patterns(patterns) => {
                patterns.get(at).is_some_and(|allowed| allowed.contains(&held.bits()))
            }
            Allowances::Near(near) => near
                .get(at)
                .is_some_and(|(centre, within)| (held.to_f64() - centre).abs() <= *within),
        }
    }

    /// Bytes of which no element equals the one expected at its place.
    pub(crate) fn poison(&self) -> &[u8] {
        &self.poison
    }
}

/// What outputs hold before the call, in every byte.
pub(crate) const POISON: u8 = 0xa5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poison_is_never_the_expected_value() {
        let bytes = vec![0xa5, 0x5a, 0xa5, 0x00];
        let expected = Expectation::new(Dtype::U8, bytes.clone(), Allowances::Nothing);
        assert_eq!(expected.poison(), [0x5a, 0xa5, 0x5a, 0xa5]);
        assert_eq!(expected.first_difference(&bytes), None);
        let (at, held, wanted) = expected.first_difference(&[0xa5, 0x5a, 0x5a, 0xa5]).unwrap();
        assert_eq!((at, held.bits(), wanted.bits()), (2, 0x5a, 0xa5));
    }

    #[test]
    fn orders_and_fusion_are_allowed_only_where_they_differ() {
        let of = |reduction, contributors, ranks| {
            let ranks = GroupSize::new(ranks).unwrap();
            Sense::of(Dtype::F32, Some(reduction), contributors, ranks, FoldOrder::Unspecified)
        };
        assert_eq!(of(Reduction::Sum, Contributors::Two, 3), Sense::Exactly);
        assert_eq!(of(Reduction::Sum, Contributors::Everyone, 3), Sense::Bounded);
        assert_eq!(of(Reduction::Max, Contributors::Everyone, 3), Sense::Exactly);
        assert_eq!(of(Reduction::Avg, Contributors::One, 3), Sense::Exactly);
        assert_eq!(of(Reduction::Avg, Contributors::Two, 3), Sense::FusedOrNot);
        assert_eq!(of(Reduction::Avg, Contributors::Two, 4), Sense::Exactly);
    }
}
