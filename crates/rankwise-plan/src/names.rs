//! Names in error texts: quoted, shortened, and the nearest one that exists.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use rankwise_model::Dtype;

/// How many names a message lists before it says how many more there are.
const LISTED: usize = 16;

/// How many characters of a value a message shows.
const SHOWN: usize = 60;

/// `1 scalar`, `2 scalars`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The buffer and the text of the positions of what is written as part of a buffer,
/// `y[2..4]`. A bracket without `..` belongs to the name.
pub(crate) fn as_view(written: &str) -> Option<(&str, &str)> {
    let view = written.strip_suffix(']').and_then(|start| start.rsplit_once('['));
    view.filter(|(_, inside)| inside.contains(".."))
}

/// `text` in quotes, shortened.
pub(crate) fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// `text`, shortened.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// `one of call, op, send; the nearest is op`: what to write instead of `found`.
pub(crate) fn one_of<'n>(found: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    let count = known.clone().count();
    if count == 0 {
        return String::from("none, for there are none");
    }
    let listed: Vec<&str> = known.clone().take(LISTED).collect();
    let mut list = listed.join(", ");
    if count > LISTED {
        list = format!("{list} and {} more", count.saturating_sub(LISTED));
    }
    let choice = if count == 1 { list } else { format!("one of {list}") };
    match nearest(found, known) {
        Some(near) if count > 1 => format!("{choice}; the nearest is {near}"),
        _ => choice,
    }
}

/// The element type of that name, or what to write instead.
///
/// The names other tools use are understood so far as to say ours: one thing has
/// one name in a plan.
pub(crate) fn dtype(name: &str) -> Result<Dtype, String> {
    match name.parse::<Dtype>() {
        Ok(dtype) if dtype.name() == name => Ok(dtype),
        Ok(dtype) => Err(format!("{dtype}, which is the name of that type here")),
        Err(_) => Err(one_of(name, Dtype::ALL.into_iter().map(Dtype::name))),
    }
}

/// The known name fewest edits away, if that is no more than a third of it.
fn nearest<'n>(found: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let found = shortened(found);
    known
        .take(1024)
        .filter(|name| name.len() <= SHOWN.saturating_mul(4))
        .map(|name| (edits(&found, name), name))
        .min_by_key(|(edits, _)| *edits)
        .filter(|(edits, name)| *edits <= name.chars().count().saturating_add(1) / 3)
        .map(|(_, name)| name)
}

/// Insertions, deletions, substitutions and swaps of neighbours between two names,
/// letter case aside.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        let mut left = i.saturating_add(1);
        row.push(left);
        for (j, (to, costs)) in b.iter().zip(last.windows(2)).enumerate() {
            let [diagonal, above] = costs else { continue };
            let substituted = diagonal.saturating_add(usize::from(from != to));
            left = substituted.min(above.saturating_add(1)).min(left.saturating_add(1));
            let earlier = |text: &[char], at: usize| text.get(at.checked_sub(1)?).copied();
            let swapped = earlier(&a, i) == Some(*to) && earlier(&b, j) == Some(*from);
            if let (true, Some(cost)) = (swapped, before.get(j.wrapping_sub(1))) {
                left = left.min(cost.saturating_add(1));
            }
            row.push(left);
        }
        before = core::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_count_a_swap_once() {
        assert_eq!(edits("sharded", "sharded"), 0);
        assert_eq!(edits("hsarded", "sharded"), 1);
        assert_eq!(edits("recieve", "recv"), 3);
        assert_eq!(edits("", "abc"), 3);
    }

    #[test]
    fn the_nearest_name_comes_first() {
        let known = ["send", "recv", "count"];
        assert_eq!(
            one_of("cuont", known.into_iter()),
            "one of send, recv, count; the nearest is count"
        );
        assert_eq!(one_of("zebra", known.into_iter()), "one of send, recv, count");
        assert_eq!(one_of("x", ["y"].into_iter()), "y");
    }
}
