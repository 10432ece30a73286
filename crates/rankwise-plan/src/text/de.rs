//! A serde deserialiser over [`Node`]s whose errors know their place.
//!
//! Two newtypes get more than serde's data model has: [`Spanned`](super::Spanned)
//! receives the node's span beside its value, and a [`LITERAL`] the number as it
//! was written (or the string that stands for one).

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Display;

use serde::de::value::{StrDeserializer, UsizeDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::error::{Fault, PlanError, Span};
use crate::names;
use crate::text::node::{Entry, Kind, Node};
use crate::text::path::Path;
use crate::text::spanned::SPANNED;

/// The newtype that is handed the source text of a number, or a string.
pub(crate) const LITERAL: &str = "$rankwise::Literal";

/// Reads a `T` out of a tree.
pub(crate) fn read<T: DeserializeOwned>(node: &Node<'_>) -> Result<T, PlanError> {
    T::deserialize(NodeDeserializer(node)).map_err(|error| error.at(node).into_plan_error())
}

/// An error on its way out of the tree, gathering its place as it goes.
#[derive(Debug)]
pub(crate) struct DeError {
    kind: Fault,
    found: String,
    expected: String,
    span: Option<Span>,
    path: Path,
}

impl DeError {
    fn new(kind: Fault, found: impl Into<String>, expected: impl Into<String>) -> Self {
        let (found, expected) = (found.into(), expected.into());
        Self { kind, found, expected, span: None, path: Path::default() }
    }

    /// An error without a place is about `node`, and found what stands there.
    fn at(mut self, node: &Node<'_>) -> Self {
        if self.span.is_none() {
            self.span = Some(node.span);
            if self.kind == Fault::Value {
                self.found = node.describe();
            }
        }
        self
    }

    fn under_key(mut self, key: &str) -> Self {
        self.path = Path::default().key(key).join(&self.path);
        self
    }

    fn under_index(mut self, index: usize) -> Self {
        self.path = Path::default().index(index).join(&self.path);
        self
    }

    fn into_plan_error(self) -> PlanError {
        PlanError {
            kind: self.kind,
            span: self.span.unwrap_or_default(),
            path: self.path.into(),
            found: self.found,
            expected: self.expected,
        }
    }
}

impl Display for DeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl core::error::Error for DeError {}

impl serde::de::Error for DeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(Fault::Value, "a value that does not fit", message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let expected = names::one_of(field, expected.iter().copied());
        Self::new(Fault::UnknownKey, format!("the key {field:?}"), expected)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Fault::Missing, "no such key", format!("the key {field:?}"))
    }
}

impl Node<'_> {
    /// The value in a few words.
    pub(crate) fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => String::from("null"),
            Kind::Boolean(value) => value.to_string(),
            Kind::Number(text) => names::shortened(text),
            Kind::String(text) => names::quoted(text),
            Kind::Date => String::from("a date"),
            Kind::Array(_) => String::from("an array"),
            Kind::Table(_) => String::from("a table"),
        }
    }
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'n, 't>(&'n Node<'t>);

impl<'de> Deserializer<'de> for NodeDeserializer<'_, '_> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match &self.0.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Boolean(value) => visitor.visit_bool(*value),
            Kind::Number(text) => number(text, visitor),
            Kind::String(text) => visitor.visit_str(text),
            Kind::Date => Err(DeError::invalid_type(Unexpected::Other("a date"), &visitor)),
            Kind::Array(items) => visitor.visit_seq(Items { items: items.iter(), index: 0 }),
            Kind::Table(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), current: None })
            }
        }
    }

    /// A derived struct would also read an array, by position; a plan has keys.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match self.0.kind {
            Kind::Table(_) => self.deserialize_any(visitor),
            _ => Err(DeError::custom("a table").at(self.0)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.0.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        match (name, &self.0.kind) {
            (SPANNED, _) => visitor.visit_seq(Parts::new(self.0.span, self)),
            (LITERAL, Kind::Number(text) | Kind::String(text)) => visitor.visit_str(text),
            (LITERAL, _) => self.deserialize_any(visitor),
            _ => visitor.visit_newtype_struct(self),
        }
        .map_err(|error| error.at(self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The narrowest of serde's numbers that holds what is written.
fn number<'de, V: Visitor<'de>>(text: &str, visitor: V) -> Result<V::Value, DeError> {
    if let Ok(value) = text.parse::<u64>() {
        visitor.visit_u64(value)
    } else if let Ok(value) = text.parse::<i64>() {
        visitor.visit_i64(value)
    } else if let Ok(value) = text.parse::<f64>() {
        visitor.visit_f64(value)
    } else {
        Err(DeError::invalid_value(Unexpected::Other(text), &visitor))
    }
}

/// The elements of an array.
struct Items<'n, 't> {
    items: core::slice::Iter<'n, Node<'t>>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeError> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index = self.index.saturating_add(1);
        seed.deserialize(NodeDeserializer(node))
            .map(Some)
            .map_err(|error| error.at(node).under_index(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The entries of a table.
struct Entries<'n, 't> {
    entries: core::slice::Iter<'n, Entry<'t>>,
    current: Option<&'n Entry<'t>>,
}

impl<'de> MapAccess<'de> for Entries<'_, '_> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeError> {
        self.current = self.entries.next();
        let Some(entry) = self.current else { return Ok(None) };
        seed.deserialize(KeyDeserializer { key: &entry.key, span: entry.key_span })
            .map(Some)
            .map_err(|mut error| {
                error.span.get_or_insert(entry.key_span);
                error.under_key(&entry.key)
            })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DeError> {
        let Some(entry) = self.current else {
            return Err(DeError::custom("a key before its value"));
        };
        seed.deserialize(NodeDeserializer(&entry.value))
            .map_err(|error| error.at(&entry.value).under_key(&entry.key))
    }
}

/// A key, which may be asked for with its span.
struct KeyDeserializer<'n, 't> {
    key: &'n Cow<'t, str>,
    span: Span,
}

impl<'de> Deserializer<'de> for KeyDeserializer<'_, '_> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_str(self.key)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        let key: StrDeserializer<'_, DeError> = (**self.key).into_deserializer();
        match name {
            SPANNED => visitor.visit_seq(Parts::new(self.span, key)),
            _ => visitor.visit_newtype_struct(key),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The three parts of a `Spanned`: start, end, value.
struct Parts<D> {
    bounds: core::array::IntoIter<usize, 2>,
    value: Option<D>,
}

impl<D> Parts<D> {
    fn new(span: Span, value: D) -> Self {
        Self { bounds: [span.start, span.end].into_iter(), value: Some(value) }
    }
}

impl<'de, D: Deserializer<'de, Error = DeError>> SeqAccess<'de> for Parts<D> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeError> {
        if let Some(bound) = self.bounds.next() {
            let bound: UsizeDeserializer<DeError> = bound.into_deserializer();
            return seed.deserialize(bound).map(Some);
        }
        self.value.take().map(|value| seed.deserialize(value)).transpose()
    }
}
