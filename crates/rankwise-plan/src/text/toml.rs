//! TOML into nodes.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use toml::de::{DeInteger, DeTable, DeValue};

use crate::error::{Fault, PlanError, Span};
use crate::limits;
use crate::text::node::{Entry, Kind, Node};
use crate::text::too_deep;

/// Parses a whole document.
pub(super) fn parse(text: &str) -> Result<Node<'_>, PlanError> {
    let table = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
    let kind = Kind::Table(entries(table.into_inner(), limits::TREE_DEPTH.saturating_sub(1))?);
    Ok(Node { kind, span: Span::default() })
}

fn entries(table: DeTable<'_>, depth: usize) -> Result<Vec<Entry<'_>>, PlanError> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let key_span = Span::from(key.span());
        let span = Span::from(value.span());
        let value = node(value.into_inner(), span, depth)?;
        entries.push(Entry { key: key.into_inner(), key_span, value });
    }
    // The parser keeps tables by key; a plan means the order of the file.
    entries.sort_by_key(|entry| entry.key_span);
    Ok(entries)
}

fn node(value: DeValue<'_>, span: Span, depth: usize) -> Result<Node<'_>, PlanError> {
    let deeper = || depth.checked_sub(1).ok_or_else(|| too_deep(span));
    let kind = match value {
        DeValue::String(text) => Kind::String(text),
        DeValue::Integer(integer) => Kind::Number(Cow::Owned(decimal(&integer))),
        DeValue::Float(float) => Kind::Number(Cow::Owned(float.as_str().to_string())),
        DeValue::Boolean(value) => Kind::Boolean(value),
        DeValue::Datetime(_) => Kind::Date,
        DeValue::Array(array) => {
            let depth = deeper()?;
            let mut nodes = Vec::new();
            for item in array {
                let span = Span::from(item.span());
                nodes.push(node(item.into_inner(), span, depth)?);
            }
            Kind::Array(nodes)
        }
        DeValue::Table(table) => Kind::Table(entries(table, deeper()?)?),
    };
    Ok(Node { kind, span })
}

/// The digits in base ten; an integer past 128 bits stays as it is written and
/// is refused where a number is wanted.
fn decimal(integer: &DeInteger<'_>) -> String {
    if integer.radix() == 10 {
        return integer.as_str().to_string();
    }
    match i128::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(value) => value.to_string(),
        Err(_) => integer.to_string(),
    }
}

/// The parser says "what is wrong, expected what".
fn syntax(text: &str, error: &toml::de::Error) -> PlanError {
    let span = error.span().map_or(Span { start: text.len(), end: text.len() }, Span::from);
    if error.message().contains("recurs") {
        return too_deep(span);
    }
    let (found, expected) = match error.message().split_once(", expected ") {
        Some((found, expected)) => (found.to_string(), expected.to_string()),
        None => (error.message().to_string(), String::from("valid TOML")),
    };
    PlanError { kind: Fault::Syntax, span, path: String::new(), found, expected }
}
