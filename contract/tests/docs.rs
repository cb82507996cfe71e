//! The documentation lists every option, every reason and every field, and its examples are valid.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use hsa_replay_contract::{OPTIONS, Reason};
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

fn doc(name: &str) -> String {
    fs::read_to_string(path(name)).expect("documentation")
}

/// The part between the two marks of a generated block must be `expected`; `UPDATE_GOLDEN=1` makes it so.
#[track_caller]
fn generated(name: &str, mark: &str, expected: &str) {
    let text = doc(name);
    let start = text.find(&format!("<!-- {mark}:")).expect("mark");
    let start = start + text[start..].find('\n').expect("line end") + 1;
    let end = text.find(&format!("<!-- end of {mark} -->")).expect("end mark");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path(name), format!("{}{expected}{}", &text[..start], &text[end..]))
            .expect("documentation");
    } else {
        assert_eq!(&text[start..end], expected, "docs/{name} is out of date");
    }
}

#[test]
fn configuration_lists_every_option_as_the_table_has_it() {
    let mut table = "| option | variable | key | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for spec in OPTIONS {
        let value = spec.value_name.map(|name| format!(" {name}")).unwrap_or_default();
        let mut flags = format!("`--{}{value}`", spec.flag);
        if let Some(short) = spec.short {
            flags = format!("`-{short}`, {flags}");
        }
        if let Some(negation) = spec.negation {
            write!(flags, ", `--{negation}`").expect("string");
        }
        let key = spec.key.map_or_else(|| "none".to_owned(), |key| format!("`{key}`"));
        let details = if spec.details.is_empty() { String::new() } else { format!(" {}", spec.details) };
        let (default, help) = (spec.default, spec.help);
        writeln!(table, "| {flags} | `{}` | {key} | {default} | {help}.{details} |", spec.variable)
            .expect("string");
    }
    generated("configuration.md", "options", &table);
}

#[test]
fn the_report_format_lists_every_reason_as_the_enum_has_it() {
    let mut table = "| reason | meaning |\n|---|---|\n".to_owned();
    for reason in Reason::ALL {
        writeln!(table, "| `{}` | {} |", reason.name(), reason.description()).expect("string");
    }
    generated("report-format.md", "reasons", &table);
}

/// Each object of the schema has a section of its name whose table has a row for each of its fields and no other.
#[test]
fn the_report_format_lists_every_field_of_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../report.schema.json")).expect("schema");
    let text = doc("report-format.md");
    let mut objects = vec![("runtime", &schema["$defs"]["session"]["properties"]["runtime"])];
    let definitions = schema["$defs"].as_object().expect("definitions");
    objects.extend(
        definitions.iter().filter(|(_, value)| value["properties"].is_object()).map(|(k, v)| (k.as_str(), v)),
    );
    assert_eq!(objects.len(), 17);
    for (name, object) in objects {
        let heading = format!("# `{name}`\n");
        let start = text.find(&heading).unwrap_or_else(|| panic!("no section for {name}")) + heading.len();
        let section = &text[start..];
        let section = &section[..section.find("\n#").unwrap_or(section.len())];
        let mut listed: Vec<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let mut fields: Vec<&str> =
            object["properties"].as_object().expect("fields").keys().map(String::as_str).collect();
        listed.sort_unstable();
        fields.sort_unstable();
        assert_eq!(listed, fields, "{name}");
    }
}

#[test]
fn examples_in_the_report_format_satisfy_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../report.schema.json")).expect("schema");
    let validator = jsonschema::validator_for(&schema).expect("schema");
    let text = doc("report-format.md");
    let examples: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let value: Value = serde_json::from_str(example).expect("JSON");
        validator.validate(&value).unwrap_or_else(|error| panic!("{error}\n{example}"));
    }
}

#[test]
fn the_config_file_in_the_documentation_is_accepted() {
    let text = doc("configuration.md");
    let start = text.find("```toml\n").expect("example") + 8;
    let end = start + text[start..].find("```").expect("end");
    let file = text.as_bytes()[start..end].to_vec();
    let settings = hsa_replay_contract::Settings::from_environment(
        [("HSA_REPLAY_CONFIG".into(), "replay.toml".into())],
        |_| Ok(file),
    )
    .expect("valid");
    assert!(settings.armed());
}
