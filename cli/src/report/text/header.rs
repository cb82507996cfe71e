//! How a process began and ended.

use std::io::{self, Write};

use hsa_replay_contract::Session;
use hsa_replay_contract::text::name_of;

use super::super::processes::{End, Process, Processes};
use super::super::units::{counted, shorten, size};
use super::dimensions;
use super::dispatch::arguments;
use crate::run::closing::totals;
use crate::run::running::is_running;

/// The longest that a name gets here.
const WIDTH: usize = 300;

fn short(name: &str) -> String {
    shorten(name, WIDTH)
}

/// Prints one process: a line of who and where, its agents and settings, its end.
pub fn print(output: &mut impl Write, processes: &Processes, process: &Process) -> io::Result<()> {
    match process.session() {
        Some(session) => {
            let path = session.runtime.path.as_deref().map_or_else(|| "an unknown path".to_owned(), short);
            let version =
                session.runtime.version.as_deref().map_or_else(|| "of unknown version".to_owned(), short);
            writeln!(
                output,
                "process {}: hsa-replay {}, HSA runtime {version} ({path})",
                process.label(),
                short(&session.version)
            )?;
            if let Some(program) = program(session) {
                writeln!(output, "  program: {program}")?;
            }
            for agent in &session.agents {
                write!(output, "  agent {}: {}", agent.index, short(&agent.name))?;
                if let Some(node) = agent.node {
                    write!(output, ", node {node}")?;
                }
                if let Some(uuid) = &agent.uuid {
                    write!(output, ", {}", short(uuid))?;
                }
                writeln!(output)?;
            }
            writeln!(output, "  settings: {}", settings(session))?;
        }
        None => writeln!(output, "process {}: its session record is missing", process.label())?,
    }
    writeln!(output, "  {}", totals(&process.totals()))?;
    let running = process.end() == End::Abnormal && process.session().is_some_and(is_running);
    for begin in process.unfinished() {
        let name = shorten(&begin.kernel, 200);
        match process.end() {
            End::Orderly => {
                writeln!(output, "  the record of {name}, launch {} (#{}) is lost", begin.launch, begin.id)?;
            }
            End::Abnormal if running => {
                writeln!(
                    output,
                    "  is inside {name}, launch {} (#{} has no record yet)",
                    begin.launch, begin.id
                )?;
            }
            End::Replaced | End::Abnormal => {
                writeln!(
                    output,
                    "  ended inside {name}, launch {} (#{} has no record)",
                    begin.launch, begin.id
                )?;
                if let (Some(grid), Some(workgroup)) = (begin.grid, begin.workgroup) {
                    let [grid, workgroup] = [grid, workgroup].map(dimensions);
                    writeln!(output, "    grid {grid}, workgroup {workgroup}")?;
                }
                arguments(output, begin.arguments.as_deref(), "    ")?;
            }
        }
    }
    for begin in process.damaged() {
        let name = shorten(&begin.kernel, 200);
        writeln!(output, "  the record of {name}, launch {} (#{}) cannot be read", begin.launch, begin.id)?;
    }
    if process.repeated() > 0 {
        let repeated = counted(process.repeated(), "dispatch record");
        writeln!(output, "  {repeated} more than once in the reports: each counts once")?;
    }
    if let Some(other) = process.copy_of().and_then(|index| processes.get(index)) {
        writeln!(
            output,
            "  begins with the dispatch of process {}: the reports hold it twice",
            other.label()
        )?;
    }
    match process.end() {
        End::Orderly if process.missing() > 0 => {
            writeln!(output, "  {} missing: not all could be written", counted(process.missing(), "record"))
        }
        End::Orderly => Ok(()),
        End::Replaced => writeln!(
            output,
            "  another session of this number follows (exec, or the number was given again): counted from its records"
        ),
        End::Abnormal if running => {
            writeln!(output, "  still running: this is counted from its records so far")
        }
        End::Abnormal => writeln!(
            output,
            "  no summary: it ended abnormally, or is still running; this is counted from its records"
        ),
    }
}

/// The command line as a shell would take it, and the rank, as far as they are known.
fn program(session: &Session) -> Option<String> {
    let words = session.command.as_deref().unwrap_or_default();
    let line = words.iter().map(|word| name_of(word).to_string()).collect::<Vec<_>>().join(" ");
    let rank = session.rank.as_deref().map(|rank| format!("rank {}", short(rank)));
    match (line.is_empty(), rank) {
        (true, rank) => rank,
        (false, None) => Some(short(&line)),
        (false, Some(rank)) => Some(format!("{} ({rank})", short(&line))),
    }
}

fn settings(session: &Session) -> String {
    let config = &session.config;
    let mut parts = vec![counted(u64::from(config.passes), "pass")];
    if let Some(kernel) = &config.kernel {
        parts.push(format!("kernel {}", shorten(kernel, 100)));
    }
    if config.launch_skip > 0 {
        parts.push(format!("launch skip {}", config.launch_skip));
    }
    if let Some(count) = config.launch_count {
        parts.push(format!("launch count {count}"));
    }
    if !config.check {
        parts.push("no check".to_owned());
    }
    if let Some(folder) = &config.dump_writes {
        parts.push(format!("dump writes to {}", shorten(folder, 100)));
    }
    parts.push(format!("timeout {} s", config.timeout));
    if let Some(budget) = config.budget {
        parts.push(format!("budget {}", size(budget)));
    }
    if !config.allow.is_empty() {
        let kinds: Vec<&str> = config.allow.iter().map(|kind| kind.name()).collect();
        parts.push(format!("allow {}", kinds.join(", ")));
    }
    if let Some(waiting) = &config.waiting {
        parts.push(format!("waiting {}", shorten(waiting, 100)));
    }
    if config.strict {
        parts.push("strict".to_owned());
    }
    parts.join("; ")
}
