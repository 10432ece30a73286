//! Names as people spell them, for the types that are read from words.

use core::fmt;

/// The word without the first of `prefixes` that it begins with, in any case.
pub(crate) fn without_prefix<'w>(word: &'w str, prefixes: &[&str]) -> &'w str {
    let stripped = prefixes.iter().find_map(|prefix| {
        let head = word.get(..prefix.len())?;
        if head.eq_ignore_ascii_case(prefix) { word.get(prefix.len()..) } else { None }
    });
    stripped.unwrap_or(word)
}

/// Writes `unknown THING; known are A, B, C`.
pub(crate) fn write_unknown(
    f: &mut fmt::Formatter<'_>,
    thing: &str,
    known: impl Iterator<Item = &'static str>,
) -> fmt::Result {
    write!(f, "unknown {thing}; known are")?;
    for (index, name) in known.enumerate() {
        f.write_str(if index == 0 { " " } else { ", " })?;
        f.write_str(name)?;
    }
    Ok(())
}
