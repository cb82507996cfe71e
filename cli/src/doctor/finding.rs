//! What the doctor found: one line each, with the line to type where something is wrong.

use std::io::{self, Write};

use hsa_replay_contract::text::shown;
use serde::Serialize;

use crate::output::Json;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Options in environment and config file.
    Settings,
    /// Our library.
    Library,
    /// The program that was named.
    Program,
    /// The real HSA runtime.
    Runtime,
    /// Driver, device files and agents.
    Device,
    /// Other things that may take part.
    Surroundings,
}

/// How good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// In the way.
    Problem,
}

/// One thing found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What it is about.
    pub subject: Subject,
    /// How good it is.
    pub level: Level,
    /// What was found, in one line.
    pub text: String,
    /// What to do or type; null where nothing needs to be done, never for a problem.
    pub advice: Option<String>,
}

impl Finding {
    /// Something as it should be.
    pub fn ok(subject: Subject, text: impl Into<String>) -> Self {
        Self { subject, level: Level::Ok, text: text.into(), advice: None }
    }

    /// Something worth knowing.
    pub fn note(subject: Subject, text: impl Into<String>) -> Self {
        Self { level: Level::Note, ..Self::ok(subject, text) }
    }

    /// Something in the way, and what to do or type about it.
    pub fn problem(subject: Subject, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { level: Level::Problem, ..Self::ok(subject, text) }.advise(advice)
    }

    /// The same, with what to do.
    #[must_use]
    pub fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Library => "library",
            Self::Program => "program",
            Self::Runtime => "runtime",
            Self::Device => "device",
            Self::Surroundings => "surroundings",
        }
    }
}

/// Prints findings for people.
pub fn print_text(output: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    for finding in findings {
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Problem => "PROBLEM",
        };
        writeln!(output, "{level:<8} {:<13} {}", finding.subject.name(), shown(&finding.text))?;
        if let Some(advice) = &finding.advice {
            writeln!(output, "{:22} -> {}", "", shown(advice))?;
        }
    }
    match problems(findings) {
        0 => writeln!(output, "\nno problem found"),
        1 => writeln!(output, "\n1 problem found"),
        count => writeln!(output, "\n{count} problems found"),
    }
}

/// Prints findings as one JSON object.
pub fn print_json(output: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        version: &'static str,
        problems: usize,
        findings: &'a [Finding],
    }
    let document = Document { version: hsa_replay_contract::VERSION, problems: problems(findings), findings };
    serde_json::to_writer_pretty(Json::new(&mut *output), &document)?;
    writeln!(output)
}

fn problems(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.level == Level::Problem).count()
}
