//! What the hooks of copies ask: whether they run now or wait for a window.

use super::Engine;
use crate::agent::AgentState;
use crate::fence::{self, FencedCopy, OtherWay, SyncCopy};
use crate::handles::{Agent, Signal};
use crate::runtime::RuntimeResult;
use crate::sync::Arc;
use std::ops::Range;
use std::time::Instant;

/// An asynchronous copy as its call names it.
#[derive(Clone, Copy, Debug)]
pub struct AsyncCopy<'a> {
    /// The agents named in the call; a transfer that names none names the owners of its addresses.
    pub agents: &'a [Agent],
    /// `dep_signals`.
    pub dependencies: &'a [Signal],
    /// `completion_signal`.
    pub completion: Signal,
    /// Bytes; a copy of nothing is passed through.
    pub bytes: u64,
    /// Copies of equal order reach the runtime in the order of their calls: one number for each engine and direction, since
    /// a copy engine takes its copies in order and applications rely on it.
    pub order: u64,
}

/// Copies. Hooks pass every call that writes or reads device memory without a packet: `hsa_amd_memory_async_copy` and its
/// siblings, `hsa_memory_copy`, `hsa_amd_memory_fill`, image and file transfers.
impl Engine {
    /// An asynchronous copy. `submit` makes the real call, with the application's own arguments; it runs now, or later on a
    /// thread of the engine's when the copy has to wait, in which case the result is success. It owns what it needs: the
    /// application may reuse its array of dependencies at once. When it fails later, the `others` are tried, in this order, which are
    /// made only for a copy that has to wait; only if all fail does the completion signal say so.
    ///
    /// # Errors
    /// What `submit` gives when it runs at once.
    pub fn async_copy(
        &self,
        copy: &AsyncCopy<'_>,
        submit: impl FnOnce() -> RuntimeResult<()> + Send + 'static,
        others: impl FnOnce() -> Vec<OtherWay>,
    ) -> RuntimeResult<()> {
        // A copy of nothing never touches its signal.
        if copy.bytes == 0 || self.is_stopped() {
            return submit();
        }
        let fenced = FencedCopy {
            agents: self.fenced(copy.agents),
            dependencies: copy.dependencies.to_vec(),
            completion: copy.completion,
            order: copy.order,
        };
        fence::submit_or_defer(&self.process, fenced, submit, others)
    }

    /// A synchronous copy or fill to a range (`None`: nobody knows where), which lasts until the result is dropped. While a window
    /// is open on one of the agents (`None`: on any) a thread that `may_wait` waits for its end, at most for the time of a
    /// window; the runtime's event thread may not, and is asked for its bytes instead (see [`SyncCopy::wants_bytes`]).
    pub fn sync_copy(&self, agents: Option<&[Agent]>, to: Option<Range<u64>>, may_wait: bool) -> SyncCopy {
        let agents = match agents {
            _ if self.is_stopped() => Vec::new(),
            Some(agents) => self.fenced(agents),
            None => self.agents.clone(),
        };
        let deadline = may_wait.then(|| Instant::now() + self.process.settings.timeout);
        fence::begin_sync(agents, to, deadline)
    }

    /// The GPUs among the agents, each once.
    fn fenced(&self, agents: &[Agent]) -> Vec<Arc<AgentState>> {
        self.agents.iter().filter(|agent| agents.contains(&agent.agent)).cloned().collect()
    }
}
