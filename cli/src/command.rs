//! The command line. Options of `run` and `env` are made from the contract's table, so that flag, help and default have
//! one source; their values are parsed by the contract too, so that an error reads the same wherever the value came from.

mod examples;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, PathBufValueParser, PossibleValuesParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use hsa_replay_contract::record::Allow;
use hsa_replay_contract::{Layer, OPTIONS, OptionId, OptionSpec, Settings, ValueKind, settings};

use crate::failure::{Failure, RUN_FAILED};
use crate::usage;
use examples::{
    COMPLETIONS_EXAMPLES, DOCTOR_EXAMPLES, ENV_EXAMPLES, MAN_EXAMPLES, REPORT_EXAMPLES, RUN_EXAMPLES,
};

/// Name of the argument that holds the program and its arguments.
pub const PROGRAM: &str = "CMD";

/// Name of the argument that holds the shell of `completions`.
pub const SHELL: &str = "SHELL";

/// Name of the argument that holds the command of `man`.
pub const PAGE: &str = "PAGE";

/// The commands, in the order of the help.
const COMMANDS: [&str; 6] = ["run", "report", "env", "doctor", "completions", "man"];

/// The whole command line.
pub fn command() -> Command {
    Command::new("hsa-replay")
        .version(hsa_replay_contract::VERSION)
        .about("Runs GPU kernels of an unmodified ROCm program several times from identical inputs and says what they wrote")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .max_term_width(110)
        .subcommand(run_command())
        .subcommand(report_command())
        .subcommand(env_command())
        .subcommand(doctor_command())
        .subcommand(completions_command())
        .subcommand(man_command())
}

fn run_command() -> Command {
    Command::new("run")
        .about("Run a program and replay its kernels")
        .after_help(RUN_EXAMPLES)
        .args(option_args())
        .arg(
            Arg::new(PROGRAM)
                .help("The program and its arguments")
                .value_hint(ValueHint::CommandWithArguments)
                .required(true)
                .num_args(1..)
                .trailing_var_arg(true)
                .value_parser(OsStringValueParser::new()),
        )
}

fn report_command() -> Command {
    Command::new("report")
        .about("Show what reports say")
        .after_help(REPORT_EXAMPLES)
        .args_override_self(true)
        .arg(
            Arg::new("FILE")
                .help("Reports to read together; - is standard input")
                .value_hint(ValueHint::FilePath)
                .required(true)
                .num_args(1..)
                .value_parser(PathBufValueParser::new()),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["text", "json", "csv", "html", "trace"])
                .default_value("text")
                .help(
                    "text: for people; json: the same as one object; csv: one line per dispatch; html: one page for a \
                     browser; trace: for Perfetto or chrome://tracing",
                ),
        )
        .arg(
            Arg::new("verbose")
                .long("verbose")
                .short('v')
                .action(ArgAction::SetTrue)
                .help("In text: every dispatch with its arguments, names in full, all ranges"),
        )
        .arg(
            Arg::new("as")
                .long("as")
                .value_name("TYPE")
                .value_parser(PossibleValuesParser::new(crate::report::ELEMENT_NAMES.iter().copied()))
                .help("In text: show what was written as numbers, from the files of run --dump-writes"),
        )
        .arg(
            Arg::new("dumps")
                .long("dumps")
                .value_name("DIR")
                .value_hint(ValueHint::DirPath)
                .value_parser(PathBufValueParser::new())
                .help("With --as: read the dumps in DIR [default: below the report's own folder]"),
        )
        .arg(
            Arg::new("diff")
                .long("diff")
                .action(ArgAction::SetTrue)
                .help("Compare two reports, kernel by kernel (text or json)"),
        )
}

fn env_command() -> Command {
    Command::new("env")
        .about("Print shell lines that attach hsa-replay by hand")
        .after_help(ENV_EXAMPLES)
        .args(option_args())
}

fn doctor_command() -> Command {
    Command::new("doctor")
        .about("Find out what keeps a program from being replayed, without running it")
        .after_help(DOCTOR_EXAMPLES)
        .args_override_self(true)
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("text: for people; json: the same as one object"),
        )
        .arg(
            Arg::new(PROGRAM)
                .help("The program to look at")
                .value_hint(ValueHint::CommandWithArguments)
                .num_args(1..)
                .trailing_var_arg(true)
                .value_parser(OsStringValueParser::new()),
        )
}

fn completions_command() -> Command {
    Command::new("completions")
        .about("Print a shell's completions of this command")
        .after_help(COMPLETIONS_EXAMPLES)
        .arg(
            Arg::new(SHELL)
                .help("The shell")
                .required(true)
                .value_parser(clap::value_parser!(clap_complete::Shell)),
        )
}

fn man_command() -> Command {
    Command::new("man").about("Print a manual page (roff)").after_help(MAN_EXAMPLES).arg(
        Arg::new(PAGE).value_name("COMMAND").help("The command to describe; without it, hsa-replay itself"),
    )
}

