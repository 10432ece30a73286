//! A value and where it was read.

use core::fmt;
use core::marker::PhantomData;

use alloc::borrow::Cow;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Span;

/// The newtype that [`de`](crate::text::de) hands over as start, end, value.
pub(crate) const SPANNED: &str = "$rankwise::Spanned";

/// A value and the place it was read from.
///
/// Read by way of [`PlanFile::read`](crate::file::PlanFile::read) the span is the
/// value's; read by any other deserialiser it is empty. It is written as the bare
/// value, and two are equal when their values are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value that stands in no text.
    pub const fn nowhere(value: T) -> Self {
        Self { value, span: Span { start: 0, end: 0 } }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Spanned<T> {}

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpannedVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
            type Value = Spanned<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Spanned<T>, D::Error> {
                T::deserialize(deserializer).map(Spanned::nowhere)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Spanned<T>, A::Error> {
                let absent = |part| A::Error::invalid_length(part, &"start, end and value");
                let start = parts.next_element()?.ok_or_else(|| absent(0))?;
                let end = parts.next_element()?.ok_or_else(|| absent(1))?;
                let value = parts.next_element()?.ok_or_else(|| absent(2))?;
                Ok(Spanned { value, span: Span { start, end } })
            }
        }
        deserializer.deserialize_newtype_struct(SPANNED, SpannedVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
