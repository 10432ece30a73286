//! The digest over a certificate: whatever is changed, it no longer fits.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::rejected::Rejected;

/// Where the digest stands in a text without blanks. Inside a string, quotes are escaped.
const KEY: &str = r#""digest":""#;

/// Refuses a certificate that was changed after it was sealed.
pub(crate) fn check(json: &str, stated: &str) -> Result<(), Rejected> {
    let computed = digest(json)?;
    if computed == stated {
        return Ok(());
    }
    Err(Rejected::Digest { stated: stated.into(), computed })
}

/// The digest of a text without blanks and with an empty digest.
pub(crate) fn digest(json: &str) -> Result<String, Rejected> {
    let bare = without_blanks(json);
    let whole = bare.split_once(KEY).and_then(|(before, rest)| {
        let (_, after) = rest.split_once('"')?;
        Some(format!("{before}{KEY}\"{after}"))
    });
    let whole = whole.ok_or_else(|| {
        let why = "a digest is missing".into();
        Rejected::Unreadable { line: 0, column: 0, why }
    })?;
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(whole.as_bytes()) {
        // Writing into a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Ok(digest)
}

/// JSON without what stands between its words, so that its layout does not matter.
fn without_blanks(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let kept = json.chars().filter(|character| {
        let kept = quoted || !character.is_ascii_whitespace();
        if *character == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && !escaped && *character == '\\';
        kept
    });
    kept.collect()
}
