//! The write-back cache: who sees what waves stored, and from when on.

mod program;

use model_gpu_core::memory::{Kind, Request, Rights};
use program::{BASE, Kernel, Program, Scope};

/// Where the kernels store.
const TARGET: u64 = 0x7300_0000_0000;

/// What the tests begin with: s[4:5] is the argument, v0 the work-item's number, v1 four times that.
/// s_load_dwordx2 s[4:5], s[0:1], 0; s_lshl_b32 s6, s2, 6; v_and_b32 v0, 0x3ff, v0; v_add_u32 v0, s6, v0;
/// v_lshlrev_b32 v1, 2, v0; s_waitcnt lgkmcnt(0).
const START: [u32; 8] =
    [0xc006_0100, 0, 0x8e06_8602, 0x2600_00ff, 0x3ff, 0x6800_0006, 0x2402_0082, 0xbf8c_c07f];

/// global_store_dword v1, v0, s[4:5].
const STORE: [u32; 2] = [0xdc70_8000, 0x0004_0001];
/// The same with sc0 sc1.
const STORE_TO_SYSTEM: [u32; 2] = [0xde71_8000, 0x0004_0001];
/// global_store_byte v1, v0, s[4:5] offset:1.
const STORE_BYTE: [u32; 2] = [0xdc60_8001, 0x0004_0001];
/// global_load_dword v3, v1, s[4:5]; s_waitcnt vmcnt(0); global_store_dword v1, v3, s[4:5] offset:2048.
const COPY: [u32; 5] = [0xdc50_8000, 0x0304_0001, 0xbf8c_0f70, 0xdc70_8800, 0x0004_0301];
/// v_mov_b32 v2, 0; v_mov_b32 v4, 1; global_atomic_add v2, v4, s[4:5].
const COUNT: [u32; 4] = [0x7e04_0280, 0x7e08_0281, 0xdd08_8000, 0x0004_0402];
/// The same with sc1.
const COUNT_IN_SYSTEM: [u32; 4] = [0x7e04_0280, 0x7e08_0281, 0xdf08_8000, 0x0004_0402];
/// buffer_wbl2 sc1.
const WRITE_BACK_TO_AGENT: [u32; 2] = [0xe0a0_8000, 0];
/// buffer_wbl2 sc0 sc1.
const WRITE_BACK_TO_SYSTEM: [u32; 2] = [0xe0a0_c000, 0];

/// Executes `body` for `items` work-items as packet `index`, which releases to `scope`.
fn run(program: &Program, index: u64, body: &[&[u32]], items: u32, scope: Scope) {
    run_at(program, index, body, items, TARGET, scope);
}

fn run_at(program: &Program, index: u64, body: &[&[u32]], items: u32, argument: u64, scope: Scope) {
    let code = [&START, body.concat().as_slice(), &[0xbf81_0000]].concat();
    let object = program.load_at(index, &Kernel { code: &code, group_bytes: 0 });
    program.publish_releasing(index, object, items, 64, argument, scope);
    program.ring(index);
    program.await_zero(index);
}

/// A word of memory, as a copy engine, a peer or the host sees it.
fn seen(program: &Program, address: u64) -> u32 {
    program.machine.memory.view(0).load(address).expect("mapped")
}

fn start() -> Program {
    let program = Program::with_caches();
    program.memory(TARGET, 1 << 16);
    program
}

#[test]
fn a_copy_engine_sees_stores_after_a_release_of_system_scope_and_not_before() {
    let program = start();
    let engine = program.copy_engine();
    for (index, scope) in (0..).zip([Scope::None, Scope::Agent]) {
        run(&program, index, &[&STORE], 64, scope);
        assert_eq!(engine.copy(&program, TARGET + 4 * 9), 0, "{scope:?}");
    }
    run(&program, 2, &[&STORE], 64, Scope::System);
    assert_eq!(engine.copy(&program, TARGET + 4 * 9), 9);
}

#[test]
fn a_release_at_a_barrier_covers_what_all_dispatches_before_it_stored() {
    let program = start();
    run(&program, 0, &[&STORE], 64, Scope::None);
    run_at(&program, 1, &[&STORE], 64, TARGET + 4096, Scope::Agent);
    program.barrier_releasing(2, Scope::Agent);
    program.ring(2);
    program.await_zero(2);
    assert_eq!((seen(&program, TARGET + 8), seen(&program, TARGET + 4096 + 8)), (0, 0));
    program.barrier_releasing(3, Scope::System);
    program.ring(3);
    program.await_zero(3);
    assert_eq!((seen(&program, TARGET + 8), seen(&program, TARGET + 4096 + 8)), (2, 2));
}

#[test]
fn waves_of_the_agent_see_stores_that_memory_does_not_have_yet() {
    let program = start();
    run(&program, 0, &[&STORE], 64, Scope::Agent);
    run(&program, 1, &[&COPY], 64, Scope::System);
    assert_eq!(seen(&program, TARGET + 2048 + 4 * 63), 63);
}

