//! Which permutations of the devices are harmless, and which break what.
//!
//! # The definition
//!
//! A permutation σ of the devices puts the rank that was on device *d* on device σ(*d*):
//! if `m` is the map of the plan, [`relabel`] by σ makes it σ∘m. (Devices are numbered
//! by the ranks that they have in the plan. A device that carries several ranks counts
//! once for each of them: as one *place* per rank.)
//!
//! σ is **harmless** if every need that the plan satisfies as it stands is still
//! satisfied after it. A need that was not satisfied before, or not known to be, asks
//! nothing of σ. If a need that was satisfied is known not to be, or if the relabelled
//! plan contradicts itself (a step or a need that makes no sense there), σ **breaks**
//! it; if one is not known to be satisfied any more and none is broken, σ is
//! **undecided**, and never counted as harmless.
//!
//! The harmless permutations H contain the identity and need not be a group: a need
//! may ask one device only. What is a group is **G = {σ : Hσ = H}**, the permutations
//! that change nothing about what is harmless. As H contains the identity, G ⊆ H, and H
//! is a union of cosets hG. Where H = G it is *the symmetry group*.
//!
//! # Examples, by hand
//!
//! | n ranks; the proposal; the needs | H | why |
//! |---|---|---|
//! | all-reduce; `sum(x)` on every rank | n! | no device is named |
//! | all-gather; `gather(x)` on every rank | n! | both sides follow rank order |
//! | all-gather; `concat(x@A, x@B, …)` on every rank | 1 | the order of the devices is fixed |
//! | reduce-scatter; `shard(sum(x), 0)` on device A | (n−1)! | A must stay rank 0 |
//! | broadcasts in groups of k from their first; `x@A` on the others of A's group, and so on | (k−1)!^g · g! | members within a group change freely, and the groups |
//!
//! # The method
//!
//! *Only named devices matter.* Renaming devices that neither a need nor a step names
//! takes the relabelled plan to one that differs in names alone: terms are compared by
//! identity, so every answer is the same. And a need's answer depends only on where the
//! devices are that it, or a step, names. So each need becomes a **relation**: the
//! tuples of ranks on which its devices may be, found by judging every tuple. (A
//! `concat` on ranks is taken part by part.) Then H is the number of ways to put all
//! named devices on different ranks so that all relations hold, times (n−k)! for the
//! rest.
//!
//! *G is the automorphism group of the relations*, each without the tuples that no
//! placement of all devices extends. For σ in G maps the set of good placements to
//! itself, hence each of its projections; conversely whatever preserves the projections
//! preserves the placements that they define. Ranks that can be exchanged without
//! changing a relation form classes; G is the product of their symmetric groups, and of
//! the permutations of whole classes that are found by search.
//!
//! *A count is exact only where it is shown to be.* |G| is a lower bound of |H|. If the
//! choices for each named device, the ones before it staying where they are, multiply to
//! no more, both are |G| (each set of choices is then one orbit, so that all branches
//! are alike). Else the placements are counted, cluster by cluster of devices that share
//! a relation. Where a limit stops any of this, the figure is *at least*.

pub(crate) mod count;
pub(crate) mod demand;
mod exchange;
mod permuted;
pub(crate) mod relation;
mod symmetry;
pub(crate) mod table;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use num_bigint::BigUint;
use num_traits::{CheckedDiv as _, CheckedSub as _, One as _};
use rankwise_topology::Permutation;

use crate::error::PlanError;
use crate::evaluate::evaluate;
use crate::need::{Answer, NeedsAnswer, NeedsReport, judge_needs};
use crate::plan::{Plan, Proposal};
use crate::relabel::RelabelError;
use crate::term::Terms;
use count::Symmetries;
use relation::Relations;
use table::Tables;

pub use exchange::{Exchange, Exchanges, exchanges};
pub use permuted::{Harm, Permuted, permuted};

#[allow(unused_imports)] // named by the documentation
use crate::relabel::relabel;

/// A count, and whether it is all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How many there are, or are at least.
    pub number: BigUint,
    /// Whether there are more.
    pub extent: Extent,
}

/// Whether a count is all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extent {
    /// As many and no more.
    Exact,
    /// So many, not known to be all.
    AtLeast,
}

impl fmt::Display for Counted {
    /// `24`, or `at least 24, not known to be all`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Exact => self.number.fmt(f),
            Extent::AtLeast => write!(f, "at least {}, not known to be all", self.number),
        }
    }
}

/// What is known of the permutations of a plan's devices.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The devices, by the ranks that they have in the plan.
    pub devices: Vec<String>,
    /// The needs under the plan's own map.
    pub needs: NeedsReport,
    /// Whether the proposal does what is needed under the plan's own map.
    pub answer: NeedsAnswer,
    /// The permutations that are harmless.
    pub harmless: Counted,
    /// Those that are not known to be harmless or to break anything.
    pub undecided: Counted,
    /// G, the permutations that change nothing about what is harmless.
    pub symmetry: Symmetry,
    /// The ranks whose devices the needs or steps name, so that it matters where they
    /// are.
    pub named: Vec<u32>,
    /// How many placements were judged.
    pub judged: u64,
}

/// A group of permutations of the devices.
#[derive(Clone, Debug)]
pub struct Symmetry {
    /// Permutations that make it, each checked by relabelling and judging.
    pub generators: Vec<Permutation>,
    /// How many it has.
    pub order: Counted,
    /// The classes of places any two of which can be exchanged, of two or more.
    pub classes: Vec<Vec<u32>>,
}

