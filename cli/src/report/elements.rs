//! The bytes of a written region as numbers: `--as TYPE`, from the dumps of `run --dump-writes`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::Write as Written;
use hsa_replay_contract::report::DumpReader;

use super::dumps::{self, Folders};
use super::processes::Process;
use super::units::{counted, shorten};

/// Differences that are shown of one region.
const SHOWN: u64 = 16;

/// A plain type.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    name: &'static str,
    bytes: usize,
    show: fn(&[u8]) -> Option<String>,
}

/// A number for people.
trait Shown {
    fn shown(self) -> String;
}

macro_rules! shown {
    ($($float:ty)*; $($integer:ty)*) => {
        $(impl Shown for $float {
            /// With an exponent where zeros would hide the digits.
            fn shown(self) -> String {
                let size = f64::from(self).abs();
                if size.is_finite() && size != 0.0 && !(1e-4..1e9).contains(&size) {
                    format!("{self:e}")
                } else {
                    self.to_string()
                }
            }
        })*
        $(impl Shown for $integer {
            fn shown(self) -> String {
                self.to_string()
            }
        })*
    };
}

shown! { f16 bf16 f32 f64; i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! types {
    ($($name:literal $type:ty),* $(,)?) => {
        /// Every type.
        const TYPES: &[Elements] = &[$(Elements {
            name: $name,
            bytes: size_of::<$type>(),
            show: |bytes| Some(<$type>::from_le_bytes(bytes.try_into().ok()?).shown()),
        }),*];
        /// The names of all types.
        pub const NAMES: &[&str] = &[$($name),*];
    };
}

types! {
    "f16" f16, "bf16" bf16, "f32" f32, "f64" f64,
    "i8" i8, "i16" i16, "i32" i32, "i64" i64,
    "u8" u8, "u16" u16, "u32" u32, "u64" u64,
}

impl Elements {
    /// The type of a name.
    pub fn named(name: &str) -> Option<Self> {
        TYPES.iter().copied().find(|kind| kind.name == name)
    }
}

/// What `--as` and `--dumps` ask for, for all reports that are read.
#[derive(Debug)]
pub struct Wanted {
    kind: Elements,
    /// The folder of each report.
    reports: Vec<PathBuf>,
    given: Option<PathBuf>,
}

/// The same for one report.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    kind: Elements,
    folders: Folders<'a>,
    /// Whether the dispatch's process was to store dumps, as far as is known.
    asked: bool,
}

impl Wanted {
    /// Written bytes as `kind`, from the dumps below the folders of these reports or in the folder given.
    pub fn new(kind: Elements, reports: &[PathBuf], given: Option<PathBuf>) -> Self {
        Self { kind, reports: reports.iter().map(|report| dumps::folder_of(report)).collect(), given }
    }

    /// What is wanted of a process in the report with this index.
    pub fn of(&self, process: Option<&Process>, index: usize) -> View<'_> {
        let session = process.and_then(Process::session);
        let asked = session.is_some_and(|session| session.config.dump_writes.is_some());
        let report = self.reports.get(index).map_or(Path::new("."), PathBuf::as_path);
        View { kind: self.kind, folders: Folders { report, given: self.given.as_deref() }, asked }
    }
}

