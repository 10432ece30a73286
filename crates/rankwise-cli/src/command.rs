//! From a command line to an exit status: parse, ask the verb, deliver its answer.

use std::ffi::OsString;

use clap::Parser as _;
use clap::error::ErrorKind;
use serde::Serialize;

use crate::args::{Args, Color, Form};
use crate::envelope::{Envelope, ErrorData};
use crate::exit::Exit;
use crate::output::Output;
use crate::page::Page;
use crate::progress::{Progress, Showing};
use crate::unusable::Unusable;
use crate::verbs;

/// Why a verb gave no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Its input cannot be used.
    Unusable(Box<Unusable>),
    /// The answer could not be put into JSON.
    Json(serde_json::Error),
}

impl From<Box<Unusable>> for Failure {
    fn from(unusable: Box<Unusable>) -> Self {
        Self::Unusable(unusable)
    }
}

/// An answer, completely composed and not yet written.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    exit: Exit,
    text: String,
}

impl Answer {
    /// A document that is the whole answer, in no envelope.
    pub(crate) const fn document(exit: Exit, text: String) -> Self {
        Self { exit, text }
    }
}

/// Which verb was asked, and in which form it is to answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    verb: &'static str,
    form: Form,
}

impl Asked {
    /// Composes the answer: `data` in the envelope, or the page that `compose` writes.
    pub(crate) fn answer<D: Serialize>(
        self,
        verdict: &str,
        exit: Exit,
        data: &D,
        compose: impl FnOnce(&mut Page),
    ) -> Result<Answer, Failure> {
        if self.form.json {
            let envelope = Envelope::new(self.verb, verdict, exit, data);
            let text = envelope.to_text().map_err(Failure::Json)?;
            return Ok(Answer { exit, text });
        }
        let mut page = Page::new();
        compose(&mut page);
        Ok(Answer { exit, text: page.into_text() })
    }

    /// Whether the answer is for machines.
    pub(crate) const fn is_json(self) -> bool {
        self.form.json
    }

    /// Shows that something is going on, if it takes long.
    pub(crate) fn progress(self, what: &'static str) -> Progress {
        let forbidden = self.form.no_progress;
        Progress::start(if forbidden { Showing::Forbidden } else { Showing::Allowed }, what)
    }
}

/// Carries out one command line, program name included.
pub(crate) fn run(line: impl IntoIterator<Item = OsString>) -> Exit {
    let line: Vec<OsString> = line.into_iter().collect();
    let args = match Args::try_parse_from(&line) {
        Ok(args) => args,
        Err(error) => return misused(&line, &error),
    };
    let output = Output::new(args.form.color);
    let asked = Asked { verb: args.verb.name(), form: args.form };
    match verbs::run(args.verb, asked) {
        Ok(answer) => deliver(output, &answer.text, answer.exit),
        Err(Failure::Unusable(unusable)) => refuse(output, asked, &unusable),
        Err(Failure::Json(error)) => {
            output.complain(&format!("rankwise: the answer has no JSON form: {error}\n"));
            Exit::RunFailed
        }
    }
}

fn deliver(output: Output, text: &str, exit: Exit) -> Exit {
    match output.answer(text) {
        Ok(()) => exit,
        Err(error) => {
            output.complain(&format!("rankwise: the answer could not be written: {error}\n"));
            Exit::RunFailed
        }
    }
}

fn refuse(output: Output, asked: Asked, unusable: &Unusable) -> Exit {
    let exit = Exit::Unusable;
    if asked.form.json {
        let data = ErrorData { error: unusable };
        if let Ok(text) = Envelope::new(asked.verb, "unusable", exit, &data).to_text() {
            return deliver(output, &text, exit);
        }
    }
    output.complain(&format!("{unusable}\n"));
    exit
}

/// Help and version are answers; anything else that clap returns is a command line
/// that cannot be used.
fn misused(line: &[OsString], error: &clap::Error) -> Exit {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Nothing is lost if nobody reads it.
        let _ = error.print();
        return Exit::Yes;
    }
    let json = line.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json");
    if json {
        let text = error.render().to_string();
        let message = text.trim_end().strip_prefix("error: ").unwrap_or(text.trim_end());
        let unusable = Unusable::usage(message, "a command line as in `rankwise --help`");
        let form = Form { json, color: Color::Auto, no_progress: false };
        return refuse(Output::new(form.color), Asked { verb: "usage", form }, &unusable);
    }
    let _ = error.print();
    Exit::Unusable
}
