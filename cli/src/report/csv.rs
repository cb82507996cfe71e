//! One line of comma-separated values per dispatch (RFC 4180); an unknown value is an empty field.

use std::io::{self, Write};

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::{Restore, Snapshot, TimeNs};
use hsa_replay_contract::text::shown;

/// The columns, in order.
pub const COLUMNS: &[&str] = &[
    "pid",
    "session",
    "id",
    "kernel",
    "symbol",
    "agent",
    "queue",
    "launch",
    "grid_x",
    "grid_y",
    "grid_z",
    "workgroup_x",
    "workgroup_y",
    "workgroup_z",
    "outcome",
    "reason",
    "detail",
    "allowed",
    "passes",
    "min_ns",
    "median_ns",
    "max_ns",
    "start_unix_ns",
    "window_ns",
    "snapshot_bytes",
    "snapshot_ns",
    "restore_bytes",
    "restore_ns",
    "changed_bytes",
    "deterministic",
    "range",
];

/// Prints the line of column names.
pub fn header(output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{}", COLUMNS.join(","))
}

/// Prints one dispatch of the process with the index `session`.
pub fn line(output: &mut impl Write, session: usize, dispatch: &Dispatch) -> io::Result<()> {
    let Dispatch { grid: [grid_x, grid_y, grid_z], workgroup: [group_x, group_y, group_z], .. } = dispatch;
    let time = |part: fn(&TimeNs) -> u64| number(dispatch.time_ns.as_ref().map(part));
    let snapshot = |part: fn(&Snapshot) -> u64| number(dispatch.snapshot.as_ref().map(part));
    let restore = |part: fn(&Restore) -> u64| number(dispatch.restore.as_ref().map(part));
    let fields = [
        dispatch.pid.to_string(),
        session.to_string(),
        dispatch.id.to_string(),
        quoted(&dispatch.kernel),
        quoted(&dispatch.symbol),
        dispatch.agent.to_string(),
        dispatch.queue.to_string(),
        dispatch.launch.to_string(),
        grid_x.to_string(),
        grid_y.to_string(),
        grid_z.to_string(),
        group_x.to_string(),
        group_y.to_string(),
        group_z.to_string(),
        dispatch.outcome.name().to_owned(),
        dispatch.reason.map(|reason| reason.name().to_owned()).unwrap_or_default(),
        quoted(dispatch.detail.as_deref().unwrap_or_default()),
        dispatch.allowed.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" "),
        dispatch.passes.len().to_string(),
        time(|time| time.min),
        time(|time| time.median),
        time(|time| time.max),
        number(dispatch.window.as_ref().map(|window| window.start_unix_ns)),
        number(dispatch.window.as_ref().map(|window| window.ns)),
        snapshot(|snapshot| snapshot.bytes),
        snapshot(|snapshot| snapshot.ns),
        restore(|restore| restore.bytes),
        restore(|restore| restore.ns),
        number(dispatch.changed_bytes()),
        dispatch.deterministic.map(|verdict| verdict.to_string()).unwrap_or_default(),
        quoted(dispatch.range.as_deref().unwrap_or_default()),
    ];
    debug_assert_eq!(fields.len(), COLUMNS.len());
    writeln!(output, "{}", fields.join(","))
}

fn number(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A field of text: what does not print is its escape, as in text, and what a spreadsheet would take for a formula has an
/// apostrophe in front. JSON has the text as it is.
fn quoted(text: &str) -> String {
    let apostrophe = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let text = shown(text);
    if text.contains([',', '"']) {
        format!("\"{apostrophe}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{apostrophe}{text}")
    }
}
