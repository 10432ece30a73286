//! The fold of a reduction, over any domain of values.
//!
//! The order is part of the definition: rank 0 first, then 1, up to n−1. Numbers
//! fold here (see [`reference`](mod@crate::reference)); terms fold in
//! `rankwise-plan`, with the same recipe and the same order.

use crate::rank::{GroupSize, Rank};
use crate::reduction::{After, Before, Combine, Recipe};

/// Values that a [`Recipe`] can be carried out on.
pub trait Domain {
    /// A value: a number, a term, a set of possible numbers.
    type Value;

    /// `value · T(1/n)`, for [`Before::TimesReciprocal`].
    fn times_reciprocal(&mut self, value: Self::Value, ranks: GroupSize) -> Self::Value;

    /// `value · k`, `k` being the scalar of `rank`, for [`Before::TimesOwnScalar`].
    fn times_scalar_of(&mut self, rank: Rank, value: Self::Value) -> Self::Value;

    /// The running value combined with the next contribution.
    fn combine(&mut self, how: Combine, running: Self::Value, next: Self::Value) -> Self::Value;

    /// `value / n`, truncating, for [`After::DivideTruncating`].
    fn divide_truncating(&mut self, value: Self::Value, ranks: GroupSize) -> Self::Value;
}

/// Folds the contributions of ranks `0 … n−1`, in that order, by `recipe`.
///
/// `contribution` is called once per rank, in rank order.
pub fn fold<D: Domain>(
    domain: &mut D,
    recipe: Recipe,
    ranks: GroupSize,
    mut contribution: impl FnMut(&mut D, Rank) -> D::Value,
) -> D::Value {
    let mut prepared = |domain: &mut D, rank: Rank| {
        let value = contribution(domain, rank);
        match recipe.before {
            Before::AsIs => value,
            Before::TimesReciprocal => domain.times_reciprocal(value, ranks),
            Before::TimesOwnScalar => domain.times_scalar_of(rank, value),
        }
    };
    let mut running = prepared(domain, ranks.first());
    for rank in ranks.ranks().skip(1) {
        let next = prepared(domain, rank);
        running = domain.combine(recipe.combine, running, next);
    }
    match recipe.after {
        After::AsIs => running,
        After::DivideTruncating => domain.divide_truncating(running, ranks),
    }
}
