//! docs/report-format.md lists what `report` answers, and nothing else.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::collections::BTreeSet;

use fixture::{COMPLETE, Place, answer};
use serde_json::Value;

const DOC: &str = include_str!("../../docs/report-format.md");

/// The names in the first column of the table under this line, in the section with this heading.
fn listed(heading: &str, table: &str) -> BTreeSet<String> {
    let section = DOC.split_once(heading).unwrap_or_else(|| panic!("no {heading}")).1;
    let section = section.split("\n### ").next().expect("a part");
    let rows = section.split_once(table).unwrap_or_else(|| panic!("no {table} under {heading}")).1;
    rows.lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .flat_map(|line| line.split('|').nth(1).expect("a column").split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().cloned().collect()
}

#[test]
fn the_fields_of_json_are_documented() {
    let place = Place::new();
    let in_a_range =
        std::fs::read_to_string(COMPLETE).expect("golden").replace("\"range\":null", "\"range\":\"step\"");
    place.write("report.jsonl", in_a_range + "broken");
    let output = place.command(["report", "--format", "json", "report.jsonl", "missing"]).output();
    let value: Value = serde_json::from_slice(&output.expect("runs").stdout).expect("JSON");
    let heading = "### `report --format json`";
    assert_eq!(keys(&value), listed(heading, "| field | meaning |"));
    for list in ["unreadable_files", "processes", "kernels", "ranges", "problems"] {
        assert_eq!(
            keys(&value[list][0]),
            listed(heading, &format!("| field of `{list}` | meaning |")),
            "{list}"
        );
    }
}

#[test]
fn the_columns_of_csv_are_documented() {
    let text = answer(Place::new().command(["report", "--format", "csv", COMPLETE]));
    let columns: BTreeSet<String> =
        text.lines().next().expect("names").split(',').map(str::to_owned).collect();
    assert_eq!(columns, listed("### `report --format csv`", "| column | meaning |"));
}

#[test]
fn the_fields_of_a_comparison_are_documented() {
    let text = answer(Place::new().command(["report", "--diff", "--format", "json", COMPLETE, COMPLETE]));
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let heading = "### `report --diff A B --format json`";
    assert_eq!(keys(&value), listed(heading, "| field | meaning |"));
    for list in ["processes", "kernels"] {
        assert_eq!(
            keys(&value[list][0]),
            listed(heading, &format!("| field of `{list}` | meaning |")),
            "{list}"
        );
    }
}
