//! The characters of an expression, and where each stands in the plan.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use crate::error::{Fault, PlanError, Span};
use crate::holds::{OVER, continues_name, error, starts_name};
use crate::names;

/// Where an expression stands in its plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// Character by character from this byte on.
    At(usize),
    /// Somewhere in this span, with escapes: no finer place can be told.
    Within(Span),
}

/// A word of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word<'e> {
    pub(super) text: Cow<'e, str>,
    pub(super) quoted: bool,
    pub(super) start: usize,
}

/// A place in the text of an expression.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'e> {
    text: &'e str,
    at: usize,
    origin: Origin,
}

impl<'e> Cursor<'e> {
    pub(super) fn new(text: &'e str, origin: Origin) -> Self {
        Self { text, at: 0, origin }
    }

    fn rest(&self) -> &'e str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character that is no blank.
    pub(super) fn peek(&mut self) -> Option<char> {
        let trimmed = self.rest().trim_start();
        self.at = self.text.len().saturating_sub(trimmed.len());
        trimmed.chars().next()
    }

    /// Whether the next character is a digit.
    pub(super) fn peek_digit(&mut self) -> bool {
        self.peek().is_some_and(|c| c.is_ascii_digit())
    }

    /// Where the next character stands, in the expression.
    pub(super) fn start(&mut self) -> usize {
        self.peek();
        self.at
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Takes `c` if it is next.
    pub(super) fn take(&mut self, c: char) -> bool {
        let next = self.peek() == Some(c);
        if next {
            self.advance(c.len_utf8());
        }
        next
    }

    pub(super) fn need(&mut self, c: char, expected: &str) -> Result<(), PlanError> {
        if self.take(c) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// What stands here is not what should.
    pub(super) fn unexpected(&mut self, expected: &str) -> PlanError {
        let start = self.start();
        let width = self.peek().map_or(0, char::len_utf8);
        let found = match self.peek() {
            Some(_) => names::quoted(self.rest()),
            None => String::from("the end"),
        };
        error(Fault::Value, self.span(start..start.saturating_add(width)), found, expected)
    }

    /// A range of the expression as a span of the plan.
    pub(super) fn span(&self, range: Range<usize>) -> Span {
        match self.origin {
            Origin::At(start) => Span {
                start: start.saturating_add(range.start),
                end: start.saturating_add(range.end),
            },
            Origin::Within(span) => span,
        }
    }

    /// From `start` to the last character taken.
    pub(super) fn span_from(&self, start: usize) -> Span {
        self.span(start..self.at)
    }

    /// The next word, bare or quoted; `None` if there is none here.
    pub(super) fn word(&mut self) -> Result<Option<Word<'e>>, PlanError> {
        let start = self.start();
        match self.peek() {
            Some('"') => self.quoted(start).map(Some),
            Some(c) if starts_name(c) => {
                let text = bare(self.rest());
                self.advance(text.len());
                Ok(Some(Word { text: Cow::Borrowed(text), quoted: false, start }))
            }
            _ => Ok(None),
        }
    }

    /// The next word, which must be there and be no keyword.
    pub(super) fn name(&mut self, expected: &str) -> Result<Word<'e>, PlanError> {
        let before = self.clone();
        match self.word()? {
            Some(word) if word.quoted || word.text != OVER => Ok(word),
            _ => {
                *self = before;
                Err(self.unexpected(expected))
            }
        }
    }

    /// Takes the word `over`, if it is next.
    pub(super) fn take_over(&mut self) -> bool {
        let start = self.start();
        let is_next = self.rest().starts_with(starts_name) && bare(self.rest()) == OVER;
        if is_next {
            self.at = start.saturating_add(OVER.len());
        }
        is_next
    }

    fn quoted(&mut self, start: usize) -> Result<Word<'e>, PlanError> {
        self.advance(1);
        let mut text = String::new();
        let mut characters = self.rest().char_indices();
        loop {
            match characters.next() {
                Some((end, '"')) => {
                    self.advance(end.saturating_add(1));
                    return Ok(Word { text: Cow::Owned(text), quoted: true, start });
                }
                Some((at, '\\')) => match characters.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    _ => {
                        let at = self.at.saturating_add(at);
                        let span = self.span(at..at.saturating_add(1));
                        let found = String::from("a backslash");
                        return Err(error(
                            Fault::Value,
                            span,
                            found,
                            "\\\" or \\\\ in a quoted name",
                        ));
                    }
                },
                Some((_, c)) => text.push(c),
                None => {
                    let span = self.span(start..self.text.len());
                    let found = String::from("a quoted name without its end");
                    return Err(error(Fault::Value, span, found, "a closing \""));
                }
            }
        }
    }

    /// An unsigned integer in decimal that fits `T`.
    pub(super) fn integer<T: core::str::FromStr>(
        &mut self,
        expected: &str,
    ) -> Result<T, PlanError> {
        let start = self.start();
        let rest = self.rest();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let text = rest.get(..digits).unwrap_or_default();
        if text.is_empty() {
            return Err(self.unexpected(expected));
        }
        self.advance(digits);
        text.parse().map_err(|_| {
            let found = names::shortened(text);
            error(Fault::Overflow, self.span_from(start), found, expected)
        })
    }

    /// `a..b`, with `a` no more than `b`.
    pub(super) fn range(&mut self) -> Result<Range<u64>, PlanError> {
        const EXPECTED: &str = "positions a..b, from a up to but without b, below 2^64";
        let start = self.start();
        let first: u64 = self.integer(EXPECTED)?;
        self.need('.', EXPECTED)?;
        self.need('.', EXPECTED)?;
        let end: u64 = self.integer(EXPECTED)?;
        if first > end {
            let found = format!("{first}..{end}");
            return Err(error(
                Fault::Contradiction,
                self.span_from(start),
                found,
                "a range that does not end before it starts",
            ));
        }
        Ok(first..end)
    }

    /// A number as written: everything up to a `,`, a `)` or a blank.
    pub(super) fn number(&mut self) -> Result<&'e str, PlanError> {
        let start = self.start();
        let rest = self.rest();
        let end = rest.find(|c: char| matches!(c, ',' | ')') || c.is_whitespace());
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.advance(text.len());
        if text.parse::<f64>().is_ok() {
            Ok(text)
        } else {
            let found = if text.is_empty() { String::from("nothing") } else { names::quoted(text) };
            Err(error(Fault::Value, self.span_from(start), found, "a number"))
        }
    }
}

/// The bare name that `text` starts with: dots only inside, never two together.
fn bare(text: &str) -> &str {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        match c {
            '.' if at == end => {} // only if what follows goes on
            c if c != '.' && continues_name(c) => end = at.saturating_add(c.len_utf8()),
            _ => break,
        }
    }
    text.get(..end).unwrap_or_default()
}
