//! Where what is held and what is needed differ, if they do.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::equal::{Equality, equality, is_unnamed};
use crate::error::{Fault, PlanError};
use crate::plan::Need;
use crate::sense::{Gathering, Sense, sense};
use crate::term::{Placed, Terms};
use crate::vector::{Content, Run, Vector, side_by_side};
use crate::wrong::{Difference, Why};

/// What looking for a difference has found.
#[derive(Clone)]
pub(super) enum Finding {
    /// There is none; in which sense, if anything was compared.
    Met(Option<Sense>),
    /// The first one.
    Differs(Difference),
    /// None is known, and here the first may be.
    Open(Difference),
}

/// The first difference between what a rank holds and what it needs.
pub(super) fn find(
    terms: &Terms,
    index: usize,
    need: &Need,
    (held, needed): (Option<&Vector>, &Vector),
    support: &mut Support,
) -> Result<Finding, PlanError> {
    let whole = 0..needed.count();
    let positions = need.positions.clone().unwrap_or(whole);
    let wanted = positions.end.saturating_sub(positions.start);
    if wanted != needed.count() {
        return Err(PlanError {
            kind: Fault::Contradiction,
            span: need.span,
            path: format!("need[{index}]"),
            found: format!("{wanted} positions for `{}`", need.holds_text),
            expected: format!("{}, as many as it has elements", needed.count()),
        });
    }
    // The first positions that are needed, or that are needed past the end.
    let at_first = |held: Option<&Vector>, length, why| {
        let end = held.filter(|held| held.count() < positions.end).map_or(0, Vector::count);
        let from = end.saturating_sub(positions.start);
        let first = needed.within(from..needed.count()).next();
        let start = positions.start.saturating_add(from);
        let at = start..start.saturating_add(first.as_ref().map_or(0, Run::count));
        let held = held.and_then(|held| Some(held.within(at.clone()).next()?.content));
        Difference { at, held, needed: first.map(|run| run.content), length, why }
    };
    let Some(held) = held else {
        return Ok(Finding::Differs(at_first(None, None, Why::NeverWritten)));
    };
    let whole_buffer = need.positions.is_none();
    let fits = if whole_buffer { held.count() == wanted } else { held.count() >= positions.end };
    if !fits {
        let length = Some((held.count(), positions.end));
        // What both have may be wrong too, and says more than the length.
        let common = held.count().min(positions.end).max(positions.start);
        let (start, end) = (positions.start, common.saturating_sub(positions.start));
        let parts = held.slice(start..common).zip(needed.slice(0..end));
        if let Some((held, wanted)) = parts
            && let Finding::Differs(difference) =
                compare_vectors(terms, &held, &wanted, start, support)
        {
            return Ok(Finding::Differs(Difference { length, ..difference }));
        }
        return Ok(Finding::Differs(at_first(Some(held), length, Why::Length)));
    }
    let Some(slice) = held.slice(positions.clone()) else {
        return Ok(Finding::Met(Some(Sense::Exact)));
    };
    Ok(compare_vectors(terms, &slice, needed, positions.start, support))
}

