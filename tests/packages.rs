//! Each package is built, installed on a machine of its own (a ROCm root on which everything is laid that an installation
//! changes), and replays a kernel there; so are the steps of the Dockerfile.

mod rocm;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use hsa_replay_contract::Record;
use hsa_replay_contract::report::Reader;
use object::read::elf::{ElfFile64, FileHeader as _};
use rocm::{Release, Victim, checkout, workspace};
use tempfile::TempDir;

/// The oldest glibc that the binaries may need, as the documents say it.
const GLIBC_FLOOR: [u32; 2] = [2, 34];

/// Builds all packages once.
fn packages() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let output = workspace("packages");
        let built = Command::new(checkout().join("scripts/package"))
            .args(["--no-build", "--output"])
            .arg(&output)
            .output()
            .expect("scripts/package can be run");
        well("scripts/package", &built);
        output
    })
}

fn package(ending: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = fs::read_dir(packages())
        .expect("the packages")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    assert_eq!(found.len(), 1, "{ending}: {found:?}");
    found.remove(0)
}

#[track_caller]
fn well(what: &str, output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{stdout}{stderr}", output.status);
    stdout + &stderr
}

/// A machine of its own: what is installed there is gone with it.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { folder: TempDir::new_in(workspace("machines")).expect("a temporary folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs lines of sh there, as root, with the software GPU in the place of a driver.
    #[track_caller]
    fn sh(&self, script: &str) -> String {
        let output = Command::new("timeout")
            .arg("300")
            .arg(checkout().join("scripts/in-root"))
            .args(["--release", Release::Stable.name(), "--scratch"])
            .arg(self.path("scratch"))
            .args(["sh", "-ec", script])
            .current_dir(self.folder.path())
            .env_remove("LD_PRELOAD")
            .env_remove("LD_LIBRARY_PATH")
            .output()
            .expect("scripts/in-root can be run");
        well(script, &output)
    }

    /// The command of an installation says where its library is, and replays a kernel.
    #[track_caller]
    fn replays(&self, command: &str, library: &str) {
        let victim = Victim::hip("increment", Release::Stable).executable;
        let said = self.sh(&format!(
            "{command} run -n 3 -o report.jsonl -- {}\n{command} report report.jsonl\n{command} doctor",
            victim.display()
        ));
        assert!(said.contains("values[5] 6"), "the program's own output: {said}");
        assert!(said.contains("hsa-replay: 1 candidate: 1 replayed"), "{said}");
        assert!(said.contains(&format!("ok       library       {library} (installed)")), "{said}");
        self.report_is_of_a_replay("report.jsonl");
    }

    #[track_caller]
    fn report_is_of_a_replay(&self, name: &str) {
        let file = fs::File::open(self.path(name)).expect("the report");
        let records: Vec<Record> =
            Reader::new(std::io::BufReader::new(file)).map(|record| record.expect("readable")).collect();
        let replayed = records.iter().filter(|record| match record {
            Record::Dispatch(dispatch) => dispatch.deterministic == Some(true),
            _ => false,
        });
        assert_eq!(replayed.count(), 1, "{records:?}");
    }
}

#[test]
fn the_binaries_need_no_newer_glibc_than_the_documents_say() {
    for name in ["hsa-replay", "libhsa_runtime64.so"] {
        let data = fs::read(checkout().join("target/release").join(name))
            .expect("cargo build --release --workspace");
        let file = ElfFile64::<object::Endianness>::parse(&*data).expect("an ELF file");
        let endian = file.endian();
        let sections = file.elf_header().sections(endian, &*data).expect("its sections");
        let (needs, strings) =
            sections.gnu_verneed(endian, &*data).expect("a table").expect("needs versions");
        let strings = sections.strings(endian, &*data, strings).expect("its strings");
        let mut newest = [0, 0];
        for (_, versions) in needs.map(|entry| entry.expect("an entry")) {
            for version in versions.map(|entry| entry.expect("an entry")) {
                let version =
                    String::from_utf8_lossy(version.name(endian, strings).expect("a name")).into_owned();
                let Some(numbers) = version.strip_prefix("GLIBC_") else { continue };
                let mut numbers = numbers.split('.').filter_map(|number| number.parse().ok());
                newest = newest.max([numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)]);
            }
        }
        assert!(newest <= GLIBC_FLOOR && newest > [2, 0], "{name} needs glibc {newest:?}");
    }
    let floor = format!("{}.{}", GLIBC_FLOOR[0], GLIBC_FLOOR[1]);
    for (document, said) in [
        ("docs/containers.md", format!("glibc {floor} or newer")),
        ("scripts/package", format!("glibc_floor={floor}")),
    ] {
        assert!(
            fs::read_to_string(checkout().join(document)).expect("a document").contains(&said),
            "{document}"
        );
    }
}

