//! Input that cannot be used: what is wrong, where, and how to say it.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use rankwise_account::LabelError;
use rankwise_plan::error::{Place, PlanError, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::arrays::ArrayFault;
use crate::report::excerpt;

/// Why there is no answer; always exit 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// The kind of fault, as in machine output: `syntax`, `file`, `array`, `usage`, …
    pub(crate) fault: &'static str,
    /// What it is in.
    pub(crate) input: Input,
    /// The place in it, with the line it is on.
    pub(crate) place: Option<(Place, String)>,
    /// The key, as a path.
    pub(crate) path: String,
    /// What was found, in words.
    pub(crate) found: String,
    /// What was expected, in words.
    pub(crate) expected: String,
}

/// What a fault is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The command line.
    CommandLine,
    /// The text of a label.
    Label,
    /// A file or folder.
    File(PathBuf),
}

impl Unusable {
    /// Something wrong with the command line.
    pub(crate) fn usage(found: impl Into<String>, expected: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            fault: "usage",
            input: Input::CommandLine,
            place: None,
            path: String::new(),
            found: found.into(),
            expected: expected.into(),
        })
    }

    /// A file or folder that cannot be read at all.
    pub(crate) fn file(
        file: &Path,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<Self> {
        Self::usage(found, expected).within("file", Input::File(file.to_owned()))
    }

    /// An array file that cannot be used.
    pub(crate) fn array(file: &Path, fault: &ArrayFault) -> Box<Self> {
        let input = Input::File(file.to_owned());
        Self::usage(fault.found(), fault.expected()).within("array", input)
    }

    /// Observed arrays that do not fit the plan.
    pub(crate) fn observed(
        folder: &Path,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<Self> {
        Self::usage(found, expected).within("array", Input::File(folder.to_owned()))
    }

    /// A fault of a plan, with the text that it is in.
    pub(crate) fn plan(file: &Path, text: &str, error: &PlanError) -> Box<Self> {
        let input = Input::File(file.to_owned());
        let mut unusable =
            Self::usage(&error.found, &error.expected).within(error.kind.name(), input);
        unusable.place = Some((error.span.place(text), excerpt(text, error.span)));
        unusable.path.clone_from(&error.path);
        unusable
    }

    /// Rank programs that are not of the shape of their notation, with line and column.
    pub(crate) fn program(
        file: &Path,
        text: &str,
        (line, column): (u64, u64),
        found: &str,
    ) -> Box<Self> {
        let at = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let line = at(line);
        let before = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len);
        let start = before.sum::<usize>().saturating_add(at(column).saturating_sub(1));
        let start = (0..=start.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let start = start.unwrap_or(0);
        let span = Span { start, end: start };
        let mut unusable = Self::usage(found, "rank programs in their notation")
            .within("syntax", Input::File(file.to_owned()));
        unusable.place = Some((span.place(text), excerpt(text, span)));
        unusable
    }

    /// A text that is no label.
    pub(crate) fn label(text: &str, error: &LabelError) -> Box<Self> {
        let found = error.found.as_str();
        let span = Span { start: error.at, end: error.at.saturating_add(found.len()) };
        let words = if found.is_empty() { "the end".into() } else { format!("{:?}", error.found) };
        let mut unusable =
            Self::usage(words, error.expected.to_string()).within("label", Input::Label);
        unusable.place = Some((span.place(text), excerpt(text, span)));
        unusable
    }

    fn within(mut self: Box<Self>, fault: &'static str, input: Input) -> Box<Self> {
        self.fault = fault;
        self.input = input;
        self
    }
}

impl fmt::Display for Unusable {
    /// `plans/a.toml:4:9: input.x.count: found "four", expected an integer`, then the
    /// line with a mark under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.input {
            Input::CommandLine => {}
            Input::Label => f.write_str("label:")?,
            Input::File(file) => write!(f, "{}:", file.display())?,
        }
        if let Some((place, _)) = &self.place {
            write!(f, "{place}:")?;
        }
        if self.input != Input::CommandLine {
            f.write_str(" ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)?;
        if let Some((_, excerpt)) = &self.place {
            write!(f, "\n{excerpt}")?;
        }
        Ok(())
    }
}

/// As it is serialized, below.
impl JsonSchema for Unusable {
    fn schema_name() -> Cow<'static, str> {
        "Unusable".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "fault": { "type": "string" },
                "file": { "type": ["string", "null"] },
                "line": { "type": ["integer", "null"] },
                "column": { "type": ["integer", "null"] },
                "path": { "type": "string" },
                "found": { "type": "string" },
                "expected": { "type": "string" },
            },
            "required": ["fault", "file", "line", "column", "path", "found", "expected"],
        })
    }
}

impl serde::Serialize for Unusable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;

        let place = self.place.as_ref().map(|(place, _)| place);
        let file = match &self.input {
            Input::File(file) => Some(file.to_string_lossy()),
            Input::CommandLine | Input::Label => None,
        };
        let mut error = serializer.serialize_struct("Unusable", 7)?;
        error.serialize_field("fault", self.fault)?;
        error.serialize_field("file", &file)?;
        error.serialize_field("line", &place.map(|place| place.line))?;
        error.serialize_field("column", &place.map(|place| place.column))?;
        error.serialize_field("path", &self.path)?;
        error.serialize_field("found", &self.found)?;
        error.serialize_field("expected", &self.expected)?;
        error.end()
    }
}
