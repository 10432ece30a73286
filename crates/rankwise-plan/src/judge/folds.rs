//! Other folds of the contributions that a value is made of, each with the name of what
//! would be wrong if it were found.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use num_rational::BigRational;
use rankwise_model::{Combine, GroupSize, Reduction};
use rankwise_topology::WorldRank;

use crate::memory::{Origins, identity};
use crate::plan::{Input, Plan, Proposal};
use crate::show::fold_name;
use crate::term::{Factor, InputId, Placed, Term, Terms};
use crate::wrong::{Contributors, Groups, Wrong};

/// What the candidates of one plan are made from.
pub(super) struct Folded<'a> {
    groups: Groups<'a>,
    /// The sizes of the plan's groups, with a name for groups of each.
    sizes: BTreeMap<u32, Option<String>>,
    origins: Origins,
    inputs: BTreeMap<InputId, &'a Input>,
}

impl<'a> Folded<'a> {
    pub(super) fn of(plan: &'a Plan, proposal: &'a Proposal, terms: &mut Terms) -> Self {
        let groups = Groups::of(plan, proposal);
        let inputs = plan.inputs.values();
        let origins = Origins::of(plan);
        let known = |input| (terms.input(&identity(input, &origins)), input);
        let inputs = inputs.map(known).collect();
        let sizes = groups.sizes().into_iter();
        let sizes = sizes.map(|size| (size, groups.of_size(size.into()))).collect();
        Self { groups, sizes, origins, inputs }
    }

    /// Other folds than the right one, `placed`, on `rank`.
    pub(super) fn candidates(
        &self,
        terms: &mut Terms,
        placed: Placed,
        rank: WorldRank,
        count: u64,
    ) -> Vec<(Placed, Wrong)> {
        let Some(fold) = Fold::of(terms, placed) else { return Vec::new() };
        let mut all = self.over_groups(terms, &fold, rank);
        let groups: Vec<BTreeSet<Placed>> =
            all.iter().map(|(parts, ..)| parts.iter().copied().collect()).collect();
        let mut all: Vec<(Placed, Wrong)> =
            all.drain(..).map(|(_, placed, wrong)| (placed, wrong)).collect();
        for (plain, part) in fold.plain.iter().zip(&fold.parts) {
            all.push((*plain, Wrong::Unreduced { found: terms.show(*plain, count) }));
            if part != plain {
                all.push((*part, Wrong::Unreduced { found: terms.show(*part, count) }));
            }
        }
        for (skipped, (plain, part)) in fold.plain.iter().zip(&fold.parts).enumerate() {
            let name = terms.show(*plain, count);
            let others = fold.parts.iter().enumerate().filter(|(index, _)| *index != skipped);
            let others: Vec<Placed> = others.map(|(_, part)| *part).collect();
            let rest = fold.plain.iter().copied().filter(|other| other != plain).collect();
            // Without one it may be a group, or one alone: then that is what it is.
            let alone = others.len() == 1 && fold.after.is_none();
            if !alone && !groups.contains(&rest) {
                let missing = fold.finished(terms, &others);
                all.extend(missing.map(|fold| (fold, Wrong::Missing { part: name.clone() })));
            }
            let again: Vec<Placed> = fold.parts.iter().copied().chain([*part]).collect();
            let times = "2".to_string();
            let repeated = Wrong::RepeatedPart { part: name, times, needed: "1".to_string() };
            all.extend(fold.finished(terms, &again).map(|fold| (fold, repeated)));
        }
        all.extend(self.scaled(terms, &fold, placed));
        // The right value under another name explains nothing.
        all.retain(|(candidate, _)| terms.forms().of(*candidate) != terms.forms().of(placed));
        all
    }