#[test]
fn instructions_write_back_at_system_scope_only() {
    let program = start();
    run(&program, 0, &[&STORE, &WRITE_BACK_TO_AGENT], 64, Scope::None);
    assert_eq!(seen(&program, TARGET + 20), 0);
    run(&program, 1, &[&STORE, &WRITE_BACK_TO_SYSTEM], 64, Scope::None);
    assert_eq!(seen(&program, TARGET + 20), 5);
}

#[test]
fn a_store_of_system_scope_goes_through_and_takes_nothing_else_along() {
    let program = start();
    run(&program, 0, &[&STORE], 64, Scope::None);
    // The words of the next 64 work-items begin at the second dword of the same line.
    run_at(&program, 1, &[&STORE_TO_SYSTEM], 2, TARGET + 4, Scope::None);
    let words: Vec<_> = (0..4).map(|n| seen(&program, TARGET + 4 * n)).collect();
    assert_eq!(words, [0, 0, 1, 0], "the second and the third word went through");
    run(&program, 2, &[&COPY], 64, Scope::System);
    let words: Vec<_> = (0..4).map(|n| seen(&program, TARGET + 2048 + 4 * n)).collect();
    assert_eq!(words, [0, 0, 1, 3], "what went through is newer than what was in the cache");
}

#[test]
fn atomics_count_in_the_cache_and_those_of_system_scope_in_memory() {
    let program = start();
    run(&program, 0, &[&COUNT], 6400, Scope::Agent);
    assert_eq!(seen(&program, TARGET), 0);
    run(&program, 1, &[&COUNT_IN_SYSTEM], 64, Scope::None);
    assert_eq!(seen(&program, TARGET), 6464, "the cached sum went first");
    run(&program, 2, &[&COUNT], 64, Scope::System);
    assert_eq!(seen(&program, TARGET), 6528);
}

#[test]
fn only_bytes_that_were_stored_are_written_back() {
    let program = start();
    run(&program, 0, &[&STORE_BYTE], 64, Scope::None);
    let view = program.machine.memory.view(0);
    for item in 0..64 {
        view.store(TARGET + 4 * item, 0xaaaa_aaaa_u32).expect("mapped");
    }
    drop(view);
    run_at(&program, 1, &[&STORE], 2, TARGET + 126, Scope::System);
    for item in (0..64).filter(|item| ![31, 32, 33].contains(item)) {
        assert_eq!(seen(&program, TARGET + 4 * u64::from(item)), 0xaaaa_00aa | item << 8, "{item}");
    }
    // Two words that begin in the last half-word of a line: 0 and 1.
    let words: Vec<_> = (31..34).map(|n| seen(&program, TARGET + 4 * n)).collect();
    assert_eq!(words, [0x0000_1faa, 0x0001_0000, 0xaaaa_0000]);
}

#[test]
fn memory_that_is_freed_leaves_nothing_for_its_successor() {
    let program = Program::with_caches();
    let first = program.memory(TARGET, 1 << 16);
    run(&program, 0, &[&STORE], 64, Scope::None);
    program.machine.memory.free(first).expect("allocated");
    program.memory(TARGET, 1 << 16);
    run(&program, 1, &[&COPY], 64, Scope::System);
    assert_eq!((seen(&program, TARGET + 8), seen(&program, TARGET + 2048 + 8)), (0, 0));
}

#[test]
fn stores_survive_that_their_memory_is_mapped_elsewhere() {
    let program = Program::with_caches();
    let id = program.memory(TARGET, 1 << 16);
    run(&program, 0, &[&STORE], 64, Scope::None);
    program.machine.memory.unmap(id, 1).expect("mapped");
    program.machine.memory.map(id, 1).expect("free");
    assert_eq!(seen(&program, TARGET + 12), 3);
}

#[test]
fn coherent_and_host_memory_is_not_cached() {
    let program = Program::with_caches();
    let rights = Rights { writable: true, executable: false, public: false, coherent: true };
    let request = Request { agent: 0, kind: Kind::Vram, address: TARGET, bytes: 1 << 16, user: 0, rights };
    let buffer = program.machine.memory.allocate(&request).expect("memory");
    program.machine.memory.map(buffer.id, 1).expect("free");
    for (index, target) in [(0, TARGET), (1, BASE + 0x80000)] {
        run_at(&program, index, &[&STORE], 64, target, Scope::None);
        assert_eq!(seen(&program, target + 16), 4, "{target:#x}");
    }
}

#[test]
fn without_caches_every_store_is_seen_at_once() {
    let program = Program::start();
    program.memory(TARGET, 1 << 16);
    run(&program, 0, &[&STORE], 64, Scope::None);
    assert_eq!(seen(&program, TARGET + 16), 4);
}
