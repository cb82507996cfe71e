//! The disk tier's file: it has no name, and is never mistaken for a file of the application's.
//!
//! Programs that become daemons close every descriptor, and the number of ours may then name a file of their own. So the
//! descriptor is out of the way of the application's, is looked at before each use, and is left alone when it is not ours.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The descriptor is this one or above, where programs that count on low numbers do not look.
const LOWEST_DESCRIPTOR: i32 = 480;

/// An open file, and which one it must still be.
pub(super) struct SpillFile {
    /// There until it is dropped.
    file: Option<File>,
    identity: Identity,
}

/// What tells one file from another. The number of a file that is gone is given out again, so it alone does not.
type Identity = (u64, u64, u64, Option<SystemTime>);

impl SpillFile {
    /// A new file in a folder, which goes when it is closed.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("hsa-replay-{}-{number}.snapshot", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        std::fs::remove_file(&path)?;
        Self::of(file)
    }

    /// A file that is there.
    pub(super) fn of(file: File) -> io::Result<Self> {
        let moved = rustix::io::fcntl_dupfd_cloexec(&file, LOWEST_DESCRIPTOR).map(File::from);
        let file = moved.unwrap_or(file);
        let identity = identity(&file.metadata()?);
        Ok(Self { file: Some(file), identity })
    }

    /// The file, if the descriptor is still its own.
    pub(super) fn get(&self) -> io::Result<&File> {
        let file = self.file.as_ref().filter(|file| self.is(file));
        file.ok_or_else(|| io::Error::other("the program closed its descriptor"))
    }

    fn is(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|metadata| identity(&metadata) == self.identity)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        let foreign = self.file.take().filter(|file| !self.is(file));
        // The number is the application's now: it is not closed.
        let _not_ours = foreign.map(IntoRawFd::into_raw_fd);
    }
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino(), metadata.nlink(), metadata.created().ok())
}
