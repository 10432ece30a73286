//! Groups: several communications as one.

use alloc::format;
use alloc::vec::Vec;

use crate::error::{Fault, PlanError};
use crate::plan::{Act, GroupStep};
use crate::read::steps::{self, Scope, StepReader};

impl StepReader<'_> {
    pub(super) fn group(&self) -> Result<GroupStep, PlanError> {
        self.only(&["step"])?;
        let list = self.spot.key("step", self.spot.span);
        if self.step.step.is_empty() {
            return Err(list.error(Fault::Missing, "no steps", "the steps that are one group"));
        }
        let scope = match self.scope {
            Scope::Together => Scope::Together,
            Scope::Program | Scope::Part => Scope::Part,
        };
        let mut parts = Vec::new();
        for (spot, step) in list.each(&self.step.step) {
            let part = steps::read(&spot, step, self.declared, self.text, scope)?;
            if !matches!(part.act, Act::Collective(_) | Act::Message(_)) {
                let call = step.call.as_ref().map_or("", |call| call.value.as_str());
                let found = format!("{call} within a group");
                return Err(spot.error(
                    Fault::Contradiction,
                    found,
                    "collectives and messages only",
                ));
            }
            parts.push(part);
        }
        Ok(GroupStep { stands_for: None, opens: Vec::new(), divides: None, steps: parts })
    }
}
