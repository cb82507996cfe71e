//! `hsa-replay report`: reads reports, one record at a time, and shows what they say.

mod aggregate;
mod csv;
mod diff;
mod dumps;
mod elements;
mod html;
mod input;
mod json;
pub mod processes;
pub mod reading;
mod samples;
mod seen;
mod stretches;
mod text;
mod trace;
mod under_way;
pub mod units;
mod unlisted;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use hsa_replay_contract::text::name_of;
use hsa_replay_contract::{Dispatch, Record};

use crate::failure::{Failure, say};
use crate::output::Text;
use aggregate::Aggregate;
pub use elements::NAMES as ELEMENT_NAMES;
use elements::{Elements, Wanted};
use reading::{Item, Problems};

/// Reads the files and prints them in the format asked for.
pub fn main(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let files: Vec<PathBuf> = arguments.get_many("FILE").into_iter().flatten().cloned().collect();
    if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::usage("- is standard input, which can be read once: name it once"));
    }
    let format = arguments.get_one::<String>("format").map_or("text", String::as_str);
    let given: Option<PathBuf> = arguments.get_one("dumps").cloned();
    let elements = arguments.get_one::<String>("as").and_then(|name| Elements::named(name));
    if given.is_some() && elements.is_none() {
        return Err(Failure::usage("--dumps is where --as reads: name a type with --as"));
    }
    let elements = elements.map(|kind| Wanted::new(kind, &files, given));
    let mut output = BufWriter::with_capacity(UNSENT, io::stdout().lock());
    let result = if arguments.get_flag("diff") {
        let [before, after] = &files[..] else {
            return Err(Failure::usage("--diff compares two reports: name two files"));
        };
        if elements.is_some() || !matches!(format, "text" | "json") {
            return Err(Failure::usage("--diff answers in text or json, without --as"));
        }
        compare(before, after, format, &mut output)
    } else {
        if elements.is_some() && format != "text" {
            return Err(Failure::usage(format!("--as shows numbers in text: not with --format {format}")));
        }
        print(&files, format, arguments.get_flag("verbose"), elements.as_ref(), &mut output)
    };
    // What is left in it is the beginning of an answer that does not come.
    let _beginning = output.into_parts();
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(ReportError::Unread) => Err(Failure { message: None, ..Failure::cannot_answer("") }),
        Err(ReportError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(ReportError::Output(error)) => {
            Err(Failure::cannot_answer(format!("cannot write the answer: {error}")))
        }
        Err(ReportError::Input(message)) => Err(Failure::cannot_answer(message)),
    }
}

/// Bytes of an answer that are kept back: more than what stands in front of the first record in any format.
const UNSENT: usize = 1 << 18;

enum ReportError {
    /// Files could not be read, as has been said; where any could, the answer is given.
    Unread,
    Input(String),
    Output(io::Error),
}

impl From<io::Error> for ReportError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// What ended the reading of a report.
enum Stop {
    Input(io::Error),
    Output(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Input(error)
    }
}

fn print(
    files: &[PathBuf],
    format: &str,
    verbose: bool,
    elements: Option<&Wanted>,
    mut output: impl Write,
) -> Result<(), ReportError> {
    let mut aggregate = Aggregate::with_examples(matches!(format, "text" | "json"));
    match format {
        "csv" => {
            csv::header(&mut output)?;
            read_all(files, &mut aggregate, |_, process, dispatch| {
                csv::line(&mut output, process, dispatch)
            })?;
            say_problems(&aggregate);
        }
        "json" => {
            read_all(files, &mut aggregate, |_, _, _| Ok(()))?;
            json::print(&mut output, &aggregate)?;
        }
        "html" => {
            let mut page = html::Page::begin(&mut output)?;
            read_all(files, &mut aggregate, |aggregate, process, dispatch| {
                page.dispatch(aggregate, process, dispatch)
            })?;
            page.end(&aggregate)?;
            say_problems(&aggregate);
        }
        "trace" => {
            let mut trace = trace::Trace::begin(&mut output)?;
            read_all(files, &mut aggregate, |aggregate, process, dispatch| {
                trace.dispatch(aggregate, process, dispatch)
            })?;
            if let Some(remark) = trace.end()? {
                say(remark);
            }
            say_problems(&aggregate);
        }
        _ => {
            let mut output = Text(&mut output);
            let mut dispatches = text::Dispatches::new(verbose, elements);
            read_all(files, &mut aggregate, |aggregate, process, dispatch| {
                dispatches.print(&mut output, aggregate, process, dispatch)
            })?;
            text::print(&mut output, &aggregate, verbose, elements)?;
        }
    }
    if aggregate.is_empty() && aggregate.unreadable.len() == files.len() {
        return Err(ReportError::Unread);
    }
    output.flush()?;
    refuse_if_no_report(files, &aggregate)?;
    if aggregate.unreadable.is_empty() { Ok(()) } else { Err(ReportError::Unread) }
}

