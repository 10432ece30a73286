//! The tree.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::error::Span;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node<'t> {
    /// What it is.
    pub(crate) kind: Kind<'t>,
    /// Where.
    pub(crate) span: Span,
}

/// The kinds of values that TOML and JSON share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'t> {
    /// JSON's `null`. TOML has none.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number in decimal, as written but for TOML's underscores and radix.
    Number(Cow<'t, str>),
    /// A string, unescaped.
    String(Cow<'t, str>),
    /// A TOML date or time, which no plan needs.
    Date,
    /// An array.
    Array(Vec<Node<'t>>),
    /// A table, in the order of the text. Keys are distinct.
    Table(Vec<Entry<'t>>),
}

/// One key of a table and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry<'t> {
    /// The key, unescaped.
    pub(crate) key: Cow<'t, str>,
    /// Where the key stands.
    pub(crate) key_span: Span,
    /// The value.
    pub(crate) value: Node<'t>,
}
