//! What is wrong with a command line, in one line that says what to type instead. The parser's own texts guess what was meant
//! from the letters alone ("html" for "xml"); here a guess has to be near, or to be what another command has.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::command::{PROGRAM, SHELL};

/// The message for an error of the parser; `sub` is the command that was given, if there is one of its name.
pub fn message(error: &Error, whole: &Command, sub: Option<&Command>) -> String {
    let argument = text(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::MissingRequiredArgument => missing(&argument, sub),
        ErrorKind::UnknownArgument => unknown(&argument, whole, sub),
        ErrorKind::InvalidSubcommand => no_command(&text(error, ContextKind::InvalidSubcommand), whole),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("no command is given: {}", commands(whole))
        }
        ErrorKind::InvalidValue => {
            let value = text(error, ContextKind::InvalidValue);
            let option = option_name(&argument);
            let known = text(error, ContextKind::ValidValue);
            match (value.is_empty(), known.is_empty()) {
                (true, true) => {
                    format!("{option}: its value is missing: {}", argument.replace(['<', '>'], ""))
                }
                (true, false) => format!("{option}: its value is missing: one of {known}"),
                (false, _) => format!("{option} {value}: must be one of {known}"),
            }
        }
        ErrorKind::TooManyValues => {
            let value = text(error, ContextKind::InvalidValue);
            let off = argument.strip_prefix("--").map(|name| format!("--no-{name}"));
            let off = off.filter(|off| sub.is_some_and(|sub| find(sub, off).is_some()));
            let choice = off.map(|off| format!(", or {off}")).unwrap_or_default();
            format!("{argument}={value}: it takes no value: write {argument}{choice}")
        }
        _ => format!("{} ({})", first_line(error), see_help(sub)),
    }
}

/// Context of the error as words: values of a list are separated by commas.
fn text(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

/// The option without the name of its value.
fn option_name(argument: &str) -> &str {
    argument.split(' ').next().unwrap_or(argument).trim_matches(['<', '>'])
}

fn first_line(error: &Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn see_help(sub: Option<&Command>) -> String {
    let name = sub.map(|sub| format!("{} ", sub.get_name())).unwrap_or_default();
    format!("see hsa-replay {name}--help")
}

fn commands(whole: &Command) -> String {
    let names: Vec<&str> = whole.get_subcommands().map(Command::get_name).collect();
    format!("the commands are {} (see hsa-replay --help)", names.join(", "))
}

fn missing(arguments: &str, sub: Option<&Command>) -> String {
    let name = sub.map(Command::get_name).unwrap_or_default();
    if arguments.contains(PROGRAM) {
        format!("no program is given: hsa-replay {name} [OPTIONS] -- ./program")
    } else if arguments.contains(SHELL) {
        "no shell is given: hsa-replay completions bash, or another one (see hsa-replay completions --help)"
            .to_owned()
    } else if arguments.contains("FILE") {
        format!("no report is given: hsa-replay {name} report.jsonl")
    } else {
        format!("{arguments}: is missing ({})", see_help(sub))
    }
}

fn unknown(argument: &str, whole: &Command, sub: Option<&Command>) -> String {
    let Some(sub) = sub else {
        return match owners(whole, argument).first() {
            Some(owner) => format!(
                "{argument} is an option of {owner}, whose name comes first: hsa-replay {owner} {argument} …"
            ),
            None => format!(
                "there is no option {argument}{} ({})",
                near(argument, options(whole)),
                see_help(None)
            ),
        };
    };
    let name = sub.get_name();
    if !argument.starts_with('-') {
        return if find_positional(sub) {
            format!("{argument}: is one word too many ({})", see_help(Some(sub)))
        } else {
            format!("{argument}: {name} takes options alone; to run a program: hsa-replay run -- {argument}")
        };
    }
    let owners = owners(whole, argument);
    if !owners.is_empty() {
        return format!(
            "{argument} is an option of {}, not of {name} ({})",
            owners.join(" and "),
            see_help(Some(sub))
        );
    }
    // As in `--json`.
    let word = argument.trim_start_matches('-');
    let choice = sub
        .get_arguments()
        .find(|arg| arg.get_possible_values().iter().any(|value| value.matches(word, false)));
    if let Some(option) = choice.and_then(|arg| arg.get_long()) {
        return format!("there is no option {argument}: --{option} {word}");
    }
    let guess = near(argument, options(sub));
    let program = if guess.is_empty() && name == "run" {
        format!(": an option of the program stands behind it: hsa-replay run -- ./program {argument}")
    } else {
        guess
    };
    format!("{name} has no option {argument}{program} ({})", see_help(Some(sub)))
}

fn no_command(word: &str, whole: &Command) -> String {
    let names = whole.get_subcommands().map(|sub| sub.get_name().to_owned());
    let guess = near(word, names);
    if word == "help" {
        "there is no command help: hsa-replay --help, or hsa-replay COMMAND --help".to_owned()
    } else if !guess.is_empty() {
        format!("there is no command {word}{guess}; {}", commands(whole))
    } else {
        format!(
            "there is no command {word}; to run a program of that name: hsa-replay run -- {word}; {}",
            commands(whole)
        )
    }
}

/// The commands that have an option.
fn owners<'a>(whole: &'a Command, argument: &str) -> Vec<&'a str> {
    whole.get_subcommands().filter(|sub| find(sub, argument).is_some()).map(Command::get_name).collect()
}

