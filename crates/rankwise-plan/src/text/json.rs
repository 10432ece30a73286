//! JSON into nodes.
//!
//! `serde_json` gives no spans, but it lends slices of the text: every value is
//! first taken as a [`RawValue`], and where that slice starts in the text is its
//! span. Each level is parsed when its turn comes, so the depth is bounded here.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{Fault, PlanError, Span};
use crate::limits;
use crate::text::node::{Entry, Kind, Node};
use crate::text::too_deep;

/// Parses a whole document.
pub(super) fn parse(text: &str) -> Result<Node<'_>, PlanError> {
    let raw: &RawValue = read(text, text)?;
    Json { text }.node(raw.get(), limits::TREE_DEPTH)
}

/// The text that slices are measured against.
struct Json<'t> {
    text: &'t str,
}

impl<'t> Json<'t> {
    fn node(&self, raw: &'t str, depth: usize) -> Result<Node<'t>, PlanError> {
        let start = offset(self.text, raw);
        let span = Span { start, end: start.saturating_add(raw.len()) };
        let deeper = || depth.checked_sub(1).ok_or_else(|| too_deep(span));
        let kind = match raw.bytes().next() {
            Some(b'{') => Kind::Table(self.entries(raw, deeper()?)?),
            Some(b'[') => {
                let depth = deeper()?;
                let items: Vec<&'t RawValue> = read(self.text, raw)?;
                let nodes = items.into_iter().map(|item| self.node(item.get(), depth));
                Kind::Array(nodes.collect::<Result<_, _>>()?)
            }
            Some(b'"') => Kind::String(read::<Text<'t>>(self.text, raw)?.0),
            Some(b't') => Kind::Boolean(true),
            Some(b'f') => Kind::Boolean(false),
            Some(b'n') => Kind::Null,
            _ => Kind::Number(Cow::Borrowed(raw)),
        };
        Ok(Node { kind, span })
    }

    fn entries(&self, raw: &'t str, depth: usize) -> Result<Vec<Entry<'t>>, PlanError> {
        let Pairs(pairs) = read(self.text, raw)?;
        let mut entries = Vec::new();
        // Before each value stands its key, after the value before it.
        let mut gap_start = offset(self.text, raw);
        for (key, value) in pairs {
            let value = self.node(value.get(), depth)?;
            let key_span = self.key_span(gap_start, value.span.start);
            gap_start = value.span.end;
            entries.push(Entry { key, key_span, value });
        }
        match first_duplicate(&entries) {
            None => Ok(entries),
            Some(entry) => Err(PlanError {
                kind: Fault::Syntax,
                span: entry.key_span,
                path: String::new(),
                found: format!("the key {:?} a second time", entry.key),
                expected: String::from("each key once"),
            }),
        }
    }

    /// A gap reads `, "key" : ` with blanks anywhere.
    fn key_span(&self, start: usize, end: usize) -> Span {
        let gap = self.text.get(start..end).unwrap_or_default();
        let first = gap.find('"').map_or(start, |at| start.saturating_add(at));
        let last = gap.rfind('"').map_or(end, |at| start.saturating_add(at).saturating_add(1));
        Span { start: first, end: last }
    }
}

fn first_duplicate<'e, 't>(entries: &'e [Entry<'t>]) -> Option<&'e Entry<'t>> {
    let mut by_key: Vec<&Entry<'t>> = entries.iter().collect();
    by_key.sort_by(|a, b| a.key.cmp(&b.key).then(a.key_span.cmp(&b.key_span)));
    let second = |pair: &[&'e Entry<'t>]| match pair {
        [one, two] if one.key == two.key => Some(*two),
        _ => None,
    };
    by_key.windows(2).filter_map(second).min_by_key(|entry| entry.key_span)
}

/// Where `part`, a slice of `text`, starts in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

fn read<'t, T: Deserialize<'t>>(text: &'t str, part: &'t str) -> Result<T, PlanError> {
    serde_json::from_str(part).map_err(|error| syntax(text, part, &error))
}

/// The parser says "what is wrong at line 1 column 2", counted in bytes and from
/// the start of the part.
fn syntax(text: &str, part: &str, error: &serde_json::Error) -> PlanError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let line_start = part
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .fold(0_usize, |sum, line| sum.saturating_add(line.len()));
    // The column is that of the last byte taken.
    let within = line_start.saturating_add(error.column().saturating_sub(1)).min(part.len());
    let start = offset(text, part).saturating_add(if error.is_eof() { part.len() } else { within });
    let (found, expected) = match message.strip_prefix("expected ") {
        Some(expected) => (found_at(text, start), expected.to_string()),
        None => (message.to_string(), String::from("valid JSON")),
    };
    let span = Span { start, end: start };
    PlanError { kind: Fault::Syntax, span, path: String::new(), found, expected }
}

fn found_at(text: &str, offset: usize) -> String {
    match text.get(offset..).and_then(|rest| rest.chars().next()) {
        Some(character) => format!("{character:?}"),
        None => String::from("the end"),
    }
}

/// A string, borrowed where it has no escapes.
struct Text<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_string())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// The keys and values of an object, duplicates included.
struct Pairs<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor;
        impl<'de> Visitor<'de> for PairsVisitor {
            type Value = Pairs<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<'de>, M::Error> {
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    pairs.push((key.0, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor)
    }
}
