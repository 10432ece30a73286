//! What a value was multiplied by, against what it should be.

use alloc::string::ToString;
use alloc::vec::Vec;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

use super::{Groups, Wrong};
use crate::form::Multiplicity;
use crate::term::{Factor, Term, TermId, Terms};

/// Names the difference between two factors of the same combination of contributions.
pub(super) fn scale(
    groups: &Groups<'_>,
    divisors: &[u64],
    found: &Multiplicity,
    needed: &Multiplicity,
) -> Wrong {
    match (divisor(found), divisor(needed)) {
        (Some(1), Some(over)) => Wrong::NotAveraged { over },
        (Some(found), Some(needed)) => divided(groups, divisors, found, needed),
        _ => {
            let ratio = found / needed;
            let by = ratio.to_string();
            if ratio.is_integer() && ratio > Multiplicity::one() {
                Wrong::Repeated { times: by }
            } else {
                Wrong::Scaled { by }
            }
        }
    }
}

/// Names the difference between two divisions, the found one not by 1.
pub(super) fn divided(groups: &Groups<'_>, divisors: &[u64], found: u64, needed: u64) -> Wrong {
    if let [first, second] = divisors
        && first.checked_mul(*second) == Some(found)
    {
        return Wrong::DividedTwice { by: [*first, *second], needed };
    }
    if needed == 1 {
        return Wrong::Averaged { over: found };
    }
    let (found_group, needed_group) = (groups.of_size(found), groups.of_size(needed));
    Wrong::Divisor { found, found_group, needed, needed_group }
}

/// `n` for 1/n.
fn divisor(times: &Multiplicity) -> Option<u64> {
    times.numer().is_one().then(|| times.denom().to_u64()).flatten()
}

/// What the first contribution of a term is divided by on its way, first things first.
pub(super) fn divisors(terms: &Terms, term: TermId) -> Vec<u64> {
    let mut found = Vec::new();
    let mut next = Some(term);
    while let Some(term) = next {
        let (by, within) = match terms.get(term) {
            Some(Term::Scaled { term, by }) => {
                let by = match by {
                    Factor::Reciprocal(ranks) => Some(u64::from(ranks.get())),
                    Factor::Constant(ratio) => divisor(ratio),
                    Factor::Scalar(scalar) => {
                        BigRational::from_float(scalar.to_f64()).as_ref().and_then(divisor)
                    }
                };
                (by, Some(*term))
            }
            Some(Term::Divided { term, by }) => (Some(u64::from(by.get())), Some(*term)),
            Some(Term::Cast { term, .. }) => (None, Some(*term)),
            Some(Term::Combined { parts, .. }) => (None, parts.first().map(|part| part.term)),
            _ => (None, None),
        };
        // A mean over one rank divides nothing.
        found.extend(by.filter(|by| *by > 1));
        next = within;
    }
    found.reverse();
    found
}

/// `1/n`.
pub(super) fn reciprocal(n: usize) -> Multiplicity {
    BigRational::new(BigInt::one(), BigInt::from(n.max(1)))
}