/// The arguments of every option in the table.
fn option_args() -> impl Iterator<Item = Arg> {
    OPTIONS.iter().flat_map(|spec| {
        let arg = Arg::new(spec.flag).long(spec.flag).help(help(spec)).long_help(long_help(spec));
        let arg = match spec.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        if let Some(negation) = spec.negation {
            let off = Arg::new(negation)
                .long(negation)
                .action(ArgAction::SetTrue)
                .overrides_with(spec.flag)
                .help(format!("Turn --{} off", spec.flag));
            return vec![arg.action(ArgAction::SetTrue).overrides_with(negation), off];
        }
        let value = arg
            .value_name(spec.value_name.unwrap_or("VALUE"))
            .value_parser(OsStringValueParser::new())
            .value_hint(hint(spec))
            .allow_hyphen_values(spec.kind == ValueKind::Regex)
            .allow_negative_numbers(true);
        // Given twice, the last value counts, as with most commands; kinds add up.
        vec![match spec.kind {
            ValueKind::Kinds => value.action(ArgAction::Append),
            _ => value.action(ArgAction::Set).overrides_with(spec.flag),
        }]
    })
}

/// What shells complete a value from.
fn hint(spec: &OptionSpec) -> ValueHint {
    match (spec.kind, spec.id) {
        (ValueKind::Path, OptionId::DumpWrites) => ValueHint::DirPath,
        (ValueKind::Path, OptionId::Shim) => ValueHint::AnyPath,
        (ValueKind::Path, _) => ValueHint::FilePath,
        _ => ValueHint::Other,
    }
}

/// The command line as shells complete it: with the words of those values that the contract parses, or that may be something
/// else as well.
pub fn for_completions() -> Command {
    let whole = command();
    let with_words = |mut sub: Command| {
        for (id, words) in [
            (OptionId::Allow, Allow::ALL.map(Allow::name).to_vec()),
            (OptionId::Log, settings::value::LOG_LEVELS.to_vec()),
        ] {
            sub = sub.mut_arg(id.spec().flag, |arg| arg.value_parser(PossibleValuesParser::new(words)));
        }
        sub
    };
    whole.mut_subcommand("run", with_words).mut_subcommand("env", with_words).mut_subcommand("man", |sub| {
        sub.mut_arg(PAGE, |arg| arg.value_parser(PossibleValuesParser::new(COMMANDS)))
    })
}

fn help(spec: &OptionSpec) -> String {
    format!("{} [default: {}]", spec.help, spec.default)
}

fn long_help(spec: &OptionSpec) -> String {
    let details = if spec.details.is_empty() { String::new() } else { format!(" {}", spec.details) };
    let key = spec.key.map(|key| format!(", config key {key}")).unwrap_or_default();
    format!("{}.{details}\n[default: {}; variable {}{key}]", spec.help, spec.default, spec.variable)
}

/// Parses the command line; help and version are printed, errors become one line.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, Result<ExitCode, Failure>> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut command = command();
    // Adds the options for help and version.
    command.build();
    let sub = arguments
        .get(1)
        .and_then(|name| command.get_subcommands().find(|sub| name == sub.get_name()))
        .cloned();
    let whole = command.clone();
    let parsed = command.try_get_matches_from_mut(arguments).and_then(|matches| {
        // An expression may begin with a dash; this one was forgotten, and the word that ends the options is in its place.
        let forgotten = OPTIONS.iter().filter(|spec| spec.kind == ValueKind::Regex).find(|spec| {
            matches.subcommand().is_some_and(|(_, matches)| {
                let given = matches.try_get_one::<OsString>(spec.flag).ok().flatten();
                given.is_some_and(|given| given == "--")
            })
        });
        let name = forgotten.map(|spec| format!("--{} <{}>", spec.flag, spec.value_name.unwrap_or("VALUE")));
        name.map_or(Ok(matches), |name| {
            let mut error = clap::Error::new(ErrorKind::InvalidValue);
            error.insert(ContextKind::InvalidArg, ContextValue::String(name));
            Err(error)
        })
    });
    parsed.map_err(|error| {
        if !error.use_stderr() {
            return match error.print() {
                Err(problem) if problem.kind() != std::io::ErrorKind::BrokenPipe => {
                    Err(Failure::cannot_answer(problem))
                }
                _ => Ok(ExitCode::SUCCESS),
            };
        }
        let message = usage::message(&error, &whole, sub.as_ref());
        Err(if sub.is_some_and(|sub| sub.get_name() == "run") {
            Failure { code: RUN_FAILED, message: Some(message) }
        } else {
            Failure::usage(message)
        })
    })
}

/// The layer of options that the command line gives.
fn layer(arguments: &ArgMatches) -> Layer {
    let mut layer = Layer::default();
    for spec in OPTIONS {
        if let Some(negation) = spec.negation {
            for (name, value) in [(spec.flag, "1"), (negation, "0")] {
                if arguments.get_flag(name) {
                    layer.set_option(spec.id, value);
                }
            }
        } else {
            for value in arguments.get_many::<OsString>(spec.flag).into_iter().flatten() {
                layer.set_option(spec.id, value);
            }
        }
    }
    layer
}

