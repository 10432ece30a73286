//! Random cases: seeded, and generous with the values that break arithmetic.

use rankwise_model::Dtype;

use crate::arithmetic::{Kind, kind};
use crate::soft::Format;

/// `splitmix64`: every run draws the same numbers.
pub(crate) struct Dice {
    state: u64,
    /// Whether floats are drawn close to one only, so that a fold of many has
    /// digits to round and is not soon a NaN.
    pub(crate) tame: bool,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, tame: false }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0 … limit − 1`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.bits() % u64::try_from(limit).unwrap()).unwrap()
    }

    pub(crate) fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    fn one_of(&mut self, values: &[u64]) -> u64 {
        values[self.below(values.len())]
    }

    /// Bits of an element: now any pattern, now a small number, now an edge.
    pub(crate) fn element(&mut self, dtype: Dtype) -> u64 {
        match kind(dtype) {
            Kind::Integer { bits, .. } => self.integer(u64::MAX >> (64 - bits)),
            Kind::Float(format) | Kind::Tiny(format) => self.float(format),
        }
    }

    fn integer(&mut self, mask: u64) -> u64 {
        let top = mask ^ (mask >> 1);
        let near = u64::try_from(self.below(9)).unwrap();
        mask & match self.below(4) {
            0 => self.bits(),
            1 => near.wrapping_sub(4),
            2 => top.wrapping_add(near).wrapping_sub(4),
            _ => self.bits() >> self.below(64),
        }
    }

    fn float(&mut self, format: Format) -> u64 {
        let sign = if self.one_in(2) { format.sign_bit() } else { 0 };
        let magnitude = format.sign_bit() - 1;
        let one = (magnitude >> (format.mantissa + 1)) << format.mantissa;
        let smallest_normal = 1 << format.mantissa;
        let near = u64::try_from(self.below(16)).unwrap();
        sign | match if self.tame { 9 + self.below(3) } else { self.below(12) } {
            // Any pattern, NaNs with payloads and infinities among them.
            0..3 => self.bits() & magnitude,
            // NaNs, the infinity and the largest finite values.
            3 => magnitude - near % 4,
            4 => self.one_of(&[format.largest_finite(), format.infinity(), magnitude]),
            5 => format.largest_finite() - near,
            6 => 0,
            // Subnormals, and the step from them.
            7 => self.bits() % smallest_normal,
            8 => smallest_normal - 4 % smallest_normal + near,
            // Close to one, where sums cancel, tie and round.
            9 => one + near - 8,
            _ => one - (8 << format.mantissa >> 2) + self.bits() % (16 << format.mantissa >> 2),
        }
    }
}