/// Every difference that is known, in the order of positions; of a buffer that is not
/// there, too short or of another type the one that says so.
pub(super) fn differences(
    terms: &Terms,
    index: usize,
    need: &Need,
    (held, needed): (Option<&Vector>, &Vector),
) -> Result<Vec<Difference>, PlanError> {
    let first = match find(terms, index, need, (held, needed), &mut Support::default())? {
        Finding::Differs(first) => first,
        Finding::Met(_) | Finding::Open(_) => return Ok(Vec::new()),
    };
    let (Why::Value, Some(held)) = (first.why, held) else { return Ok(alloc::vec![first]) };
    let start = need.positions.as_ref().map_or(0, |positions| positions.start);
    let end = held.count().min(start.saturating_add(needed.count()));
    let parts = held.slice(start..end).zip(needed.slice(0..end.saturating_sub(start)));
    let Some((held, needed)) = parts else { return Ok(alloc::vec![first]) };
    let mut all: Vec<Difference> = Vec::new();
    for (positions, contents) in side_by_side(&[&held, &needed]) {
        let [found, wanted] = contents.as_slice() else { continue };
        let unnamed = is_unnamed(terms, *found) || is_unnamed(terms, *wanted);
        if !unnamed
            && matches!(equality(terms, *found, *wanted), Equality::Differ | Equality::BothGaps)
        {
            all.push(Difference {
                at: positions.start.saturating_add(start)..positions.end.saturating_add(start),
                held: Some(*found),
                needed: Some(*wanted),
                length: if all.is_empty() { first.length } else { None },
                why: Why::Value,
            });
        }
    }
    Ok(all)
}

/// What the answers to one need rest on.
#[derive(Default)]
pub(super) struct Support {
    pub(super) grounds: Gathering,
    /// Lists of terms, which many vectors share, that equal themselves: in which sense.
    lists: BTreeMap<(usize, usize), Sense>,
}

impl Support {
    /// That a vector is equal to one that is kept like it, and in which sense; `None` if
    /// a reduction that is not named is in it.
    fn of_itself(&mut self, terms: &Terms, vector: &Vector) -> Option<Finding> {
        let mut weakest = None;
        for list in vector.term_lists() {
            let key = (list.as_ptr().addr(), list.len());
            // The evaluation keeps what it holds: no address is used again meanwhile.
            let known = self.lists.get(&key).filter(|_| list.len() > 1).copied();
            let of_list = match known {
                Some(known) => known,
                None => {
                    let mut of_list = Sense::Exact;
                    for term in list {
                        let placed = Placed { term: *term, at: 0 };
                        if is_unnamed(terms, Content::Term(placed)) {
                            return None;
                        }
                        of_list = of_list.max(sense(terms, placed, placed));
                        self.grounds.add(terms, placed, placed);
                    }
                    of_list
                }
            };
            if list.len() > 1 {
                self.lists.insert(key, of_list);
            }
            weakest = weakest.max(Some(of_list));
        }
        Some(Finding::Met(weakest))
    }
}

/// Compares run by run; the first known difference wins over the first unknown one.
fn compare_vectors(
    terms: &Terms,
    held: &Vector,
    needed: &Vector,
    offset: u64,
    support: &mut Support,
) -> Finding {
    if held.is_kept_like(needed)
        && held.promises_all()
        && let Some(met) = support.of_itself(terms, held)
    {
        return met;
    }
    let mut weakest = None;
    let mut open = None;
    for (positions, contents) in side_by_side(&[held, needed]) {
        let [found, wanted] = contents.as_slice() else { continue };
        let difference = |why| Difference {
            at: positions.start.saturating_add(offset)..positions.end.saturating_add(offset),
            held: Some(*found),
            needed: Some(*wanted),
            length: None,
            why,
        };
        if held.dtype() != needed.dtype() {
            return Finding::Differs(difference(Why::ElementType(held.dtype(), needed.dtype())));
        }
        let unnamed = is_unnamed(terms, *found) || is_unnamed(terms, *wanted);
        match equality(terms, *found, *wanted) {
            _ if unnamed => open = open.or_else(|| Some(difference(Why::Value))),
            Equality::Equal(sense) => {
                weakest = weakest.max(Some(sense));
                if let (Content::Term(found), Content::Term(wanted)) = (*found, *wanted) {
                    support.grounds.add(terms, found, wanted);
                }
            }
            Equality::NotProven => open = open.or_else(|| Some(difference(Why::NotProven))),
            Equality::Differ | Equality::BothGaps => {
                return Finding::Differs(difference(Why::Value));
            }
        }
    }
    match open {
        Some(difference) => Finding::Open(difference),
        None => Finding::Met(weakest),
    }
}
