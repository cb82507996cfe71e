//! The disk tier: a file without a name, for snapshots that fit nowhere else. Bytes pass through host memory on both ways.

use super::plan::groups;
use super::spill::SpillFile;
use super::staging::Staging;
use super::{Move, Plan, Store, Trouble, WrittenBack, apart};
use crate::copy::{Batch, Copied, Mover};
use crate::runtime::Runtime;
use crate::shared_memory::HostBlock;
use crate::sync::Arc;
use hsa_replay_contract::record::Tier;
use hsa_replay_contract::size_signal::SizeSignalHeld;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Half of the staging block.
const HALF: u64 = Staging::BYTES / 2;

/// One file, which grows to the largest snapshot so far.
pub(crate) struct DiskStore {
    folder: PathBuf,
    file: Option<SpillFile>,
    bytes: u64,
    staging: Staging,
}

impl DiskStore {
    pub(super) fn new(runtime: Arc<dyn Runtime>, folder: PathBuf) -> Self {
        Self { folder, file: None, bytes: 0, staging: Staging::new(runtime) }
    }

    /// With a file that is there.
    #[cfg(test)]
    pub(crate) fn with_file(runtime: Arc<dyn Runtime>, folder: PathBuf, file: std::fs::File) -> Self {
        Self { file: SpillFile::of(file).ok(), ..Self::new(runtime, folder) }
    }

    /// The number of the file's descriptor.
    #[cfg(test)]
    pub(crate) fn descriptor(&self) -> Option<std::os::fd::RawFd> {
        self.file.as_ref()?.get().ok().map(std::os::fd::AsRawFd::as_raw_fd)
    }

    /// Most bytes that a snapshot may have here: half of what is free.
    pub(super) fn most(&self) -> u64 {
        let free =
            rustix::fs::statvfs(&self.folder).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        free / 2 + self.bytes
    }

