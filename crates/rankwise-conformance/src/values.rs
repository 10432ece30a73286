//! What the ranks contribute: values whose right answer is known exactly, and whose
//! wrong place shows as a wrong value.
//!
//! Operations that move get arbitrary bit patterns (but no NaN), another for each rank,
//! position and round. Operations that fold get few contributions per position that are
//! not the neutral element of the reduction, small enough that every partial result is
//! exact in every type, whatever the order of the fold:
//!
//! - A sum of two integers `|k| ≤ 2^(p−1)` is at most `2^p`, exact in a float of
//!   precision `p`: 3 for e5m2. With a scalar of magnitude at most 2 before, `|k|` is
//!   half of that. A common factor `2^e`, 1 to 8, depends on the position.
//! - A product of such a value and of powers of two is exact.
//! - Integers wrap, and so are exact anyway.
//!
//! Values are dealt out of decks whose number of cards is a prime: neighbours in rank or
//! position never hold equal cards, and where two far places do in one round, they do
//! not in the next.

use rankwise_model::reduction::Before;
use rankwise_model::{Dtype, DtypeClass, Element, Recipe, Reduction};

/// What sort of values a round has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Contributors {
    /// At each position one rank contributes, the others the neutral element.
    One,
    /// At each position two ranks do.
    Two,
    /// Every rank contributes something arbitrary; the result may depend on the order.
    Everyone,
}

/// The values of one round of one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values {
    pub(crate) seed: u64,
    pub(crate) ranks: u32,
    pub(crate) reduction: Option<Reduction>,
    pub(crate) contributors: Contributors,
}

