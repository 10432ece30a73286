//! Numbers as they are written.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::de::LITERAL;

/// A number in its own words, or a string that stands for one.
///
/// It is not yet a value: that takes an element type, and may round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Literal(pub Box<str>);

/// A whole number from 0 to 2^64 − 1: an integer, or a string of decimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whole(u64);

impl Whole {
    /// Wraps a number.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Serialize for Literal {
    /// As a number where JSON readers keep every digit of it, else as a string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(integer) = self.0.parse::<i64>()
            && integer.unsigned_abs() <= JSON_SAFE
            && integer.to_string() == *self.0
        {
            return serializer.serialize_i64(integer);
        }
        match self.0.parse::<f64>() {
            // Exponents have too many spellings for writers to agree on one.
            Ok(float)
                if float.is_finite()
                    && !self.0.contains(['e', 'E'])
                    && format!("{float:?}") == *self.0 =>
            {
                serializer.serialize_f64(float)
            }
            _ => serializer.serialize_str(&self.0),
        }
    }
}

impl Serialize for Whole {
    /// As a number where JSON readers keep every digit of it, else as a string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 <= JSON_SAFE {
            serializer.serialize_u64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

/// The largest integer that every JSON reader keeps: 2^53 − 1.
const JSON_SAFE: u64 = (1 << 53) - 1;

/// Receives numbers of any kind, and strings, as text.
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a string that is one")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, other: D) -> Result<String, D::Error> {
        other.deserialize_any(self)
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_string())
    }

    fn visit_u64<E>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E>(self, value: f64) -> Result<String, E> {
        Ok(format!("{value:?}"))
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_newtype_struct(LITERAL, TextVisitor)?;
        Ok(Self(text.into_boxed_str()))
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = deserializer.deserialize_newtype_struct(LITERAL, TextVisitor)?;
        match text.parse::<u64>() {
            Ok(value) if !text.starts_with('+') => Ok(Self(value)),
            _ => Err(D::Error::invalid_value(
                Unexpected::Str(&text),
                &"a whole number from 0 to 18446744073709551615",
            )),
        }
    }
}

impl JsonSchema for Literal {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "number as written".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

impl JsonSchema for Whole {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "whole number".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$" })
    }
}
