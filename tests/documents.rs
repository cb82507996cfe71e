//! Every shell line of the documents does what its document says.
//!
//! A block marked `sh` runs as it stands. Blocks whose lines begin with `scripts/` run in the checkout; everything else is what
//! a user types next to a program of their own, and runs inside a ROCm root on the software GPU with that program in the
//! current folder. A block that should not be run, such as sample output, is not marked `sh`.

mod rocm;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rocm::{Release, Victim, checkout, workspace};

/// A block of shell lines.
struct Block {
    /// Document and line, for messages.
    place: String,
    text: String,
}

/// All Markdown documents of the repository's own.
fn documents() -> Vec<PathBuf> {
    let mut documents: Vec<PathBuf> = fs::read_dir(checkout())
        .into_iter()
        .chain(fs::read_dir(checkout().join("docs")))
        .flatten()
        .map(|entry| entry.expect("a folder of the checkout can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    documents.sort();
    documents
}

fn blocks(document: &Path) -> Vec<Block> {
    let text = fs::read_to_string(document).unwrap_or_else(|error| panic!("{}: {error}", document.display()));
    let name = document.strip_prefix(checkout()).unwrap_or(document).display();
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim_end() {
            "```sh" => {
                inside = true;
                blocks.push(Block { place: format!("{name}:{number}"), text: String::new() });
            }
            "```" => inside = false,
            _ if inside => blocks.last_mut().expect("a block was opened").text += &format!("{line}\n"),
            _ => {}
        }
    }
    blocks
}

impl Block {
    fn of_the_checkout(&self) -> bool {
        self.text.lines().any(|line| line.trim_start().starts_with("scripts/"))
    }
}

#[track_caller]
fn well(block: &Block, output: &Output) {
    assert!(
        output.status.success(),
        "{}: {}\n{}\nstdout:\n{}stderr:\n{}",
        block.place,
        output.status,
        block.text,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A folder as a user has it: a program, one called `python`, a compiler, a configuration file, the header and the examples.
fn folder_of_a_user() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new_in(workspace("runs")).expect("a temporary folder");
    let program = Victim::hip("saxpy", Release::Stable).executable;
    for name in ["program", "python"] {
        symlink(&program, folder.path().join(name)).expect("a link in a new folder");
    }
    // A C compiler, and what comes with hsa-replay.
    symlink("/usr/bin/clang-17", folder.path().join("cc")).expect("a link in a new folder");
    for name in ["include", "examples"] {
        symlink(checkout().join(name), folder.path().join(name)).expect("a link in a new folder");
    }
    fs::write(folder.path().join("replay.toml"), "passes = 3\nkernel = \"saxpy\"\n").expect("a new file");
    folder
}

#[test]
fn what_a_user_types_runs_in_the_order_of_each_document() {
    let mut ran = 0;
    for document in documents() {
        // Later blocks read what earlier ones wrote.
        let folder = folder_of_a_user();
        for block in blocks(&document).iter().filter(|block| !block.of_the_checkout()) {
            // Programs of the folder are found by name, as an installed interpreter would be.
            let script = format!("set -e\ncd '{}'\nPATH=$PATH:.\n{}", folder.path().display(), block.text);
            let output = Release::Stable.on_gpu().args(["sh", "-c", &script]).output();
            well(block, &output.expect("scripts/in-root can be run"));
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} blocks were found: are they still marked sh?");
}

#[test]
fn what_a_user_types_in_the_checkout_runs() {
    for document in documents() {
        for block in blocks(&document).iter().filter(|block| block.of_the_checkout()) {
            // The two set-up commands have tests of their own.
            if !["scripts/demo", "scripts/test"].contains(&block.text.trim()) {
                let output = Command::new("sh").args(["-ec", &block.text]).current_dir(checkout()).output();
                well(block, &output.expect("sh can be run"));
            }
        }
    }
}

#[test]
fn the_demo_of_the_readme_shows_a_report() {
    let readme = blocks(&checkout().join("README.md"));
    let demo = readme
        .iter()
        .find(|block| block.text.trim() == "scripts/demo")
        .expect("the README names scripts/demo as a command of its own");
    let output = Command::new("sh").args(["-ec", &demo.text]).current_dir(checkout()).output();
    let output = output.expect("sh can be run");
    well(demo, &output);
    let shown = String::from_utf8_lossy(&output.stdout);
    let row = |kernel: &str| {
        shown.lines().find(|line| line.starts_with(kernel)).unwrap_or_else(|| panic!("{kernel}:\n{shown}"))
    };
    assert_eq!(shown.lines().filter(|line| *line == "right").count(), 2, "{shown}");
    assert!(row("add_in_place").trim_end().ends_with("yes (5 passes)"), "{shown}");
    assert!(row("stamp").trim_end().ends_with("no"), "{shown}");
}

/// The other command of the README is the one that runs this test; CI must run that one and nothing else.
#[test]
fn the_test_command_of_the_readme_is_what_ci_runs() {
    let readme = blocks(&checkout().join("README.md"));
    assert!(readme.iter().any(|block| block.text.trim() == "scripts/test"));
    let ci = fs::read_to_string(checkout().join(".ci/run")).expect(".ci/run is in the checkout");
    assert!(ci.lines().any(|line| line == "exec scripts/test"), "{ci}");
}

/// Each script says how it is used, and what documents say of a script exists.
#[test]
fn every_script_that_a_document_names_is_there() {
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for name in text.split(|c: char| !(c.is_ascii_alphanumeric() || "/-_.".contains(c))) {
            if let Some(script) = name.strip_prefix("scripts/").filter(|script| !script.is_empty()) {
                let path = checkout().join("scripts").join(script.trim_end_matches('.'));
                assert!(path.is_file(), "{} names scripts/{script}", document.display());
            }
        }
    }
}
