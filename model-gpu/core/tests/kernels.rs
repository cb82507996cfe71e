//! Dispatches of small kernels, from packet to completion, fault or error.

mod program;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use model_gpu_core::events::{Kind as EventKind, Want};
use model_gpu_core::memory::{Kind, Request, Rights};
use program::{BASE, Kernel, Program};

/// Where the kernels store.
const TARGET: u64 = 0x7300_0000_0000;

/// `argument[i] = i` for work-item `i`, in work-groups of 64:
/// s_load_dwordx2 s[4:5], s[0:1], 0; s_lshl_b32 s6, s2, 6; v_and_b32 v0, 0x3ff, v0; v_add_u32 v0, s6, v0;
/// v_lshlrev_b32 v1, 2, v0; s_waitcnt lgkmcnt(0); global_store_dword v1, v0, s[4:5]; s_endpgm.
const NUMBER: [u32; 12] = [
    0xc006_0100,
    0,
    0x8e06_8602,
    0x2600_00ff,
    0x3ff,
    0x6800_0006,
    0x2402_0082,
    0xbf8c_c07f,
    0xdc70_8000,
    0x0004_0001,
    0xbf81_0000,
    0xbf80_0000,
];

/// As `NUMBER`, but for ever: the store is followed by a branch back to it.
const ENDLESS: [u32; 11] = [
    0xc006_0100,
    0,
    0x8e06_8602,
    0x2600_00ff,
    0x3ff,
    0x6800_0006,
    0x2402_0082,
    0xbf8c_c07f,
    0xdc70_8000,
    0x0004_0001,
    0xbf82_fffd,
];

fn kernel(code: &[u32]) -> Kernel<'_> {
    Kernel { code, group_bytes: 0 }
}

fn await_fault(program: &Program, event: u32) -> u64 {
    let want = [Want { id: event, age: 0 }];
    let (found, _) =
        program.machine.events.wait(&want, false, Some(Duration::from_secs(60))).expect("exists");
    found[0].memory.expect("a fault").fault.address
}

#[test]
fn every_work_item_runs_once_and_then_the_signal_completes() {
    let program = Program::start();
    program.memory(TARGET, 1 << 16);
    let object = program.load(&kernel(&NUMBER));
    program.dispatch(0, object, 10_000, 64, TARGET);
    program.await_zero(0);
    let view = program.machine.memory.view(0);
    for item in 0..10_000u32 {
        assert_eq!(view.load::<u32>(TARGET + u64::from(item) * 4), Ok(item));
    }
    assert_eq!(view.load::<u32>(TARGET + 40_000), Ok(0), "lanes beyond the grid are off");
    assert_eq!(program.machine.counters.workgroups.get(), 157);
}

#[test]
fn a_kernel_that_never_ends_stops_with_its_queue() {
    let program = Program::start();
    program.memory(TARGET, 1 << 16);
    let object = program.load(&kernel(&ENDLESS));
    program.dispatch(0, object, 256, 64, TARGET);
    let view = || program.machine.memory.view(0);
    while view().load::<u32>(TARGET + 255 * 4) != Ok(255) {
        std::thread::yield_now();
    }
    program.machine.destroy_queue(program.id).expect("exists");
    assert_eq!(program.value(0), 1, "it did not complete");
}

#[test]
fn memory_freed_under_a_running_kernel_is_a_fault_and_no_crash() {
    let program = Program::start();
    let event = program.machine.events.create(EventKind::Memory, false).expect("slot");
    let id = program.memory(TARGET, 1 << 16);
    let object = program.load(&kernel(&ENDLESS));
    program.dispatch(0, object, 64, 64, TARGET);
    while program.machine.memory.view(0).load::<u32>(TARGET + 63 * 4) != Ok(63) {
        std::thread::yield_now();
    }
    program.machine.memory.free(id).expect("allocated");
    assert_eq!(await_fault(&program, event), TARGET);
}

