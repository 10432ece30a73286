//! Plans out of files.

use std::path::{Path, PathBuf};

use rankwise_plan::error::{Fault, PlanError, Span};
use rankwise_plan::file::Format;
use rankwise_plan::plan::{Plan, Proposal};

use crate::args::PlanRef;
use crate::arrays::Beside;
use crate::command::Asked;
use crate::unusable::Unusable;

/// A plan with the text that its errors point into.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// The file, as it was named.
    pub(crate) file: PathBuf,
    /// What the file says.
    pub(crate) plan: Plan,
    /// What was converted or rounded on the way.
    pub(crate) notes: Vec<String>,
    text: String,
}

impl Loaded {
    /// Reads a plan and the arrays it names.
    pub(crate) fn read(file: &Path, asked: Asked) -> Result<Self, Box<Unusable>> {
        let _progress = asked.progress("reading the plan and its arrays");
        let bytes = std::fs::read(file).map_err(|error| {
            let found = match error.kind() {
                std::io::ErrorKind::NotFound => "no such file".into(),
                kind => kind.to_string(),
            };
            Unusable::file(file, found, "a readable plan (TOML or JSON)")
        })?;
        let text = String::from_utf8(bytes).map_err(|error| not_text(file, &error))?;
        let mut arrays = Beside::of(file);
        let plan = Plan::read(&text, format_of(file, &text), &mut arrays)
            .map_err(|error| Unusable::plan(file, &text, &error))?;
        let mut notes = arrays.into_notes();
        notes.extend(plan.inputs.values().filter(|input| input.rounded > 0).map(|input| {
            let (name, dtype, rounded) = (&input.name, input.dtype, input.rounded);
            let literals = if rounded == 1 { "literal was" } else { "literals were" };
            format!("input {name}: {rounded} {literals} rounded to {dtype}")
        }));
        Ok(Self { file: file.to_owned(), plan, notes, text })
    }

    /// The proposal that a reference names, or all of them.
    pub(crate) fn proposals(&self, name: Option<&str>) -> Result<Vec<&Proposal>, Box<Unusable>> {
        let all: Vec<&Proposal> = self.plan.proposals.iter().collect();
        if all.is_empty() {
            return Err(Unusable::file(&self.file, "no proposal", "[[proposal.NAME.step]]"));
        }
        match name {
            None => Ok(all),
            Some(name) => match self.plan.proposal(name) {
                Some(proposal) => Ok(vec![proposal]),
                None => {
                    Err(Unusable::file(&self.file, format!("no proposal \"{name}\""), one_of(&all)))
                }
            },
        }
    }

    /// The one proposal that a reference names or the plan has.
    pub(crate) fn proposal(&self, name: Option<&str>) -> Result<&Proposal, Box<Unusable>> {
        match self.proposals(name)?.as_slice() {
            [only] => Ok(only),
            several => Err(Unusable::usage(
                format!("{} with {} proposals", self.file.display(), several.len()),
                format!("PLAN#NAME with {}", one_of(several)),
            )),
        }
    }

    /// An error that came up after reading, at its place in the text.
    pub(crate) fn unusable(&self, error: &PlanError) -> Box<Unusable> {
        Unusable::plan(&self.file, &self.text, error)
    }

    /// `plans/a.toml#sharded`, as a reference names it.
    pub(crate) fn name_of(&self, proposal: &Proposal) -> String {
        PlanRef { file: self.file.clone(), proposal: Some(proposal.name.clone()) }.to_string()
    }
}

fn one_of(proposals: &[&Proposal]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = proposals.iter().map(|proposal| proposal.name.as_str()).collect();
    match names.split_at_checked(SHOWN) {
        Some((first, rest @ [_, ..])) => {
            format!("one of {} and {} more", first.join(", "), rest.len())
        }
        _ => format!("one of {}", names.join(", ")),
    }
}

/// By the name; a file named otherwise is JSON if it starts with a brace.
fn format_of(file: &Path, text: &str) -> Format {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Format::Json,
        Some("toml") => Format::Toml,
        _ if text.trim_start().starts_with('{') => Format::Json,
        _ => Format::Toml,
    }
}

fn not_text(file: &Path, error: &std::string::FromUtf8Error) -> Box<Unusable> {
    let valid = error.utf8_error().valid_up_to();
    let (before, rest) = error.as_bytes().split_at_checked(valid).unwrap_or((&[], &[]));
    let before = String::from_utf8_lossy(before);
    let found = match rest.first() {
        Some(byte) => format!("the byte 0x{byte:02x}, which is not UTF-8"),
        None => "bytes that are not UTF-8".to_owned(),
    };
    let error = PlanError {
        kind: Fault::Syntax,
        span: Span { start: valid, end: valid },
        path: String::new(),
        found,
        expected: "UTF-8 text".into(),
    };
    Unusable::plan(file, &before, &error)
}
