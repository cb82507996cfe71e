//! Files of `--dump-writes`: what lay in a written region before and after the first pass.
//!
//! A file is one line of JSON, the [`DumpHeader`], and behind it for each span its bytes before, then its bytes after.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::record::WriteKind;
use crate::size_signal::SizeSignalHeld;

/// Version of the dump format.
pub const DUMP_VERSION: u32 = 1;

/// Spans begin and end at multiples of this, where the region does: whole elements of any plain type are in the file.
pub const DUMP_GRAIN: u64 = 16;

/// The most bytes that the dumps of one dispatch hold of memory after the pass, and again of memory before it.
pub const MAX_DUMPED: u64 = 64 << 20;

/// A header longer than this is none.
const LONGEST_HEADER: u64 = 16 << 20;

/// Attempts at a name that is not taken.
const NAMES: u32 = 10_000;

/// The first line of a dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpHeader {
    /// Version of the format: [`DUMP_VERSION`].
    pub hsa_replay_dump: u32,
    /// The process.
    pub pid: u32,
    /// The dispatch record's number.
    pub id: u64,
    /// The kernel's demangled signature.
    pub kernel: String,
    /// Ordinal of this kernel's dispatch in the process.
    pub launch: u64,
    /// As in the record's `writes`.
    pub kind: WriteKind,
    /// As in the record's `writes`.
    pub name: Option<String>,
    /// As in the record's `writes`.
    pub arg: Option<u32>,
    /// As in the record's `writes`.
    pub base: u64,
    /// As in the record's `writes`.
    pub size: u64,
    /// What the file holds, as offset from `base` and length, ascending: the written ranges, rounded out to multiples of 16.
    pub spans: Vec<[u64; 2]>,
    /// Whether all written ranges are there; false where the limit of one dispatch was reached.
    pub complete: bool,
}

/// One span of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedSpan {
    /// Offset of its first byte from the region's base.
    pub offset: u64,
    /// What lay there before the first pass.
    pub before: Vec<u8>,
    /// What the first pass left.
    pub after: Vec<u8>,
}

/// Ranges of a region of `size` bytes, rounded out to [`DUMP_GRAIN`] and joined where they then touch, as far as `room` bytes
/// reach; and whether that is all of them.
pub fn dump_spans(ranges: &[[u64; 2]], size: u64, room: u64) -> (Vec<[u64; 2]>, bool) {
    let mut spans: Vec<[u64; 2]> = Vec::new();
    let mut left = room;
    for &[offset, length] in ranges {
        let covered = spans.last().map_or(0, |[start, length]| start + length);
        let start = (offset - offset % DUMP_GRAIN).max(covered);
        let end = (offset + length).next_multiple_of(DUMP_GRAIN).min(size);
        if end <= start {
            continue;
        }
        let taken = (end - start).min(left - left % DUMP_GRAIN);
        if taken > 0 {
            match spans.last_mut() {
                Some(last) if covered == start => last[1] += taken,
                _ => spans.push([start, taken]),
            }
        }
        left -= taken;
        if taken < end - start {
            return (spans, false);
        }
    }
    (spans, true)
}

/// A dump's name without its number and ending.
fn stem(pid: u32, id: u64, base: u64) -> String {
    format!("{pid}-{id}-{base:x}")
}

/// Whether the dump of this region of this dispatch can be called `name`.
pub fn is_dump_name(name: &OsStr, pid: u32, id: u64, base: u64) -> bool {
    let number = name
        .to_str()
        .and_then(|name| name.strip_prefix(&stem(pid, id, base)))
        .and_then(|rest| rest.strip_suffix(".dump"));
    number.is_some_and(|number| match number.strip_prefix('.') {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => number.is_empty(),
    })
}

/// A dump that is being written.
#[derive(Debug)]
pub struct DumpWriter {
    path: PathBuf,
    output: BufWriter<File>,
    /// Dropped last: what is left in the buffer is written when the output is dropped.
    _held: SizeSignalHeld,
}

impl DumpWriter {
    /// Makes `folder` if it is not there, and in it a new file for this region, `PID-ID-BASE.dump` with the base in
    /// hexadecimal digits; where that is taken, a number follows it.
    pub fn create(folder: &Path, header: &DumpHeader) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let stem = stem(header.pid, header.id, header.base);
        for number in 0..NAMES {
            let name = if number == 0 { format!("{stem}.dump") } else { format!("{stem}.{number}.dump") };
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let mut writer =
                        Self { path, output: BufWriter::new(file), _held: SizeSignalHeld::new() };
                    serde_json::to_writer(&mut writer.output, header)?;
                    writer.output.write_all(b"\n")?;
                    return Ok(writer);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{stem}.dump and {} further names are taken", NAMES - 1)))
    }

    /// Adds the next bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    /// Ends the file and gives its name.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        self.output.flush()?;
        Ok(self.path)
    }
}