    /// The same fold over other groups that the rank is in.
    fn over_groups(
        &self,
        terms: &mut Terms,
        fold: &Fold,
        rank: WorldRank,
    ) -> Vec<(Vec<Placed>, Placed, Wrong)> {
        let Some((input, at, needed)) = self.contributors(terms, fold) else { return Vec::new() };
        let Some(contributed) = self.inputs.get(&input) else { return Vec::new() };
        let groups = self.groups.with(rank);
        let named = |ranks: &[WorldRank]| {
            let known = groups.iter().find(|group| group.ranks == ranks);
            let group = known.and_then(|known| known.group.clone());
            Contributors { ranks: ranks.to_vec(), group }
        };
        let mut all = Vec::new();
        for group in groups.iter().filter(|group| group.ranks.len() > 1 && group.ranks != needed) {
            let mut parts: Vec<Placed> = Vec::new();
            for member in &group.ranks {
                let origin = self.origins.of_contribution(contributed, *member);
                parts.push(terms.atom(input, origin).shifted(at));
            }
            let wrong = Wrong::SubGroup { found: group.clone(), needed: named(&needed) };
            let size = u32::try_from(parts.len()).ok().and_then(GroupSize::new);
            let folded = match (fold.mean, size) {
                (Some(_), Some(size)) => mean(terms, fold.how, &parts, size),
                _ => terms.combined(fold.how, &parts),
            };
            all.extend(folded.map(|folded| (parts, folded, wrong)));
        }
        all
    }

    /// The input, the position and the ranks, in order, of a fold of plain contributions.
    fn contributors(&self, terms: &Terms, fold: &Fold) -> Option<(InputId, u64, Vec<WorldRank>)> {
        let first = fold.plain.first()?;
        let Term::Atom { input, .. } = terms.get(first.term)? else { return None };
        let mut ranks = Vec::new();
        for part in &fold.plain {
            match terms.get(part.term)? {
                Term::Atom { input: of, origin } if of == input && part.at == first.at => {
                    ranks.push(self.groups.rank(origin)?);
                }
                _ => return None,
            }
        }
        ranks.sort_unstable();
        Some((*input, first.at, ranks))
    }

    /// The same contributions, multiplied or divided otherwise.
    fn scaled(&self, terms: &mut Terms, fold: &Fold, placed: Placed) -> Vec<(Placed, Wrong)> {
        let mut all = Vec::new();
        if fold.how != Combine::Sum {
            return all;
        }
        let Some(n) = u32::try_from(fold.plain.len()).ok().and_then(GroupSize::new) else {
            return all;
        };
        let own = fold.mean.unwrap_or(n);
        let times: BTreeSet<u32> =
            self.sizes.keys().copied().chain([2, n.get()]).filter(|by| *by > 1).collect();
        for by in times {
            let constant = Factor::Constant(BigRational::from_integer(by.into()));
            let repeated = Wrong::Repeated { times: by.to_string() };
            // A mean as often as it was divided is the sum, and half as often it is the mean
            // over half as many: what was divided wrongly is called so.
            let divisor =
                fold.mean.map(|own| (own.get().checked_rem(by), own.get().checked_div(by)));
            let is_division = matches!(divisor, Some((Some(0), Some(rest)))
                if rest == 1 || self.sizes.contains_key(&rest));
            if !is_division {
                all.push((terms.scaled(placed, constant), repeated));
            }
            let Some(size) = GroupSize::new(by) else { continue };
            let over = u64::from(by);
            let divided = match (fold.mean, by == own.get()) {
                (None, true) => Some(Wrong::Averaged { over }),
                (Some(_), false) => Some(Wrong::Divisor {
                    found: over,
                    found_group: self.sizes.get(&by).cloned().flatten(),
                    needed: u64::from(own.get()),
                    needed_group: self.sizes.get(&own.get()).cloned().flatten(),
                }),
                _ => None,
            };
            if let Some(wrong) = divided {
                all.extend(mean(terms, fold.how, &fold.plain, size).map(|mean| (mean, wrong)));
            }
        }
        if let Some(by) = fold.mean {
            let over = u64::from(by.get());
            all.extend(
                terms.combined(fold.how, &fold.plain).map(|sum| (sum, Wrong::NotAveraged { over })),
            );
            let again = divided(terms, placed, by);
            all.push((again, Wrong::DividedTwice { by: [over, over], needed: over }));
        }
        all
    }
}

