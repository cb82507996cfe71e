//! Where the dump that a record names is looked for.
//!
//! A report may come from anywhere, and what it says must not make this command open any file that it names. So a dump is
//! opened only below the report's own folder, or in the folder that the user names; under no other name than the one that
//! the library gives the dump of this dispatch and region; and never through a link.

use hsa_replay_contract::text::name_of;
use std::io;
use std::path::{Component, Path, PathBuf};

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::Write as Written;
use hsa_replay_contract::report::{DumpReader, is_dump_name};

/// Where dumps of one report may lie.
#[derive(Clone, Copy, Debug)]
pub struct Folders<'a> {
    /// The report's own folder.
    pub report: &'a Path,
    /// The folder of `--dumps`, which then is the only one.
    pub given: Option<&'a Path>,
}

/// The folder of a report; of standard input, the current one.
pub fn folder_of(report: &Path) -> PathBuf {
    let parent = if report == Path::new("-") { None } else { report.parent() };
    match parent.filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.to_owned(),
        None => PathBuf::from("."),
    }
}

/// Opens the dump that the record names for one of its regions.
pub fn open(
    folders: Folders<'_>,
    dispatch: &Dispatch,
    write: &Written,
    named: &Path,
) -> io::Result<DumpReader> {
    let name = named.file_name().filter(|name| is_dump_name(name, dispatch.pid, dispatch.id, write.base));
    let Some(name) = name else {
        return Err(io::Error::other("is not opened: no dump of this dispatch and region is called so"));
    };
    let Some(file) =
        places(folders, named).into_iter().map(|folder| folder.join(name)).find(|file| is_file(file))
    else {
        return Err(io::Error::other(match folders.given {
            Some(folder) => format!("is not in {}", name_of(&folder)),
            None => {
                "is not below the report's folder: name the folder of the dumps with --dumps DIR".to_owned()
            }
        }));
    };
    let reader = DumpReader::open(&file)?;
    let header = reader.header();
    let of_this = (header.pid, header.id, header.base, header.size)
        == (dispatch.pid, dispatch.id, write.base, write.size);
    if of_this { Ok(reader) } else { Err(io::Error::other("is the dump of another dispatch or region")) }
}

/// The folders to look in: the one that the record names, if that is below the report's, then one of the same name beside the
/// report, where both were copied from elsewhere.
fn places(folders: Folders<'_>, named: &Path) -> Vec<PathBuf> {
    if let Some(folder) = folders.given {
        return vec![folder.to_owned()];
    }
    let named = named.parent().unwrap_or(Path::new(""));
    let mut places = Vec::new();
    let own = std::path::absolute(folders.report).unwrap_or_else(|_| folders.report.to_owned());
    // A program attached by hand may have been given a relative name.
    let whole = own.join(named);
    let climbs = named.components().any(|component| component == Component::ParentDir);
    if !climbs && whole.starts_with(&own) {
        places.push(whole);
    }
    if let Some(Component::Normal(last)) = named.components().next_back() {
        places.push(own.join(last));
    }
    // A folder that is a link leads elsewhere.
    places.retain(|place| match (place.canonicalize(), own.canonicalize()) {
        (Ok(place), Ok(own)) => place.starts_with(own),
        _ => false,
    });
    places
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}
