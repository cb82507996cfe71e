//! Copies that are kept in software, and the ways to make one when its turn comes.
//!
//! Their calls have returned success. A program whose copy is refused at once goes another way (HIP lets a kernel copy); one that
//! has been told success cannot, so the engine tries the other ways itself.

use super::FencedCopy;
use crate::process::Process;
use crate::runtime::{RuntimeError, RuntimeResult};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a copy by a call of the real runtime.
type Submit = Box<dyn FnOnce() -> RuntimeResult<()> + Send>;

/// Another way to make a copy, for when the call for it is refused after it has been accepted for the runtime.
pub struct OtherWay {
    waits: bool,
    submit: Submit,
}

impl OtherWay {
    /// Another asynchronous call, with the same dependencies and completion signal.
    pub fn submitting(submit: impl FnOnce() -> RuntimeResult<()> + Send + 'static) -> Self {
        Self { waits: false, submit: Box::new(submit) }
    }

    /// A call that has copied when it returns, knows no dependencies, and subtracts one from the completion signal.
    pub fn waiting(submit: impl FnOnce() -> RuntimeResult<()> + Send + 'static) -> Self {
        Self { waits: true, submit: Box::new(submit) }
    }
}

impl std::fmt::Debug for OtherWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtherWay").field("waits", &self.waits).finish_non_exhaustive()
    }
}

/// A copy kept in software.
pub(super) struct Deferred {
    pub(super) copy: FencedCopy,
    /// Ways to make it, the next one first.
    ways: VecDeque<OtherWay>,
}

impl Deferred {
    pub(super) fn new(
        copy: FencedCopy,
        submit: impl FnOnce() -> RuntimeResult<()> + Send + 'static,
        others: Vec<OtherWay>,
    ) -> Self {
        let mut ways = VecDeque::from(others);
        ways.push_front(OtherWay::submitting(submit));
        Self { copy, ways }
    }

    /// Makes the copy in the first way that is accepted, unless it has to wait, in which case it is given back. At the `end` it waits
    /// for nothing.
    pub(super) fn try_ways(mut self, process: &Process, end: bool) -> Option<Self> {
        let mut refused = RuntimeError { call: "a copy", status: hsa_sys::HSA_STATUS_ERROR };
        while let Some(way) = self.ways.pop_front() {
            let waits = way.waits;
            if waits && !self.copy.is_met() {
                if end {
                    continue;
                }
                self.ways.push_front(way);
                return Some(self);
            }
            let mut submit = Some(way.submit);
            let made = {
                let mut make = || submit.take().map_or(Ok(()), make);
                if end { Some(make()) } else { self.copy.try_submit(process, waits, &mut make) }
            };
            match (made, submit) {
                (Some(Ok(())), _) => return None,
                (Some(Err(error)), _) => {
                    if let Some(other) = self.ways.front() {
                        let how = if other.waits { "and waited for" } else { "without an engine of its own" };
                        tracing::warn!("a copy that was kept back was refused ({error}); it is made {how}");
                    }
                    refused = error;
                }
                (None, Some(submit)) => {
                    self.ways.push_front(OtherWay { waits, submit });
                    return Some(self);
                }
                (None, None) => return None,
            }
        }
        fail_late(&self.copy, process, refused);
        None
    }
}

/// A panic in the call is its failure: the other copies that wait are not lost with it.
fn make(submit: Submit) -> RuntimeResult<()> {
    let failed =
        RuntimeError { call: "a copy, in which the engine failed,", status: hsa_sys::HSA_STATUS_ERROR };
    catch_unwind(AssertUnwindSafe(submit)).unwrap_or(Err(failed))
}

/// The call has returned success, so its failure shows as the runtime shows a late one.
fn fail_late(copy: &FencedCopy, process: &Process, error: RuntimeError) {
    tracing::error!("a copy that was kept back failed: {error}");
    if !copy.completion.is_none() {
        process.runtime.store_signal(copy.completion, -1);
    }
}
