//! The JSON schema of plan files, made from the types that read them.
//!
//! `docs/plan.schema.json` is this, committed; a test says when it is stale.

use alloc::vec::Vec;

use rankwise_account::Uneven;
use rankwise_model::Dtype;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::file::PlanFile;
use crate::words;

/// The schema (draft 2020-12) of [`PlanFile`], for JSON plans and for editors that
/// check TOML by it.
///
/// ```
/// let schema = rankwise_plan::schema::plan();
/// assert_eq!(schema["properties"]["format"]["const"], 1);
/// ```
pub fn plan() -> Value {
    SchemaGenerator::default().into_root_schema_for::<PlanFile>().to_value()
}

pub(crate) fn format(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "const": words::FORMAT })
}

pub(crate) fn dtype(_: &mut SchemaGenerator) -> Schema {
    one_of(Dtype::ALL.into_iter().map(Dtype::name))
}

pub(crate) fn call(_: &mut SchemaGenerator) -> Schema {
    one_of(words::calls().chain(words::PROGRAM_CALLS))
}

pub(crate) fn op(_: &mut SchemaGenerator) -> Schema {
    one_of(words::reductions())
}

pub(crate) fn attachment(_: &mut SchemaGenerator) -> Schema {
    one_of(words::ATTACHMENTS.into_iter().map(|(name, _)| name))
}

pub(crate) fn slice(_: &mut SchemaGenerator) -> Schema {
    one_of(words::SLICINGS.into_iter().map(|(name, _)| name))
}

pub(crate) fn uneven(_: &mut SchemaGenerator) -> Schema {
    one_of(Uneven::ALL.into_iter().map(Uneven::name))
}

pub(crate) fn sharing(_: &mut SchemaGenerator) -> Schema {
    one_of(words::SHARINGS.into_iter().map(|(name, _)| name))
}

pub(crate) fn positions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"^\s*[0-9]+\s*\.\.\s*[0-9]+\s*$" })
}

fn one_of(words: impl Iterator<Item = &'static str>) -> Schema {
    let words: Vec<&str> = words.collect();
    json_schema!({ "enum": words })
}
