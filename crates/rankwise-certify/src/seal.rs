//! The digest over a certificate: whatever is changed, it no longer fits.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use core::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::Value;
use sha2::{Digest as _, Sha256};

use crate::format::unreadable;
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
    let mut whole: BTreeMap<String, Canonical> =
        serde_json::from_str(json).map_err(|error| unreadable(&error))?;
    whole.remove("digest");
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(object(whole).0.as_bytes()) {
        // Writing into a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Ok(digest)
}

/// The one text of a JSON value, whichever way round it was written. It is never kept as
/// a tree, which would take many times the memory of its text.
struct Canonical(String);

/// An object with its keys in order.
fn object(entries: BTreeMap<String, Canonical>) -> Canonical {
    let mut text = String::from("{");
    for (key, Canonical(value)) in entries {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&quoted(&key));
        text.push(':');
        text.push_str(&value);
    }
    text.push('}');
    Canonical(text)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Canonical {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text)
    }
}

struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Canonical;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a list, a string, true, false, null or a number below 2^64")
    }

    fn visit_unit<E: Error>(self) -> Result<Canonical, E> {
        Ok(Canonical("null".into()))
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Canonical, E> {
        Ok(Canonical(is.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Canonical, E> {
        Ok(Canonical(number.to_string()))
    }

    fn visit_str<E: Error>(self, string: &str) -> Result<Canonical, E> {
        Ok(Canonical(quoted(string)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Canonical, A::Error> {
        let mut text = String::from("[");
        while let Some(Canonical(element)) = elements.next_element()? {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&element);
        }
        text.push(']');
        Ok(Canonical(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Canonical, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry()? {
            if entries.insert(key, value).is_some() {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(object(entries))
    }
}
