//! Global wave sync: barriers and semaphores across waves.

use super::support::{Memory, Rig, ds, sopp, v, vop1};
use crate::instruction::Encoding;
use crate::{CodeCache, Environment, Exception, Gws, Lds, Machine, Stop, Wave, WaveConfig};

/// An environment with global wave sync.
struct Synced(Gws);

impl Environment for Synced {
    fn core_clock(&self) -> u64 {
        0
    }

    fn real_time(&self) -> u64 {
        0
    }

    fn send_message(&self, _message: u16, _m0: u32) -> Result<(), String> {
        Ok(())
    }

    fn gws(&self) -> Option<&Gws> {
        Some(&self.0)
    }
}

/// A `ds_gws_*` instruction whose data, if any, is v1, on resource 2 of the wave's.
fn gws(mnemonic: &str) -> [u32; 2] {
    let [low, high] = ds(mnemonic, 0, 1, [0, 0], 2);
    [low | 1 << 16, high]
}

/// Waves that run the same code, each with `value` in v1.
struct Waves {
    memory: Memory,
    environment: Synced,
    code: CodeCache,
    waves: Vec<Wave>,
}

impl Waves {
    fn new(count: usize, value: u32, code: &[u32]) -> Self {
        let mut rig = Rig::new();
        rig.load(code);
        let config = WaveConfig { entry: super::support::CODE, ..WaveConfig::default() };
        let waves = (0..count).map(|_| {
            let mut wave = Wave::new(&config);
            wave.set_vgpr(1, &[value; 64]);
            wave.set_m0(3 << 16);
            wave
        });
        Self {
            waves: waves.collect(),
            memory: rig.memory,
            environment: Synced(Gws::new()),
            code: CodeCache::new(),
        }
    }

    fn run(&mut self, wave: usize) -> Result<Stop, Exception> {
        let mut machine = Machine::new(&self.memory, &self.environment, &mut self.code);
        self.waves[wave].run(&mut Lds::new(0), &mut machine, 1000)
    }
}

#[test]
pub(super) fn a_barrier_holds_every_wave_until_the_last_has_come_twice() {
    let mut code = gws("ds_gws_barrier").to_vec();
    code.extend([vop1("v_mov_b32", 2, v(1))]);
    code.extend(gws("ds_gws_barrier"));
    let mut waves = Waves::new(3, 2, &code);
    waves.environment.0.init(5, 2);
    assert_eq!(waves.run(0), Ok(Stop::Yield));
    assert_eq!(waves.run(1), Ok(Stop::Yield));
    assert_eq!(waves.run(0), Ok(Stop::Yield), "asking again does not count as arriving");
    assert_eq!(waves.waves[0].vgpr(2)[0], 0);
    // The last one passes at once and waits at the second barrier.
    assert_eq!(waves.run(2), Ok(Stop::Yield));
    assert_eq!(waves.waves[2].vgpr(2)[0], 2);
    assert_eq!(waves.run(0), Ok(Stop::Yield));
    assert_eq!(waves.run(1), Ok(Stop::EndOfProgram));
    assert_eq!(waves.run(0), Ok(Stop::EndOfProgram));
    assert_eq!(waves.run(2), Ok(Stop::EndOfProgram));
}

#[test]
pub(super) fn the_counter_is_set_from_the_first_active_lane_by_another_program() {
    let mut waves = Waves::new(2, 0, &gws("ds_gws_init"));
    waves.waves[0].set_exec(1 << 9);
    waves.waves[0].set_vgpr(1, &std::array::from_fn(|lane| u32::from(lane == 9)));
    assert_eq!(waves.run(0), Ok(Stop::EndOfProgram));
    assert!(waves.environment.0.arrive(5, 1).is_some(), "one more wave is expected");
    assert!(waves.environment.0.arrive(5, 1).is_none());
}

#[test]
pub(super) fn a_semaphore_lets_as_many_pass_as_are_given() {
    let mut waves = Waves::new(4, 0, &gws("ds_gws_sema_p"));
    waves.environment.0.init(5, 1);
    assert_eq!(waves.run(0), Ok(Stop::EndOfProgram));
    assert_eq!(
        (waves.run(1), waves.run(2), waves.run(3)),
        (Ok(Stop::Yield), Ok(Stop::Yield), Ok(Stop::Yield))
    );
    let give = |waves: &mut Waves, mnemonic: &str| {
        let mut other = Waves::new(1, 1, &gws(mnemonic));
        std::mem::swap(&mut other.environment, &mut waves.environment);
        assert_eq!(other.run(0), Ok(Stop::EndOfProgram));
        std::mem::swap(&mut other.environment, &mut waves.environment);
    };
    give(&mut waves, "ds_gws_sema_v");
    assert_eq!(waves.run(2), Ok(Stop::Yield), "first come, first served");
    assert_eq!(waves.run(1), Ok(Stop::EndOfProgram));
    give(&mut waves, "ds_gws_sema_br");
    assert_eq!(waves.run(2), Ok(Stop::EndOfProgram));
    give(&mut waves, "ds_gws_sema_release_all");
    assert_eq!(waves.run(3), Ok(Stop::EndOfProgram));
}

#[test]
pub(super) fn a_queue_without_resources_says_so() {
    let mut rig = Rig::new();
    let refused = rig.try_run(&gws("ds_gws_barrier")).expect_err("no resources").to_string();
    assert!(refused.contains("ds_gws_barrier") && refused.contains("global wave sync"), "{refused}");
    assert_eq!(super::support::opcode(Encoding::Ds, "ds_gws_barrier"), 0x9d);
    let _ = sopp("s_nop", 0);
}