fn find<'a>(command: &'a Command, argument: &str) -> Option<&'a clap::Arg> {
    let argument = argument.split('=').next().unwrap_or_default();
    command.get_arguments().find(|arg| match argument.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| argument.strip_prefix('-') == Some(&short.to_string())),
    })
}

fn find_positional(command: &Command) -> bool {
    command.get_positionals().next().is_some()
}

fn options(command: &Command) -> impl Iterator<Item = String> {
    command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}"))
}

/// A guess at what was meant: the nearest name, if it is two letters away or less, or continues the word.
fn near(word: &str, names: impl Iterator<Item = String>) -> String {
    let enough =
        |distance: &usize, name: &str| *distance <= 2 && *distance * 2 < name.trim_start_matches('-').len();
    let continued = |name: &str| word.trim_start_matches('-').len() > 2 && name.starts_with(word);
    let guess = names
        .map(|name| (if continued(&name) { 1 } else { distance(word, &name) }, name))
        .filter(|(distance, name)| enough(distance, name))
        .min();
    guess.map(|(_, name)| format!(": did you mean {name}?")).unwrap_or_default()
}

/// Letters to insert, remove, replace, or swap with their neighbour, to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) =
        (one.chars().take(64).collect(), other.chars().take(64).collect());
    let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
    for at in 0..=one.len() {
        for to in 0..=other.len() {
            table[at][to] = if at == 0 || to == 0 {
                at + to
            } else {
                let same = usize::from(one[at - 1] != other[to - 1]);
                let swapped =
                    at > 1 && to > 1 && one[at - 1] == other[to - 2] && one[at - 2] == other[to - 1];
                let swap = if swapped { table[at - 2][to - 2] + 1 } else { usize::MAX };
                (table[at - 1][to] + 1).min(table[at][to - 1] + 1).min(table[at - 1][to - 1] + same).min(swap)
            };
        }
    }
    table[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_guessed() {
        let names = || ["--kernel", "--passes", "--as", "run", "report"].map(str::to_owned).into_iter();
        for (word, guess) in
            [("--kernal", "--kernel"), ("--passe", "--passes"), ("--pass", "--passes"), ("rnu", "run")]
        {
            assert_eq!(near(word, names()), format!(": did you mean {guess}?"));
        }
        for word in ["--json", "-k", "--a", "xml", "doctor", "--p", "--all", "ran2", ""] {
            assert_eq!(near(word, names()), "", "{word}");
        }
        assert_eq!((distance("abcd", "acbd"), distance("", "abc"), distance("kitten", "sitting")), (1, 3, 3));
    }
}
