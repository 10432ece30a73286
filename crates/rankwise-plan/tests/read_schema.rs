//! The published schema is the one that the types make.

use rankwise_plan::schema;
use serde_json::Value;

const PUBLISHED: &str = include_str!("../../../docs/plan.schema.json");

#[test]
fn docs_plan_schema_json_is_fresh() {
    assert!(
        PUBLISHED == format!("{:#}\n", schema::plan()),
        "docs/plan.schema.json is stale; \
         cargo run -p rankwise-plan --example schema > docs/plan.schema.json"
    );
}

/// Draft 2020-12's words that the schema uses; a validator would be a dependency
/// larger than this crate.
fn is_valid(schema: &Value, value: &Value, root: &Value) -> bool {
    let Some(object) = schema.as_object() else { return schema == &Value::Bool(true) };
    object.iter().all(|(word, rule)| match word.as_str() {
        "$ref" => {
            let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
            is_valid(root.pointer(pointer).unwrap(), value, root)
        }
        "anyOf" => rule.as_array().unwrap().iter().any(|choice| is_valid(choice, value, root)),
        "const" => rule == value,
        "enum" => rule.as_array().unwrap().contains(value),
        "type" => {
            let is = |kind: &Value| match kind.as_str().unwrap() {
                "null" => value.is_null(),
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("type {other}"),
            };
            rule.as_array().map_or_else(|| is(rule), |kinds| kinds.iter().any(is))
        }
        "items" => {
            value.as_array().is_none_or(|items| items.iter().all(|item| is_valid(rule, item, root)))
        }
        "required" => value.as_object().is_none_or(|object| {
            rule.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|object| {
            object.iter().all(|(key, value)| {
                rule.get(key).is_none_or(|property| is_valid(property, value, root))
            })
        }),
        "additionalProperties" => value.as_object().is_none_or(|object| {
            let named = schema.get("properties").and_then(Value::as_object);
            let mut others = object
                .iter()
                .filter(|(key, _)| named.is_none_or(|named| !named.contains_key(*key)));
            others.all(|(_, value)| rule != &Value::Bool(false) && is_valid(rule, value, root))
        }),
        "minimum" => value.as_i64().is_none_or(|value| value >= rule.as_i64().unwrap()),
        "maximum" => value.as_i64().is_none_or(|value| value <= rule.as_i64().unwrap()),
        "$schema" | "$defs" | "title" | "description" | "pattern" | "default" | "examples" => true,
        other => panic!("the schema uses {other}, which this test does not know"),
    })
}

#[test]
fn right_plans_fit_the_schema_and_wrong_keys_do_not() {
    let schema: Value = serde_json::from_str(PUBLISHED).unwrap();
    let fits = |plan: &Value| is_valid(&schema, plan, &schema);
    let mut plan = serde_json::json!({
        "format": 1,
        "group": { "devices": ["A", "B"], "sharing": "exclusive" },
        "mesh": { "axes": ["gpu"], "shape": [2] },
        "groups": { "tp": { "colors": [0, "none"], "keys": [-1, 0] } },
        "input": {
            "x": { "dtype": "i32", "count": "4", "on": { "device": { "A": [1], "B": ["2"] } } },
            "w": { "dtype": "bf16", "file": "w.npy", "slice": "whole", "by": "rank" }
        },
        "proposal": { "p": {
            "step": [
                { "call": "all_reduce", "op": "sum", "send": "x", "recv": "y", "over": [[0, 1]] },
                { "call": "fold", "op": "max", "send": ["x", "y"], "recv": "z",
                  "on": { "rank": 0 } }
            ],
            "outputs": ["y"], "as": { "y": "out" }
        } },
        "need": [{ "on": "every rank", "buffer": "y", "positions": "0..4", "holds": "sum(x)" }]
    });
    assert!(fits(&plan));
    assert!(!fits(&serde_json::json!({ "group": { "ranks": 2 } }))); // no format

    for (pointer, wrong) in [
        ("/format", serde_json::json!(2)),
        ("/group/ranks", serde_json::json!(-1)),
        ("/group/rank", serde_json::json!(2)),
        ("/groups/tp/colors", serde_json::json!(["all"])),
        ("/input/x/dtype", serde_json::json!("float")),
        ("/proposal/p/step/0/op", serde_json::json!("add")),
        ("/proposal/p/step/1/on", serde_json::json!("somebody")),
        ("/need/0/on", serde_json::json!({ "node": 0 })),
    ] {
        let before = plan.clone();
        let (table, key) = pointer.rsplit_once('/').unwrap();
        plan.pointer_mut(table).unwrap()[key] = wrong;
        assert!(!fits(&plan), "{pointer}");
        plan = before;
    }
}
