//! A place in a plan: what errors point at.

use alloc::format;
use alloc::string::String;

use crate::error::{Fault, PlanError, Span};
use crate::file::Spanned;
use crate::holds::Origin;
use crate::text::{Path, plain_start};
use crate::{limits, names};

/// A value's path and span.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    path: Path,
    pub(super) span: Span,
}

impl Spot {
    /// The whole plan.
    pub(super) fn root() -> Self {
        Self { path: Path::default(), span: Span::default() }
    }

    /// The value of one key of the table here.
    pub(super) fn key(&self, key: &str, span: Span) -> Self {
        Self { path: self.path.key(key), span }
    }

    /// One element of the array here.
    pub(super) fn index(&self, index: usize, span: Span) -> Self {
        Self { path: self.path.index(index), span }
    }

    /// The elements of an array here, each with its spot.
    pub(super) fn each<'s, 'i, T>(
        &'s self,
        items: &'i [Spanned<T>],
    ) -> impl Iterator<Item = (Self, &'i T)> + use<'s, 'i, T> {
        let items = items.iter().enumerate();
        items.map(|(index, item)| (self.index(index, item.span), &item.value))
    }

    /// The value of an optional key, with its spot.
    pub(super) fn given<'s, T>(
        &self,
        key: &str,
        field: Option<&'s Spanned<T>>,
    ) -> Option<(Self, &'s T)> {
        field.map(|field| (self.key(key, field.span), &field.value))
    }

    /// The value of a key that must be there; `expected` says what it would be.
    pub(super) fn needed<'s, T>(
        &self,
        key: &str,
        field: Option<&'s Spanned<T>>,
        expected: &str,
    ) -> Result<(Self, &'s T), PlanError> {
        self.given(key, field).ok_or_else(|| {
            let spot = self.key(key, self.span);
            spot.error(Fault::Missing, format!("no key {key}"), expected)
        })
    }

    /// What is wrong here.
    pub(super) fn error(
        &self,
        kind: Fault,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> PlanError {
        PlanError {
            kind,
            span: self.span,
            path: self.path.clone().into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The same key, at a finer place.
    pub(super) fn moved(&self, span: Span) -> Self {
        Self { path: self.path.clone(), span }
    }

    /// Where the characters of a string value here stand in the plan's text.
    pub(super) fn origin(&self, text: &str, value: &str) -> Origin {
        match plain_start(text, self.span, value) {
            Some(start) => Origin::At(start),
            None => Origin::Within(self.span),
        }
    }

    /// An error from inside the string value here, with this path.
    pub(super) fn within(&self, error: PlanError) -> PlanError {
        PlanError { path: self.path.clone().into(), ..error }
    }

    /// A name that nothing here has.
    pub(super) fn unknown<'n>(
        &self,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> PlanError {
        self.error(Fault::UnknownName, names::quoted(name), names::one_of(name, known))
    }

    /// The meaning of one of a few words.
    pub(super) fn word<T: Copy>(&self, word: &str, words: &[(&str, T)]) -> Result<T, PlanError> {
        let known = words.iter().map(|(known, _)| *known);
        match words.iter().find(|(known, _)| *known == word) {
            Some((_, meaning)) => Ok(*meaning),
            None => Err(self.error(Fault::Value, names::quoted(word), names::one_of(word, known))),
        }
    }

    /// A name that the plan gives to something.
    pub(super) fn name<'n>(&self, name: &'n str) -> Result<&'n str, PlanError> {
        let characters = name.chars().count();
        if characters > limits::NAME_CHARACTERS {
            let expected = format!("at most {}", limits::NAME_CHARACTERS);
            return Err(self.error(
                Fault::Limit,
                format!("a name of {characters} characters"),
                expected,
            ));
        }
        if name.trim() != name || name.is_empty() || name.chars().any(char::is_control) {
            return Err(self.error(
                Fault::Value,
                names::quoted(name),
                "a name: not empty, no blanks around it, no control characters",
            ));
        }
        Ok(name)
    }
}