#[test]
fn a_store_out_of_bounds_reports_the_first_address_that_is_not_mapped() {
    let program = Program::start();
    let event = program.machine.events.create(EventKind::Memory, false).expect("slot");
    program.memory(TARGET, 4096);
    let object = program.load(&kernel(&NUMBER));
    program.dispatch(0, object, 64, 64, TARGET + 4096 - 32);
    assert_eq!(await_fault(&program, event), TARGET + 4096);
    assert_eq!(program.value(0), 1);
}

#[test]
fn errors_of_a_dispatch_reach_the_inactive_signal() {
    let illegal = [0xffff_ffff];
    let abort = [0xbf92_0002];
    // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 14, 1), 1 enables the trap on a division by zero; v_rcp_f32 v1, 0.
    let division = [0xba00_0381, 1, 0x7e02_4480];
    let cases: [(&str, &[u32], u32, u16, u64); 5] = [
        ("an illegal instruction", &illegal, 64, 64, 0x4000_0000),
        ("an abort trap", &abort, 64, 64, 0x8000_0000),
        ("an arithmetic exception", &division, 64, 64, 0x8000_0000),
        ("a work-group of 2048", &NUMBER, 2048, 2048, 64),
        ("an empty grid", &NUMBER, 0, 64, 2),
    ];
    for (what, code, items, group, expected) in cases {
        let program = Program::start();
        let inactive = program.signal(50);
        let amd = BASE + 0x10000;
        program.machine.memory.view(0).store(inactive + 8, 0u64).expect("mapped");
        program.machine.memory.view(0).store(amd + 192, inactive).expect("mapped");
        let object = program.load(&kernel(code));
        program.dispatch(0, object, items, group, TARGET);
        while program.value(50) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(program.value(50), expected, "{what}");
    }
}

/// Waits for the queue's error; its inactive signal has to be signal 50.
fn await_error(program: &Program) -> u64 {
    let start = std::time::Instant::now();
    while program.value(50) == 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "no error");
        std::thread::yield_now();
    }
    program.value(50)
}

fn with_inactive_signal() -> Program {
    let program = Program::start();
    let inactive = program.signal(50);
    program.machine.memory.view(0).store(inactive + 8, 0u64).expect("mapped");
    program.machine.memory.view(0).store(BASE + 0x10000 + 192, inactive).expect("mapped");
    program
}

#[test]
fn a_code_object_that_is_cut_off_is_an_invalid_code_object() {
    /// The error of a kernel without code where its descriptor says, or without a descriptor.
    const INVALID_CODE: u64 = 8;
    let program = with_inactive_signal();
    program.memory(TARGET, 4096);
    program.dispatch(0, TARGET + 4096, 64, 64, 0);
    assert_eq!(await_error(&program), INVALID_CODE, "a descriptor beyond the object");
    let program = with_inactive_signal();
    let object = program.load(&kernel(&NUMBER));
    program.machine.memory.view(0).store(object + 16, 1u64 << 40).expect("mapped");
    program.dispatch(0, object, 64, 64, 0);
    assert_eq!(await_error(&program), INVALID_CODE, "code beyond the object");
    // Code that ends in the middle of the kernel is a fault of the fetch behind it.
    let program = Program::start();
    let event = program.machine.events.create(EventKind::Memory, false).expect("slot");
    let rights = Rights { writable: true, executable: true, public: false, coherent: false };
    let request = Request { agent: 0, kind: Kind::Vram, address: TARGET, bytes: 4096, user: 0, rights };
    let buffer = program.machine.memory.allocate(&request).expect("memory");
    program.machine.memory.map(buffer.id, 1).expect("free");
    let object = program.load(&kernel(&NUMBER));
    let code = TARGET + 4096 - 4;
    let view = program.machine.memory.view(0);
    view.store(code, 0xbf80_0000u32).expect("mapped");
    view.store(object + 16, code - object).expect("mapped");
    drop(view);
    program.dispatch(0, object, 64, 64, 0);
    assert_eq!(await_fault(&program, event), TARGET + 4096);
}

