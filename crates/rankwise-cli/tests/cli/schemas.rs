//! The published schemas of answers are those that the command makes, and its real
//! answers fit them, key by key.

use serde_json::Value;

use super::{rankwise, root};

const VERBS: [&str; 11] = [
    "explain", "check", "compare", "certify", "verify", "relabel", "explore", "judge", "run",
    "label", "template",
];

fn published(verb: &str) -> Value {
    let path = root().join(format!("docs/schemas/{verb}.schema.json"));
    let now = rankwise(["schema", verb]).stdout;
    if std::env::var_os("RANKWISE_DOCS").is_some_and(|wish| wish == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &now).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text == now,
        "docs/schemas/{verb}.schema.json is stale; run `RANKWISE_DOCS=write cargo test -p rankwise-cli`"
    );
    serde_json::from_str(&text).unwrap()
}

/// Where a value does not fit, as a path; none if it does. A key that the schema does
/// not name does not fit. (A validator would be a dependency larger than the command.)
fn misfit(schema: &Value, value: &Value, root: &Value, at: &str) -> Option<String> {
    let Some(object) = schema.as_object() else {
        return (schema != &Value::Bool(true)).then(|| at.to_owned());
    };
    object.iter().find_map(|(word, rule)| match word.as_str() {
        "$ref" => {
            let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
            misfit(root.pointer(pointer).unwrap(), value, root, at)
        }
        "anyOf" | "oneOf" => {
            let tried: Option<Vec<String>> =
                rule.as_array().unwrap().iter().map(|one| misfit(one, value, root, at)).collect();
            tried.map(|all| format!("{at}: none of [{}]", all.join(", ")))
        }
        "const" => (rule != value).then(|| format!("{at} is not {rule}")),
        "enum" => {
            (!rule.as_array().unwrap().contains(value)).then(|| format!("{at}: not in {rule}"))
        }
        "type" => {
            let is = |kind: &Value| match kind.as_str().unwrap() {
                "null" => value.is_null(),
                "boolean" => value.is_boolean(),
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("type {other}"),
            };
            let fits = rule.as_array().map_or_else(|| is(rule), |kinds| kinds.iter().any(is));
            (!fits).then(|| format!("{at} is no {rule}"))
        }
        "items" => value.as_array().and_then(|items| {
            items
                .iter()
                .zip(0..)
                .find_map(|(item, index)| misfit(rule, item, root, &format!("{at}/{index}")))
        }),
        "minItems" => value
            .as_array()
            .filter(|items| items.len() < usize::try_from(rule.as_u64().unwrap()).unwrap())
            .map(|_| format!("{at} is too short")),
        "maxItems" => value
            .as_array()
            .filter(|items| items.len() > usize::try_from(rule.as_u64().unwrap()).unwrap())
            .map(|_| format!("{at} is too long")),
        "required" => value.as_object().and_then(|object| {
            let missing = rule.as_array().unwrap().iter();
            missing
                .map(|key| key.as_str().unwrap())
                .find(|key| !object.contains_key(*key))
                .map(|key| format!("{at} has no {key}"))
        }),
        "properties" => value.as_object().and_then(|object| {
            object.iter().find_map(|(key, value)| match rule.get(key) {
                Some(property) => misfit(property, value, root, &format!("{at}/{key}")),
                None => Some(format!("{at} has {key}")),
            })
        }),
        // A map: `properties` says what is wrong where keys are fixed.
        "additionalProperties" => value.as_object().filter(|_| rule.is_object()).and_then(|map| {
            map.iter().find_map(|(key, value)| misfit(rule, value, root, &format!("{at}/{key}")))
        }),
        "minimum" => value
            .as_i64()
            .filter(|value| *value < rule.as_i64().unwrap())
            .map(|_| format!("{at} is below {rule}")),
        "maximum" => value
            .as_i64()
            .filter(|value| *value > rule.as_i64().unwrap())
            .map(|_| format!("{at} is above {rule}")),
        "pattern" => {
            // The patterns in use are those of numbers.
            let prefix = if rule.as_str().unwrap().starts_with("^0x") { "0x" } else { "" };
            let digits = value.as_str().and_then(|text| text.strip_prefix(prefix));
            digits
                .is_none_or(|digits| {
                    digits.trim_start_matches('-').chars().any(|c| !c.is_ascii_hexdigit())
                })
                .then(|| format!("{at} is no number"))
        }
        "$schema" | "$defs" | "title" | "description" | "format" | "default" => None,
        other => panic!("the schema uses {other}, which this test does not know"),
    })
}

