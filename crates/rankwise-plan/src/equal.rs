//! Whether what two positions hold is equal: the one question that needs and
//! comparisons both come down to.

use crate::sense::{Sense, sense};
use crate::term::Terms;
use crate::vector::Content;
use crate::witness::known_to_differ;

/// What is known of two contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Equality {
    /// Equal for every input, in this sense.
    Equal(Sense),
    /// Neither holds a value.
    BothGaps,
    /// Different for some input, or only one of them holds a value.
    Differ,
    /// Neither proven equal nor known to differ.
    NotProven,
}

/// Whether two contents of one evaluation are equal.
///
/// A fold whose reduction is not named equals itself, and nothing is known of it
/// otherwise.
pub(crate) fn equality(terms: &Terms, one: Content, other: Content) -> Equality {
    let (Content::Term(first), Content::Term(second)) = (one, other) else {
        let both = matches!((one, other), (Content::Gap(_), Content::Gap(_)));
        return if both { Equality::BothGaps } else { Equality::Differ };
    };
    match (terms.forms().of(first), terms.forms().of(second)) {
        (Some(left), Some(right)) if left == right => Equality::Equal(sense(terms, first, second)),
        // Two types: no witness is needed, nor could there be one for every pair.
        _ if terms.dtype(first.term) != terms.dtype(second.term) => Equality::Differ,
        (Some(left), Some(right)) if known_to_differ(terms, left, right) => Equality::Differ,
        (Some(_), Some(_)) => Equality::NotProven,
        _ => Equality::Differ,
    }
}

/// Whether a reduction that is not named is in it.
pub(crate) fn is_unnamed(terms: &Terms, content: Content) -> bool {
    let Content::Term(placed) = content else { return false };
    terms.forms().of(placed).is_some_and(|form| terms.forms().is_unknown(form.form))
}