/// The settings of a command line over this process's environment and the config file.
pub fn settings(arguments: &ArgMatches) -> Result<Settings, settings::SettingError> {
    Settings::resolve(layer(arguments), std::env::vars_os(), settings::read_config_file)
}

#[cfg(test)]
mod tests {
    use hsa_replay_contract::OptionId;

    use super::*;

    fn run(arguments: &[&str]) -> ArgMatches {
        let line = ["hsa-replay", "run"].iter().chain(arguments).map(Into::into);
        let matches = parse(line).unwrap_or_else(|outcome| panic!("{outcome:?}"));
        matches.subcommand_matches("run").expect("run").clone()
    }

    #[test]
    fn clap_finds_no_fault_with_the_definition() {
        command().debug_assert();
    }

    #[test]
    fn completions_are_of_the_same_command_line() {
        for_completions().debug_assert();
        let names: Vec<String> = command().get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        assert_eq!(names, COMMANDS);
    }

    #[test]
    fn every_option_of_the_table_is_an_option_of_run_and_env() {
        let command = command();
        for name in ["run", "env"] {
            let sub = command.find_subcommand(name).expect("subcommand");
            for spec in OPTIONS {
                let arg = sub.get_arguments().find(|arg| arg.get_long() == Some(spec.flag)).expect(spec.flag);
                assert_eq!(arg.get_short(), spec.short);
                let help = arg.get_long_help().expect("help").to_string();
                for part in [spec.help, spec.details, spec.default, spec.variable] {
                    assert!(help.contains(part), "--{}: {part}", spec.flag);
                }
            }
        }
    }

    #[test]
    fn every_command_shows_examples_that_it_understands() {
        let command = command();
        for sub in command.get_subcommands() {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            let mut understood = 0;
            for line in help.lines().filter_map(|line| line.split_once("hsa-replay ")).map(|(_, line)| line) {
                // Up to what is the shell's, or a remark behind two spaces.
                let line = line
                    .split(['>', '|', ')'])
                    .next()
                    .and_then(|line| line.split("  ").next())
                    .unwrap_or_default();
                let words = std::iter::once("hsa-replay").chain(line.split_whitespace()).map(Into::into);
                if line.starts_with(sub.get_name()) {
                    let _matches = parse(words).unwrap_or_else(|outcome| panic!("{line}: {outcome:?}"));
                    understood += 1;
                }
            }
            assert!(understood > 0, "{} shows no example", sub.get_name());
        }
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        for line in [
            &["-n", "3", "--", "prog", "--passes", "9", "-v"][..],
            &["-n", "3", "prog", "--passes", "9", "-v"],
        ] {
            let arguments = run(line);
            let program: Vec<&OsString> = arguments.get_many(PROGRAM).expect("program").collect();
            assert_eq!(program, ["prog", "--passes", "9", "-v"]);
            assert_eq!(layer(&arguments).get(OptionId::Passes).expect("passes").text, "3");
        }
    }

    #[test]
    fn of_a_switch_and_its_opposite_the_last_one_counts() {
        let given = |line: &[&str]| layer(&run(line)).get(OptionId::Check).map(|given| given.text.clone());
        assert_eq!(given(&["--check", "--no-check", "p"]), Some("0".into()));
        assert_eq!(given(&["--no-check", "--check", "p"]), Some("1".into()));
        assert_eq!(given(&["p"]), None);
    }

    #[test]
    fn kinds_may_be_repeated_and_other_options_take_the_last_value() {
        let layer = layer(&run(&["--allow", "hostcall", "--allow", "untracked", "-n", "2", "-n", "4", "p"]));
        assert_eq!(layer.get(OptionId::Allow).expect("allow").text, "hostcall,untracked");
        assert_eq!(layer.get(OptionId::Passes).expect("passes").text, "4");
    }

    #[test]
    fn a_usage_error_is_one_line() {
        let line = ["hsa-replay", "run", "--pases", "3", "--", "p"].map(OsString::from);
        let Err(Err(failure)) = parse(line) else { panic!("must be refused") };
        assert_eq!(failure.code, 125);
        let message = failure.message.expect("message");
        assert!(message.contains("--pases: did you mean --passes?") && !message.contains('\n'), "{message}");
    }

    #[test]
    fn every_command_in_the_documentation_is_understood() {
        let text =
            [include_str!("../../docs/usage.md"), include_str!("../../docs/configuration.md")].concat();
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let lines: Vec<&str> = blocks.flat_map(str::lines).filter_map(command_in).collect();
        assert!(lines.len() >= 9, "{lines:?}");
        for line in lines {
            let words = line.split_whitespace().map(|word| word.trim_matches('"').into());
            let outcome = parse(words).err();
            // Help is an answer of its own.
            assert!(matches!(outcome, None | Some(Ok(_))), "{line}: {outcome:?}");
        }
    }

    /// The command that a line of a shell block runs.
    fn command_in(line: &str) -> Option<&str> {
        let line = line.strip_prefix("eval \"$(").and_then(|rest| rest.strip_suffix(")\"")).unwrap_or(line);
        let line = line.split(" > ").next().unwrap_or(line);
        line.starts_with("hsa-replay ").then_some(line)
    }
}
