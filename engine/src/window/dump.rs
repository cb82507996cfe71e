//! `--dump-writes`: what lay in the written ranges before and after the first pass goes into files.

use super::Window;
use super::evidence::Evidence;
use super::snapshot::Ready;
use super::writes::{Listed, Writes};
use crate::copy::Mover;
use crate::store::{Store, Trouble};
use hsa_replay_contract::report::{DUMP_VERSION, DumpHeader, DumpWriter, MAX_DUMPED, dump_spans};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

impl Window<'_> {
    /// Stores what the first pass changed, as far as that is asked for and fits; the store still holds the snapshot.
    pub(super) fn dump_writes(&self, ready: &Ready, store: &mut dyn Store, evidence: &mut Evidence) {
        let Some(folder) = &self.process.settings.dump_writes else {
            return;
        };
        if evidence.unkept {
            let error = io::Error::other("what the first pass changed is more than the budget leaves for it");
            self.process.report.dump_failed(folder, &error);
            return;
        }
        let mut room = MAX_DUMPED;
        let mut dumps = Vec::new();
        for listed in Writes::new(ready, evidence).of_first_pass() {
            match self.dump_one(folder, &listed, ready, store, evidence, &mut room) {
                Ok(path) => dumps.push((listed.write.base, path.to_string_lossy().into_owned())),
                Err(error) => self.process.report.dump_failed(folder, &error),
            }
        }
        evidence.dumps = dumps.into_iter().collect();
    }

    fn dump_one(
        &self,
        folder: &Path,
        listed: &Listed,
        ready: &Ready,
        store: &mut dyn Store,
        evidence: &Evidence,
        room: &mut u64,
    ) -> io::Result<PathBuf> {
        let write = &listed.write;
        let (spans, complete) = dump_spans(&write.ranges, write.size, *room);
        *room -= spans.iter().map(|[_, length]| length).sum::<u64>();
        let header = DumpHeader {
            hsa_replay_dump: DUMP_VERSION,
            pid: self.record.pid,
            id: self.record.id,
            kernel: self.record.kernel.clone(),
            launch: self.record.launch,
            kind: write.kind,
            name: write.name.clone(),
            arg: write.arg,
            base: write.base,
            size: write.size,
            spans: spans.clone(),
            complete,
        };
        let mut file = DumpWriter::create(folder, &header)?;
        // As for a comparison: the window's own deadline may be near.
        let deadline = Instant::now() + self.process.settings.timeout;
        let mover = Mover::new(self.process, self.agent.agent, deadline).given_up_with(self.queue);
        for [offset, length] in spans {
            let start = listed.start + offset;
            let mut before = Vec::new();
            for (piece, offset, bytes) in ready.plan.cover(listed.region, start..start + length) {
                let from =
                    usize::try_from(offset - ready.plan.pieces[piece].offset).map_err(io::Error::other)?;
                let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
                match store.bytes(&ready.plan, piece, &mover) {
                    Ok(saved) => before.extend_from_slice(&saved[from..from + bytes]),
                    Err(trouble) => {
                        if matches!(trouble, Trouble::Stuck(_)) {
                            store.abandon();
                        }
                        let problem = format!("the snapshot cannot be read: {trouble:?}");
                        return Err(io::Error::other(problem));
                    }
                }
            }
            file.write(&before)?;
            for (part, left) in evidence.written[listed.region].split(start, before.len()) {
                file.write(left.unwrap_or(&before[part]))?;
            }
        }
        file.finish()
    }
}