/// The right fold, taken apart.
struct Fold {
    how: Combine,
    /// The contributions as they are folded, at their absolute positions.
    parts: Vec<Placed>,
    /// The same without the factor of a mean.
    plain: Vec<Placed>,
    /// By how many it is divided, if it is a mean.
    mean: Option<GroupSize>,
    /// A division after the fold, of integers.
    after: Option<GroupSize>,
}

impl Fold {
    fn of(terms: &Terms, placed: Placed) -> Option<Self> {
        let (inner, after) = match terms.get(placed.term)? {
            Term::Divided { term, by } => (Placed { term: *term, at: placed.at }, Some(*by)),
            _ => (placed, None),
        };
        let Term::Combined { how, .. } = terms.get(inner.term)? else { return None };
        let mut parts = Vec::new();
        flatten(terms, *how, inner, &mut parts);
        let mut mean = after;
        let mut plain = Vec::new();
        for part in &parts {
            plain.push(match terms.get(part.term) {
                Some(Term::Scaled { term, by: Factor::Reciprocal(by) }) => {
                    mean = Some(*by);
                    Placed { term: *term, at: part.at }
                }
                _ => *part,
            });
        }
        Some(Self { how: *how, parts, plain, mean, after })
    }

    /// Other parts, folded and divided as the right ones.
    fn finished(&self, terms: &mut Terms, parts: &[Placed]) -> Option<Placed> {
        let folded = terms.combined(self.how, parts)?;
        Some(match self.after {
            Some(by) => terms.divided(folded, by),
            None => folded,
        })
    }
}

/// The contributions of `placed`, combined by another reduction.
///
/// That tells less: a maximum is often one contribution alone, and the same as it.
pub(super) fn other_reductions(terms: &mut Terms, placed: Placed) -> Vec<(Placed, Wrong)> {
    let Some(fold) = Fold::of(terms, placed) else { return Vec::new() };
    let needed = if fold.mean.is_some() { Reduction::Avg.name() } else { fold_name(fold.how) };
    let others = [Combine::Sum, Combine::Prod, Combine::Max, Combine::Min].into_iter();
    // Of a mean, the sum is one that was not divided.
    let others = others.filter(|how| *how != fold.how);
    others
        .filter_map(|how| {
            let found = fold_name(how);
            let folded = terms.combined(how, &fold.plain)?;
            Some((folded, Wrong::OtherReduction { found, needed }))
        })
        .collect()
}

/// The parts of a fold, and those of folds of the same kind within it.
fn flatten(terms: &Terms, how: Combine, placed: Placed, parts: &mut Vec<Placed>) {
    match terms.get(placed.term) {
        Some(Term::Combined { how: inner, parts: within }) if *inner == how => {
            for part in within {
                flatten(terms, how, part.shifted(placed.at), parts);
            }
        }
        _ => parts.push(placed),
    }
}

/// The mean of contributions over `by`, as their type takes it.
fn mean(terms: &mut Terms, how: Combine, parts: &[Placed], by: GroupSize) -> Option<Placed> {
    let dtype = terms.dtype(parts.first()?.term)?;
    if dtype.is_float() {
        let scaled: Vec<Placed> =
            parts.iter().map(|part| terms.scaled(*part, Factor::Reciprocal(by))).collect();
        terms.combined(how, &scaled)
    } else {
        let sum = terms.combined(how, parts)?;
        Some(terms.divided(sum, by))
    }
}

/// A value divided once more.
fn divided(terms: &mut Terms, placed: Placed, by: GroupSize) -> Placed {
    match terms.dtype(placed.term) {
        Some(dtype) if dtype.is_float() => terms.scaled(placed, Factor::Reciprocal(by)),
        _ => terms.divided(placed, by),
    }
}