impl Exploration {
    /// All permutations there are: n!.
    pub fn all(&self) -> BigUint {
        factorial(self.devices.len())
    }

    /// Into how many cosets of G the harmless permutations fall, where both are known.
    pub fn cosets(&self) -> Option<BigUint> {
        let known =
            self.harmless.extent == Extent::Exact && self.symmetry.order.extent == Extent::Exact;
        known.then(|| self.harmless.number.checked_div(&self.symmetry.order.number)).flatten()
    }
}

/// Why the permutations of a plan's devices cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExploreError {
    /// The plan contradicts itself as it stands.
    Plan(PlanError),
    /// Its devices cannot be relabelled: it states none.
    Relabel(RelabelError),
    /// Devices bring inputs of different lengths, which move with them: that is not
    /// explored yet.
    Ragged {
        /// The input.
        input: String,
    },
}

impl fmt::Display for ExploreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Relabel(error) => error.fmt(f),
            Self::Ragged { input } => write!(
                f,
                "input `{input}` has another length on each device, which moves with the device: \
                 that is not explored yet; attach it to ranks (by = \"rank\"), or relabel"
            ),
        }
    }
}

impl core::error::Error for ExploreError {}

impl From<PlanError> for ExploreError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<RelabelError> for ExploreError {
    fn from(error: RelabelError) -> Self {
        Self::Relabel(error)
    }
}

/// Explores the permutations of a plan's devices by what they do to a proposal.
///
/// ```
/// use rankwise_plan::explore::explore;
/// use rankwise_plan::file::Format;
/// use rankwise_plan::read::NoArrays;
/// use rankwise_plan::Plan;
///
/// let plan = Plan::read(
///     r#"
///     format = 1
///     group.devices = ["A", "B", "C"]
///     input.x = { dtype = "i32", count = 6 }
///     proposal.it.step = [{ call = "reduce_scatter", op = "sum", send = "x", recv = "s" }]
///     need = [{ on = { device = "A" }, buffer = "s", holds = "shard(sum(x), 0)" }]
///     "#,
///     Format::Toml,
///     &mut NoArrays,
/// )?;
/// let explored = explore(&plan, &plan.proposals[0]).unwrap();
/// assert_eq!(explored.harmless.to_string(), "2"); // A stays; B and C may change places
/// assert_eq!(explored.symmetry.generators[0].to_string(), "(1 2)");
/// # Ok::<(), rankwise_plan::PlanError>(())
/// ```
pub fn explore(plan: &Plan, proposal: &Proposal) -> Result<Exploration, ExploreError> {
    let mut terms = Terms::new();
    let evaluation = evaluate(plan, proposal, &mut terms)?;
    let needs = judge_needs(plan, proposal, &evaluation, &mut terms)?;
    let mut judge = Tables::new(plan, proposal)?;
    let satisfied = needs.needs.iter().filter(|need| need.answer == Answer::Yes);
    let tables = judge.of(plan, satisfied.filter_map(|report| plan.needs.get(report.need)));
    let points = plan.world.get();

    let strict = Relations::of(points, tables.iter().map(|table| &table.good));
    let (harmless, mut symmetry) = measure(&strict);
    let open = tables.iter().any(|table| table.open.is_some());
    let undecided = if open {
        let loose = tables.iter().map(|table| table.open.as_ref().unwrap_or(&table.good));
        let (either, _) = measure(&Relations::of(points, loose));
        difference(&either, &harmless)
    } else {
        Counted { number: BigUint::ZERO, extent: strict.extent() }
    };

    let mut failed = false;
    symmetry.generators.retain(|generator| {
        let good = permuted(plan, proposal, generator).is_ok_and(|done| done.harm() == Harm::None);
        failed |= !good;
        good
    });
    if failed {
        symmetry = Symmetry::unknown();
    }
    Ok(Exploration {
        devices: demand::devices(plan),
        harmless,
        undecided,
        symmetry,
        named: strict.variables().collect(),
        judged: judge.judged(),
        answer: needs.answer_of(&evaluation),
        needs,
    })
}

/// How many permutations the relations allow, and which of them are symmetries.
fn measure(relations: &Relations) -> (Counted, Symmetry) {
    let mut symmetry = symmetry::of(relations);
    let (harmless, symmetries) = count::harmless(relations, &symmetry);
    match symmetries {
        Symmetries::All => symmetry.order.extent = Extent::Exact,
        Symmetries::Of(effective) => symmetry = symmetry::of(&effective),
        Symmetries::NotKnown if relations.extent() == Extent::Exact => {
            symmetry.order.extent = Extent::AtLeast;
        }
        // A symmetry of the part that is known need not be one of the rest.
        Symmetries::NotKnown => symmetry = Symmetry::unknown(),
    }
    (harmless, symmetry)
}

impl Symmetry {
    /// The identity alone is known to be one.
    fn unknown() -> Self {
        let order = Counted { number: BigUint::one(), extent: Extent::AtLeast };
        Self { generators: Vec::new(), order, classes: Vec::new() }
    }
}

fn difference(larger: &Counted, smaller: &Counted) -> Counted {
    let exact = larger.extent == Extent::Exact && smaller.extent == Extent::Exact;
    let difference = if exact { larger.number.checked_sub(&smaller.number) } else { None };
    let extent = if difference.is_some() { Extent::Exact } else { Extent::AtLeast };
    Counted { number: difference.unwrap_or(BigUint::ZERO), extent }
}

/// `n!`
pub(crate) fn factorial(n: usize) -> BigUint {
    (1..=n).map(BigUint::from).product()
}
