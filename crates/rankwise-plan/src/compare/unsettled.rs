//! What must be settled before claims of performance are compared, and is not.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::plan::{Act, LocalAct, Proposal};
use crate::surface::Evaluated;

use super::state::{State, StateReport};

/// Something that a comparison depends on and a plan does not state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Unsettled {
    /// Which device each rank is on.
    Devices {
        /// 0 for the first plan, 1 for the second.
        side: usize,
    },
    /// What the positions of an input represent.
    Meaning {
        /// The input.
        input: String,
    },
    /// How a step combines.
    Reduction {
        /// The proposal.
        proposal: String,
        /// The step, from 0.
        step: usize,
    },
    /// What each consumer needs.
    Needs {
        /// 0 for the first plan, 1 for the second.
        side: usize,
    },
    /// The plans state different needs.
    DifferentNeeds,
    /// Whether the states are the same, in words.
    State {
        /// Why it is not known.
        because: String,
    },
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = |side: usize| if side == 0 { "the first plan" } else { "the second plan" };
        match self {
            Self::Devices { side } => {
                write!(
                    f,
                    "the rank group: {} does not say which device each rank is on",
                    which(*side)
                )
            }
            Self::Meaning { input } => {
                write!(f, "what the positions of input `{input}` represent: no meaning is stated")
            }
            Self::Reduction { proposal, step } => {
                write!(f, "the reduction: step {step} of `{proposal}` names none (add `op`)")
            }
            Self::Needs { side } => {
                write!(f, "what each consumer needs: {} states no need", which(*side))
            }
            Self::DifferentNeeds => {
                f.write_str("what each consumer needs: the two plans state different needs")
            }
            Self::State { because } => f.write_str(because),
        }
    }
}

pub(super) fn unsettled(
    left: &Evaluated<'_>,
    right: &Evaluated<'_>,
    state: &StateReport,
) -> Vec<Unsettled> {
    let mut found: BTreeSet<Unsettled> = BTreeSet::new();
    let one_plan = core::ptr::eq(left.plan, right.plan);
    for (side, of) in [left, right].into_iter().enumerate() {
        if one_plan && side > 0 {
            found.extend(unnamed_reductions(of.proposal));
            continue;
        }
        if of.plan.map.is_none() {
            found.insert(Unsettled::Devices { side });
        }
        if of.plan.needs.is_empty() {
            found.insert(Unsettled::Needs { side });
        }
        let inputs = of.plan.inputs.values().filter(|input| input.meaning.is_none());
        found.extend(inputs.map(|input| Unsettled::Meaning { input: input.name.clone() }));
        found.extend(unnamed_reductions(of.proposal));
    }
    if !one_plan {
        let needs = |of: &Evaluated<'_>| {
            let texts = of.plan.needs.iter();
            texts
                .map(|need| {
                    alloc::format!(
                        "{:?} {} {:?} {}",
                        need.on,
                        need.buffer,
                        need.positions,
                        need.holds_text
                    )
                })
                .collect::<BTreeSet<_>>()
        };
        if needs(left) != needs(right) {
            found.insert(Unsettled::DifferentNeeds);
        }
    }
    if state.state == State::Unknown {
        let because = state.because.iter().cloned();
        found.extend(because.map(|because| Unsettled::State { because }));
    }
    found.into_iter().collect()
}

fn unnamed_reductions(proposal: &Proposal) -> impl Iterator<Item = Unsettled> + '_ {
    proposal.steps.iter().enumerate().filter_map(|(step, of)| {
        let unnamed = of.act.each().any(|act| match act {
            Act::Collective(call) => call.kind.reduces() && call.reduction.is_none(),
            Act::Local(local) => matches!(local.act, LocalAct::Fold { reduction: None, .. }),
            Act::Message(_) | Act::Group(_) => false,
        });
        unnamed.then(|| Unsettled::Reduction { proposal: proposal.name.clone(), step })
    })
}