#[track_caller]
fn fits(schemas: &[(&str, Value)], words: &[&str]) {
    let ran = rankwise(words.iter().copied().chain(["--json"]));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let (_, schema) = schemas.iter().find(|(verb, _)| *verb == words[0]).unwrap();
    assert_eq!(misfit(schema, &answer, schema, ""), None, "{words:?}");
}

#[test]
fn the_answers_about_every_example_fit_the_published_schemas() {
    let schemas = VERBS.map(|verb| (verb, published(verb)));
    let mut seen = 0;
    for folder in ["examples/plans", "examples/programs"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let file = format!("{folder}/{name}");
            let verbs: &[&str] = if folder.ends_with("plans") {
                &["explain", "check", "compare", "explore"]
            } else {
                &["check"]
            };
            for verb in verbs {
                fits(&schemas, &[verb, &file]);
                seen += 1;
            }
        }
    }
    assert!(seen >= 30, "{seen} answers");
    let two = "examples/plans/two-ranks.toml";
    fits(&schemas, &["relabel", two, "--devices", "B,A"]);
    fits(&schemas, &["relabel", "examples/plans/first-shard-on-a.toml", "--devices", "B,A"]);
    let gathered = "examples/plans/each-contribution.toml#gathered";
    fits(&schemas, &["judge", gathered, "--observed", "examples/observed/exchanged"]);
    fits(&schemas, &["judge", gathered, "--observed", "examples/observed/nowhere"]);
    fits(&schemas, &["label", "16 B"]);
    fits(&schemas, &["label", "all_gather 4 elements send n=2 i32"]);
    fits(&schemas, &["check", "crates/rankwise-plan/tests/bad_inputs/op_add.toml"]);
    fits(&schemas, &["check", two, "--all"]);
    for plan in ["examples/plans/two-ranks.toml#originals", "examples/plans/relabelled.toml#whole"]
    {
        fits(&schemas, &["certify", plan]);
    }
    let certificate = "examples/certificates/originals.json";
    fits(&schemas, &["verify", certificate, "--plan", two]);
    fits(&schemas, &["verify", certificate, "--plan", "examples/plans/first-shard-on-a.toml"]);
    fits(&schemas, &["run", two, "--backend", "mock"]);
    fits(&schemas, &["run", "examples/plans/per-rank-programs.toml", "--backend", "mock"]);
    fits(&schemas, &["template", "zero2", "--ranks", "4", "--layers", "1000,2000", "--holdings"]);
    fits(
        &schemas,
        &[
            "template",
            "tensor-parallel",
            "--ranks",
            "4",
            "--tokens",
            "4",
            "--hidden",
            "8",
            "--inner",
            "10",
        ],
    );
    let out = std::env::temp_dir().join(format!("rankwise-schemas-{}.toml", std::process::id()));
    let out = out.to_str().unwrap();
    fits(&schemas, &["template", "ddp", "--ranks", "2", "--layers", "4", "--out", out]);
    std::fs::remove_file(out).unwrap();
}

#[test]
fn what_does_not_fit_is_found() {
    let schema = published("check");
    let mut answer: Value =
        rankwise(["check", "examples/plans/two-ranks.toml", "--json"]).envelope("check");
    assert_eq!(misfit(&schema, &answer, &schema, ""), None);
    answer["exit"] = 7.into();
    assert_eq!(misfit(&schema, &answer, &schema, "").unwrap(), "/exit: not in [0,1,2,3,4]");
    answer["exit"] = 1.into();
    answer["data"]["proposals"][0]["needs"][0]["ranks"] = 2.into();
    assert!(misfit(&schema, &answer, &schema, "").unwrap().contains("needs/0/ranks is no"));
}
