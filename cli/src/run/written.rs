//! What a run wrote: the reports of its name that grew, whichever of its processes wrote them, or what went to a pipe or a
//! device.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hsa_replay_contract::report::expand_pid;

/// The lengths of the reports before the run.
#[derive(Debug)]
pub struct Before {
    template: PathBuf,
    /// Whether the program's own report is emptied when it starts.
    empties: bool,
    lengths: HashMap<PathBuf, u64>,
    /// When the pipe of this name was written last.
    pipe: Option<SystemTime>,
}

/// What a run wrote.
#[derive(Debug)]
pub enum Written {
    /// Files that can be read again, in order of name.
    Files(Vec<Report>),
    /// A pipe or a device, and whether something is known to have been written to it.
    Stream(PathBuf, bool),
}

/// A report that the run wrote, and where its part begins.
#[derive(Debug)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    start: u64,
}

impl Before {
    /// Notes the reports there are.
    pub fn note(template: &Path, empties: bool) -> Self {
        Self {
            template: template.to_owned(),
            empties,
            lengths: existing(template).collect(),
            pipe: last_written(template),
        }
    }

    /// The report's name, with its placeholder for the process.
    pub fn template(&self) -> &Path {
        &self.template
    }

    /// What the run wrote; `pid` is the program's own process.
    pub fn written(&self, pid: u32) -> Written {
        let stream = fs::metadata(&self.template).is_ok_and(|metadata| !metadata.is_file());
        if stream {
            let moved =
                last_written(&self.template).zip(self.pipe).is_some_and(|(now, before)| now != before);
            return Written::Stream(self.template.clone(), moved);
        }
        Written::Files(self.reports(pid))
    }

    /// The reports that grew since, in order of name; `pid` is the program's own process.
    fn reports(&self, pid: u32) -> Vec<Report> {
        let own = expand_pid(&self.template, pid);
        let mut reports: Vec<Report> = existing(&self.template)
            .filter_map(|(path, length)| {
                let before = self.lengths.get(&path).copied().unwrap_or(0);
                let start = if (self.empties && path == own) || length < before { 0 } else { before };
                (length > start).then_some(Report { path, start })
            })
            .collect();
        reports.sort_by(|one, other| one.path.cmp(&other.path));
        reports
    }
}

impl Report {
    /// Whether it holds records from before the run.
    pub fn is_continued(&self) -> bool {
        self.start > 0
    }

    /// Opens the report where the run's part begins.
    pub fn open(&self) -> io::Result<File> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.start))?;
        Ok(file)
    }
}

/// When a named pipe was written last. A time that moves tells of a write; one that stays tells nothing: overlayfs, NFS and mounts
/// that are read-only keep it, shells' `|` and `>(…)` and devices have none, and it may stand still for a clock's tick.
fn last_written(path: &Path) -> Option<SystemTime> {
    let metadata = fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_fifo())?;
    metadata.modified().ok()
}

/// The regular files whose name the template gives for some process, with their length.
fn existing(template: &Path) -> impl Iterator<Item = (PathBuf, u64)> {
    let names = match template.file_name() {
        Some(name) if expand_pid(Path::new(name), 0) != Path::new(name) => in_folder(template),
        _ => vec![template.to_owned()],
    };
    names.into_iter().filter_map(|path| {
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some((path, metadata.len()))
    })
}

fn in_folder(template: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (template.parent(), template.file_name()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            pid_in(name.as_bytes(), entry.file_name().as_bytes())
                .is_some_and(|pid| expand_pid(Path::new(name), pid).as_os_str() == entry.file_name())
        })
        .map(|entry| entry.path())
        .collect()
}

/// The number that stands where the template's first `{pid}` does.
fn pid_in(template: &[u8], name: &[u8]) -> Option<u32> {
    let at = template.windows(5).position(|window| window == b"{pid}")?;
    let rest = name.strip_prefix(&template[..at])?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_grew_are_found_and_read_from_there() {
        let folder = tempfile::tempdir().expect("folder");
        let file = |name: &str| folder.path().join(name);
        for name in ["r-1.jsonl", "r-2.jsonl", "r-x.jsonl", "other-3.jsonl"] {
            fs::write(file(name), "old\n").expect("file");
        }
        let before = Before::note(&file("r-{pid}.jsonl"), true);
        for name in ["r-1.jsonl", "r-x.jsonl", "other-3.jsonl"] {
            fs::write(file(name), "old\nnew\n").expect("file");
        }
        fs::write(file("r-5.jsonl"), "new\n").expect("file");
        let reports = before.reports(5);
        let read: Vec<(&Path, String)> = reports
            .iter()
            .map(|report| {
                (report.path.as_path(), io::read_to_string(report.open().expect("opens")).expect("text"))
            })
            .collect();
        let [first, second] = [file("r-1.jsonl"), file("r-5.jsonl")];
        assert_eq!(read, [(first.as_path(), "new\n".to_owned()), (second.as_path(), "new\n".to_owned())]);
    }

    #[test]
    fn a_plain_name_is_one_report() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("r.jsonl");
        let before = Before::note(&path, true);
        assert!(before.reports(1).is_empty());
        fs::write(&path, "new\n").expect("file");
        assert_eq!(before.reports(1).len(), 1);
    }
}
