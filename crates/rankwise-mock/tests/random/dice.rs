//! Choices, the same for the same seed.

use rankwise_model::{Element, Scalar};

use crate::values::Values;

pub(crate) struct Dice(Values);

impl Dice {
    pub(crate) fn seeded(seed: u64) -> Self {
        // Far apart, so that neighbouring seeds share no stretch of the sequence.
        Self(Values::seeded(seed.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.0.bits() % u64::try_from(sides.max(1)).expect("small")).expect("small")
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// `some` different numbers below `of`.
    pub(crate) fn distinct(&mut self, some: usize, of: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..of).collect();
        (0..some).map(|_| all.swap_remove(self.below(all.len()))).collect()
    }

    /// Bit patterns of values of a type.
    pub(crate) fn bits<T: Element>(&mut self, elements: usize) -> Vec<u64> {
        let elements = u64::try_from(elements).expect("small");
        self.0.many::<T>(elements).into_iter().map(Element::to_bits).collect()
    }

    pub(crate) fn scalar<T: Element>(&mut self) -> Scalar {
        Scalar::of(self.0.next::<T>())
    }
}
