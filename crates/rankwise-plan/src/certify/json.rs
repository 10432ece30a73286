//! The text of a certificate, and the digest over it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What is not longer than this stands on one line.
const WIDTH: usize = 100;

/// The digest of what is not yet sealed, whose digest is empty: `sha256:` and 64 digits,
/// over its text without blanks.
pub(super) fn digest(value: &Value) -> String {
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(one_line(value).as_bytes()) {
        // Writing into a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// The value for readers: a part that fits stands on one line.
pub(super) fn laid_out(value: &Value) -> String {
    let mut text = String::new();
    lay_out(value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// The entries of an object by key. (A feature of `serde_json` may keep another order.)
fn sorted(map: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// Without blanks, with keys in order: the text that the digest is taken of.
fn one_line(value: &Value) -> String {
    let mut text = String::new();
    write_line(value, &mut text);
    text
}

fn write_line(value: &Value, text: &mut String) {
    match value {
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_line(element, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            text.push('{');
            for (index, (key, value)) in sorted(map).into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&quoted(key));
                text.push(':');
                write_line(value, text);
            }
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// How long a value is on one line, as far as `most` characters.
fn length(value: &Value, most: usize) -> usize {
    let parts = |parts: &mut dyn Iterator<Item = usize>| {
        let mut total: usize = 2;
        for part in parts {
            total = total.saturating_add(part).saturating_add(2);
            if total > most {
                break;
            }
        }
        total
    };
    match value {
        Value::Array(elements) => parts(&mut elements.iter().map(|element| length(element, most))),
        Value::Object(map) => {
            parts(&mut map.iter().map(|(key, value)| {
                length(value, most).saturating_add(key.len()).saturating_add(4)
            }))
        }
        plain => plain.to_string().len(),
    }
}

/// Writes a value of which `before` characters of its line are taken.
fn lay_out(value: &Value, depth: usize, before: usize, text: &mut String) {
    let indent = |depth: usize| "  ".repeat(depth);
    let left = WIDTH.saturating_sub(before);
    let broken = length(value, left) > left;
    let (open, close) = match value {
        Value::Array(_) => ('[', ']'),
        Value::Object(_) => ('{', '}'),
        plain => return text.push_str(&plain.to_string()),
    };
    let inner = depth.saturating_add(1);
    let mut first = true;
    let mut begin = |text: &mut String| {
        if !first {
            text.push(',');
        }
        match (broken, first) {
            (true, _) => {
                text.push('\n');
                text.push_str(&indent(inner));
            }
            (false, false) => text.push(' '),
            (false, true) => {}
        }
        first = false;
    };
    text.push(open);
    match value {
        Value::Array(elements) => {
            for element in elements {
                begin(text);
                lay_out(element, inner, inner.saturating_mul(2), text);
            }
        }
        Value::Object(map) => {
            for (key, value) in sorted(map) {
                begin(text);
                let key = quoted(key);
                text.push_str(&key);
                text.push_str(": ");
                let before = inner.saturating_mul(2).saturating_add(key.len()).saturating_add(2);
                lay_out(value, inner, before, text);
            }
        }
        _ => {}
    }
    if broken {
        text.push('\n');
        text.push_str(&indent(depth));
    }
    text.push(close);
}