#[test]
fn kernel_arguments_that_are_nowhere_are_a_memory_fault() {
    const NOWHERE: u64 = 0x7ead_0000_0000;
    let program = Program::start();
    let event = program.machine.events.create(EventKind::Memory, false).expect("slot");
    let object = program.load(&kernel(&NUMBER));
    program.publish(0, object, 64, 64, TARGET);
    program.machine.memory.view(0).store(BASE + 40, NOWHERE).expect("mapped");
    program.ring(0);
    assert_eq!(await_fault(&program, event), NOWHERE);
}

/// `*argument = 1`: s_load_dwordx2 s[4:5], s[0:1], 0; v_mov_b32 v1, 0; v_mov_b32 v0, 1; s_waitcnt lgkmcnt(0);
/// global_store_dword v1, v0, s[4:5]; s_endpgm.
const MARK: [u32; 8] =
    [0xc006_0100, 0, 0x7e02_0280, 0x7e00_0281, 0xbf8c_c07f, 0xdc70_8000, 0x0004_0001, 0xbf81_0000];

#[test]
fn an_absurd_grid_runs_until_its_queue_goes_away_and_empty_groups_are_refused() {
    let program = Program::start();
    program.memory(TARGET, 4096);
    let object = program.load(&kernel(&MARK));
    program.publish(0, object, u32::MAX, 1, TARGET);
    let view = program.machine.memory.view(0);
    // Three dimensions of as many work-items as there can be.
    view.store(BASE + 2, 3u16).expect("mapped");
    for n in 0..3 {
        view.store(BASE + 12 + 4 * n, u32::MAX).expect("mapped");
    }
    drop(view);
    program.ring(0);
    while program.machine.memory.view(0).load::<u32>(TARGET) != Ok(1) {
        std::thread::yield_now();
    }
    program.machine.destroy_queue(program.id).expect("exists");
    assert_eq!(program.value(0), 1, "it did not complete");
    let program = with_inactive_signal();
    let object = program.load(&kernel(&NUMBER));
    program.dispatch(0, object, 64, 0, TARGET);
    assert_eq!(await_error(&program), 64, "the work-group's size");
}

#[test]
fn less_group_memory_than_the_kernel_has_is_an_error() {
    let program = Program::start();
    let inactive = program.signal(50);
    program.machine.memory.view(0).store(inactive + 8, 0u64).expect("mapped");
    program.machine.memory.view(0).store(BASE + 0x10000 + 192, inactive).expect("mapped");
    let object = program.load(&Kernel { code: &NUMBER, group_bytes: 64 });
    program.dispatch(0, object, 64, 64, TARGET);
    while program.value(50) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(program.value(50), 4);
}

/// Ends when `argument[1]` is not zero: s_load_dwordx2 s[4:5], s[0:1], 0; s_waitcnt lgkmcnt(0); s_load_dword s6, s[4:5], 4 glc;
/// s_waitcnt lgkmcnt(0); s_cmp_eq_u32 s6, 0; s_cbranch_scc1 to the load; s_endpgm.
const AWAIT: [u32; 9] =
    [0xc006_0100, 0, 0xbf8c_c07f, 0xc003_0182, 4, 0xbf8c_c07f, 0xbf06_8006, 0xbf85_fffb, 0xbf81_0000];

#[test]
fn dispatches_without_a_barrier_bit_run_side_by_side() {
    let program = Program::start();
    program.memory(TARGET, 1 << 16);
    let (waits, stores) = (program.load(&kernel(&AWAIT)), program.load_at(1, &kernel(&NUMBER)));
    program.publish(0, waits, 64, 64, TARGET);
    program.publish(1, stores, 64, 64, TARGET);
    program.ring(1);
    program.await_zero(0);
    program.await_zero(1);
    assert_eq!(program.machine.counters.dispatches.get(), 2);
}

