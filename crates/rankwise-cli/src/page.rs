//! The text of an answer: headings, sentences, tables.
//!
//! Composed completely before any of it is written. Styles are always in it; the
//! writer takes them out where they do not belong.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::exit::Exit;
use crate::table::{Table, wrap};

/// A page without a terminal is as wide as this, so that it is the same everywhere.
const PLAIN_WIDTH: usize = 100;
/// On a terminal: at most this, for the sake of sentences.
const WIDEST: usize = 160;
/// At least this, or tables fall apart.
const LEAST: usize = 60;

/// A text under composition.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// An empty page as wide as the terminal, or as one hundred columns.
    pub(crate) fn new() -> Self {
        let terminal = terminal_size::terminal_size_of(std::io::stdout());
        let width =
            terminal.map_or(PLAIN_WIDTH, |(width, _)| usize::from(width.0).clamp(LEAST, WIDEST));
        Self { text: String::new(), width }
    }

    /// The text so far.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// A heading, set off by an empty line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.gap();
        self.styled(Style::new().bold(), text);
    }

    /// The answer in one line, in the colour of its exit.
    pub(crate) fn verdict(&mut self, exit: Exit, text: &str) {
        self.gap();
        let color = match exit {
            Exit::Yes => AnsiColor::Green,
            Exit::No | Exit::Unusable | Exit::RunFailed => AnsiColor::Red,
            Exit::Unknown => AnsiColor::Yellow,
        };
        self.styled(Style::new().bold().fg_color(Some(color.into())), text);
    }

    /// A sentence, wrapped to the page.
    pub(crate) fn say(&mut self, text: &str) {
        self.item("", text);
    }

    /// A sentence behind a mark (`- `), wrapped and indented by the mark's width.
    pub(crate) fn item(&mut self, mark: &str, text: &str) {
        let indent = " ".repeat(mark.chars().count());
        let lines = wrap(text, self.width.saturating_sub(indent.len()));
        for (index, line) in lines.iter().enumerate() {
            self.text.extend([if index == 0 { mark } else { &indent }, line, "\n"]);
        }
    }

    /// Lines exactly as they are.
    pub(crate) fn verbatim(&mut self, lines: &[String]) {
        for line in lines {
            self.text.extend([line, "\n"]);
        }
    }

    /// A table, indented by two.
    pub(crate) fn table(&mut self, table: &Table) {
        if table.is_empty() {
            return;
        }
        for (index, line) in table.lines(self.width.saturating_sub(2)).iter().enumerate() {
            if index == 0 {
                self.styled(Style::new().dimmed(), &format!("  {line}"));
            } else {
                self.text.extend(["  ", line, "\n"]);
            }
        }
    }

    /// How many more there are of something that was cut short.
    pub(crate) fn more(&mut self, more: usize, of: &str) {
        if more > 0 {
            self.say(&format!("  … and {more} more {of} (--all shows them)"));
        }
    }

    /// What was converted or rounded while reading.
    pub(crate) fn notes(&mut self, notes: &[String]) {
        for note in notes {
            self.item("note: ", note);
        }
    }

    /// An empty line, unless the page is empty or already ends in one.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        // Writing into a String cannot fail.
        let _ = writeln!(self.text, "{style}{text}{style:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_hangs_from_its_mark() {
        let mut page = Page { text: String::new(), width: 14 };
        page.item("- ", "one two three four");
        assert_eq!(page.into_text(), "- one two\n  three four\n");
    }

    #[test]
    fn headings_are_set_off_by_one_empty_line() {
        let mut page = Page { text: String::new(), width: 80 };
        page.say("first");
        page.gap();
        page.heading("second");
        assert_eq!(
            anstream::adapter::strip_str(&page.into_text()).to_string(),
            "first\n\nsecond\n"
        );
    }
}
