//! `rankwise schema`: the JSON schema of plan files.

use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;

/// Prints the schema itself, or the schema in the envelope.
pub(crate) fn run(asked: Asked) -> Result<Answer, Failure> {
    let schema = rankwise_plan::schema::plan();
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::Json)?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    asked.answer("answered", Exit::Yes, &serde_json::json!({ "schema": schema }), |page| {
        page.verbatim(&lines);
    })
}
