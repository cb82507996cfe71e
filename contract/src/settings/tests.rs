use super::*;
use std::collections::BTreeSet;

fn vars(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

fn no_file(path: &Path) -> io::Result<Vec<u8>> {
    panic!("no config file is named, yet {} is read", path.display())
}

fn from_vars(pairs: &[(&str, &str)]) -> Result<Settings, SettingError> {
    Settings::from_environment(vars(pairs), no_file)
}

fn from_file(text: &str) -> Result<Settings, SettingError> {
    let bytes = text.as_bytes().to_vec();
    Settings::from_environment(vars(&[("HSA_REPLAY_CONFIG", "/etc/replay.toml")]), move |_| Ok(bytes))
}

fn problem(result: Result<Settings, SettingError>) -> String {
    let line = result.expect_err("must be refused").to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

#[test]
fn nothing_set_means_defaults_and_not_armed() {
    let settings = from_vars(&[("PATH", "/bin")]).expect("defaults");
    assert!(!settings.armed());
    assert_eq!(settings.passes.get(), 2);
    assert_eq!(settings.timeout, Duration::from_secs(60));
    assert_eq!(settings.output, Path::new("hsa-replay-{pid}.jsonl"));
    assert_eq!((settings.check, settings.strict, settings.budget), (true, false, None));
    assert!(settings.to_variables().is_empty());
}

#[test]
fn passes_arm_from_any_layer_and_nothing_else_does() {
    assert!(from_vars(&[("HSA_REPLAY_PASSES", "2")]).expect("variable").armed());
    assert!(from_file("passes = 3").expect("file").armed());
    let mut options = Layer::default();
    options.set_option(OptionId::Passes, "4");
    assert!(Settings::resolve(options, vars(&[]), no_file).expect("option").armed());
    assert!(!from_vars(&[("HSA_REPLAY_KERNEL", "saxpy"), ("HSA_REPLAY_PASSES", "")]).expect("empty").armed());
}

#[test]
fn option_beats_environment_beats_file() {
    let file = b"passes = 3\nkernel = \"file\"\ntimeout = 9\nbudget = \"1K\"".to_vec();
    let environment = vars(&[
        ("HSA_REPLAY_CONFIG", "c.toml"),
        ("HSA_REPLAY_PASSES", "4"),
        ("HSA_REPLAY_KERNEL", "environment"),
    ]);
    let mut options = Layer::default();
    options.set_option(OptionId::Passes, "5");
    let settings = Settings::resolve(options, environment, |_| Ok(file)).expect("valid");
    assert_eq!(settings.passes.get(), 5);
    assert_eq!(settings.source_of(OptionId::Passes), Some(&Source::Option));
    assert_eq!(settings.kernel.pattern(), Some("environment"));
    assert_eq!(settings.source_of(OptionId::Kernel), Some(&Source::Environment));
    assert_eq!(settings.timeout, Duration::from_secs(9));
    assert_eq!(settings.source_of(OptionId::Timeout), Some(&Source::File("c.toml".into())));
    assert_eq!(settings.budget, Some(1024));
}

#[test]
fn an_option_names_the_config_file_before_the_environment_does() {
    let mut options = Layer::default();
    options.set_option(OptionId::Config, "option.toml");
    let settings = Settings::resolve(options, vars(&[("HSA_REPLAY_CONFIG", "other.toml")]), |path| {
        assert_eq!(path, Path::new("option.toml"));
        Ok(b"passes = 7".to_vec())
    })
    .expect("valid");
    assert_eq!(settings.passes.get(), 7);
}

#[test]
fn a_bad_value_names_its_place() {
    assert_eq!(
        problem(from_vars(&[("HSA_REPLAY_PASSES", "0")])),
        "HSA_REPLAY_PASSES=0: must be a whole number from 1 to 65535"
    );
    assert_eq!(
        problem(from_file("passes = 70000")),
        "/etc/replay.toml: passes = 70000: must be a whole number from 1 to 65535"
    );
    let mut options = Layer::default();
    options.set_option(OptionId::Kernel, "f(");
    assert_eq!(problem(Settings::resolve(options, vars(&[]), no_file)), "--kernel f(: unclosed group");
}

#[test]
fn the_name_of_a_file_is_not_empty() {
    let mut options = Layer::default();
    options.set_option(OptionId::Output, "");
    assert_eq!(problem(Settings::resolve(options, vars(&[]), no_file)), "--output '': must name a file");
    assert_eq!(problem(from_file("log_file = \"\"")), "/etc/replay.toml: log_file = '': must name a file");
    assert!(from_vars(&[("HSA_REPLAY_OUTPUT", "")]).is_ok(), "an empty variable counts as not set");
}

#[test]
fn a_bad_value_is_shown_on_one_line_and_not_at_any_length() {
    let long = format!("(\n{}", "x".repeat(100_000));
    let line = problem(from_vars(&[("HSA_REPLAY_KERNEL", &long)]));
    assert!(line.len() < 200, "{line}");
}

#[test]
fn a_weaker_layer_that_is_overridden_is_not_parsed() {
    let mut options = Layer::default();
    options.set_option(OptionId::Passes, "5");
    let settings = Settings::resolve(options, vars(&[("HSA_REPLAY_PASSES", "bad")]), no_file);
    assert_eq!(settings.expect("overridden").passes.get(), 5);
}

#[test]
fn unknown_keys_are_errors_and_unknown_variables_are_one_warning_each() {
    let line = problem(from_file("pases = 3"));
    assert!(line.starts_with("/etc/replay.toml: pases: unknown key; the keys are passes, kernel"), "{line}");
    let settings =
        from_vars(&[("HSA_REPLAY_PASES", "3"), ("HSA_TOOLS_LIB", "x"), ("HSA_REPLAY_ROOTS", "/r")])
            .expect("harmless");
    assert_eq!(settings.warnings, ["HSA_REPLAY_PASES is not a variable of hsa-replay: ignored"]);
    assert!(!settings.armed());
}

#[test]
fn a_config_file_that_cannot_be_read_or_parsed_is_one_line() {
    let missing = Settings::from_environment(vars(&[("HSA_REPLAY_CONFIG", "/no/such")]), read_config_file);
    assert!(problem(missing).starts_with("HSA_REPLAY_CONFIG=/no/such: cannot be read: No such file"));
    let folder = Settings::from_environment(vars(&[("HSA_REPLAY_CONFIG", "/")]), read_config_file);
    assert!(problem(folder).contains("is a directory"));
    let device = Settings::from_environment(vars(&[("HSA_REPLAY_CONFIG", "/dev/zero")]), read_config_file);
    assert!(problem(device).contains("not a regular file"));
    assert!(problem(from_file("passes = 2\nkernel = \"open")).starts_with("/etc/replay.toml: line 2: "));
    assert!(problem(from_file("passes = 2\npasses = 3")).contains("line 2"));
    let wide = Settings::from_environment(vars(&[("HSA_REPLAY_CONFIG", "w.toml")]), |_| {
        Ok(vec![0xff, 0xfe, b'p', 0])
    });
    assert_eq!(problem(wide), "w.toml: is not UTF-8 text: save it as UTF-8");
}

#[test]
fn a_byte_order_mark_and_carriage_returns_do_no_harm() {
    let settings = from_file("\u{feff}passes = 6\r\nstrict = true\r\n").expect("valid");
    assert_eq!((settings.passes.get(), settings.strict), (6, true));
}

#[test]
fn the_file_takes_natural_types_and_refuses_others_by_name() {
    let settings =
        from_file("check = false\ntimeout = 1.5\nbudget = 4096\nallow = [\"hostcall\", \"untracked\"]")
            .expect("valid");
    assert!(!settings.check);
    assert_eq!(settings.timeout, Duration::from_millis(1500));
    assert_eq!(settings.budget, Some(4096));
    assert_eq!(settings.allow, [Allow::Untracked, Allow::Hostcall]);
    assert_eq!(
        problem(from_file("kernel = 5")),
        "/etc/replay.toml: kernel: must be a string, not a whole number"
    );
    assert!(problem(from_file("check = \"on\"")).contains("must be true or false"));
    assert!(problem(from_file("allow = [1]")).contains("an array of strings"));
    assert!(problem(from_file("[passes]\nn = 1")).contains("not a table"));
    assert!(problem(from_file("timeout = nan")).contains("above 0"));
}

#[test]
fn repeated_kinds_add_up_within_the_command_line() {
    let mut options = Layer::default();
    options.set_option(OptionId::Allow, "hostcall");
    options.set_option(OptionId::Allow, "untracked");
    let settings =
        Settings::resolve(options, vars(&[("HSA_REPLAY_ALLOW", "collective")]), no_file).expect("valid");
    assert_eq!(settings.allow, [Allow::Untracked, Allow::Hostcall]);
}

#[test]
fn paths_keep_bytes_that_are_not_text() {
    use std::os::unix::ffi::OsStringExt;
    let path = OsString::from_vec(b"/tmp/r\xff e.jsonl".to_vec());
    let settings =
        Settings::from_environment([("HSA_REPLAY_OUTPUT".into(), path.clone())], no_file).expect("valid");
    assert_eq!(settings.output.as_os_str(), path);
    let bad = Settings::from_environment(
        [("HSA_REPLAY_KERNEL".into(), OsString::from_vec(b"\xff".to_vec()))],
        no_file,
    );
    assert!(problem(bad).ends_with("must be UTF-8 text"));
}

#[test]
fn variables_made_from_settings_give_the_same_settings() {
    let settings =
        from_file("passes = 3\nkernel = \"a b\"\nallow = [\"hostcall\"]\ntimeout = 2.5\nstrict = true")
            .expect("valid");
    let again = Settings::from_environment(
        settings.to_variables().into_iter().map(|(name, value)| (name.into(), value)),
        no_file,
    )
    .expect("valid");
    assert!(again.armed());
    let expected = SessionConfig { config: None, ..settings.to_record() };
    assert_eq!(again.to_record(), expected);
}

#[test]
fn the_session_record_has_every_key_of_the_config_file_and_the_files_name() {
    let settings = from_file("passes = 3\nfollow_children = false\ntool = \"tool.so\"").expect("valid");
    let record = serde_json::to_value(settings.to_record()).expect("is JSON");
    let shown: BTreeSet<&str> = record.as_object().expect("an object").keys().map(String::as_str).collect();
    let keys: BTreeSet<&str> = OPTIONS.iter().filter_map(|spec| spec.key).chain(["config"]).collect();
    assert_eq!(shown, keys);
    assert_eq!((&record["follow_children"], &record["tool"]), (&false.into(), &"tool.so".into()));
}
