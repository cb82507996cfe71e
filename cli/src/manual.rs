//! `hsa-replay completions` and `hsa-replay man`: made from the definition of the command line, so that they cannot differ
//! from it.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ArgMatches;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::command::{self, PAGE, SHELL};
use crate::failure::Failure;

/// Prints a shell's completions.
pub fn completions(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some(&shell) = arguments.get_one::<Shell>(SHELL) else {
        return Err(Failure::usage("no shell given"));
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command::for_completions(), "hsa-replay", &mut text);
    if shell == Shell::Bash {
        text = with_labels_that_are_reached(&text);
    }
    if shell == Shell::Fish {
        text.extend(words_for_fish(&command::for_completions()));
    }
    print(&text)
}

/// Lines for words that stand alone: `clap_complete` makes fish complete the values of options only.
fn words_for_fish(whole: &clap::Command) -> Vec<u8> {
    let mut lines = String::new();
    for sub in whole.get_subcommands() {
        for values in
            sub.get_positionals().map(clap::Arg::get_possible_values).filter(|values| !values.is_empty())
        {
            let words: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
            let name = sub.get_name();
            lines += &format!(
                "complete -c hsa-replay -n \"__fish_hsa_replay_using_subcommand {name}\" -f -a \"{}\"\n",
                words.join(" ")
            );
        }
    }
    lines.into_bytes()
}

/// The bash script with the labels of its commands as its own state names them: for a name with a hyphen, `clap_complete` derives
/// the two differently (clap issue 6421), so that nothing behind a command would be completed.
fn with_labels_that_are_reached(script: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(script)
        .replace("hsa__subcmd__replay__subcmd__", "hsa__replay__subcmd__")
        .into_bytes()
}

/// Prints a manual page: of hsa-replay, or of one of its commands.
pub fn page(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut whole = command::command();
    // Gives the commands their full names.
    whole.build();
    let described = match arguments.get_one::<String>(PAGE) {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = whole.get_subcommands().map(|sub| sub.get_name()).collect();
            Failure::usage(format!("'{name}' is no command: the commands are {}", known.join(", ")))
        })?,
    };
    let usage = described.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).trim().to_owned();
    let after = described.get_after_help().map(ToString::to_string).unwrap_or_default();
    let page = Man::new(described.clone())
        // The pages of commands have no version of their own.
        .source(format!("hsa-replay {}", hsa_replay_contract::VERSION))
        .manual("User Commands");
    let mut text = Vec::new();
    render(&page, &described, &usage, &after, &mut text).map_err(Failure::cannot_answer)?;
    print(&text)
}

/// The page's sections in their usual order. The generator's synopsis lists options without their values, and it has one heading
/// for all that follows the options in the help: those two are made here.
fn render(
    page: &Man,
    described: &clap::Command,
    usage: &str,
    after: &str,
    text: &mut Vec<u8>,
) -> io::Result<()> {
    page.render_title(text)?;
    page.render_name_section(text)?;
    writeln!(text, ".SH SYNOPSIS\n{}", roff(usage))?;
    page.render_description_section(text)?;
    page.render_options_section(text)?;
    if described.has_subcommands() {
        page.render_subcommands_section(text)?;
    }
    for line in after.lines() {
        match line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            Some(heading) => writeln!(text, ".SH {}\n.nf", roff(&heading.to_uppercase()))?,
            None => writeln!(text, "{}", roff(line.strip_prefix("  ").unwrap_or(line)))?,
        }
        if line.is_empty() {
            writeln!(text, ".fi")?;
        }
    }
    writeln!(text, ".fi")
}

/// A line of plain text as roff takes it.
fn roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    // What begins with one of these would be a request.
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    match io::stdout().write_all(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::cannot_answer(error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}
