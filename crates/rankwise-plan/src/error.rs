//! Where something stands in a plan, and what is wrong with it.

use alloc::string::String;
use core::fmt;
use core::ops::Range;

/// A byte range of the plan's text.
///
/// An empty span at 0 stands for the text as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A place in a text as people count: line and column from 1, column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl Span {
    /// Where the span starts in `text`; past the end counts as the end.
    pub fn place(self, text: &str) -> Place {
        let before = text
            .char_indices()
            .take_while(|(offset, _)| *offset < self.start)
            .map(|(_, character)| character);
        let (mut line, mut column) = (1_usize, 1_usize);
        for character in before {
            if character == '\n' {
                line = line.saturating_add(1);
                column = 1;
            } else {
                column = column.saturating_add(1);
            }
        }
        Place { line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is wrong with a plan: one thing, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Which kind of fault.
    pub kind: Fault,
    /// Where it stands.
    pub span: Span,
    /// The key, as a path: `proposal.sharded.step[1].op`. Empty for the whole text.
    pub path: String,
    /// What was found there, in words.
    pub found: String,
    /// What was expected there, in words.
    pub expected: String,
}

/// The kinds of faults of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The text is no TOML, or no JSON.
    Syntax,
    /// A key that plans do not have.
    UnknownKey,
    /// A key that must be there is not.
    Missing,
    /// A value of the wrong type or outside its range.
    Value,
    /// A name that nothing in the plan has: a rank, device, group, input or buffer.
    UnknownName,
    /// Two parts of the plan that cannot both hold.
    Contradiction,
    /// A length, count or product that does not fit.
    Overflow,
    /// Past a stated limit.
    Limit,
    /// An array that could not be used.
    Array,
}

impl Fault {
    /// The name used in machine output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::UnknownKey => "unknown_key",
            Self::Missing => "missing",
            Self::Value => "value",
            Self::UnknownName => "unknown_name",
            Self::Contradiction => "contradiction",
            Self::Overflow => "overflow",
            Self::Limit => "limit",
            Self::Array => "array",
        }
    }
}

impl fmt::Display for PlanError {
    /// `proposal.sharded.step[1].op: found "add", expected one of sum, prod, …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for PlanError {}
