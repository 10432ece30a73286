//! Numbers that tell contributions apart, and the arithmetic that folds them.
//!
//! Nothing here comes from the crates under test. Integers are residues modulo 2^w.
//! A float over the reals is an element of the field of 2^61 − 1 elements: sums,
//! products and divisions by n are exact there, and two different combinations of
//! random contributions agree by accident about once in 10^18 draws. Every value is
//! drawn many times over, since a maximum shows its parts only now and then.

/// How many independent draws a value has.
pub(crate) const DRAWS: usize = 64;

/// One value in every draw.
pub(crate) type Value = [u64; DRAWS];

/// 2^61 − 1, a prime.
const PRIME: u64 = (1 << 61) - 1;

/// An element type, as this oracle sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed(u32),
    Unsigned(u32),
    Real,
}

/// A reduction, as this oracle sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    Sum,
    Prod,
    Max,
    Min,
    Avg,
}

impl Fold {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Max => "max",
            Self::Min => "min",
            Self::Avg => "avg",
        }
    }
}

impl Kind {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Signed(32) => "i32",
            Self::Signed(_) => "i64",
            Self::Unsigned(8) => "u8",
            Self::Unsigned(_) => "u32",
            Self::Real => "f32",
        }
    }

    fn wrap(self, value: u128) -> u64 {
        let low = match self {
            Self::Signed(bits) | Self::Unsigned(bits) => value & ((1_u128 << bits) - 1),
            Self::Real => value % u128::from(PRIME),
        };
        u64::try_from(low).unwrap()
    }

    /// Any value of the type.
    pub(crate) fn draw(self, random: &mut Random) -> Value {
        std::array::from_fn(|_| self.wrap(u128::from(random.next())))
    }

    fn signed(self, value: u64) -> i128 {
        match self {
            Self::Signed(bits) if value >> (bits - 1) == 1 => i128::from(value) - (1_i128 << bits),
            _ => i128::from(value),
        }
    }

    fn pair(self, fold: Fold, one: u64, other: u64) -> u64 {
        let (wide, wider) = (u128::from(one), u128::from(other));
        match fold {
            Fold::Sum | Fold::Avg => self.wrap(wide + wider),
            Fold::Prod => self.wrap(wide * wider),
            Fold::Max if self.signed(one) >= self.signed(other) => one,
            Fold::Min if self.signed(one) <= self.signed(other) => one,
            Fold::Max | Fold::Min => other,
        }
    }

    /// All values folded; for an average divided by their number.
    pub(crate) fn fold(self, fold: Fold, values: &[Value]) -> Value {
        let mut result = values[0];
        for value in &values[1..] {
            for draw in 0..DRAWS {
                result[draw] = self.pair(fold, result[draw], value[draw]);
            }
        }
        if fold == Fold::Avg {
            let n = values.len() as u64;
            for value in &mut result {
                *value = self.divide(*value, n);
            }
        }
        result
    }

    fn divide(self, value: u64, by: u64) -> u64 {
        match self {
            Self::Real => {
                // by^(p−2) is the inverse of by.
                let (mut inverse, mut power, mut exponent) = (1_u128, u128::from(by), PRIME - 2);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        inverse = inverse * power % u128::from(PRIME);
                    }
                    power = power * power % u128::from(PRIME);
                    exponent >>= 1;
                }
                self.wrap(u128::from(value) * inverse)
            }
            // Rust's `/` truncates toward zero.
            Self::Signed(bits) => {
                let quotient = self.signed(value) / i128::from(by);
                self.wrap(u128::try_from(quotient + (1_i128 << bits)).unwrap())
            }
            Self::Unsigned(_) => value / by,
        }
    }
}

/// A small generator of random numbers (splitmix64), so that a seed is a test.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
