//! The digest over a certificate: whatever is changed, it no longer fits.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::rejected::Rejected;

/// Refuses a certificate that was changed after it was sealed.
pub(crate) fn check(json: &str, stated: &str) -> Result<(), Rejected> {
    let computed = digest(json)?;
    if computed == stated {
        return Ok(());
    }
    Err(Rejected::Digest { stated: stated.into(), computed })
}

/// The digest of a certificate's text, whatever digest it carries.
pub(crate) fn digest(json: &str) -> Result<String, Rejected> {
    let unreadable = |why: String| Rejected::Unreadable { line: 0, column: 0, why };
    let mut value: Value =
        serde_json::from_str(json).map_err(|error| unreadable(error.to_string()))?;
    let Some(map) = value.as_object_mut() else {
        return Err(unreadable("no JSON object".into()));
    };
    map.remove("digest");
    let mut text = String::new();
    canonical(&value, &mut text)
        .ok_or_else(|| unreadable("a number that is no whole number below 2^64".into()))?;
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing into a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Ok(digest)
}

/// The one text of a value, whichever way round it was written.
fn canonical(value: &Value, text: &mut String) -> Option<()> {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(is) => text.push_str(if *is { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.as_u64()?.to_string()),
        Value::String(string) => text.push_str(&Value::from(string.as_str()).to_string()),
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                canonical(element, text)?;
            }
            text.push(']');
        }
        Value::Object(map) => {
            // Sorted here: a feature of serde_json may keep another order.
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(value, text)?;
            }
            text.push('}');
        }
    }
    Some(())
}
