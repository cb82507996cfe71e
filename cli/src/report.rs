//! `hsa-replay report`: reads reports, one record at a time, and shows what they say.

mod aggregate;
mod csv;
mod json;
pub mod processes;
mod samples;
mod text;
pub mod units;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use hsa_replay_contract::report::Reader;
use hsa_replay_contract::{Dispatch, Record};

use crate::failure::{Failure, say};
use aggregate::Aggregate;

/// Reads the files and prints them in the format asked for.
pub fn main(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let files: Vec<PathBuf> = arguments.get_many("FILE").into_iter().flatten().cloned().collect();
    let format = arguments.get_one::<String>("format").map_or("text", String::as_str);
    let verbose = arguments.get_flag("verbose");
    let output = BufWriter::new(io::stdout().lock());
    match print(&files, format, verbose, output) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(ReportError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(ReportError::Output(error)) => {
            Err(Failure::cannot_answer(format!("cannot write the answer: {error}")))
        }
        Err(ReportError::Input(message)) => Err(Failure::cannot_answer(message)),
    }
}

enum ReportError {
    Input(String),
    Output(io::Error),
}

impl From<io::Error> for ReportError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn print(files: &[PathBuf], format: &str, verbose: bool, mut output: impl Write) -> Result<(), ReportError> {
    let mut aggregate = Aggregate::default();
    match format {
        "csv" => {
            csv::header(&mut output)?;
            read_all(files, &mut aggregate, |dispatch| csv::line(&mut output, dispatch))?;
            for problem in aggregate.problem_lines() {
                say(problem);
            }
        }
        "json" => {
            read_all(files, &mut aggregate, |_| Ok(()))?;
            json::print(&mut output, &aggregate)?;
        }
        _ => {
            let mut dispatches = text::Dispatches::new(verbose);
            read_all(files, &mut aggregate, |dispatch| dispatches.print(&mut output, dispatch))?;
            text::print(&mut output, &aggregate, verbose)?;
        }
    }
    output.flush()?;
    if aggregate.is_empty() && aggregate.problem_count > 0 {
        return Err(ReportError::Input(format!(
            "no record in {}: not a report of hsa-replay",
            listed(files)
        )));
    }
    Ok(())
}

/// Reads all files one after the other; `each` sees every dispatch record.
fn read_all(
    files: &[PathBuf],
    aggregate: &mut Aggregate,
    mut each: impl FnMut(&Dispatch) -> io::Result<()>,
) -> Result<(), ReportError> {
    for path in files {
        let input = open(path).map_err(|error| ReportError::Input(format!("{}: {error}", path.display())))?;
        let mut reader = Reader::new(input);
        for record in reader.by_ref() {
            let record =
                record.map_err(|error| ReportError::Input(format!("{}: {error}", path.display())))?;
            aggregate.add(&record);
            if let Record::Dispatch(dispatch) = &record {
                each(dispatch)?;
            }
        }
        aggregate.finish_file(path, &reader);
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin().lock())));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::other("is a directory: name a report"));
    }
    Ok(Box::new(BufReader::with_capacity(1 << 18, file)))
}

fn listed(files: &[PathBuf]) -> String {
    files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
