//! A draft as text: TOML for people, with the schedule as comments, or JSON.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::draft::{Draft, Event};

/// The keys of a table in the order in which people read them; others follow.
const ORDER: [&str; 15] = [
    "call",
    "op",
    "root",
    "peer",
    "over",
    "on",
    "send",
    "recv",
    "buffer",
    "positions",
    "holds",
    "dtype",
    "count",
    "counts",
    "meaning",
];

impl Draft {
    /// The plan in TOML: a comment before each passage says what it does.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for line in self.about.lines() {
            comment(&mut text, line);
        }
        let file = value(&self.file);
        text.push('\n');
        for (key, value) in entries(&file) {
            match value {
                Value::Object(_) | Value::Array(_) => {}
                plain => assign(&mut text, key, plain),
            }
        }
        for name in ["group", "mesh"] {
            if let Some(table) = file.get(name) {
                table_of(&mut text, &format!("[{name}]"), table);
            }
        }
        if let Some(inputs) = file.get("input") {
            // In the order of the schedule, which the map has lost.
            for (name, _) in self.file.input.iter() {
                if let Some(input) = inputs.get(&name.value) {
                    table_of(&mut text, &format!("[input.{}]", key_of(&name.value)), input);
                }
            }
        }
        self.proposal_in_toml(&mut text);
        for need in &self.file.need {
            table_of(&mut text, "[[need]]", &value(need));
        }
        text
    }

    /// The plan in JSON.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.file()).unwrap_or_default();
        text.push('\n');
        text
    }

    fn proposal_in_toml(&self, text: &mut String) {
        let name = key_of(self.name);
        let proposal = value(&self.proposal_written());
        let outputs = proposal.get("outputs").cloned().unwrap_or(Value::Null);
        if outputs.is_array() {
            let _ = write!(text, "\n[proposal.{name}]\n");
            assign(text, "outputs", &outputs);
        }
        for program in &self.programs {
            let _ = write!(text, "\n[[proposal.{name}.program]]\n");
            assign(text, "on", &value(&program.on));
            let _ = writeln!(text, "step = [");
            for step in &program.step {
                let _ = writeln!(text, "    {},", inline(&value(&step.value)));
            }
            let _ = writeln!(text, "]");
        }
        if !self.programs.is_empty() {
            return;
        }
        for passage in &self.passages {
            text.push('\n');
            comment(text, &passage.title);
            let mut let_go: Vec<&str> = Vec::new();
            for name in passage.events.iter().filter_map(gone) {
                if !let_go.contains(&name) {
                    let_go.push(name);
                }
            }
            if !let_go.is_empty() {
                comment(text, &format!("  let go: {}", let_go.join(", ")));
            }
            for event in &passage.events {
                let Event::Step(index) = event else { continue };
                if let Some(step) = self.proposal.step.get(*index) {
                    table_of(text, &format!("[[proposal.{name}.step]]"), &value(step));
                }
            }
        }
    }
}

fn gone(event: &Event) -> Option<&str> {
    match event {
        Event::Goes(name, _) => Some(name),
        _ => None,
    }
}

fn value<T: Serialize>(part: &T) -> Value {
    // The file's own structs have string keys throughout.
    serde_json::to_value(part).unwrap_or_default()
}

fn entries(value: &Value) -> Vec<(&str, &Value)> {
    let Some(map) = value.as_object() else { return Vec::new() };
    let known = ORDER.into_iter().filter_map(|key| map.get_key_value(key));
    let others = map.iter().filter(|(key, _)| !ORDER.contains(&key.as_str()));
    known.chain(others).map(|(key, value)| (key.as_str(), value)).collect()
}

fn table_of(text: &mut String, header: &str, table: &Value) {
    // Writing into a String cannot fail.
    let _ = write!(text, "\n{header}\n");
    for (key, value) in entries(table) {
        assign(text, key, value);
    }
}

fn assign(text: &mut String, key: &str, value: &Value) {
    let _ = writeln!(text, "{} = {}", key_of(key), inline(value));
}

fn comment(text: &mut String, line: &str) {
    let _ = writeln!(text, "# {line}");
}

/// A value on one line. JSON's strings and numbers are TOML's too.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(_) => {
            let entries = entries(value);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{} = {}", key_of(key), inline(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        plain => plain.to_string(),
    }
}

/// A key as TOML wants it: bare where it may be.
fn key_of(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) {
        return name.to_string();
    }
    Value::String(name.to_string()).to_string()
}
