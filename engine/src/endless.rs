//! Kernels that need not end by themselves, and those of them that are on an agent now.
//!
//! Such a kernel waits for the host, another queue, another agent or another process. A window that waits for it to drain
//! would wait for nothing: while one is in flight, every candidate of the agent is declined at once.

use crate::handles::Signal;
use crate::promises::Promises;
use crate::signals::Completion;
use crate::sync::Mutex;
use hsa_replay_contract::{KernelFilter, KernelName, Reason};

/// HIP's stream wait operations, which spin until the host writes a value.
const WAITING: [&str; 2] = ["__amd_rocclr_streamOpsWait", "__amd_rocclr_batchMemOp"];

/// Parts of the names of collective communication kernels (NCCL, RCCL, MSCCL++, rocSHMEM).
const COLLECTIVE: [&str; 5] = ["ncclDevKernel", "ncclKernel", "rcclKernel", "mscclpp", "rocshmem"];

/// Why a kernel need not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endless {
    /// It waits for the host or another queue.
    Waiting,
    /// It waits for other agents or processes.
    Collective,
}

impl Endless {
    /// What a kernel's name tells; `more` are those that the user has named.
    pub(crate) fn of(name: &KernelName, more: Option<&KernelFilter>) -> Option<Self> {
        let symbol = name.symbol();
        if WAITING.contains(&symbol) || more.is_some_and(|more| more.matches(name)) {
            Some(Self::Waiting)
        } else {
            COLLECTIVE.iter().any(|part| symbol.contains(part)).then_some(Self::Collective)
        }
    }

    /// The reason under which it declines.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Self::Waiting => Reason::WaitingKernel,
            Self::Collective => Reason::Collective,
        }
    }
}

/// The endless kernels on the hardware queues of an agent.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    kernels: Mutex<Kernels>,
}

#[derive(Debug, Default)]
struct Kernels {
    known: Vec<(Endless, End)>,
    /// So many may be known before those that have ended are looked for.
    room: usize,
}

/// Kernels that may be known at first before those that have ended are looked for.
const ROOM: usize = 16;

/// How the end of a kernel is seen.
#[derive(Debug)]
pub(crate) enum End {
    /// By a signal of the engine's own.
    Own(Completion),
    /// By the application's signal, for which the hardware's decrements are counted.
    Application(Signal),
}

impl InFlight {
    /// Another one. Those that have ended hold signals: they go when there are twice as many as had not ended the last time.
    pub(crate) fn add(&self, kind: Endless, end: End, promises: &Promises) {
        let mut kernels = self.kernels.lock();
        if kernels.known.len() >= kernels.room {
            kernels.drop_ended(promises);
            kernels.room = ROOM.max(2 * kernels.known.len());
        }
        kernels.known.push((kind, end));
    }

    /// One that has not ended.
    pub(crate) fn any(&self, promises: &Promises) -> Option<Endless> {
        let mut kernels = self.kernels.lock();
        kernels.drop_ended(promises);
        kernels.known.first().map(|(kind, _)| *kind)
    }
}

impl Kernels {
    fn drop_ended(&mut self, promises: &Promises) {
        self.known.retain(|(_, end)| match end {
            End::Own(completion) => completion.value() > 0,
            End::Application(signal) => !promises.is_settled(*signal),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_wait_for_others_are_known_by_name() {
        let of = |symbol: &str| Endless::of(&KernelName::new(symbol), None);
        assert_eq!(of("__amd_rocclr_streamOpsWait"), Some(Endless::Waiting));
        assert_eq!(of("__amd_rocclr_streamOpsWrite"), None);
        let rccl = "_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE";
        assert_eq!(of(rccl), Some(Endless::Collective));
        assert_eq!(of("_Z5saxpyfPKfPf"), None);
    }
}
