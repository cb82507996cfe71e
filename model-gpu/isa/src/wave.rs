//! One wave: 64 lanes that share a program counter, with their scalar and vector registers.

mod config;
mod registers;
mod run;

pub use config::{Machine, WaveConfig, reads_exceptions};
pub use registers::Lanes;

use crate::gws::Ticket;
use registers::VectorFile;

pub(crate) use registers::ACC_BASE;

/// A wave's architectural state.
///
/// Scalar registers are held by their operand number: `s0..s101`, 102 and 103 FLAT_SCRATCH, 104 and 105 XNACK_MASK,
/// 106 and 107 VCC, 108 to 123 TTMP0..15, 124 M0, 126 and 127 EXEC.
#[derive(Debug)]
pub struct Wave {
    pub(crate) scalar: [u32; 128],
    pub(crate) vector: Box<VectorFile>,
    pub(crate) pc: u64,
    pub(crate) scc: bool,
    pub(crate) mode: u32,
    pub(crate) status: u32,
    pub(crate) trapsts: u32,
    pub(crate) config: WaveConfig,
    pub(crate) executed: u64,
    pub(crate) ended: bool,
    /// What the wave waits for in global wave sync.
    pub(crate) ticket: Option<Ticket>,
}

impl Wave {
    /// A wave about to execute at `config.entry`; every register is zero but for what `config` gives.
    #[must_use]
    pub fn new(config: &WaveConfig) -> Self {
        let mut wave = Self {
            scalar: [0; 128],
            vector: VectorFile::zeroed(),
            pc: 0,
            scc: false,
            mode: 0,
            status: 0,
            trapsts: 0,
            config: config.clone(),
            executed: 0,
            ended: false,
            ticket: None,
        };
        wave.reset(config);
        wave
    }

    /// Makes the wave as [`Wave::new`] would, keeping its allocation: for pools of waves.
    pub fn reset(&mut self, config: &WaveConfig) {
        self.vector.clear(self.config.arch_vgprs, self.config.acc_vgprs);
        self.vector.clear(config.arch_vgprs, config.acc_vgprs);
        self.scalar = [0; 128];
        self.config = config.clone();
        self.pc = config.entry;
        self.scc = false;
        self.mode = config.mode;
        self.status = 0;
        self.trapsts = 0;
        self.executed = 0;
        self.ended = false;
        self.ticket = None;
        self.set_exec(config.exec);
        if config.target.architected_flat_scratch() {
            self.set_sgpr64(102, config.scratch_base);
        }
    }

    /// Address of the next instruction to execute.
    #[must_use]
    pub fn pc(&self) -> u64 {
        self.pc
    }

    /// Whether `s_endpgm` has been executed.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Instructions executed so far.
    #[must_use]
    pub fn executed(&self) -> u64 {
        self.executed
    }
}
