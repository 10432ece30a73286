//! The verbs. Each asks the libraries one question and says their answer.

mod check;
mod compare;
mod explain;
mod judge;
mod label;
mod relabel;
mod schema;

use crate::args::Verb;
use crate::command::{Answer, Asked, Failure};
use crate::held::Detail;

/// Carries out one verb.
pub(crate) fn run(verb: Verb, asked: Asked) -> Result<Answer, Failure> {
    match verb {
        Verb::Explain { plan, all } => {
            explain::run(asked, &plan, if all { Detail::All } else { Detail::Few })
        }
        Verb::Check { plan } => check::run(asked, &plan),
        Verb::Compare { first, second } => compare::run(asked, &first, second.as_ref()),
        Verb::Relabel { plan, devices } => relabel::run(asked, &plan, &devices),
        Verb::Judge { plan, observed } => judge::run(asked, &plan, &observed),
        Verb::Label { text } => label::run(asked, &text),
        Verb::Schema => schema::run(asked),
    }
}
