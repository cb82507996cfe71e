//! Reading reports: one record at a time, whatever happened to the file.
//!
//! A last line that was cut off, lines that are not records and lines beyond any sensible length are counted and
//! described, and reading goes on behind them. Memory stays bounded by the longest line accepted.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use crate::Record;
use crate::record::{Begin, Dispatch, SCHEMA_VERSION, Session, Summary};
use crate::text::shorten;

/// The longest line accepted, in bytes.
pub const LONGEST_LINE: usize = 64 << 20;

/// The most problems that are kept with their description.
const DESCRIBED: usize = 16;

/// How much is kept of a line that is longer than any record: whose it was stands at its beginning.
const KEPT: usize = 4096;

/// How every record begins, as the writer writes it.
const START: &[u8] = b"{\"record\":\"";

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The last line has no end: the process died while writing it.
    Truncated,
    /// The line is not a record.
    Corrupt,
    /// The line is longer than any record.
    TooLong,
    /// The line is a record that this version does not know, or has a value that it does not know.
    Unknown,
}

/// A line that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its number, from 1.
    pub line: u64,
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// What is wrong.
    pub kind: ProblemKind,
    /// The same for people, in one line.
    pub detail: String,
}

/// A dispatch record that is cut off or overwritten behind its beginning, which tells whose it was, or that a later version wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornDispatch {
    /// The process.
    pub pid: u32,
    /// The record's number.
    pub id: u64,
}

/// Iterates over the records of a report. An I/O error is returned once and ends the iteration.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    buffer: Vec<u8>,
    longest: usize,
    line: u64,
    /// Offset of the current line, and of the next one.
    offset: u64,
    position: u64,
    torn: Vec<TornDispatch>,
    problems: Vec<Problem>,
    problem_count: u64,
    failed: bool,
}

enum Line {
    Whole,
    Unended,
    TooLong,
    End,
}

impl<R: BufRead> Reader<R> {
    /// Reads records from `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            longest: LONGEST_LINE,
            line: 0,
            offset: 0,
            position: 0,
            torn: Vec::new(),
            problems: Vec::new(),
            problem_count: 0,
            failed: false,
        }
    }

    /// Accepts lines of up to `bytes` bytes.
    #[must_use]
    pub fn longest_line(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Counts lines and bytes from these on, for an input that is a part of another.
    #[must_use]
    pub fn starting_behind(mut self, lines: u64, bytes: u64) -> Self {
        (self.line, self.position) = (lines, bytes);
        self
    }

    /// The first lines so far that could not be used.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many lines so far could not be used.
    pub fn problem_count(&self) -> u64 {
        self.problem_count
    }

    /// Number of the line read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The dispatch records met since the last call of which only the beginning is left.
    pub fn take_torn(&mut self) -> Vec<TornDispatch> {
        std::mem::take(&mut self.torn)
    }

    fn note(&mut self, kind: ProblemKind, detail: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < DESCRIBED {
            self.problems.push(Problem { line: self.line, offset: self.offset, kind, detail: detail.into() });
        }
    }

    /// Reads the next line into the buffer, without its end.
    fn read_line(&mut self) -> io::Result<Line> {
        self.buffer.clear();
        self.offset = self.position;
        let mut too_long = false;
        let mut any = false;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(match (any, too_long) {
                    (false, _) => Line::End,
                    (true, true) => Line::TooLong,
                    (true, false) => Line::Unended,
                });
            }
            any = true;
            let end = memchr::memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            too_long |= self.buffer.len() + part.len() > self.longest;
            if !too_long {
                self.buffer.extend_from_slice(part);
            } else if self.buffer.len() < KEPT {
                let room = (KEPT - self.buffer.len()).min(part.len());
                self.buffer.extend_from_slice(&part[..room]);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.position += used as u64;
            if end.is_some() {
                return Ok(if too_long { Line::TooLong } else { Line::Whole });
            }
        }
    }

    /// The record in the buffer, if there is one; notes what is wrong otherwise.
    fn parse(&mut self, ended: bool) -> Option<Record> {
        let buffer = std::mem::take(&mut self.buffer);
        let line = buffer.strip_prefix(b"\xef\xbb\xbf").filter(|_| self.line == 1).unwrap_or(&buffer);
        if line.trim_ascii().is_empty() {
            return None;
        }
        let record = match parse_line(line) {
            Ok(record) => Some(record),
            Err((ProblemKind::Unknown, detail)) => {
                // The dispatch came to its end, whatever the record says of it.
                self.torn.extend(torn_dispatch(line));
                self.note(ProblemKind::Unknown, detail);
                None
            }
            Err((kind, detail)) => {
                // A process that died inside a line leaves the next process's record behind the torn one.
                self.torn.extend(torn_dispatch(line));
                let salvaged = last_start(line).and_then(|at| parse_line(&line[at..]).ok());
                if salvaged.is_none() && !ended {
                    self.note(ProblemKind::Truncated, "the last line is cut off");
                } else {
                    self.note(kind, detail);
                }
                salvaged
            }
        };
        if let Some(Record::Session(session)) = &record
            && session.schema > SCHEMA_VERSION
        {
            let detail = format!(
                "written by a newer version (schema {} above {SCHEMA_VERSION}): some of it may be misread",
                session.schema
            );
            self.note(ProblemKind::Unknown, detail);
        }
        self.buffer = buffer;
        record
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            self.line += 1;
            let ended = match self.read_line() {
                Ok(Line::Whole) => true,
                Ok(Line::Unended) => false,
                Ok(Line::TooLong) => {
                    let detail = format!("the line is longer than {} bytes", self.longest);
                    self.note(ProblemKind::TooLong, detail);
                    self.torn.extend(torn_dispatch(&self.buffer));
                    continue;
                }
                Ok(Line::End) => return None,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            };
            if let Some(record) = self.parse(ended) {
                return Some(Ok(record));
            }
        }
        None
    }
}

