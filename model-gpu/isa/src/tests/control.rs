//! Program flow, exceptions, barriers and the code cache.

use super::support::{CODE, Clocks, DATA, Rig, sop1, sopk, sopp, vop1};
use crate::{Exception, FaultReason, Machine, Progress, Stop, WaveConfig, Workgroup};

#[test]
pub(super) fn branches_count_words_from_the_next_instruction() {
    let mut rig = Rig::new();
    rig.run(&[
        sopk("s_movk_i32", 4, 3),
        sopk("s_addk_i32", 4, 0xffff),
        sopk("s_cmpk_lg_i32", 4, 0),
        sopp("s_cbranch_scc1", 0xfffd),
        sopk("s_movk_i32", 5, 7),
    ]);
    assert_eq!((rig.wave.sgpr(4), rig.wave.sgpr(5)), (0, 7));
    assert_eq!(rig.wave.executed(), 1 + 3 * 3 + 2);
}

#[test]
pub(super) fn calls_leave_the_return_address() {
    let mut rig = Rig::new();
    rig.run(&[
        sopk("s_call_b64", 4, 2),
        sopk("s_movk_i32", 8, 1),
        sopp("s_branch", 2),
        sopk("s_movk_i32", 9, 2),
        sop1("s_setpc_b64", 0, 4),
    ]);
    assert_eq!(rig.wave.sgpr64(4), CODE + 4);
    assert_eq!((rig.wave.sgpr(8), rig.wave.sgpr(9)), (1, 2));
}

#[test]
pub(super) fn a_budget_stops_an_endless_loop_and_it_can_go_on() {
    let mut rig = Rig::new();
    rig.load(&[sopk("s_addk_i32", 4, 1), sopp("s_branch", 0xfffe)]);
    assert_eq!(rig.resume(), Ok(Stop::Budget));
    let before = rig.wave.sgpr(4);
    assert_eq!(rig.resume(), Ok(Stop::Budget));
    assert!(rig.wave.sgpr(4) > before);
}

#[test]
pub(super) fn traps_messages_and_unknown_code_end_the_wave_by_name() {
    let mut rig = Rig::new();
    assert_eq!(rig.try_run(&[sopp("s_trap", 2)]), Err(Exception::Trap { pc: CODE, id: 2 }));
    assert_eq!(rig.try_run(&[sopp("s_sendmsg", 1)]), Ok(Stop::EndOfProgram));
    let Err(Exception::IllegalInstruction { pc, reason, .. }) =
        rig.try_run(&[sopp("s_nop", 0), sopp("s_sendmsg", 5)])
    else {
        panic!("message 5 is not known");
    };
    assert_eq!(pc, CODE + 4);
    assert!(reason.contains("message 5"));
    let Err(Exception::IllegalInstruction { pc, words, .. }) = rig.try_run(&[0xf000_0000]) else {
        panic!("not an instruction");
    };
    assert_eq!((pc, words.as_slice()), (CODE, [0xf000_0000].as_slice()));
}

#[test]
pub(super) fn code_beyond_memory_is_a_fetch_fault() {
    let mut rig = Rig::new();
    rig.wave.set_sgpr64(4, 0x40);
    let Err(Exception::Memory { pc, fault }) = rig.try_run(&[sop1("s_setpc_b64", 0, 4)]) else {
        panic!("nothing is mapped at 0x40");
    };
    assert_eq!((pc, fault.address, fault.reason), (0x40, 0x40, FaultReason::Unmapped));
}

#[test]
pub(super) fn changed_code_is_decoded_again_after_an_invalidation() {
    let mut rig = Rig::new();
    rig.run(&[sopk("s_movk_i32", 4, 1)]);
    rig.memory.write32(CODE, sopk("s_movk_i32", 4, 2));
    rig.wave.pc = CODE;
    rig.wave.ended = false;
    assert_eq!(rig.resume(), Ok(Stop::EndOfProgram));
    assert_eq!(rig.wave.sgpr(4), 1, "without an invalidation the decoded code may be used");
    rig.code.invalidate();
    rig.wave.pc = CODE;
    rig.wave.ended = false;
    assert_eq!(rig.resume(), Ok(Stop::EndOfProgram));
    assert_eq!(rig.wave.sgpr(4), 2);
}

#[test]
pub(super) fn registers_beyond_the_allocation_are_refused() {
    let mut rig = Rig::new();
    rig.wave.config.arch_vgprs = 8;
    assert_eq!(rig.try_run(&[vop1("v_mov_b32", 7, 129)]), Ok(Stop::EndOfProgram));
    assert!(matches!(rig.try_run(&[vop1("v_mov_b32", 8, 129)]), Err(Exception::IllegalInstruction { .. })));
}

#[test]
pub(super) fn a_group_passes_its_barrier_when_every_live_wave_has_arrived() {
    let mut rig = Rig::new();
    // A wave whose s4 is zero ends at once; the others meet at the barrier.
    rig.load(&[
        sopk("s_cmpk_eq_i32", 4, 0),
        sopp("s_cbranch_scc1", 2),
        sopp("s_barrier", 0),
        sopk("s_movk_i32", 5, 1),
    ]);
    let mut group = Workgroup::new(0);
    for n in 0..3 {
        let mut wave = crate::Wave::new(&WaveConfig { entry: CODE, ..WaveConfig::default() });
        wave.set_sgpr(4, n);
        group.add_wave(wave);
    }
    let mut machine = Machine::new(&rig.memory, &Clocks, &mut rig.code);
    assert_eq!(group.run(&mut machine, 100), Ok(Progress::Running));
    assert!(group.waves().iter().all(|wave| wave.sgpr(5) == 0));
    assert_eq!(group.run(&mut machine, 100), Ok(Progress::Finished));
    assert_eq!(group.waves().iter().map(|wave| wave.sgpr(5)).collect::<Vec<_>>(), [0, 1, 1]);
    let _ = DATA;
}
