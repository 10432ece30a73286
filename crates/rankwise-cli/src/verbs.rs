//! The verbs. Each asks the libraries one question and says their answer.

mod certify;
mod check;
mod compare;
mod explain;
mod explore;
mod judge;
mod label;
mod relabel;
mod run;
mod schema;
mod template;
mod verify;

use rankwise_topology::DeviceOrder;

use crate::args::Verb;
use crate::command::{Answer, Asked, Failure};
use crate::held::Detail;

pub(crate) use self::run::Backend;
pub(crate) use self::schema::Answers;
pub(crate) use self::template::Scheme;

/// Carries out one verb.
pub(crate) fn run(verb: Verb, asked: Asked) -> Result<Answer, Failure> {
    match verb {
        Verb::Explain { plan, all } => explain::run(asked, &plan, detail(all)),
        Verb::Check { plan, all } => check::run(asked, &plan, detail(all)),
        Verb::Compare { first, second, all } => {
            compare::run(asked, &first, second.as_ref(), detail(all))
        }
        Verb::Certify { first, second, out } => {
            certify::run(asked, &first, second.as_ref(), out.as_deref())
        }
        Verb::Verify { certificate, plans } => verify::run(asked, &certificate, &plans),
        Verb::Relabel { plan, order, physical } => {
            relabel::run(asked, &plan, &order, numbers(physical))
        }
        Verb::Explore { plan, order, physical } => {
            explore::run(asked, &plan, order.as_ref(), numbers(physical))
        }
        Verb::Judge { plan, observed, all } => judge::run(asked, &plan, &observed, detail(all)),
        Verb::Run { plan, backend, out, verbose } => {
            run::run(asked, &plan, backend, out.as_deref(), verbose)
        }
        Verb::Label { text } => label::run(asked, &text),
        Verb::Template { scheme } => template::run(asked, &scheme),
        Verb::Schema { of } => schema::print(asked, of),
    }
}

/// How much `--all` asks for.
const fn detail(all: bool) -> Detail {
    if all { Detail::All } else { Detail::Few }
}

/// Whose the numbers of `--visible` are.
const fn numbers(physical: bool) -> DeviceOrder {
    if physical { DeviceOrder::Physical } else { DeviceOrder::Unknown }
}
