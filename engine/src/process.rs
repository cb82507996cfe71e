//! What all agents and queues of the process share.

use crate::Attachments;
use crate::control::Control;
use crate::handles::Agent;
use crate::inventory::Inventory;
use crate::kernels::KernelTable;
use crate::loaded::LoadedCode;
use crate::promises::Promises;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::signals::SignalPool;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};
use crate::tool::Calls;
use hsa_replay_contract::message::say;
use hsa_replay_contract::{Dispatch, Outcome, Settings};
use std::sync::OnceLock;

/// The engine's state that is not one agent's.
pub(crate) struct Process {
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) settings: Settings,
    pub(crate) report: Report,
    pub(crate) inventory: Inventory,
    pub(crate) kernels: KernelTable,
    pub(crate) code: LoadedCode,
    pub(crate) signals: Arc<SignalPool>,
    pub(crate) promises: Promises,
    /// The agent named for the host side of a copy.
    pub(crate) host: Agent,
    /// What the program asks for while it runs.
    pub(crate) control: Control,
    pub(crate) attachments: Attachments,
    /// Calls of the attached tool.
    pub(crate) tool_calls: Calls,
    /// Dispatches that passed the kernel filter so far.
    pub(crate) matching: AtomicU64,
    /// Exit has begun.
    exiting: AtomicBool,
    /// The engine is being stopped: what it ends with, [`Process::end_report`] decides.
    stopping: AtomicBool,
    /// A record that ends the process was written while the engine was being stopped.
    ends_strictly: AtomicBool,
    disarmed: OnceLock<String>,
}

impl Process {
    pub(crate) fn new(
        runtime: Arc<dyn Runtime>,
        settings: Settings,
        report: Report,
        inventory: Inventory,
        host: Agent,
        attachments: Attachments,
    ) -> Self {
        Self {
            signals: Arc::new(SignalPool::new(Arc::clone(&runtime))),
            kernels: KernelTable::new(settings.kernel.clone(), settings.waiting.clone()),
            code: LoadedCode::default(),
            promises: Promises::default(),
            runtime,
            settings,
            report,
            inventory,
            host,
            control: Control::default(),
            attachments,
            tool_calls: Calls::default(),
            matching: AtomicU64::new(0),
            exiting: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            ends_strictly: AtomicBool::new(false),
            disarmed: OnceLock::new(),
        }
    }

    /// Writes the record of a dispatch. With `--strict` the process ends behind one that is tainted.
    pub(crate) fn record(&self, record: Dispatch) {
        let ends = self.settings.strict && record.outcome == Outcome::Tainted;
        self.report.dispatch(record);
        if ends && self.stopping.load(Ordering::Acquire) {
            // Not before the other queues have their records.
            self.ends_strictly.store(true, Ordering::Release);
        } else if ends {
            self.end_strictly();
        }
    }

    /// The engine's workers are about to stop.
    pub(crate) fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// The workers have stopped: the summary is written, and the process ends if `--strict` wants that.
    pub(crate) fn end_report(&self) {
        if self.ends_strictly.load(Ordering::Acquire) {
            self.end_strictly();
        } else {
            self.report.summary(self.kernels.all_launches());
        }
    }

    fn end_strictly(&self) {
        self.report.summary(self.kernels.all_launches());
        say("a window left memory that is not one complete pass; ending the process (--strict)");
        self.runtime.end_process(125);
    }

    pub(crate) fn is_exiting(&self) -> bool {
        self.exiting.load(Ordering::Acquire)
    }

    pub(crate) fn begin_exit(&self) {
        self.exiting.store(true, Ordering::Release);
    }

    /// Why no window opens any more, if so.
    pub(crate) fn disarmed(&self) -> Option<&str> {
        self.disarmed.get().map(String::as_str)
    }

    pub(crate) fn disarm(&self, why: &str) {
        if self.disarmed.set(why.to_owned()).is_ok() {
            tracing::error!("no dispatch is replayed from here on: {why}");
        }
    }
}