/// Parses one line. The tag is looked at first, since serde would copy a tagged record before parsing it.
fn parse_line(line: &[u8]) -> Result<Record, (ProblemKind, String)> {
    #[derive(Deserialize)]
    struct Tag {
        record: String,
    }

    let tag = match line.strip_prefix(START).and_then(|rest| rest.split(|&byte| byte == b'"').next()) {
        Some(tag) => String::from_utf8_lossy(tag).into_owned(),
        None => parse_as::<Tag>(line)?.record,
    };
    Ok(match tag.as_str() {
        "session" => Record::Session(Box::new(parse_as::<Session>(line)?)),
        "begin" => Record::Begin(parse_as::<Begin>(line)?),
        "dispatch" => Record::Dispatch(Box::new(parse_as::<Dispatch>(line)?)),
        "summary" => Record::Summary(parse_as::<Summary>(line)?),
        _ => {
            let tag = shorten(&tag, 40);
            parse_as::<IgnoredAny>(line)?;
            return Err((ProblemKind::Unknown, format!("no record of this version is called \"{tag}\"")));
        }
    })
}

fn parse_as<T: DeserializeOwned>(line: &[u8]) -> Result<T, (ProblemKind, String)> {
    serde_json::from_slice(line).map_err(|error| {
        // The format's lists grow: a word that is not in one of them is a later version's, unless the line is torn in it.
        let later = error.is_data()
            && error.to_string().starts_with("unknown variant `")
            && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        let kind = if later { ProblemKind::Unknown } else { ProblemKind::Corrupt };
        (kind, in_words(line, &error))
    })
}

/// What is wrong with a line, in terms of the format: fields and their values, not types of this program.
fn in_words(line: &[u8], error: &serde_json::Error) -> String {
    let place = error.column();
    match error.classify() {
        Category::Syntax => format!("is not JSON from its byte {place} on"),
        Category::Eof => "is cut off: its JSON does not end".to_owned(),
        Category::Io => "cannot be read".to_owned(),
        Category::Data if !line.trim_ascii_start().starts_with(b"{") => "is not a JSON object".to_owned(),
        Category::Data => {
            // The only part of the message that a reader of the report can use is a field's name.
            let message = error.to_string();
            let named = |what: &str| Some(message.strip_prefix(what)?.split('`').next()?.to_owned());
            if let Some(field) = named("missing field `") {
                return format!("lacks the field \"{field}\"");
            }
            if let Some(field) = named("duplicate field `") {
                return format!("has the field \"{field}\" twice");
            }
            match field_before(line, place) {
                Some(field) => {
                    format!("has a value of \"{field}\" that this version does not know (byte {place})")
                }
                None => format!("is no record of this version from its byte {place} on"),
            }
        }
    }
}

/// The field whose value ends at this place of a line.
fn field_before(line: &[u8], place: usize) -> Option<String> {
    let before = line.get(..place.min(line.len()))?;
    let end = memchr::memmem::rfind(before, b"\":")?;
    let start = memchr::memrchr(b'"', &before[..end])? + 1;
    Some(shorten(&String::from_utf8_lossy(&before[start..end]), 40))
}

/// Whose dispatch record a line that is no record begins with, if that much of it is whole.
fn torn_dispatch(line: &[u8]) -> Option<TornDispatch> {
    let rest = line.strip_prefix(START)?.strip_prefix(b"dispatch\",\"pid\":")?;
    let (pid, rest) = number(rest)?;
    let (id, _) = number(rest.strip_prefix(b"\"id\":")?)?;
    Some(TornDispatch { pid: u32::try_from(pid).ok()?, id })
}

/// The number that a comma follows, and what is behind that.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = memchr::memchr(b',', text)?;
    let number = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    Some((number, &text[end + 1..]))
}

/// Where the last record begins, if that is not the line's start.
fn last_start(line: &[u8]) -> Option<usize> {
    let at = memchr::memmem::rfind(line, START)?;
    (at > 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    #[test]
    fn an_endless_line_takes_no_more_memory_than_the_longest_line_accepted() {
        let endless = b"{\"record\":\"begin\"".chain(io::repeat(b'x').take(10 << 20));
        let mut reader = Reader::new(BufReader::new(endless)).longest_line(1 << 16);
        assert!(reader.next().is_none() && reader.position > 10 << 20);
        // A list that grows may have twice the room that it needs.
        assert!(reader.buffer.capacity() <= 2 << 16, "{}", reader.buffer.capacity());
    }
}
