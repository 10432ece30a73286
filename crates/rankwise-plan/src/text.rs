//! From a text to a tree in which everything still knows its place.
//!
//! TOML and JSON become the same [`Node`]s: each value and each key with its
//! [`Span`], and each number as it was written, so that `2^64 - 1` and `0.1`
//! arrive unharmed. [`de`] reads the flat structs of [`file`](crate::file) out
//! of such a tree.

pub(crate) mod de;
mod json;
mod node;
mod path;
mod spanned;
mod toml;

pub(crate) use node::Node;
pub(crate) use path::Path;
pub use spanned::Spanned;

use crate::error::{Fault, PlanError, Span};
use crate::limits;
use alloc::format;
use alloc::string::String;

/// How a plan is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// By hand.
    Toml,
    /// By machine.
    Json,
}

/// Reads `text` into a tree, no deeper than [`limits::TREE_DEPTH`].
pub(crate) fn parse(text: &str, format: Format) -> Result<Node<'_>, PlanError> {
    if text.len() > limits::TEXT_BYTES {
        return Err(PlanError {
            kind: Fault::Limit,
            span: Span::default(),
            path: String::new(),
            found: format!("a text of {} bytes", text.len()),
            expected: format!(
                "at most {} bytes; large arrays belong in files of their own",
                limits::TEXT_BYTES
            ),
        });
    }
    match format {
        Format::Toml => toml::parse(text),
        Format::Json => json::parse(text),
    }
}

/// A value nested deeper than [`limits::TREE_DEPTH`].
fn too_deep(span: Span) -> PlanError {
    PlanError {
        kind: Fault::Limit,
        span,
        path: String::new(),
        found: format!("values nested more than {} deep", limits::TREE_DEPTH),
        expected: format!("at most {} levels of tables and arrays", limits::TREE_DEPTH),
    }
}

/// Where the characters of a string value stand in the text, if it is written
/// without escapes so that they stand there one by one.
pub(crate) fn plain_start(text: &str, span: Span, value: &str) -> Option<usize> {
    let source = text.get(span.start..span.end)?;
    // One quote, three quotes, or three quotes and the newline that TOML drops.
    ["\"", "'", "\"\"\"", "'''", "\"\"\"\n", "'''\n", "\"\"\"\r\n", "'''\r\n"].into_iter().find_map(
        |opening| {
            let closing = opening.trim_end();
            let inner = source.strip_prefix(opening)?.strip_suffix(closing)?;
            (inner == value).then(|| span.start.saturating_add(opening.len()))
        },
    )
}
