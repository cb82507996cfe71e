//! What is serialised is what the schema describes, and the golden files stay readable.

mod sample;

use hsa_replay_contract::record::{Allow, ArgumentKind, MemoryClass, Outcome, Reason, Record, Stage, Tier};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../report.schema.json");
const GOLDEN: &str = include_str!("data/complete.jsonl");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

fn check(value: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(&schema()).expect("the schema is a schema");
    validator.validate(value).map_err(|error| format!("{error} at {}", error.instance_path()))
}

fn to_value(record: impl Into<Record>) -> Value {
    serde_json::to_value(record.into()).expect("serialises")
}

#[test]
fn serialised_records_satisfy_the_schema() {
    for record in sample::process() {
        let value = to_value(record);
        check(&value).unwrap_or_else(|error| panic!("{error}\n{value}"));
    }
    for &reason in Reason::ALL {
        check(&to_value(sample::declined(0, reason))).expect("every reason is in the schema");
    }
}

/// Each schema object lists as required exactly the properties it has, so a record with a field missing fails.
#[test]
fn every_field_is_required() {
    let schema = schema();
    let definitions = schema["$defs"].as_object().expect("definitions");
    let mut objects = 0;
    for (name, definition) in definitions {
        let Some(properties) = definition["properties"].as_object() else { continue };
        objects += 1;
        let mut properties: Vec<&str> = properties.keys().map(String::as_str).collect();
        let mut required: Vec<&str> =
            definition["required"].as_array().expect("required").iter().filter_map(Value::as_str).collect();
        properties.sort_unstable();
        required.sort_unstable();
        assert_eq!(properties, required, "{name}");
        assert_eq!(definition["additionalProperties"], json!(false), "{name}");
    }
    assert_eq!(objects, 16);
}

#[test]
fn a_missing_field_and_an_unlisted_reason_fail_the_schema() {
    let mut value = to_value(sample::replayed(0));
    value.as_object_mut().expect("object").remove("divergence");
    assert!(check(&value).is_err());
    let mut value = to_value(sample::declined(0, Reason::Hostcall));
    value["reason"] = json!("because");
    assert!(check(&value).is_err());
    value["reason"] = Value::Null;
    assert!(check(&value).is_err(), "only a replayed dispatch has no reason");
}

#[test]
fn the_closed_lists_agree_with_the_schema() {
    let schema = schema();
    let list = |pointer: &str| -> Vec<String> {
        let values = schema.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("{pointer}"));
        values.iter().map(|value| value.as_str().expect("text").to_owned()).collect()
    };
    let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(list("/$defs/reason/enum"), reasons);
    assert_eq!(list("/$defs/allow/enum"), Allow::ALL.map(Allow::name));
    assert_eq!(list("/$defs/dispatch/properties/outcome/enum"), Outcome::ALL.map(Outcome::name));
    assert_eq!(list("/$defs/argument/properties/kind/enum"), ArgumentKind::ALL.map(ArgumentKind::name));
    assert_eq!(list("/$defs/target/properties/class/enum"), MemoryClass::ALL.map(MemoryClass::name));
    assert_eq!(list("/$defs/stage/properties/stage/enum"), Stage::ALL.map(Stage::name));
    let tiers = [Tier::Device, Tier::Host, Tier::Disk].map(Tier::name);
    assert_eq!(list("/$defs/snapshot/properties/tier/enum"), tiers);
}

/// The golden file is the format as promised: a change of the writer shows here. `UPDATE_GOLDEN=1` rewrites it.
#[test]
fn the_golden_file_is_what_the_writer_writes() {
    let mut written = String::new();
    for record in sample::process() {
        written.push_str(&serde_json::to_string(&record).expect("serialises"));
        written.push('\n');
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/complete.jsonl");
        std::fs::write(path, &written).expect("golden file");
        return;
    }
    assert_eq!(written, GOLDEN);
}

#[test]
fn golden_records_parse_to_the_same_values() {
    let parsed: Vec<Record> =
        GOLDEN.lines().map(|line| serde_json::from_str(line).expect("golden record")).collect();
    assert_eq!(parsed, sample::process());
}
