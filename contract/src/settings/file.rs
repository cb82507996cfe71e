//! The config file: TOML whose keys are the table's.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use toml::{Table, Value};

use super::{Given, Layer, SettingError, Source};
use crate::{OPTIONS, OptionSpec, ValueKind};

/// A larger file is not a config file.
const LARGEST: u64 = 1 << 20;

/// Reads a config file without ever waiting: pipes and devices are refused, and so is a file above 1 MiB.
pub fn read_config_file(path: &Path) -> io::Result<Vec<u8>> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let kind = file.metadata()?;
    if kind.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !kind.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST) {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// Parses the config file `path` of these bytes. A UTF-8 byte order mark in front is accepted.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Layer, SettingError> {
    let shown = crate::text::name_of(path).to_string();
    let text = std::str::from_utf8(bytes)
        .map_err(|_| SettingError::new(shown.clone(), "is not UTF-8 text: save it as UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: Table = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        SettingError::new(format!("{shown}: line {line}"), crate::text::shown(&message))
    })?;
    let mut layer = Layer::default();
    for (key, value) in &table {
        let spec = OptionSpec::by_key(key).ok_or_else(|| unknown_key(&shown, key))?;
        if spec.kind == ValueKind::Kinds && value.as_array().is_some_and(Vec::is_empty) {
            // No kind, which is the default too.
            continue;
        }
        let text = value_text(spec, value)
            .map_err(|problem| SettingError::new(format!("{shown}: {}", spec.key.unwrap_or(key)), problem))?;
        layer.set(spec.id, Given { text: text.into(), source: Source::File(path.to_owned()) });
    }
    Ok(layer)
}

fn unknown_key(file: &str, key: &str) -> SettingError {
    let known: Vec<&str> = OPTIONS.iter().filter_map(|spec| spec.key).collect();
    let key = crate::text::shorten(key, 40);
    SettingError::new(format!("{file}: {key}"), format!("unknown key; the keys are {}", known.join(", ")))
}

/// The value as the text that a variable would hold, if its type fits the option.
fn value_text(spec: &OptionSpec, value: &Value) -> Result<String, String> {
    match (spec.kind, value) {
        (ValueKind::Switch, Value::Boolean(on)) => Ok(on.to_string()),
        (ValueKind::Passes | ValueKind::Count | ValueKind::Size | ValueKind::Duration, Value::Integer(n)) => {
            Ok(n.to_string())
        }
        (ValueKind::Duration, Value::Float(seconds)) => Ok(seconds.to_string()),
        (
            ValueKind::Regex | ValueKind::Path | ValueKind::Text | ValueKind::Size | ValueKind::Duration,
            Value::String(text),
        ) => Ok(text.clone()),
        (ValueKind::Kinds, Value::String(text)) => Ok(text.clone()),
        (ValueKind::Kinds, Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().ok_or_else(|| format!("must be {}", wanted(spec.kind))))
            .collect::<Result<Vec<_>, _>>()
            .map(|names| names.join(",")),
        (kind, value) => Err(format!("must be {}, not {}", wanted(kind), type_name(value))),
    }
}

fn wanted(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Switch => "true or false",
        ValueKind::Passes | ValueKind::Count => "a whole number",
        ValueKind::Size => "a number of bytes or a string such as \"2G\"",
        ValueKind::Duration => "a number of seconds or a string such as \"2m\"",
        ValueKind::Kinds => "an array of strings",
        ValueKind::Regex | ValueKind::Path | ValueKind::Text => "a string",
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "an array",
        Value::Table(_) => "a table",
    }
}
