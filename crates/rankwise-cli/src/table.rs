//! Plain aligned tables.
//!
//! Of our own rather than a crate's: what is needed is alignment, wrapping and no
//! frame, and the tests (and the pages in `docs/`) hold the text byte by byte, which
//! another crate's next release could move.

use unicode_width::UnicodeWidthStr;

/// Between two columns.
const GAP: &str = "  ";

/// A column narrower than this is not narrowed further to fit the page.
const NARROWEST: usize = 10;

/// How a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers, so that their digits line up.
    Right,
}

/// Rows of text under named columns.
///
/// A table wider than the page narrows its widest columns and wraps their text; one
/// that does not fit even so stays as wide as it is, rather than lose anything.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table; a column whose name starts with `>` is right-aligned.
    pub(crate) fn new(columns: &[&str]) -> Self {
        let column = |name: &&str| match name.strip_prefix('>') {
            Some(name) => (name.to_owned(), Align::Right),
            None => ((*name).to_owned(), Align::Left),
        };
        Self { columns: columns.iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row; cells beyond the columns are not shown, missing ones are empty.
    pub(crate) fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines: first the names of the columns, then the rows.
    pub(crate) fn lines(&self, page_width: usize) -> Vec<String> {
        let names = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let rows: Vec<&Vec<String>> = std::iter::once(&names).chain(&self.rows).collect();
        let widths = self.widths(&rows, page_width);
        rows.into_iter().flat_map(|row| self.row_lines(row, &widths)).collect()
    }

    fn widths(&self, rows: &[&Vec<String>], page_width: usize) -> Vec<usize> {
        // The most that a column's cells take, and the least: their longest word.
        let widest = |column: usize, parts: fn(&String) -> usize| {
            rows.iter().filter_map(|row| row.get(column)).map(parts).max().unwrap_or(0)
        };
        let columns = 0..self.columns.len();
        let longest_word =
            |cell: &String| cell.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0);
        let mut widths: Vec<usize> =
            columns.clone().map(|column| widest(column, |cell| cell.width())).collect();
        let floors: Vec<usize> =
            columns.map(|column| widest(column, longest_word).max(NARROWEST)).collect();
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(page_width);
        // One by one, always the widest that can still give: the widest share the loss.
        while excess > 0 {
            let giving = widths.iter_mut().zip(&floors).filter(|(width, floor)| **width > **floor);
            let Some((width, _)) = giving.max_by_key(|(width, _)| **width) else { break };
            *width -= 1;
            excess -= 1;
        }
        widths
    }

    fn row_lines(&self, row: &[String], widths: &[usize]) -> Vec<String> {
        let cells: Vec<Vec<String>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap(row.get(column).map_or("", String::as_str), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |index: usize| {
            let mut line = String::new();
            for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
                let text = cell.get(index).map_or("", String::as_str);
                let pad = " ".repeat(width.saturating_sub(text.width()));
                match align {
                    Align::Left => line.extend([text, &pad, GAP]),
                    Align::Right => line.extend([&pad, text, GAP]),
                }
            }
            line.truncate(line.trim_end().len());
            line
        };
        (0..height).map(line).collect()
    }
}

/// Breaks text at its blanks so that no line is wider than `width`, except a single
/// word that is; at least one line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.extend([" ", word]);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_display_width() {
        let mut table = Table::new(&["rank", ">bytes", "holds"]);
        table.row(["0", "16", "2·x@A[0]"]);
        table.row(["10", "1024", "x × 3"]);
        assert_eq!(
            table.lines(80),
            ["rank  bytes  holds", "0        16  2·x@A[0]", "10     1024  x × 3"]
        );
    }

    #[test]
    fn the_widest_column_wraps_when_the_page_is_narrow() {
        let mut table = Table::new(&["rank", "what the rank holds afterwards"]);
        table.row(["0", "its own contribution and nothing else"]);
        let lines = table.lines(24);
        assert_eq!(
            lines,
            [
                "rank  what the rank",
                "      holds afterwards",
                "0     its own",
                "      contribution and",
                "      nothing else"
            ]
        );
    }

    #[test]
    fn a_word_is_never_cut() {
        assert_eq!(wrap("reduce_scatter(sum) of x", 10), ["reduce_scatter(sum)", "of x"]);
    }

    #[test]
    fn a_short_row_has_empty_cells() {
        let mut table = Table::new(&["a", "b"]);
        table.row(["1"]);
        assert_eq!(table.lines(80), ["a  b", "1"]);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_and_every_width_ends(
            cells in proptest::collection::vec("[a-z·× ]{0,40}", 0..12),
            page in 0_usize..60,
        ) {
            let mut table = Table::new(&["one", ">two", "three"]);
            for row in cells.chunks(3) {
                table.row(row.iter().cloned());
            }
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
            let shown: usize = table.lines(page).iter().map(|line| letters(line)).sum();
            let given: usize = cells.iter().map(|cell| letters(cell)).sum();
            proptest::prop_assert_eq!(shown, given + "onetwothree".len());
        }
    }
}
