//! Everything that is read from outside, given anything: an answer or one line of error, and no more memory than the input
//! justifies.

mod sample;

use std::ffi::OsString;
use std::io::Cursor;
use std::os::unix::ffi::OsStringExt;

use hsa_replay_contract::report::{DumpReader, Reader};
use hsa_replay_contract::settings::read_config_file;
use hsa_replay_contract::{KernelName, Layer, OPTIONS, Record, Settings};
use proptest::prelude::*;
use proptest::sample::Index;

const CONFIG: &str = "passes = 5\nkernel = \"saxpy|count\"\nlaunch_skip = 2\nlaunch_count = 10\ncheck = true\n\
    output = \"report-{pid}.jsonl\"\ntimeout = 1.5\nbudget = \"2G\"\nallow = [\"untracked\", \"hostcall\"]\nstrict = false\n";

/// Replaces, removes or repeats pieces of a valid input.
fn mutate(valid: &[u8], edits: &[(Index, u8, u8)]) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for (at, kind, value) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match kind % 4 {
            0 => bytes[at] = *value,
            1 => bytes.insert(at, *value),
            2 => drop(bytes.drain(at..bytes.len().min(at + usize::from(*value)))),
            _ => {
                let piece = bytes[at..bytes.len().min(at + usize::from(*value))].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn edits() -> impl Strategy<Value = Vec<(Index, u8, u8)>> {
    prop::collection::vec((any::<Index>(), any::<u8>(), any::<u8>()), 1..12)
}

/// What an error must be: one line for people, of bounded length whatever was given.
fn is_one_line(error: &str) -> bool {
    !error.is_empty() && !error.contains('\n') && error.len() < 4096
}

fn config(bytes: &[u8]) {
    let variables = [("HSA_REPLAY_CONFIG", "replay.toml")].map(|(name, text)| (name.into(), text.into()));
    match Settings::from_environment(variables, |_| Ok(bytes.to_vec())) {
        Ok(settings) => drop(settings.to_record()),
        Err(error) => assert!(is_one_line(&error.to_string()), "{error}"),
    }
}

/// Reads a report to its end: each line is a record or counted as a problem.
fn report(bytes: &[u8]) {
    let mut reader = Reader::new(Cursor::new(bytes)).longest_line(1 << 16);
    let mut records = 0_u64;
    for record in reader.by_ref() {
        let record = record.expect("reading from memory does not fail");
        records += 1;
        let again = serde_json::to_string(&record).expect("a record can be written");
        assert_eq!(serde_json::from_str::<Record>(&again).expect("and read"), record);
    }
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() as u64;
    assert!(records + reader.problem_count() <= lines + 1);
    for problem in reader.problems() {
        assert!(problem.detail.len() < 4096, "{}", problem.detail);
    }
}

fn lines() -> Vec<u8> {
    let records = sample::process();
    let lines = records.iter().map(|record| serde_json::to_string(record).expect("serialises") + "\n");
    lines.collect::<String>().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_config_file_is_settings_or_one_line(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        config(&bytes);
    }

    #[test]
    fn a_changed_config_file_is_settings_or_one_line(edits in edits()) {
        config(&mutate(CONFIG.as_bytes(), &edits));
    }

    #[test]
    fn any_value_of_any_option_is_taken_or_refused_in_one_line(
        option in 0..OPTIONS.len(),
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..80),
            "[-+0-9.eEkKmMgGtTiIbBsh, _]{0,24}".prop_map(String::into_bytes),
            "[(|)\\[\\]{}*+?.a-z0-9,^$\\\\]{0,40}".prop_map(String::into_bytes),
        ],
    ) {
        let spec = &OPTIONS[option];
        let value = OsString::from_vec(bytes.clone());
        let read = |_: &std::path::Path| Err(std::io::Error::other("no file"));
        let variable = [(spec.variable.into(), value.clone())];
        let mut layer = Layer::default();
        layer.set_option(spec.id, value);
        for result in [Settings::from_environment(variable, read), Settings::resolve(layer, [], read)] {
            match result {
                Ok(settings) => drop((settings.to_record(), settings.to_variables())),
                Err(error) => prop_assert!(is_one_line(&error.to_string()), "{}", error),
            }
        }
    }

    #[test]
    fn any_variable_beside_ours_does_no_harm(name in prop::collection::vec(1_u8.., 1..40), value in "[^\\x00]{0,40}") {
        let mut variable = b"HSA_REPLAY_".to_vec();
        variable.extend(&name);
        let variables = [(OsString::from_vec(variable), value.into())];
        if let Ok(settings) = Settings::from_environment(variables, |_| Err(std::io::Error::other("no file"))) {
            prop_assert!(settings.warnings.iter().all(|warning| is_one_line(warning)));
        }
    }

    #[test]
    fn any_report_is_read_to_its_end(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        report(&bytes);
    }

    #[test]
    fn a_changed_report_is_read_to_its_end(edits in edits()) {
        report(&mutate(&lines(), &edits));
    }

    #[test]
    fn a_changed_dump_is_read_or_refused(edits in edits()) {
        let header = r#"{"hsa_replay_dump":1,"pid":1,"id":0,"kernel":"k","launch":0,"kind":"allocation","name":null,"arg":0,"base":4096,"size":64,"spans":[[0,16],[32,16]],"complete":true}"#;
        let mut valid = header.as_bytes().to_vec();
        valid.push(b'\n');
        valid.extend([1; 64]);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("1-0-1000.dump");
        std::fs::write(&file, mutate(&valid, &edits)).expect("written");
        match DumpReader::open(&file) {
            // A span longer than the file must not be made room for.
            Ok(dump) => drop(dump.take(100).filter(Result::is_ok).count()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_name_of_a_kernel_has_spellings(name in prop_oneof![
        "\\PC{0,60}",
        "_Z[0-9A-Za-z_]{0,80}",
        "_ZN?[0-9]{1,3}[a-zA-Z_]{0,12}(I[A-Za-z0-9_]{0,20}E)*(S[0-9A-Z_]{0,3}_|T[0-9]?_|P|K|R|L|X|J){0,30}E?[a-z]{0,6}",
    ]) {
        let name = KernelName::new(&name);
        prop_assert!(name.spellings().all(|spelling| spelling.len() <= (1 << 20) + name.symbol().len()));
    }
}

#[test]
fn a_config_file_that_nests_without_end_is_refused() {
    for open in ["[", "{a=", "a.", "[["] {
        config(format!("kernel = {}", open.repeat(100_000)).as_bytes());
        config(open.repeat(100_000).as_bytes());
    }
}

#[test]
fn a_report_that_nests_without_end_is_a_problem() {
    for open in ["[", r#"{"record":"#, r#"{"a":"#] {
        report(open.repeat(10_000).as_bytes());
    }
}

#[test]
fn a_config_file_that_never_ends_is_refused() {
    for path in ["/dev/zero", "/", "/proc/self/mem"] {
        assert!(read_config_file(std::path::Path::new(path)).is_err(), "{path}");
    }
}