/// A dump that is read, one span after the other.
#[derive(Debug)]
pub struct DumpReader {
    header: DumpHeader,
    input: BufReader<File>,
    next: usize,
}

impl DumpReader {
    /// Opens a dump and reads its header. Follows no link and waits for nothing: whoever names the file may mean harm.
    pub fn open(path: &Path) -> io::Result<Self> {
        let careful = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        let careful = i32::try_from(careful).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(careful).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("is not a regular file"));
        }
        let mut input = BufReader::new(file);
        let mut line = Vec::new();
        input.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line)?;
        let no_dump = |why: &str| io::Error::other(format!("is not a dump of hsa-replay: {why}"));
        let header: DumpHeader =
            serde_json::from_slice(&line).map_err(|_| no_dump("its first line is no header of one"))?;
        if header.hsa_replay_dump != DUMP_VERSION {
            return Err(no_dump(&format!("version {}", header.hsa_replay_dump)));
        }
        let (mut end, mut held) = (0, 0_u64);
        for &[offset, length] in &header.spans {
            let inside = offset.checked_add(length).filter(|last| offset >= end && *last <= header.size);
            end = inside.ok_or_else(|| no_dump("its spans do not lie in the region"))?;
            held += length;
        }
        if held > MAX_DUMPED {
            return Err(no_dump("its spans are longer than those of a dump"));
        }
        Ok(Self { header, input, next: 0 })
    }

    /// What the dump is of.
    pub fn header(&self) -> &DumpHeader {
        &self.header
    }

    fn bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(length).read_to_end(&mut bytes)?;
        if u64::try_from(read).is_ok_and(|read| read == length) {
            Ok(bytes)
        } else {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the dump is cut off"))
        }
    }
}

impl Iterator for DumpReader {
    type Item = io::Result<DumpedSpan>;

    fn next(&mut self) -> Option<Self::Item> {
        let &[offset, length] = self.header.spans.get(self.next)?;
        self.next += 1;
        let before = match self.bytes(length) {
            Ok(before) => before,
            Err(error) => {
                self.next = usize::MAX;
                return Some(Err(error));
            }
        };
        let after = match self.bytes(length) {
            Ok(after) => after,
            Err(error) => {
                self.next = usize::MAX;
                return Some(Err(error));
            }
        };
        Some(Ok(DumpedSpan { offset, before, after }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_hold_whole_elements_and_are_joined_where_they_touch() {
        assert_eq!(dump_spans(&[[0, 3], [17, 1], [64, 4]], 68, 1 << 20), (vec![[0, 32], [64, 4]], true));
        assert_eq!(dump_spans(&[[4, 1], [9, 1]], 100, 1 << 20), (vec![[0, 16]], true));
        assert_eq!(dump_spans(&[], 100, 1 << 20), (vec![], true));
    }

    #[test]
    fn a_dump_has_the_name_of_its_dispatch_and_region() {
        let header = DumpHeader {
            hsa_replay_dump: DUMP_VERSION,
            pid: 7,
            id: 3,
            kernel: String::new(),
            launch: 0,
            kind: WriteKind::Allocation,
            name: None,
            arg: None,
            base: 0xab,
            size: 0,
            spans: vec![],
            complete: true,
        };
        let folder = tempfile::tempdir().expect("folder");
        for _ in 0..3 {
            let path =
                DumpWriter::create(folder.path(), &header).and_then(DumpWriter::finish).expect("a file");
            assert!(is_dump_name(path.file_name().expect("a name"), 7, 3, 0xab), "{path:?}");
        }
        for other in ["passwd", "7-3-ab", "7-3-ab.dump.1", "7-3-ab..dump", "7-3-ab.+1.dump", "7-3-abc.dump"] {
            assert!(!is_dump_name(OsStr::new(other), 7, 3, 0xab), "{other}");
        }
    }

    #[test]
    fn a_link_and_a_pipe_are_not_opened_as_dumps_and_an_enormous_one_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
        let header = "{\"hsa_replay_dump\":1,\"pid\":1,\"id\":0,\"kernel\":\"\",\"launch\":0,\"kind\":\"allocation\",\
                      \"name\":null,\"arg\":null,\"base\":0,\"size\":99999999999,\"spans\":[[0,99999999999]],\"complete\":true}\n";
        std::fs::write(&file, header).expect("file");
        std::os::unix::fs::symlink(&file, &link).expect("link");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        for (path, said) in [(file, "longer than"), (link, "symbolic link"), (pipe, "not a regular file")] {
            let error = DumpReader::open(&path).expect_err("refused");
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn what_is_over_the_limit_is_left_out_and_said() {
        assert_eq!(dump_spans(&[[0, 64], [100, 4]], 200, 40), (vec![[0, 32]], false));
        assert_eq!(dump_spans(&[[0, 64]], 200, 0), (vec![], false));
        assert_eq!(dump_spans(&[[0, 64]], 200, 64), (vec![[0, 64]], true));
    }
}