    /// The whole plan by way of the staging block: while one half is written to the file, copies fill the other.
    fn save_all(&mut self, plan: &Plan, mover: &Mover<'_>) -> Result<(), Trouble> {
        let (file, block) = (self.file.as_ref().ok_or_else(gone)?, self.staging.block()?);
        let mut flying: Option<(Batch<'_>, Vec<(&Move, u64)>)> = None;
        let mut result = Ok(());
        for (number, group) in (0_u64..).zip(groups(&plan.moves, HALF)) {
            if mover.is_late() {
                result = Err(Trouble::Failed("there was no time to write it all".to_owned()));
                break;
            }
            let half = (number % 2) * HALF;
            let group: Vec<(&Move, u64)> = group.into_iter().map(|(each, at)| (each, half + at)).collect();
            let job = |(each, at): &(&Move, u64)| {
                mover.to_host(plan.regions_of(each), each.device, block.address() + at, each.bytes)
            };
            let batch = mover.launch(group.iter().map(job).collect());
            if let Some((before, landed)) = flying.replace((batch, group)) {
                result = keep(plan, mover, file, block, &landed, mover.land(before));
                if result.is_err() {
                    break;
                }
            }
        }
        // Even after an error: nothing may be copied to the block any more when this returns.
        if let Some((last, landed)) = flying {
            let copied = mover.land(last);
            result = match (result, copied.iter().position(|&copied| copied == Copied::Stuck)) {
                (Ok(()), _) => keep(plan, mover, file, block, &landed, copied),
                (Err(_), Some(at)) => {
                    let each = landed[at].0;
                    Trouble::of(Copied::Stuck, each.device, each.bytes).map_or(Ok(()), Err)
                }
                (failed, None) => failed,
            };
        }
        result
    }
}

/// Writes to the file what copies have brought to the block, if they have.
fn keep(
    plan: &Plan,
    mover: &Mover<'_>,
    file: &SpillFile,
    block: &HostBlock,
    landed: &[(&Move, u64)],
    mut copied: Vec<Copied>,
) -> Result<(), Trouble> {
    let moves: Vec<Move> = landed.iter().map(|(each, _)| (*each).clone()).collect();
    let apart = apart(plan, &moves, &mut copied);
    Trouble::of_saving(&moves, &copied)?;
    if !apart.is_empty() {
        let job = |(number, alone): &(usize, Move)| {
            let (each, from) = landed[*number];
            let host = block.address() + from + (alone.device - each.device);
            (alone.clone(), host)
        };
        let alone: Vec<(Move, u64)> = apart.iter().map(job).collect();
        let job = |(each, host): &(Move, u64)| {
            mover.to_host(&plan.regions[each.regions.clone()], each.device, *host, each.bytes)
        };
        let copied = mover.run(&alone.iter().map(job).collect::<Vec<_>>());
        let moves: Vec<Move> = alone.into_iter().map(|(each, _)| each).collect();
        Trouble::of_saving(&moves, &copied)?;
    }
    let file = file.get().map_err(|error| failed(&error))?;
    let _held = SizeSignalHeld::new();
    for (each, from) in landed {
        file.write_all_at(block.slice(*from..from + each.bytes), each.at).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn failed(error: &io::Error) -> Trouble {
    Trouble::Failed(format!("the file on disk: {error}"))
}

fn gone() -> Trouble {
    Trouble::Failed("the file on disk is gone".to_owned())
}

impl Store for DiskStore {
    fn tier(&self) -> Tier {
        Tier::Disk
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), String> {
        // A file that the application closed is not there any more, and its number is not ours.
        if self.file.as_ref().is_some_and(|file| file.get().is_err()) {
            (self.file, self.bytes) = (None, 0);
        }
        let most = self.most();
        if bytes > most {
            return Err(format!("{} has room for {most} bytes", self.folder.display()));
        }
        let said = |error: &io::Error| format!("{}: {error}", self.folder.display());
        if self.file.is_none() {
            self.file = Some(SpillFile::create(&self.folder).map_err(|error| said(&error))?);
        }
        if let Some(file) = &self.file
            && self.bytes < bytes
        {
            let _held = SizeSignalHeld::new();
            match rustix::fs::fallocate(
                file.get().map_err(|error| said(&error))?,
                FallocateFlags::empty(),
                0,
                bytes,
            ) {
                Err(error @ (Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) => {
                    let said = said(&error.into());
                    (self.file, self.bytes) = (None, 0);
                    return Err(said);
                }
                // Not every file system can promise room; a write that finds none says so.
                Ok(()) | Err(_) => self.bytes = bytes,
            }
        }
        self.staging.reserve()
    }

    fn reserved(&self) -> u64 {
        self.bytes
    }

    fn save(&mut self, plan: &Plan, mover: &Mover<'_>) -> Result<(), Trouble> {
        self.save_all(plan, mover)
    }

    fn write_back(&mut self, plan: &Plan, parts: &[(usize, Range<u64>)], mover: &Mover<'_>) -> WrittenBack {
        WrittenBack::by(plan, parts, |moves| {
            let (Some(file), Ok(block)) = (self.file.as_ref(), self.staging.block()) else {
                return vec![Copied::Failed; moves.len()];
            };
            let mut results = Vec::with_capacity(moves.len());
            for group in groups(moves, Staging::BYTES) {
                let mut jobs = Vec::new();
                let mut read = Ok(());
                for (each, at) in &group {
                    read = read.and_then(|()| {
                        file.get()?.read_exact_at(block.slice_mut(*at..at + each.bytes), each.at)
                    });
                    let host = block.address() + at;
                    jobs.push(mover.to_device(plan.regions_of(each), each.device, host, each.bytes));
                }
                match read {
                    Ok(()) => results.extend(mover.run(&jobs)),
                    Err(error) => {
                        tracing::error!("reading the snapshot back failed: {error}");
                        results.extend(vec![Copied::Failed; jobs.len()]);
                    }
                }
                if results.contains(&Copied::Stuck) {
                    break;
                }
            }
            results.resize(moves.len(), Copied::Stuck);
            results
        })
    }

    fn bytes(&mut self, plan: &Plan, piece: usize, _: &Mover<'_>) -> Result<&[u8], Trouble> {
        let file = self.file.as_ref().ok_or_else(gone)?;
        self.staging.bytes(plan, piece, |at, bytes, block| {
            let read = file.get().and_then(|file| file.read_exact_at(block.slice_mut(0..bytes), at));
            read.map_err(|error| failed(&error))
        })
    }

    fn abandon(&mut self) {
        self.staging.abandon();
    }
}