#[test]
fn the_seed_decides_which_of_two_overlapping_dispatches_stores_last() {
    let last = |seed| {
        let program = Program::with_seed(seed);
        program.memory(TARGET - 4096, 1 << 16);
        let object = program.load(&kernel(&NUMBER));
        program.publish(0, object, 64, 64, TARGET);
        program.publish(1, object, 64, 64, TARGET - 4);
        program.ring(1);
        program.await_zero(0);
        program.await_zero(1);
        program.machine.memory.view(0).load::<u32>(TARGET + 40).expect("mapped")
    };
    let results: Vec<_> = (0..12).map(last).collect();
    assert_eq!(results, (0..12).map(last).collect::<Vec<_>>(), "the same seed, the same order");
    assert!(results.contains(&10) && results.contains(&11), "{results:?}");
}

/// A page of this program that the device may use at its own address, and its handle.
fn registered(program: &Program) -> (*mut libc::c_void, u64) {
    // Far below where the system places mappings by itself: nobody else's memory takes the page's place once it is gone.
    static NEXT: AtomicUsize = AtomicUsize::new(0x1000_0000_0000);
    let hint = core::ptr::without_provenance_mut(NEXT.fetch_add(1 << 20, Ordering::Relaxed));
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous mapping that takes nobody's place: the address is a wish.
    let page = unsafe { libc::mmap(hint, 4096, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    let rights = Rights { writable: true, executable: false, public: false, coherent: false };
    let user = page.expose_provenance() as u64;
    let request = Request { agent: 0, kind: Kind::User, address: TARGET, bytes: 4096, user, rights };
    let buffer = program.machine.memory.allocate(&request).expect("the page exists");
    program.machine.memory.map(buffer.id, 1).expect("free");
    (page, buffer.id)
}

#[test]
fn registered_memory_that_the_program_unmapped_unseen_is_a_fault_and_no_crash() {
    let program = Program::start();
    let event = program.machine.events.create(EventKind::Memory, false).expect("slot");
    let (page, _) = registered(&program);
    // SAFETY: the page of `registered`, which nobody but the device uses.
    assert_eq!(unsafe { libc::munmap(page, 4096) }, 0);
    let object = program.load(&kernel(&NUMBER));
    program.dispatch(0, object, 64, 64, TARGET);
    assert_eq!(await_fault(&program, event) & !0xfff, TARGET);
    assert_eq!(program.value(0), 1, "it did not complete");
}

#[test]
fn registered_memory_that_the_program_protected_unseen_is_a_fault_and_no_crash() {
    let program = Program::start();
    let event = program.machine.events.create(EventKind::Memory, false).expect("slot");
    let (page, _) = registered(&program);
    // SAFETY: the page of `registered`, which nobody but the device uses.
    assert_eq!(unsafe { libc::mprotect(page, 4096, libc::PROT_NONE) }, 0);
    let object = program.load(&kernel(&NUMBER));
    program.dispatch(0, object, 64, 64, TARGET);
    assert_eq!(await_fault(&program, event) & !0xfff, TARGET);
}

/// Sends 2000 interrupts for event 0 in each wave: s_mov_b32 m0, 0; s_movk_i32 s4, 2000; s_sendmsg 1; s_sub_u32 s4, s4, 1;
/// s_cmp_lg_u32 s4, 0; s_cbranch_scc1 to the message; s_endpgm.
const INTERRUPTS: [u32; 7] =
    [0xbefc_0080, 0xb004_07d0, 0xbf90_0001, 0x8084_8104, 0xbf07_8004, 0xbf85_fffc, 0xbf81_0000];

#[test]
fn interrupts_of_waves_go_out_while_others_wait_to_change_the_map() {
    let (done, ended) = mpsc::channel();
    // A thread of its own: what hangs must not hang the test's end too.
    std::thread::spawn(move || {
        let program = Program::start();
        program.memory(TARGET, 1 << 16);
        program.machine.set_event_page(TARGET);
        let object = program.load(&kernel(&INTERRUPTS));
        program.dispatch(0, object, 256, 64, TARGET);
        while program.value(0) != 0 {
            let id = program.memory(TARGET + (1 << 20), 4096);
            program.machine.memory.free(id).expect("allocated");
        }
        done.send(()).expect("the test waits");
    });
    ended.recv_timeout(Duration::from_secs(120)).expect("kernel and allocations get on");
}