#[test]
fn the_deb_is_installed_replays_and_is_removed() {
    let machine = Machine::new();
    let deb = package("_amd64.deb");
    machine.sh(&format!("dpkg -i {}", deb.display()));
    machine.replays("hsa-replay", "/usr/lib/hsa-replay/libhsa-runtime64.so.1");
    let said = machine.sh(
        "test \"$(dpkg -S /usr/include/hsa_replay.h)\" = 'hsa-replay: /usr/include/hsa_replay.h'\n\
         zcat /usr/share/man/man1/hsa-replay-run.1.gz | grep -c passes\n\
         bash -n /usr/share/bash-completion/completions/hsa-replay\n\
         grep -q 'clap .*: MIT OR Apache-2.0' /usr/share/doc/hsa-replay/THIRD-PARTY-LICENSES\n\
         dpkg -r hsa-replay\n\
         test ! -e /usr/lib/hsa-replay && ! command -v hsa-replay",
    );
    assert!(!said.is_empty());
}

#[test]
fn the_tarball_works_wherever_it_is_unpacked() {
    let machine = Machine::new();
    let place = "/opt/it is here";
    machine.sh(&format!("mkdir -p '{place}'\ntar -xzf {} -C '{place}'", package(".tar.gz").display()));
    let root = format!("{place}/hsa-replay-{}", env!("CARGO_PKG_VERSION"));
    // A path that the loader cannot take: it gets links.
    machine.replays(
        &format!("'{root}/bin/hsa-replay'"),
        &format!("{root}/lib/hsa-replay/libhsa-runtime64.so.1"),
    );
}

#[test]
fn the_wheel_brings_command_and_library() {
    let machine = Machine::new();
    let prefix = machine.path("environment");
    let installed = Command::new("python3")
        .args([
            "-m",
            "pip",
            "install",
            "--no-index",
            "--no-deps",
            "--no-compile",
            "--no-cache-dir",
            "--quiet",
        ])
        .args(["--disable-pip-version-check", "--root-user-action=ignore", "--prefix"])
        .args([&prefix, &package(".whl")])
        .output()
        .expect("python3 can be run");
    well("pip install", &installed);
    // Debian's Python puts what is installed by hand below local/.
    let prefix =
        [prefix.join("local"), prefix].into_iter().find(|folder| folder.join("bin/hsa-replay").is_file());
    let prefix = prefix.expect("bin/hsa-replay in the environment");
    assert!(prefix.join("include/hsa_replay.h").is_file());
    let prefix = prefix.display();
    machine.replays(
        &format!("{prefix}/bin/hsa-replay"),
        &format!("{prefix}/lib/hsa-replay/libhsa-runtime64.so.1"),
    );
}

/// The steps of the Dockerfile that lead to a target, in order: instruction and arguments.
fn steps(target: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(checkout().join("docs/container/Dockerfile")).expect("the Dockerfile");
    let mut stages: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    let mut stage = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (instruction, arguments) = line.split_once(' ').expect("instruction and arguments");
        if instruction == "FROM" {
            let (base, name) = arguments.split_once(" AS ").expect("a named stage");
            stage = name.to_owned();
            let before = stages.get(base).cloned().unwrap_or_default();
            stages.insert(stage.clone(), before);
        } else if instruction != "ARG" {
            stages.entry(stage.clone()).or_default().push((instruction.to_owned(), arguments.to_owned()));
        }
    }
    stages.remove(target).unwrap_or_else(|| panic!("no target {target}"))
}

/// Carries out the steps as a build would, and gives the line that starts `program` in the image.
fn build(machine: &Machine, target: &str, program: &str) -> String {
    let mut environment = String::new();
    let mut entry = String::new();
    for (instruction, arguments) in steps(target) {
        match instruction.as_str() {
            "COPY" => {
                let (from, to) = arguments.split_once(' ').expect("from and to");
                machine.sh(&format!("cp {}/{from} {to}", packages().display()));
            }
            "RUN" => drop(machine.sh(&arguments)),
            // What the base image has in a variable stays there: here the software GPU, which stands in for the driver.
            "ENV" => environment += &format!("export {arguments}\n"),
            "ENTRYPOINT" => {
                let words: Vec<String> = serde_json::from_str(&arguments).expect("a list of words");
                entry = words.iter().map(|word| format!("'{word}' ")).collect();
            }
            other => panic!("{other} is a step that this test does not carry out"),
        }
    }
    format!("{environment}{entry}{program}\ncp /reports/hsa-replay-*.jsonl report.jsonl")
}

#[test]
fn the_dockerfile_makes_images_whose_programs_are_replayed() {
    let victim = Victim::hip("increment", Release::Stable).executable;
    for target in ["command", "environment"] {
        let machine = Machine::new();
        let line = build(&machine, target, &victim.display().to_string());
        let said = machine.sh(&line);
        assert!(said.contains("values[5] 6"), "{said}");
        machine.report_is_of_a_replay("report.jsonl");
    }
}
