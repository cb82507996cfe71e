//! The report as a trace for Perfetto and `chrome://tracing`: the JSON object format of the Trace Event Format.
//!
//! A process of the trace is a process of the report, a thread of it one queue of one agent. A complete event (`X`) spans each
//! window, and within it each stage. Times are microseconds with three decimals, from a base that `otherData` names: a
//! double cannot hold nanoseconds since 1970.

use std::collections::HashMap;
use std::io::{self, Write};

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::{Stage, StageTime, Window};
use serde::Serialize;
use serde_json::{Value, json};

use super::aggregate::Aggregate;
use super::units::{counted, shorten};
use crate::output::Json;

/// The longest that a kernel's name gets in an event.
const NAME_WIDTH: usize = 200;

/// How far before the first window times begin, so that windows of other files that began earlier stay above zero.
const LEAD_NS: u64 = 24 * 3600 * 1_000_000_000;

/// A trace that is being written.
#[derive(Debug)]
pub struct Trace<'a, W: Write> {
    output: Json<&'a mut W>,
    /// What times count from, once known.
    base: Option<u64>,
    any: bool,
    threads: HashMap<(usize, u32, u64), u32>,
    /// Number of threads so far of each process number.
    numbers: HashMap<u32, u32>,
    /// Dispatches without times.
    untimed: u64,
}

#[derive(Serialize)]
struct Event {
    name: String,
    cat: &'static str,
    ph: &'static str,
    ts: Value,
    dur: Value,
    pid: u32,
    tid: u32,
    args: Value,
}

impl<'a, W: Write> Trace<'a, W> {
    /// Begins the object.
    pub fn begin(output: &'a mut W) -> io::Result<Self> {
        output.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self {
            output: Json::new(output),
            base: None,
            any: false,
            threads: HashMap::new(),
            numbers: HashMap::new(),
            untimed: 0,
        })
    }

    /// Adds the events of one dispatch.
    pub fn dispatch(&mut self, aggregate: &Aggregate, process: usize, dispatch: &Dispatch) -> io::Result<()> {
        let Some(window) = &dispatch.window else {
            self.untimed += 1;
            return Ok(());
        };
        let base = *self.base.get_or_insert(window.start_unix_ns.saturating_sub(LEAD_NS));
        let start = i128::from(window.start_unix_ns) - i128::from(base);
        let tid = self.thread(aggregate, process, dispatch)?;
        let event = |name: String, cat, start, ns: u64, args| Event {
            name,
            cat,
            ph: "X",
            ts: microseconds(start),
            dur: microseconds(i128::from(ns)),
            pid: dispatch.pid,
            tid,
            args,
        };
        let name = shorten(&dispatch.kernel, NAME_WIDTH);
        let args = json!({
            "id": dispatch.id,
            "range": dispatch.range.as_deref().map(|range| shorten(range, NAME_WIDTH)),
            "launch": dispatch.launch,
            "outcome": dispatch.outcome.name(),
            "reason": dispatch.reason.map(|reason| reason.name()),
            "detail": dispatch.detail.as_deref().map(|detail| shorten(detail, NAME_WIDTH)),
            "allowed": dispatch.allowed.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
            "passes": dispatch.passes.len(),
            "deterministic": dispatch.deterministic,
            "changed_bytes": dispatch.changed_bytes(),
        });
        self.event(&event(name, "window", start, window_ns(window), args))?;
        for stage in &window.stages {
            let name = match stage.pass {
                Some(pass) if stage.stage == Stage::Pass => format!("pass {pass}"),
                _ => stage.stage.name().to_owned(),
            };
            let at = start + i128::from(stage.start_ns);
            self.event(&event(name, stage.stage.name(), at, stage.ns, stage_args(dispatch, stage)))?;
        }
        Ok(())
    }

    /// Ends the object; gives a remark on what is not in it.
    pub fn end(mut self) -> io::Result<Option<String>> {
        write!(self.output, "],\"otherData\":")?;
        let data = json!({ "generator": "hsa-replay report", "base_unix_ns": self.base });
        serde_json::to_writer(&mut self.output, &data)?;
        writeln!(self.output, "}}")?;
        Ok((self.untimed > 0).then(|| {
            format!(
                "{} not in the trace: their records have no times (written by an earlier version)",
                counted(self.untimed, "dispatch")
            )
        }))
    }

    /// The number of a queue's thread, named when it is first met.
    fn thread(&mut self, aggregate: &Aggregate, process: usize, dispatch: &Dispatch) -> io::Result<u32> {
        let key = (process, dispatch.agent, dispatch.queue);
        if let Some(&tid) = self.threads.get(&key) {
            return Ok(tid);
        }
        let number = self.numbers.entry(dispatch.pid).or_default();
        *number += 1;
        let tid = *number;
        self.threads.insert(key, tid);
        let owner = aggregate.processes.get(process);
        let session = owner.and_then(|process| process.session());
        let agent =
            session.and_then(|session| session.agents.iter().find(|agent| agent.index == dispatch.agent));
        let target =
            agent.map(|agent| format!(" ({})", shorten(&agent.name, NAME_WIDTH))).unwrap_or_default();
        let label = owner.map(|process| process.label()).unwrap_or_default();
        // Two sessions of one process number share the trace's process.
        let which = label.split_once(' ').map(|(_, session)| format!(" {session}")).unwrap_or_default();
        let thread = format!("agent {}{target} queue {}{which}", dispatch.agent, dispatch.queue);
        for (name, value) in [("process_name", format!("process {}", dispatch.pid)), ("thread_name", thread)]
        {
            let args = json!({ "name": value });
            self.event(&json!({
                "name": name, "ph": "M", "pid": dispatch.pid, "tid": tid, "args": args
            }))?;
        }
        Ok(tid)
    }

    fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        self.output.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        Ok(serde_json::to_writer(&mut self.output, event)?)
    }
}

/// The window's time, at least until the end of its last stage.
fn window_ns(window: &Window) -> u64 {
    let end = window.stages.iter().map(|stage| stage.start_ns.saturating_add(stage.ns)).max().unwrap_or(0);
    window.ns.max(end)
}

fn stage_args(dispatch: &Dispatch, stage: &StageTime) -> Value {
    match stage.stage {
        Stage::Snapshot => json!({ "bytes": dispatch.snapshot.map(|snapshot| snapshot.bytes) }),
        Stage::Pass => {
            let pass = dispatch.passes.iter().find(|pass| Some(pass.index) == stage.pass);
            json!({
                "pass": stage.pass,
                "device_ns": pass.and_then(|pass| pass.ns),
                "device_ticks": pass.and_then(|pass| pass.ticks),
            })
        }
        _ => json!({ "pass": stage.pass }),
    }
}

/// Nanoseconds as microseconds, exact to the nanosecond as far as a double goes.
fn microseconds(ns: i128) -> Value {
    let text = format!(
        "{}{}.{:03}",
        if ns < 0 { "-" } else { "" },
        ns.unsigned_abs() / 1000,
        ns.unsigned_abs() % 1000
    );
    text.parse::<f64>().map_or(Value::Null, Value::from)
}
