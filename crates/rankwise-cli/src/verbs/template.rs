//! `rankwise template SCHEME`: the plan of a known scheme of parallel training, and what
//! every rank holds while it goes on.

mod held;
mod scheme;

use std::io;
use std::path::Path;

use rankwise_plan::template::Draft;
use schemars::JsonSchema;
use serde::Serialize;

use crate::command::{Answer, Asked, Failure};
use crate::exit::Exit;
use crate::unusable::Unusable;

pub(crate) use held::Data as Holdings;
pub(crate) use scheme::Scheme;

/// Makes the plan, and writes it or what it holds.
pub(crate) fn run(asked: Asked, scheme: &Scheme) -> Result<Answer, Failure> {
    let common = scheme.common();
    let draft = scheme.draft()?;
    let text = if asked.is_json() { draft.to_json() } else { draft.to_toml() };
    if let Some(file) = &common.out {
        write(file, &text)?;
    }
    if common.holdings {
        return held::run(asked, &draft);
    }
    match &common.out {
        None => Ok(Answer::document(Exit::Yes, text)),
        Some(file) => {
            let (name, file) = (draft.name(), file.display().to_string());
            let data = Written { template: name, plan: &file };
            asked.answer("written", Exit::Yes, &data, |page| {
                page.say(&format!("{file}: the plan of {name}"));
            })
        }
    }
}

/// Where a plan was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Written<'a> {
    template: &'static str,
    /// The file.
    plan: &'a str,
}

/// A plan that was made but is past a limit, or contradicts itself.
fn unusable(draft: &Draft, error: &rankwise_plan::PlanError) -> Box<Unusable> {
    let name = draft.name();
    Unusable::usage(format!("a {name} of {}: {}", error.path, error.found), &error.expected)
}

/// Writes a file that appears when it is complete.
fn write(file: &Path, text: &str) -> Result<(), Box<Unusable>> {
    let refuse = |error: &io::Error| {
        Unusable::file(file, error.kind().to_string(), "a file that can be written")
    };
    let name = file.file_name().ok_or_else(|| {
        Unusable::file(file, "a file without a name", "the name of the plan to write")
    })?;
    let beside = format!(".{}.unfinished-{}", name.to_string_lossy(), std::process::id());
    let unfinished = file.with_file_name(beside);
    let written =
        std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, file));
    written.map_err(|error| {
        // Nothing half-written stays; if even this fails there is nothing to be done.
        let _ = std::fs::remove_file(&unfinished);
        refuse(&error)
    })
}
