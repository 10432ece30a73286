//! Input that cannot be used: what is wrong, where, and how to say it.

use std::fmt;
use std::path::{Path, PathBuf};

use rankwise_plan::error::{Place, PlanError};

use crate::arrays::ArrayFault;
use crate::report::excerpt;

/// Why there is no answer; always exit 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// The kind of fault, as in machine output: `syntax`, `file`, `array`, `usage`, …
    pub(crate) fault: &'static str,
    /// The file it is in.
    pub(crate) file: Option<PathBuf>,
    /// The place in that file, with the line it is on.
    pub(crate) place: Option<(Place, String)>,
    /// The key, as a path.
    pub(crate) path: String,
    /// What was found, in words.
    pub(crate) found: String,
    /// What was expected, in words.
    pub(crate) expected: String,
}

impl Unusable {
    /// Something wrong that is in no file.
    pub(crate) fn usage(found: impl Into<String>, expected: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            fault: "usage",
            file: None,
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
        Self::usage(found, expected).in_file("file", file)
    }

    /// An array file that cannot be used.
    pub(crate) fn array(file: &Path, fault: &ArrayFault) -> Box<Self> {
        Self::usage(fault.found(), fault.expected()).in_file("array", file)
    }

    /// A fault of a plan, with the text that it is in.
    pub(crate) fn plan(file: &Path, text: &str, error: &PlanError) -> Box<Self> {
        let place = error.span.place(text);
        let mut unusable = Self::usage(&error.found, &error.expected).in_file(error.kind.name(), file);
        unusable.place = Some((place, excerpt(text, error.span)));
        unusable.path.clone_from(&error.path);
        unusable
    }

    fn in_file(mut self: Box<Self>, fault: &'static str, file: &Path) -> Box<Self> {
        self.fault = fault;
        self.file = Some(file.to_owned());
        self
    }
}

impl fmt::Display for Unusable {
    /// `plans/a.toml:4:9: input.x.count: found "four", expected an integer`, then the
    /// line with a mark under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
            if let Some((place, _)) = &self.place {
                write!(f, "{place}:")?;
            }
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

impl serde::Serialize for Unusable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;

        let place = self.place.as_ref().map(|(place, _)| place);
        let mut error = serializer.serialize_struct("Unusable", 7)?;
        error.serialize_field("fault", self.fault)?;
        error.serialize_field("file", &self.file.as_ref().map(|file| file.to_string_lossy()))?;
        error.serialize_field("line", &place.map(|place| place.line))?;
        error.serialize_field("column", &place.map(|place| place.column))?;
        error.serialize_field("path", &self.path)?;
        error.serialize_field("found", &self.found)?;
        error.serialize_field("expected", &self.expected)?;
        error.end()
    }
}