/// A hash with no structure of its own (splitmix64, twice).
fn mix(first: u64, second: u64) -> u64 {
    let once = |value: u64| {
        let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    once(once(first) ^ second)
}

/// Deals card numbers to ranks and positions.
struct Deck {
    cards: u64,
    seed: u64,
    per_rank: u64,
    per_position: u64,
}

impl Deck {
    /// `cards` is a prime, so that any step goes through all of them.
    fn new(cards: u64, seed: u64) -> Self {
        let step = |salt| 1 + mix(seed, salt) % (cards - 1);
        Self { cards, seed, per_rank: step(1), per_position: step(2) }
    }

    fn card(&self, rank: u64, position: u64) -> u64 {
        let (table, seat) = (rank / self.cards, rank % self.cards);
        let (row, place) = (position / self.cards, position % self.cards);
        let start = if table == 0 && row == 0 { 0 } else { mix(self.seed ^ table << 32, row) };
        (seat * self.per_rank + place * self.per_position + start % self.cards) % self.cards
    }
}

impl Values {
    /// Other values for each round and size of a case, the same ones every time.
    pub(crate) fn seed(round: u32, ranks: u32, count: u64) -> u64 {
        mix(u64::from(round) << 32 | u64::from(ranks), count)
    }

    /// What rank `rank` contributes: `len` elements.
    pub(crate) fn of<T: Element>(&self, rank: u32, len: u64) -> Vec<T> {
        let Some(reduction) = self.reduction else {
            let deck = Deck::new(patterns(T::DTYPE), self.seed);
            return (0..len).map(|at| pattern(deck.card(rank.into(), at))).collect();
        };
        let recipe = reduction.recipe(T::DTYPE);
        let digits = exact_digits(T::DTYPE, recipe);
        let deck = Deck::new(prime_below(digits), self.seed);
        let one = |at| match self.contributors {
            Contributors::Everyone => self.arbitrary(rank, at),
            Contributors::One | Contributors::Two => {
                let card = deck.card(rank.into(), at);
                match self.turn(rank, at) {
                    None => T::identity(recipe.combine),
                    Some(1) if reduction == Reduction::Prod => power(card, T::DTYPE),
                    Some(_) => self.exact(card, at, digits),
                }
            }
        };
        (0..len).map(one).collect()
    }

    /// The scalar of `rank`, for a pre-multiplied sum.
    pub(crate) fn scalar<T: Element>(&self, rank: u32) -> T {
        let turn = u64::from(rank) + self.seed % 7;
        match (T::DTYPE.class(), self.contributors) {
            (DtypeClass::Integer { .. }, _) => T::from_bits(2 + 3 * turn),
            (_, Contributors::Everyone) => T::from_f64([0.5, 0.75, 1.25, 1.5, 1.75][spot(turn, 5)]),
            _ => T::from_f64([2.0, -1.0, -2.0][spot(turn, 3)]),
        }
    }

    /// Whether `rank` is the first (0) or second (1) that contributes to position `at`.
    fn turn(&self, rank: u32, at: u64) -> Option<u32> {
        let ranks = u64::from(self.ranks);
        // Every rank has its turn within n positions, in another order in each stretch.
        let first = (at + mix(self.seed, at / ranks)) % ranks;
        if u64::from(rank) == first {
            return Some(0);
        }
        let second = (first + 1 + mix(self.seed, !at) % (ranks - 1).max(1)) % ranks;
        let both = self.contributors == Contributors::Two;
        (both && u64::from(rank) == second).then_some(1)
    }

    /// A contribution that is not neutral and sums up exactly.
    fn exact<T: Element>(&self, card: u64, at: u64, digits: u32) -> T {
        if !T::DTYPE.is_float() {
            return T::from_bits((card + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 | 1));
        }
        // Magnitudes 1 … 2^(digits − 1); of wide types, spread over that range.
        let pairs = 1_u64 << (digits.min(MOST_DIGITS) - 1);
        let stride = (1_u64 << (digits - 1)) / pairs;
        let magnitude = (card / 2 + 1) * stride - mix(self.seed, card) % stride;
        let sign = if card.is_multiple_of(2) { 1.0 } else { -1.0 };
        let scale = [1.0, 2.0, 4.0, 8.0][spot(mix(self.seed, at), 4)];
        #[allow(clippy::cast_precision_loss)] // at most 52 bits
        T::from_f64(sign * scale * magnitude as f64)
    }

    /// Any value between ½ and 2 in magnitude; any integer.
    fn arbitrary<T: Element>(&self, rank: u32, at: u64) -> T {
        let bits = mix(self.seed ^ u64::from(rank) << 40, at);
        if !T::DTYPE.is_float() {
            return T::from_bits(bits);
        }
        #[allow(clippy::cast_precision_loss)] // any mantissa will do
        let mantissa = 1.0 + (bits >> 11) as f64 / 9_007_199_254_740_992.0;
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        let scale = if bits & 2 == 0 { 1.0 } else { 0.5 };
        T::from_f64(sign * scale * mantissa).canonical()
    }
}

/// Beyond this many digits, cards are spread instead of counted.
const MOST_DIGITS: u32 = 16;

/// How many signed digits a contribution may have so that two of them sum up exactly.
fn exact_digits(dtype: Dtype, recipe: Recipe) -> u32 {
    match (dtype.class(), recipe.before) {
        (DtypeClass::Integer { bits, .. }, _) => bits,
        (DtypeClass::Float { precision }, Before::TimesOwnScalar) => precision - 1,
        (DtypeClass::Float { precision }, _) => precision,
    }
}

/// A power of two, by which any exact value can be multiplied; of integers, any.
fn power<T: Element>(card: u64, dtype: Dtype) -> T {
    let which = spot(card, 4);
    if dtype.is_float() {
        T::from_f64([2.0, -2.0, 4.0, -4.0][which])
    } else {
        T::from_bits([3, 5, 7, 11][which])
    }
}

/// The largest prime that is at most `2^digits`, but no more than 16 bits.
const fn prime_below(digits: u32) -> u64 {
    match digits {
        0..=2 => 3,
        3 => 7,
        4 => 13,
        5..=7 => 127,
        8..=9 => 251,
        10 => 1021,
        11..=15 => 2039,
        _ => 65_521,
    }
}

/// How many bit patterns are dealt to what is only moved.
const fn patterns(dtype: Dtype) -> u64 {
    match dtype.bytes() {
        1 => 241,
        _ => 65_521,
    }
}

/// The bit pattern of a card; never a NaN.
fn pattern<T: Element>(card: u64) -> T {
    // One byte: the numbers 0 to 240, and for a NaN among them one of those above.
    let (bits, instead) = if T::DTYPE.bytes() == 1 {
        (card, 241 + (card & 3))
    } else {
        // An odd factor gives each card bits of its own in every width.
        let bits = card.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (bits, bits & !(1 << (8 * T::DTYPE.bytes() - 2)))
    };
    let value = T::from_bits(bits);
    if value.is_nan() { T::from_bits(instead) } else { value }
}

/// `number` as an index into `len` things.
fn spot(number: u64, len: u64) -> usize {
    usize::try_from(number % len).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rankwise_model::ElementVisitor;

    use super::*;

    fn values(reduction: Option<Reduction>, contributors: Contributors, ranks: u32) -> Values {
        Values { seed: 5, ranks, reduction, contributors }
    }

    struct Dealt(Values);
    impl ElementVisitor for Dealt {
        type Output = ();
        fn visit<T: Element>(self) {
            let Self(values) = self;
            let all: Vec<Vec<T>> = (0..values.ranks).map(|rank| values.of(rank, 40)).collect();
            assert!(all.iter().flatten().all(|value| !value.is_nan()), "{:?}", T::DTYPE);
            if values.reduction.is_none() {
                for (rank, own) in all.iter().enumerate() {
                    for at in 1..40 {
                        assert_ne!(own[at].to_bits(), own[at - 1].to_bits());
                        let next = all.get(rank + 1).map(|next| next[at].to_bits());
                        assert_ne!(Some(own[at].to_bits()), next);
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_differ_and_nothing_is_a_nan() {
        for dtype in Dtype::ALL {
            for reduction in Reduction::ALL.map(Some).into_iter().chain([None]) {
                for contributors in [Contributors::One, Contributors::Two, Contributors::Everyone] {
                    dtype.visit(Dealt(values(reduction, contributors, 5)));
                }
            }
        }
    }

    #[test]
    fn every_rank_has_its_turn() {
        for (contributors, each) in [(Contributors::One, 1), (Contributors::Two, 2)] {
            for ranks in 2..9 {
                let values = values(Some(Reduction::Sum), contributors, ranks);
                for at in 0..40 {
                    let turns = (0..ranks).filter(|rank| values.turn(*rank, at).is_some());
                    assert_eq!(turns.count(), each, "{ranks} ranks, position {at}");
                }
                for rank in 0..ranks {
                    let first = (0..u64::from(ranks)).any(|at| values.turn(rank, at) == Some(0));
                    assert!(first, "rank {rank} of {ranks}");
                }
            }
        }
    }

    struct Exact(Reduction);
    impl ElementVisitor for Exact {
        type Output = ();
        fn visit<T: Element>(self) {
            let Self(reduction) = self;
            let values = values(Some(reduction), Contributors::Two, 2);
            let [one, other] = [0, 1].map(|rank| values.of::<T>(rank, 500));
            let scalars = [0, 1].map(|rank| values.scalar::<T>(rank).to_f64());
            for (one, other) in one.into_iter().zip(other) {
                let (x, y) = (one.to_f64(), other.to_f64());
                let exact = match reduction {
                    Reduction::Sum => x + y,
                    Reduction::Prod => x * y,
                    _ => scalars[0] * x + scalars[1] * y,
                };
                #[allow(clippy::float_cmp)] // exactness is the claim
                let held = T::from_f64(exact).to_f64() == exact;
                assert!(held, "{reduction} of {x} and {y} in {:?}", T::DTYPE);
            }
        }
    }

    #[test]
    fn two_contributions_are_exact_in_every_float() {
        for dtype in Dtype::ALL.into_iter().filter(|dtype| dtype.is_float()) {
            for reduction in [Reduction::Sum, Reduction::Prod, Reduction::PreMulSum] {
                dtype.visit(Exact(reduction));
            }
        }
    }
}
