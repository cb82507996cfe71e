//! A work-group: waves that share LDS and a barrier, run in turn on one thread.

use crate::{Exception, Lds, Machine, Stop, Wave};

/// What is left to do after [`Workgroup::run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Some wave has not ended.
    Running,
    /// Every wave has ended.
    Finished,
}

/// The waves of one work-group with their LDS.
#[derive(Debug)]
pub struct Workgroup {
    lds: Lds,
    waves: Vec<Wave>,
    at_barrier: Vec<bool>,
}

impl Workgroup {
    /// A group without waves whose LDS has `lds_bytes` bytes (as allocated: the hardware's granule is 512 bytes).
    #[must_use]
    pub fn new(lds_bytes: usize) -> Self {
        Self { lds: Lds::new(lds_bytes), waves: Vec::new(), at_barrier: Vec::new() }
    }

    /// Adds a wave.
    pub fn add_wave(&mut self, wave: Wave) {
        self.waves.push(wave);
        self.at_barrier.push(false);
    }

    /// The group's LDS.
    #[must_use]
    pub fn lds(&self) -> &Lds {
        &self.lds
    }

    /// The group's waves, in the order they were added.
    #[must_use]
    pub fn waves(&self) -> &[Wave] {
        &self.waves
    }

    /// Takes the waves back, for pools of waves.
    #[must_use]
    pub fn into_waves(self) -> Vec<Wave> {
        self.waves
    }

    /// Lets each wave that can run execute about `budget` instructions, or up to a barrier; once all live waves wait
    /// at the barrier they pass it. Returns when each wave has had its turn, so that groups which wait for each
    /// other can be interleaved.
    ///
    /// # Errors
    /// The index of a wave and the [`Exception`] that ended it; the group must not be run again.
    pub fn run(&mut self, machine: &mut Machine<'_>, budget: u64) -> Result<Progress, (usize, Exception)> {
        for index in 0..self.waves.len() {
            let wave = &mut self.waves[index];
            if wave.ended() || self.at_barrier[index] {
                continue;
            }
            let stop = wave.run(&mut self.lds, machine, budget).map_err(|e| (index, e))?;
            self.at_barrier[index] = stop == Stop::Barrier;
        }
        if self.waves.iter().all(Wave::ended) {
            return Ok(Progress::Finished);
        }
        let all_arrived =
            self.waves.iter().zip(&self.at_barrier).all(|(wave, at_barrier)| wave.ended() || *at_barrier);
        if all_arrived {
            self.at_barrier.fill(false);
        }
        Ok(Progress::Running)
    }
}
