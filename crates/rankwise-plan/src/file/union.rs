//! The few values that may be written in two ways.
//!
//! Each looks at what stands there and decides, so that an error inside keeps
//! its place; serde's untagged enums would lose it.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::file::{Spanned, Whole};
use crate::text::de::LITERAL;

/// `"every rank"`, `{ rank = 0 }`, `{ device = "A" }` or `{ group = "tp" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A word; only [`Place::EVERY_RANK`] has a meaning.
    Word(String),
    /// A table.
    Table(PlaceTable),
}

/// Exactly one of `rank`, `device` and `group`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceTable {
    /// One rank of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<Spanned<Whole>>,
    /// Each rank on this device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Spanned<String>>,
    /// Each member of this named partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Spanned<String>>,
}

impl Place {
    /// The word that means all of them.
    pub const EVERY_RANK: &'static str = "every rank";
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Word(word) => serializer.serialize_str(word),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PlaceVisitor;
        impl<'de> Visitor<'de> for PlaceVisitor {
            type Value = Place;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"every rank\" or a table with one of rank, device, group")
            }
            fn visit_str<E>(self, word: &str) -> Result<Place, E> {
                Ok(Place::Word(word.to_string()))
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Place, M::Error> {
                PlaceTable::deserialize(MapAccessDeserializer::new(map)).map(Place::Table)
            }
        }
        deserializer.deserialize_any(PlaceVisitor)
    }
}

impl JsonSchema for Place {
    fn schema_name() -> Cow<'static, str> {
        "Place".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<PlaceTable>();
        json_schema!({
            "description": "Which ranks: all of them, or those that the table names.",
            "anyOf": [{ "const": Self::EVERY_RANK }, table]
        })
    }
}

/// The groups of a step: a name, or disjoint lists of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// `"tp"`: a named partition, a mesh axis, or `"world"`.
    Name(String),
    /// `[[0, 1], [2, 3]]`.
    Lists(Vec<Spanned<Vec<Spanned<Whole>>>>),
}

impl Serialize for Over {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Name(name) => serializer.serialize_str(name),
            Self::Lists(lists) => lists.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Over {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OverVisitor;
        impl<'de> Visitor<'de> for OverVisitor {
            type Value = Over;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a group, or a list of lists of ranks")
            }
            fn visit_str<E>(self, name: &str) -> Result<Over, E> {
                Ok(Over::Name(name.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, lists: A) -> Result<Over, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(lists)).map(Over::Lists)
            }
        }
        deserializer.deserialize_any(OverVisitor)
    }
}

impl JsonSchema for Over {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Over".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let lists = generator.subschema_for::<Vec<Vec<Whole>>>();
        json_schema!({ "anyOf": [{ "type": "string" }, lists] })
    }
}

/// What a step reads: one buffer, or several in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// `"x"`.
    One(String),
    /// `["a", "b"]`.
    Several(Vec<Spanned<String>>),
}

impl Serialize for Buffers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(name) => serializer.serialize_str(name),
            Self::Several(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Buffers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BuffersVisitor;
        impl<'de> Visitor<'de> for BuffersVisitor {
            type Value = Buffers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a buffer, or a list of names")
            }
            fn visit_str<E>(self, name: &str) -> Result<Buffers, E> {
                Ok(Buffers::One(name.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<Buffers, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(names)).map(Buffers::Several)
            }
        }
        deserializer.deserialize_any(BuffersVisitor)
    }
}

impl JsonSchema for Buffers {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Buffers".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let several = generator.subschema_for::<Vec<String>>();
        json_schema!({ "anyOf": [{ "type": "string" }, several] })
    }
}

/// How many elements of each rank of a group, or from each to each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counts {
    /// `[3, 2, 2]`.
    Of(Vec<Spanned<Whole>>),
    /// `[[1, 0], [2, 3]]`: row `r` is what rank `r` sends to each.
    FromTo(Vec<Spanned<Vec<Spanned<Whole>>>>),
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Of(counts) => counts.serialize(serializer),
            Self::FromTo(rows) => rows.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A number or a row of them: which, the first entry decides.
        enum Entry {
            Count(Whole),
            Row(Vec<Spanned<Whole>>),
        }
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count, or a list of counts")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Entry, E> {
                let count =
                    text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self));
                count.map(|count| Entry::Count(Whole::new(count)))
            }
            fn visit_u64<E: Error>(self, count: u64) -> Result<Entry, E> {
                Ok(Entry::Count(Whole::new(count)))
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Entry, E> {
                let whole = u64::try_from(count);
                let whole = whole.map_err(|_| E::invalid_value(Unexpected::Signed(count), &self));
                whole.map(|count| Entry::Count(Whole::new(count)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, row: A) -> Result<Entry, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(row)).map(Entry::Row)
            }
        }
        impl<'de> Deserialize<'de> for Entry {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(EntryVisitor)
            }
        }
        let entries = Vec::<Spanned<Entry>>::deserialize(deserializer)?;
        let rows = matches!(entries.first(), Some(Spanned { value: Entry::Row(_), .. }));
        let (mut counts, mut lists) = (Vec::new(), Vec::new());
        for Spanned { value, span } in entries {
            match value {
                Entry::Count(value) if !rows => counts.push(Spanned { value, span }),
                Entry::Row(value) if rows => lists.push(Spanned { value, span }),
                _ => {
                    return Err(D::Error::custom("counts and lists of counts side by side"));
                }
            }
        }
        Ok(if rows { Self::FromTo(lists) } else { Self::Of(counts) })
    }
}

impl JsonSchema for Counts {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Counts".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let of = generator.subschema_for::<Vec<Whole>>();
        let from_to = generator.subschema_for::<Vec<Vec<Whole>>>();
        json_schema!({ "anyOf": [of, from_to] })
    }
}

/// One rank's color in a split: which group it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Color {
    /// `-1` or `"none"`: no group.
    None,
    /// The group of all ranks of this color.
    Of(i32),
}

impl Serialize for Color {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Of(color) => serializer.serialize_i32(*color),
        }
    }
}

impl<'de> Deserialize<'de> for Color {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ColorVisitor;
        impl<'de> Visitor<'de> for ColorVisitor {
            type Value = Color;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a color from 0 to 2147483647, or \"none\" (also -1) for no group")
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                other: D,
            ) -> Result<Color, D::Error> {
                other.deserialize_any(self)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Color, E> {
                match text.parse::<i64>() {
                    Ok(number) => self.visit_i64(number),
                    Err(_) if text == "none" => Ok(Color::None),
                    Err(_) => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Color, E> {
                // NCCL's colors are C ints, and NCCL_SPLIT_NOCOLOR is -1.
                match i32::try_from(number) {
                    Ok(-1) => Ok(Color::None),
                    Ok(color) if color >= 0 => Ok(Color::Of(color)),
                    _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Color, E> {
                let wide = i64::try_from(number).unwrap_or(i64::MAX);
                self.visit_i64(wide)
            }
        }
        deserializer.deserialize_newtype_struct(LITERAL, ColorVisitor)
    }
}

impl JsonSchema for Color {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Color".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({ "type": "integer", "minimum": -1, "maximum": i32::MAX });
        json_schema!({ "anyOf": [number, { "const": "none" }] })
    }
}
