//! The line of a file that an error is about, with a mark under the place.
//!
//! Thirty lines of our own rather than `annotate-snippets`: there is one span and one
//! label, `file:line:column:` must come first so that editors can jump to it, and a
//! JSON plan on a single line of a megabyte must be cut down to a window.

use rankwise_plan::error::Span;
use unicode_width::UnicodeWidthChar;

/// How many characters of a long line are shown on each side of the place.
const BEFORE: usize = 60;
const AFTER: usize = 40;

/// Two lines: the source line with its number, and `^^^` under the span.
///
/// Tabs are shown as one blank each; of a long line only a window around the place.
pub(crate) fn excerpt(text: &str, span: Span) -> String {
    let place = span.place(text);
    let line = text.split('\n').nth(place.line.saturating_sub(1)).unwrap_or("");
    let line: Vec<char> = line.trim_end_matches('\r').chars().collect();
    let at = place.column.saturating_sub(1).min(line.len());
    let marked = text.get(span.start..span.end).unwrap_or("");
    let marked = marked.split('\n').next().unwrap_or("").chars().count().max(1);

    let from = at.saturating_sub(BEFORE);
    let to = line.len().min(at.saturating_add(AFTER));
    let shown = |characters: &[char]| -> String {
        characters.iter().map(|c| if c.is_control() { ' ' } else { *c }).collect()
    };
    let width = |characters: &[char]| -> usize {
        characters.iter().map(|c| if c.is_control() { 1 } else { c.width().unwrap_or(0) }).sum()
    };
    let before = line.get(from..at).unwrap_or(&[]);
    let under = line.get(at..to.min(at.saturating_add(marked))).unwrap_or(&[]);
    let (left, right) = (if from > 0 { "…" } else { "" }, if to < line.len() { "…" } else { "" });
    let number = place.line.to_string();
    format!(
        "{number} | {left}{}{right}\n{} | {}{}",
        shown(line.get(from..to).unwrap_or(&[])),
        " ".repeat(number.len()),
        " ".repeat(usize::from(from > 0) + width(before)),
        "^".repeat(width(under).max(1)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, part: &str) -> String {
        let start = text.find(part).unwrap();
        excerpt(text, Span { start, end: start + part.len() })
    }

    #[test]
    fn the_mark_stands_under_the_span() {
        let text = "format = 1\n[group]\nranks = \"two\"\n";
        assert_eq!(at(text, "\"two\""), "3 | ranks = \"two\"\n  |         ^^^^^");
    }

    #[test]
    fn wide_characters_and_tabs_move_the_mark_by_what_they_take() {
        assert_eq!(
            at("\tmeaning = \"層\" x", "x"),
            "1 |  meaning = \"層\" x\n  |                 ^"
        );
    }

    #[test]
    fn a_long_line_is_cut_to_a_window() {
        let text = format!("{}!{}", "a".repeat(1000), "b".repeat(1000));
        let excerpt = at(&text, "!");
        let lines: Vec<&str> = excerpt.lines().collect();
        assert_eq!(lines[0], format!("1 | …{}!{}…", "a".repeat(60), "b".repeat(39)));
        assert_eq!(lines[1], format!("  | {}^", " ".repeat(61)));
    }

    #[test]
    fn the_end_of_the_text_can_be_marked() {
        let text = "format = 1";
        let end = text.len();
        assert_eq!(excerpt(text, Span { start: end, end }), "1 | format = 1\n  |           ^");
    }

    proptest::proptest! {
        #[test]
        fn no_span_and_no_text_panics(text in "\\PC{0,20}\n?[\\PC\t\r]{0,20}", start in 0_usize..60, end in 0_usize..60) {
            let _ = excerpt(&text, Span { start, end });
        }
    }
}
