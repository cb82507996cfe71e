//! Why a candidate dispatch was not replayed, or not in full: a closed list.

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Why a candidate dispatch was not replayed, or not in full. The names are part of the format; each
        /// has one meaning, and a new cause gets a new name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// What it means, in one or two sentences.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

reasons! {
    /// A region could not be copied, so that memory could not have been put back.
    SnapshotIncomplete = "snapshot_incomplete",
    /// The snapshot, or what passes left and had to be kept, would have needed more memory than the budget allows.
    OverBudget = "over_budget",
    /// Other work of the agent did not end in time, or its queue was already found stuck.
    DrainTimeout = "drain_timeout",
    /// A copy that could not be waited for was moving data.
    CopyInFlight = "copy_in_flight",
    /// An argument, or a pointer in memory that the kernel can reach, leads to memory that would not be put back between
    /// passes, or captured memory became such memory during the window.
    UntrackedMemory = "untracked_memory",
    /// The kernel was launched cooperatively, or on a cooperative queue.
    Cooperative = "cooperative",
    /// The kernel talks to the host (`printf`, `assert`, `malloc`), which would hear it once per pass.
    Hostcall = "hostcall",
    /// The kernel enqueues kernels itself (OpenCL's device queues), which would run once per pass.
    DeviceEnqueue = "device_enqueue",
    /// The kernel is a collective, or one is in flight: it waits for other processes or agents.
    Collective = "collective",
    /// The kernel waits for the host or another queue and never drains, or such a kernel is in flight.
    WaitingKernel = "waiting_kernel",
    /// A pass outlasted the timeout; it became the last one.
    PassTimeout = "pass_timeout",
    /// Someone else wrote into captured memory during the window, or may have; that value was kept unless the outcome is
    /// `tainted`. Otherwise only in the detail of a dispatch.
    ForeignWrite = "foreign_write",
    /// Memory could not be put back.
    RestoreFailed = "restore_failed",
    /// The queue reported an error, or the program destroyed or inactivated it.
    QueueError = "queue_error",
    /// The loaded code objects could not be listed completely.
    EnumerationFailed = "enumeration_failed",
    /// The process is ending, or the runtime is being shut down.
    ShuttingDown = "shutting_down",
    /// Reserved, not written yet: the packet is of a form that cannot be repeated safely.
    UnsupportedPacket = "unsupported_packet",
    /// The user's tool left the dispatch out, or chose passes that cannot be.
    Tool = "tool",
    /// The kernel's arguments could not be read.
    KernargUnreadable = "kernarg_unreadable",
    /// Nothing is known about the kernel object: no loaded code object holds it, or its metadata is damaged.
    UnknownKernel = "unknown_kernel",
    /// Reserved, not written yet: a tool library ended the window.
    ToolStopped = "tool_stopped",
    /// Replay has ended in this process; `detail` says why: work reached an agent by a call that hsa-replay does not know, a queue
    /// could not be put behind a software queue, or something failed inside before.
    ReplayOff = "replay_off",
    /// hsa-replay failed inside; `detail` says where.
    InternalError = "internal_error",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_are_unique() {
        for (index, reason) in Reason::ALL.iter().enumerate() {
            let json = serde_json::to_string(reason).expect("serialises");
            assert_eq!(json, format!("\"{}\"", reason.name()));
            assert_eq!(serde_json::from_str::<Reason>(&json).expect("parses"), *reason);
            assert!(!Reason::ALL[..index].iter().any(|earlier| earlier.name() == reason.name()));
            assert!(reason.description().ends_with('.'), "{}", reason.name());
        }
    }
}
