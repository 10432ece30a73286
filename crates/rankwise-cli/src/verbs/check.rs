//! `rankwise check FILE[#NAME]`: whether consumers of a plan find what they need, or
//! whether the calls of rank programs meet.

mod plan;
mod program;

pub(crate) use self::plan::Data as OfPlan;
pub(crate) use self::program::Data as OfPrograms;

use rankwise_program::Program;

use crate::args::PlanRef;
use crate::command::{Answer, Asked, Failure};
use crate::held::Detail;

/// Judges a plan (one proposal, or all) or rank programs: the file says which it is.
pub(crate) fn run(asked: Asked, reference: &PlanRef, detail: Detail) -> Result<Answer, Failure> {
    // What cannot be read is told by the reader of plans.
    let text = std::fs::read_to_string(&reference.file).ok();
    match text.filter(|text| Program::is_program(text)) {
        Some(text) => program::run(asked, reference, &text, detail),
        None => plan::run(asked, reference, detail),
    }
}