fn compare(before: &Path, after: &Path, format: &str, mut output: impl Write) -> Result<(), ReportError> {
    let [mut earlier, mut later] = [diff::Results::default(), diff::Results::default()];
    let first = one_of_two(before, |process, dispatch| earlier.add(process, dispatch))?;
    let second = one_of_two(after, |process, dispatch| later.add(process, dispatch))?;
    diff::print(&mut output, [&first, &second], [earlier, later], format == "json")?;
    output.flush()?;
    Ok(())
}

/// Reads one of the two reports that are compared.
fn one_of_two(path: &Path, mut each: impl FnMut(usize, &Dispatch)) -> Result<Aggregate, ReportError> {
    let mut aggregate = Aggregate::default();
    let files = [path.to_owned()];
    read_all(&files, &mut aggregate, |_, process, dispatch| {
        each(process, dispatch);
        Ok(())
    })?;
    if !aggregate.unreadable.is_empty() {
        return Err(ReportError::Unread);
    }
    say_problems(&aggregate);
    refuse_if_no_report(&files, &aggregate)?;
    if aggregate.is_empty() {
        say(format_args!("{} holds no record: there is nothing to compare with", listed(&files)));
    }
    Ok(aggregate)
}

fn say_problems(aggregate: &Aggregate) {
    for problem in aggregate.problem_lines() {
        say(problem);
    }
}

fn refuse_if_no_report(files: &[PathBuf], aggregate: &Aggregate) -> Result<(), ReportError> {
    if aggregate.is_empty() && aggregate.problem_count > 0 {
        return Err(ReportError::Input(format!(
            "no record in {}: not a report of hsa-replay",
            listed(files)
        )));
    }
    Ok(())
}

/// Reads all files one after the other; `each` sees every dispatch record with the index of its process. What cannot be read is said
/// and noted, and the rest is read.
fn read_all(
    files: &[PathBuf],
    aggregate: &mut Aggregate,
    mut each: impl FnMut(&Aggregate, usize, &Dispatch) -> io::Result<()>,
) -> Result<(), ReportError> {
    for path in files {
        aggregate.processes.begin_file();
        let mut problems = Problems::default();
        let read = input::open(path).map_err(Stop::Input).and_then(|input| {
            reading::read(input, &mut problems, |item| {
                let record = match item {
                    Item::Record(record) => record,
                    Item::Torn(torn) => {
                        aggregate.add_torn(torn);
                        return Ok(());
                    }
                };
                let added = aggregate.add(&record);
                if let (Record::Dispatch(dispatch), Some(process)) = (&record, added) {
                    each(aggregate, process, dispatch).map_err(Stop::Output)?;
                }
                Ok(())
            })
        });
        let error = match read {
            Ok(()) => None,
            Err(Stop::Input(error)) => Some(error),
            Err(Stop::Output(error)) => return Err(ReportError::Output(error)),
        };
        if let Some(error) = &error {
            say(format_args!("{}: {error}", name_of(&path)));
        }
        aggregate.finish_file(path, problems, error);
    }
    Ok(())
}

fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|path| name_of(&path).to_string()).collect::<Vec<_>>().join(", ")
}
