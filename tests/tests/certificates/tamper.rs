//! Every way to change one thing in a certificate.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// A certificate with one thing changed.
pub(crate) struct Mutation {
    /// Where, without numbers of list elements: `job.sides[].steps[].collective.op`.
    pub(crate) at: String,
    /// What was done there.
    pub(crate) what: &'static str,
    pub(crate) value: Value,
}

/// Words that may stand for each other under a key.
const WORDS: &[(&str, &[&str])] = &[
    ("op", &["sum", "prod", "max", "min", "avg"]),
    ("fold", &["sum", "prod", "max", "min", "avg"]),
    (
        "call",
        &[
            "all_reduce",
            "reduce",
            "broadcast",
            "all_gather",
            "reduce_scatter",
            "all_to_all",
            "gather",
            "scatter",
        ],
    ),
    ("dtype", &["i8", "u8", "i32", "u32", "i64", "u64", "f8e4m3", "f16", "bf16", "f32", "f64"]),
    ("cast", &["i8", "u8", "i32", "u32", "i64", "u64", "f8e5m2", "f16", "bf16", "f32", "f64"]),
    ("fill", &["i32", "f32"]),
    ("constant", &["i32", "f32"]),
    ("claim", &["satisfied", "not_satisfied", "same", "different"]),
    ("sense", &["exact", "unique", "bits_given_fold_order", "within_bound", "over_the_reals"]),
    ("attached", &["device", "rank"]),
    ("inputs_agree", &["one_plan", "by_meaning"]),
];

/// Keys that may stand for each other.
const KEYS: &[&[&str]] = &[
    &["send", "recv"],
    &["mean", "divide"],
    &["scalar", "times"],
    &["scale", "cast", "fold"],
    &["all", "from", "part", "fill"],
    &["device", "rank"],
];

/// Every mutation of a certificate that is not the certificate itself.
pub(crate) fn mutations(whole: &Value) -> Vec<Mutation> {
    let mut names = BTreeMap::new();
    gather(whole, "", &mut names);
    let mut all = Vec::new();
    each(whole, "", "", &names, &mut |at, what, value| {
        if value != *whole {
            all.push(Mutation { at: at.trim_start_matches('.').to_owned(), what, value });
        }
    });
    all
}

/// Every string that stands under each key.
fn gather(value: &Value, key: &str, names: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::String(text) => {
            names.entry(key.to_owned()).or_default().insert(text.clone());
        }
        Value::Array(elements) => elements.iter().for_each(|value| gather(value, key, names)),
        Value::Object(map) => map.iter().for_each(|(key, value)| gather(value, key, names)),
        _ => {}
    }
}

/// Hands out every changed `value`, with where and how.
fn each(
    value: &Value,
    at: &str,
    key: &str,
    names: &BTreeMap<String, BTreeSet<String>>,
    out: &mut dyn FnMut(&str, &'static str, Value),
) {
    match value {
        Value::Null => out(at, "filled", serde_json::json!([0, "0"])),
        Value::Bool(is) => out(at, "flipped", Value::Bool(!is)),
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            out(at, "plus one", (number + 1).into());
            if let Some(less) = number.checked_sub(1) {
                out(at, "minus one", less.into());
            }
        }
        Value::String(text) => {
            out(at, "changed", format!("{text}x").into());
            if let Ok(number) = text.parse::<i128>() {
                out(at, "plus one", (number + 1).to_string().into());
                out(at, "minus one", (number - 1).to_string().into());
            }
            let words = WORDS.iter().find(|(of, _)| *of == key).map_or(&[][..], |(_, words)| words);
            let words = words.iter().map(|word| (*word).to_owned());
            let named = names.get(key).into_iter().flatten().cloned();
            for other in words.chain(named).collect::<BTreeSet<_>>() {
                out(at, "replaced", other.into());
            }
        }
        Value::Array(elements) => {
            let inner = format!("{at}[]");
            for index in 0..elements.len() {
                let mut dropped = elements.clone();
                dropped.remove(index);
                out(&inner, "dropped", dropped.into());
                let mut doubled = elements.clone();
                doubled.insert(index, elements[index].clone());
                out(&inner, "doubled", doubled.into());
                if index + 1 < elements.len() {
                    let mut swapped = elements.clone();
                    swapped.swap(index, index + 1);
                    out(&inner, "swapped", swapped.into());
                }
                each(&elements[index], &inner, key, names, &mut |at, what, value| {
                    let mut changed = elements.clone();
                    changed[index] = value;
                    out(at, what, changed.into());
                });
            }
        }
        Value::Object(map) => {
            let with = |key: &str, value: Value| {
                let mut changed: Map<String, Value> = map.clone();
                changed.insert(key.to_owned(), value);
                Value::Object(changed)
            };
            out(at, "with an unknown key", with("unknown", 0.into()));
            out(at, "as a list", map.values().cloned().collect());
            for (key, value) in map {
                let inner = format!("{at}.{key}");
                let mut removed = map.clone();
                removed.remove(key);
                out(&inner, "removed", removed.clone().into());
                let others = KEYS.iter().filter(|keys| keys.contains(&key.as_str()));
                for other in others.copied().flatten().filter(|other| *other != key) {
                    let mut renamed = removed.clone();
                    renamed.insert((*other).to_owned(), value.clone());
                    out(&inner, "renamed", renamed.into());
                }
                each(value, &inner, key, names, &mut |at, what, value| {
                    out(at, what, with(key, value));
                });
            }
        }
    }
}

/// The certificate, sealed again after it was changed.
pub(crate) fn sealed(value: &Value) -> String {
    let mut value = value.clone();
    if let (Ok(digest), Some(map)) =
        (rankwise_certify::digest(&value.to_string()), value.as_object_mut())
    {
        map.insert("digest".to_owned(), digest.into());
    }
    value.to_string()
}
