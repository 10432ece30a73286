//! Whether two vectors are the same, and whether two positions differ.

use alloc::collections::BTreeMap;

use crate::evaluate::Witness;
use crate::execute::Inputs;
use crate::format::Given;
use crate::rejected::{No, ensure};
use crate::sense::Sense;
use crate::term::Terms;
use crate::vector::{Content, Vector, side_by_side};

/// The sense in which two vectors are the same at every position, if they are: by the
/// normal forms of what they hold.
pub(super) fn same(terms: &Terms, one: &Vector, other: &Vector) -> Result<Sense, No> {
    let mut weakest = Sense::Exact;
    for (_, contents) in side_by_side(&[one, other]) {
        terms.spend(1)?;
        match contents.as_slice() {
            [Content::Nothing, Content::Nothing] => {}
            [Content::Term(one), Content::Term(other)] => {
                weakest = weakest.max(terms.equal(*one, *other)?);
            }
            _ => return Err("one has what the other has not".into()),
        }
    }
    Ok(weakest)
}

/// The sense in which two positions differ, if they do: one has no value, or a witness
/// gives both another. Other normal forms alone show nothing, since a law that is not
/// applied may still make them equal.
pub(super) fn differ(
    terms: &Terms,
    inputs: &Inputs<'_>,
    contents: [Content; 2],
    witness: &[Given],
) -> Result<Sense, No> {
    let (one, other) = match contents {
        [Content::Nothing, Content::Term(_)] | [Content::Term(_), Content::Nothing] => {
            ensure!(witness.is_empty(), "a witness where one has no value at all");
            return Ok(Sense::Exact);
        }
        [Content::Term(one), Content::Term(other)] => (one, other),
        _ => return Err("a position of which nothing is known".into()),
    };
    let mut given = BTreeMap::new();
    for Given { input, of, position, value } in witness {
        let id = *inputs.get(input.as_str()).ok_or("a witness of no input")?;
        let ((_, only), dtype) = terms.identity(id)?;
        ensure!(
            only.is_none(),
            "a witness of `{input}`, which may be the same on both sides or not"
        );
        let number = terms.number(value)?;
        ensure!(dtype.has(&number), "a witness {value}, which its type does not hold");
        let held = terms.length(id, of).is_some_and(|held| position.0 < held);
        ensure!(held, "a witness of `{input}` of {of} where nobody has any");
        let twice = given.insert((id, of.clone(), position.0), number).is_some();
        ensure!(!twice, "a witness that says something twice");
    }
    let mut witness = Witness::new(terms, given);
    let (left, right) = (witness.value(one)?, witness.value(other)?);
    ensure!(witness.is_used_up(), "a witness of what neither value depends on");
    ensure!(left != right, "the witness gives {left} for both");
    let float = terms.has_float(one.term)? || terms.has_float(other.term)?;
    Ok(if float { Sense::OverTheReals } else { Sense::Exact })
}