/// Prints the first elements of a region that the first pass changed, or how to get them.
pub fn print(
    output: &mut impl Write,
    dispatch: &Dispatch,
    write: &Written,
    view: View<'_>,
    indent: &str,
) -> io::Result<()> {
    let View { kind, folders, asked } = view;
    if write.ranges.is_empty() {
        return Ok(());
    }
    let Some(path) = &write.dump else {
        let why = if asked {
            "it was asked for and could not be stored: the run has said why"
        } else {
            "run again with --dump-writes DIR"
        };
        return writeln!(output, "{indent}as {}: no dump ({why})", kind.name);
    };
    let opened = dumps::open(folders, dispatch, write, Path::new(path));
    let found = match opened.and_then(|reader| differences(reader, kind)) {
        Ok(found) => found,
        Err(error) => {
            let path = shorten(path, 300);
            return writeln!(output, "{indent}as {}: {path}: {error}", kind.name);
        }
    };
    let part = if found.complete { "" } else { " in the part that the dump holds" };
    let (start, whence) = start(dispatch, write, kind);
    writeln!(output, "{indent}as {}: {} changed{part}{whence}", kind.name, counted(found.count, "element"))?;
    for (index, before, after) in &found.first {
        let index = i128::from(*index) - i128::from(start);
        writeln!(output, "{indent}  [{index}] {before} -> {after}")?;
    }
    if found.count > SHOWN {
        writeln!(output, "{indent}  and {} more", found.count - SHOWN)?;
    }
    Ok(())
}

/// The element of a region that counts as the first, and words for it where that is not the first one that an argument points to. An
/// allocation may be a pool, of which the kernel was given a part.
fn start(dispatch: &Dispatch, write: &Written, kind: Elements) -> (u64, String) {
    let first = write.ranges.first().map_or(0, |range| range[0]);
    let argument =
        write.arg.and_then(|arg| dispatch.arguments.as_ref()?.iter().find(|argument| argument.index == arg));
    let offsets = argument.into_iter().flat_map(|argument| &argument.points_to).filter_map(|target| {
        // A variable lies in a region of its own, or in its module's data.
        let address = target.base.checked_add(target.offset)?;
        address.checked_sub(write.base).filter(|&offset| offset < write.size)
    });
    // As the record's `arg` was chosen: the nearest below the first change.
    let offset = offsets.min_by_key(|&offset| (offset > first, first.abs_diff(offset)));
    let size = kind.bytes as u64;
    match offset.filter(|offset| offset.is_multiple_of(size)) {
        Some(0) => (0, String::new()),
        None if write.name.is_some() => (0, String::new()),
        Some(offset) => {
            let argument = write.arg.map_or_else(String::new, |arg| format!(", counted from argument {arg}"));
            (offset / size, argument)
        }
        None => (0, ", counted from the region's start".to_owned()),
    }
}

/// What a dump shows.
#[derive(Debug, Default)]
struct Found {
    count: u64,
    first: Vec<(u64, String, String)>,
    complete: bool,
}

fn differences(reader: DumpReader, kind: Elements) -> io::Result<Found> {
    let mut found = Found { complete: reader.header().complete, ..Found::default() };
    for span in reader {
        let span = span?;
        // Spans begin at multiples of 16: an element at the end of a region may be cut off, any other is whole.
        let elements = span.before.chunks_exact(kind.bytes).zip(span.after.chunks_exact(kind.bytes));
        for (index, (before, after)) in (span.offset / kind.bytes as u64..).zip(elements) {
            if before == after {
                continue;
            }
            found.count += 1;
            if found.count <= SHOWN
                && let (Some(before), Some(after)) = ((kind.show)(before), (kind.show)(after))
            {
                found.first.push((index, before, after));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_shows_its_values() {
        for (name, bytes, shown) in [
            ("f16", &[0x00, 0x3e][..], "1.5"),
            ("bf16", &[0x20, 0xc0], "-2.5"),
            ("f32", &[0, 0, 0x20, 0x40], "2.5"),
            ("f64", &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f], "NaN"),
            ("f32", &[0xec, 0x78, 0xad, 0x60], "1e20"),
            ("bf16", &[0x80, 0x00], "1.1754944e-38"),
            ("i8", &[0xff], "-1"),
            ("u16", &[0xff, 0xff], "65535"),
            ("i64", &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "-2"),
        ] {
            let kind = Elements::named(name).expect("is known");
            assert_eq!((kind.show)(bytes).as_deref(), Some(shown), "{name}");
        }
        assert!(NAMES.iter().all(|name| Elements::named(name).is_some()) && Elements::named("int").is_none());
    }
}
