//! The one JSON envelope of every verb, and how numbers are written in it.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use rankwise_model::Scalar;

use crate::exit::Exit;
use crate::unusable::Unusable;

/// What every `--json` prints: `{ schema, tool, verdict, exit, data }`.
///
/// `schema` is the verb with the version of its `data`, such as `rankwise.check/1`;
/// a change that a reader must know of raises the version.
#[derive(serde::Serialize)]
pub(crate) struct Envelope<'a, D> {
    schema: String,
    tool: Tool,
    verdict: &'a str,
    exit: u8,
    data: &'a D,
}

#[derive(serde::Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

/// The data of an answer that says why there is none.
#[derive(serde::Serialize, JsonSchema)]
pub(crate) struct ErrorData<'a> {
    pub(crate) error: &'a Unusable,
}

impl<'a, D: Serialize> Envelope<'a, D> {
    /// Puts the data of `verb` into its envelope.
    pub(crate) fn new(verb: &str, verdict: &'a str, exit: Exit, data: &'a D) -> Self {
        let tool = Tool { name: "rankwise", version: env!("CARGO_PKG_VERSION") };
        Self { schema: named(verb), tool, verdict, exit: exit.status(), data }
    }

    /// The text, with a newline at its end.
    pub(crate) fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// A 64-bit number, written as a string: JSON readers keep 53 bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide(pub(crate) u64);

impl Serialize for Wide {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl JsonSchema for Wide {
    fn schema_name() -> Cow<'static, str> {
        "Wide".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+$" })
    }
}

/// One element: a number for integers of up to 32 bits, a string for wider ones, and
/// `{ value, bits }` for floats.
///
/// `value` of a float is the shortest decimal that reads back to the same bits, or a
/// string (`"NaN"`, `"inf"`, `"-inf"`) where JSON has no number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Scalar);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(scalar) = self;
        if let Some(integer) = scalar.to_integer() {
            return if scalar.dtype().bytes() < 8 {
                serializer.collect_i128(integer)
            } else {
                serializer.collect_str(&integer)
            };
        }
        let digits = usize::try_from(scalar.dtype().bytes().saturating_mul(2)).unwrap_or(16);
        let mut float = serializer.serialize_struct("Float", 2)?;
        if scalar.to_f64().is_finite() {
            let text = RawValue::from_string(scalar.to_string());
            float.serialize_field("value", &text.map_err(serde::ser::Error::custom)?)?;
        } else {
            float.serialize_field("value", &scalar.to_string())?;
        }
        float.serialize_field("bits", &format!("0x{:0digits$x}", scalar.bits()))?;
        float.end()
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer" },
            { "type": "string", "pattern": "^-?[0-9]+$" },
            {
                "type": "object",
                "properties": {
                    "value": { "type": ["number", "string"] },
                    "bits": { "type": "string", "pattern": "^0x[0-9a-f]+$" },
                },
                "required": ["value", "bits"],
            },
        ] })
    }
}

/// The schema of the envelope of `verb`, whose data is one of several.
///
/// Where the input cannot be used the data is an error instead.
pub(crate) fn schema(verb: &str, data: &[fn(&mut SchemaGenerator) -> Schema]) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut any: Vec<Schema> = data.iter().map(|data| data(&mut generator)).collect();
    any.push(generator.subschema_for::<ErrorData<'_>>());
    let definitions = generator.take_definitions(true);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("what `rankwise {verb} --json` prints"),
        "type": "object",
        "properties": {
            "schema": { "const": named(verb) },
            "tool": {
                "type": "object",
                "properties": { "name": { "const": "rankwise" }, "version": { "type": "string" } },
                "required": ["name", "version"],
            },
            "verdict": { "type": "string" },
            "exit": { "enum": [0, 1, 2, 3, 4] },
            "data": { "anyOf": any },
        },
        "required": ["schema", "tool", "verdict", "exit", "data"],
        "$defs": definitions,
    })
}

fn named(verb: &str) -> String {
    format!("rankwise.{verb}/1")
}

/// Integers that are known to fit a JSON number.
trait CollectInteger: Serializer {
    fn collect_i128(self, integer: i128) -> Result<Self::Ok, Self::Error>;
}

impl<S: Serializer> CollectInteger for S {
    fn collect_i128(self, integer: i128) -> Result<S::Ok, S::Error> {
        match i64::try_from(integer) {
            Ok(integer) => self.serialize_i64(integer),
            Err(_) => self.collect_str(&integer),
        }
    }
}

#[cfg(test)]
mod tests {
    use rankwise_model::Dtype;

    use super::*;

    fn json(scalar: Scalar) -> String {
        serde_json::to_string(&Number(scalar)).unwrap()
    }

    #[test]
    fn the_envelope_has_five_fields_in_order() {
        let text = Envelope::new("label", "open", Exit::Unknown, &Wide(u64::MAX)).to_text();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text.unwrap(),
            format!(
                "{{\n  \"schema\": \"rankwise.label/1\",\n  \"tool\": {{\n    \"name\": \"rankwise\",\n    \
                 \"version\": \"{version}\"\n  }},\n  \"verdict\": \"open\",\n  \"exit\": 3,\n  \
                 \"data\": \"18446744073709551615\"\n}}\n"
            )
        );
    }

    #[test]
    fn integers_of_64_bits_are_strings_and_narrower_ones_numbers() {
        assert_eq!(json(Scalar::of(-7_i32)), "-7");
        assert_eq!(json(Scalar::of(u32::MAX)), "4294967295");
        assert_eq!(json(Scalar::of(i64::MIN)), "\"-9223372036854775808\"");
        assert_eq!(json(Scalar::of(1_u64)), "\"1\"");
    }

    #[test]
    fn floats_carry_value_and_bits() {
        assert_eq!(json(Scalar::of(0.1_f32)), r#"{"value":0.1,"bits":"0x3dcccccd"}"#);
        assert_eq!(json(Scalar::of(-0.0_f64)), r#"{"value":-0,"bits":"0x8000000000000000"}"#);
        assert_eq!(json(Scalar::of(f32::NAN)), r#"{"value":"NaN","bits":"0x7fc00000"}"#);
        assert_eq!(
            json(Scalar::of(f64::NEG_INFINITY)),
            r#"{"value":"-inf","bits":"0xfff0000000000000"}"#
        );
        let bf16 = Scalar::from_bits(Dtype::Bf16, 0x3f80);
        assert_eq!(json(bf16), r#"{"value":1,"bits":"0x3f80"}"#);
        let e4m3 = Scalar::from_bits(Dtype::F8E4M3, 0x38);
        assert_eq!(json(e4m3), r#"{"value":1,"bits":"0x38"}"#);
    }
}
