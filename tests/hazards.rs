//! The proofs that `docs/hazards.md` and `docs/reference-system.md` name are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A line of a table: its number and the last cell, which names proofs.
struct Row {
    number: String,
    proofs: Vec<(String, String)>,
}

fn read(relative: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(relative);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All table lines that begin with a number.
fn rows(document: &str) -> Vec<Row> {
    let text = read(document);
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let rows = lines.filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let number = cells.first().filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))?;
        assert_eq!(cells.len(), 4, "{document}: {line}");
        let quoted = cells[3].split('`').skip(1).step_by(2);
        let proofs = quoted.filter_map(|proof| proof.split_once("::"));
        let proofs = proofs.map(|(file, name)| (file.to_owned(), name.to_owned())).collect();
        Some(Row { number: (*number).to_owned(), proofs })
    });
    rows.collect()
}

/// Whether a test of this name, or a sentence with these words, is in the file.
fn is_there(file: &str, name: &str) -> bool {
    let text = read(file);
    if Path::new(file).extension().is_some_and(|extension| extension == "md") {
        return text.split_whitespace().collect::<Vec<_>>().join(" ").contains(name);
    }
    let Some(at) = [format!("fn {name}("), format!("fn {name}<")].iter().find_map(|start| text.find(start))
    else {
        return false;
    };
    // A test by its attribute, by a property, or by the lists that make one for each release.
    let before = text[..at].trim_end();
    before.ends_with("#[test]")
        || before.ends_with("#[track_caller]")
        || text.contains("proptest!")
        || text.split("on_both_releases! {").nth(1).is_some_and(|list| {
            list.split('}').next().unwrap_or_default().split_whitespace().any(|word| word == name)
        })
}

fn every_proof_is_there(document: &str) {
    let rows = rows(document);
    let numbers: BTreeSet<&str> = rows.iter().map(|row| row.number.as_str()).collect();
    assert_eq!(numbers.len(), rows.len(), "{document} has a number twice");
    let mut missing = Vec::new();
    for row in &rows {
        if row.proofs.is_empty() {
            missing.push(format!("{}: no proof", row.number));
        }
        for (file, name) in &row.proofs {
            if !is_there(file, name) {
                missing.push(format!("{}: {file} has no {name}", row.number));
            }
        }
    }
    assert!(missing.is_empty(), "{document}: {missing:#?}");
}

#[test]
fn every_proof_of_the_hazards_is_there() {
    every_proof_is_there("docs/hazards.md");
}

#[test]
fn all_32_findings_are_listed_in_order() {
    let numbers =
        rows("docs/hazards.md").into_iter().map(|row| row.number).filter(|number| !number.contains('.'));
    assert!(numbers.eq((1..=32).map(|number: u32| number.to_string())));
}

#[test]
fn every_proof_against_the_reference_system_is_there() {
    every_proof_is_there("docs/reference-system.md");
}
