//! Whether two proposals are the same job.
//!
//! The state of a proposal is a partial map (place, buffer, index) → term on the
//! [`Surface`]. Place is the device where a map is given, else the rank. Two states
//! are the same when their domains and their normalised terms are.

mod sides;
mod state;
mod unsettled;
mod walk;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::PlanError;
use crate::evaluate::{Evaluation, evaluate};
use crate::need::{NeedsAnswer, NeedsReport, judge_needs};
use crate::plan::{Plan, Proposal};
use crate::sense::{Grounds, Sense};
use crate::surface::{Evaluated, Surface};
use crate::term::Terms;

pub use state::{Difference, Named, State, StateReport};
pub use unsettled::Unsettled;

/// Two proposals, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The buffers that were compared.
    pub surface: Surface,
    /// The buffers written on either side that were not, by public name.
    pub not_compared: Vec<String>,
    /// Whether both leave the same state.
    pub state: StateReport,
    /// Whether the first, and the second, meets its plan's needs.
    pub needs: [NeedsReport; 2],
    /// The evaluations, for payloads and details.
    pub evaluations: [Evaluation; 2],
    /// The weakest sense of equality on which any part of the verdict rests.
    pub sense: Option<Sense>,
    /// What that equality rests on, and what its bits hinge on.
    pub grounds: Grounds,
    /// What is not stated, by name. Numbers of speed may be set side by side only
    /// when nothing is.
    pub unsettled: Vec<Unsettled>,
}

/// A comparison in one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Summary {
    /// The states are the same.
    SameState,
    /// The states differ, and both meet every need.
    BothSatisfy,
    /// Only the first meets every need.
    OnlyFirst,
    /// Only the second does.
    OnlySecond,
    /// Neither does.
    Neither,
    /// The first does not, and of the second it is not known.
    NotFirst,
    /// The second does not, and of the first it is not known.
    NotSecond,
    /// Something that it depends on is not stated.
    Unknown,
    /// The states differ, and no need is stated that would say whether it matters.
    DifferentNoNeeds,
}

impl Summary {
    /// The words that people read, with `a` and `b` for the names of the proposals.
    pub const fn words(self) -> &'static str {
        match self {
            Self::SameState => "same state",
            Self::BothSatisfy => "different but both satisfy every need",
            Self::OnlyFirst => "only A satisfies every need",
            Self::OnlySecond => "only B satisfies every need",
            Self::Neither => "neither satisfies every need",
            Self::NotFirst => "A does not satisfy every need, B is unknown",
            Self::NotSecond => "B does not satisfy every need, A is unknown",
            Self::Unknown => "unknown",
            Self::DifferentNoNeeds => {
                "different, and no need is stated that says whether it matters"
            }
        }
    }

    /// The name used in machine output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameState => "same_state",
            Self::BothSatisfy => "both_satisfy",
            Self::OnlyFirst => "only_a",
            Self::OnlySecond => "only_b",
            Self::Neither => "neither",
            Self::NotFirst => "not_a",
            Self::NotSecond => "not_b",
            Self::Unknown => "unknown",
            Self::DifferentNoNeeds => "different_no_needs",
        }
    }
}

/// An error of one of the two plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareError {
    /// Whose: 0 for the first, 1 for the second.
    pub side: usize,
    /// What is wrong.
    pub error: PlanError,
}

/// Compares two proposals, of one plan or of two.
///
/// `terms` holds both evaluations' terms afterwards.
pub fn compare(
    left: (&Plan, &Proposal),
    right: (&Plan, &Proposal),
    terms: &mut Terms,
) -> Result<Comparison, CompareError> {
    let on = |side| move |error| CompareError { side, error };
    let first = evaluate(left.0, left.1, terms).map_err(on(0))?;
    let second = evaluate(right.0, right.1, terms).map_err(on(1))?;
    let needs = [
        judge_needs(left.0, left.1, &first, terms).map_err(on(0))?,
        judge_needs(right.0, right.1, &second, terms).map_err(on(1))?,
    ];
    let one = Evaluated { plan: left.0, proposal: left.1, evaluation: &first };
    let other = Evaluated { plan: right.0, proposal: right.1, evaluation: &second };
    let surface = Surface::of(&one, &other);
    let state = StateReport::of(&one, &other, &surface, terms);
    let unsettled = unsettled::unsettled(&one, &other, &state);
    let written: BTreeSet<String> = one.written().union(&other.written()).cloned().collect();
    let not_compared =
        written.into_iter().filter(|name| !surface.compared.contains(name)).collect();
    let relied_on = || needs.iter().filter(|needs| needs.answer() == NeedsAnswer::Satisfied);
    let sense = relied_on().filter_map(NeedsReport::sense).chain(state.sense()).max();
    let mut grounds = state.grounds().clone();
    relied_on().for_each(|needs| grounds.extend(&needs.grounds()));
    Ok(Comparison {
        surface,
        not_compared,
        state,
        needs,
        evaluations: [first, second],
        sense,
        grounds,
        unsettled,
    })
}

impl Comparison {
    /// The comparison in one line.
    pub fn summary(&self) -> Summary {
        use NeedsAnswer::{NoneStated, NotSatisfied, Satisfied, Unknown};
        let [first, second] = self.answers();
        let same = matches!(self.state.state, State::Same);
        match (first, second) {
            (NotSatisfied, Unknown) => Summary::NotFirst,
            (Unknown, NotSatisfied) => Summary::NotSecond,
            (Unknown, _) | (_, Unknown) => Summary::Unknown,
            (NotSatisfied, NotSatisfied) => Summary::Neither,
            (Satisfied, NotSatisfied) => Summary::OnlyFirst,
            (NotSatisfied, Satisfied) => Summary::OnlySecond,
            _ if same => Summary::SameState,
            (Satisfied, Satisfied) => match self.state.state {
                State::Unknown => Summary::Unknown,
                _ => Summary::BothSatisfy,
            },
            (NoneStated, _) | (_, NoneStated) => match self.state.state {
                State::Different => Summary::DifferentNoNeeds,
                _ => Summary::Unknown,
            },
        }
    }

    /// Every place in which the states are known to differ, the first included, run by run
    /// and without names; of the same proposals and with the terms of this comparison.
    pub fn places(
        &self,
        left: (&Plan, &Proposal),
        right: (&Plan, &Proposal),
        terms: &mut Terms,
    ) -> Vec<Difference> {
        let [first, second] = &self.evaluations;
        let one = Evaluated { plan: left.0, proposal: left.1, evaluation: first };
        let other = Evaluated { plan: right.0, proposal: right.1, evaluation: second };
        Difference::all(&one, &other, &self.surface, terms)
    }

    /// Whether each side does what is needed.
    fn answers(&self) -> [NeedsAnswer; 2] {
        let [first, second] = &self.evaluations;
        [self.needs[0].answer_of(first), self.needs[1].answer_of(second)]
    }

    /// Whether both do the job: they satisfy every need, or none is stated and their
    /// states are the same. `None` while that is undecided.
    pub fn both_do(&self) -> Option<bool> {
        use NeedsAnswer::{NoneStated, NotSatisfied, Satisfied};
        match self.answers() {
            [NotSatisfied, _] | [_, NotSatisfied] => Some(false),
            [Satisfied, Satisfied] => Some(true),
            [NoneStated, NoneStated] if self.state.state == State::Same => Some(true),
            _ => None,
        }
    }

    /// Whether numbers of speed may be set side by side: both do the job, and
    /// everything that a claim of performance rests on is stated.
    pub fn speed_is_comparable(&self) -> bool {
        self.both_do() == Some(true) && self.unsettled.is_empty()
    }
}
