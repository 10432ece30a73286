//! `rankwise schema [VERB]`: the JSON schema of plan files, or of what a verb prints.

use clap::ValueEnum;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::{
    certify, check, compare, explain, explore, judge, label, relabel, run, template, verify,
};
use crate::command::{Answer, Asked, Failure};
use crate::envelope;
use crate::exit::Exit;

/// A verb with a schema of its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answers {
    /// Of `explain --json`.
    Explain,
    /// Of `check --json`.
    Check,
    /// Of `compare --json`.
    Compare,
    /// Of `certify --json`.
    Certify,
    /// Of `verify --json`.
    Verify,
    /// Of `relabel --json`.
    Relabel,
    /// Of `explore --json`.
    Explore,
    /// Of `judge --json`.
    Judge,
    /// Of `run --json`.
    Run,
    /// Of `label --json`.
    Label,
    /// Of `template --json` with `--holdings` or `--out`; without them it is the plan.
    Template,
}

/// Prints the schema itself, or the schema in the envelope.
pub(crate) fn print(asked: Asked, of: Option<Answers>) -> Result<Answer, Failure> {
    let schema = of.map_or_else(rankwise_plan::schema::plan, of_answers);
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::Json)?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    asked.answer("answered", Exit::Yes, &json!({ "schema": schema }), |page| {
        page.verbatim(&lines);
    })
}

fn of_answers(of: Answers) -> Value {
    fn of_data<D: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<D>()
    }
    match of {
        Answers::Explain => envelope::schema("explain", &[of_data::<explain::Data>]),
        Answers::Check => {
            envelope::schema("check", &[of_data::<check::OfPlan>, of_data::<check::OfPrograms>])
        }
        Answers::Compare => envelope::schema("compare", &[of_data::<compare::Data>]),
        Answers::Certify => envelope::schema("certify", &[of_data::<certify::Data>]),
        Answers::Verify => envelope::schema("verify", &[of_data::<verify::Data>]),
        Answers::Relabel => envelope::schema(
            "relabel",
            &[of_data::<relabel::Data>, of_data::<relabel::UnknownData>],
        ),
        Answers::Explore => envelope::schema(
            "explore",
            &[of_data::<explore::Data>, of_data::<explore::UnknownData>],
        ),
        Answers::Judge => envelope::schema("judge", &[of_data::<judge::Data>]),
        Answers::Run => envelope::schema("run", &[of_data::<run::Data<'_>>]),
        Answers::Label => envelope::schema("label", &[of_data::<label::Data>]),
        Answers::Template => envelope::schema(
            "template",
            &[of_data::<template::Holdings>, of_data::<template::Written<'_>>],
        ),
    }
}
