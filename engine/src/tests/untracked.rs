//! Dispatches whose arguments lead to memory that is not put back.

use super::rig::{COUNT, Rig, SCALE};
use crate::code::MAX_SEGMENT;
use crate::fake::{KERNARG_POOL, VRAM_POOL, argument};
use crate::handles::Executable;
use crate::runtime::Runtime;
use crate::{Allocation, Source};
use hsa_replay_contract::{Allow, Dispatch, Outcome, Reason};

/// Runs `scale(data, input, by, n)` once with these pointers.
pub(super) fn scale(rig: Rig, data: u64, input: u64) -> Dispatch {
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig.queue(16).run(SCALE, &[data, input]);
    rig.finish().0.remove(0)
}

fn declined(record: &Dispatch) -> String {
    assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::UntrackedMemory)));
    record.detail.clone().expect("names the argument")
}

fn host(rig: &Rig) -> u64 {
    let address = rig.fake.allocate_host(4096).expect("host memory");
    let source = Source::Pool { pool: KERNARG_POOL, flags: 0 };
    rig.engine.memory_allocated(&Allocation { address, bytes: 4096, source });
    address
}

#[test]
fn captured_memory_and_module_variables_are_no_hindrance() {
    let rig = Rig::new();
    let (data, counter) = (rig.allocate(64), rig.counter);
    // The second pointer is one past the end of the array.
    assert_eq!(scale(rig, counter, data + 64).outcome, Outcome::Replayed);
}

#[test]
fn a_null_pointer_leads_nowhere() {
    assert_eq!(scale(Rig::new(), 0, 0).outcome, Outcome::Replayed);
}

#[test]
fn host_memory_that_is_written_declines_and_is_named() {
    let rig = Rig::new();
    let data = host(&rig);
    let detail = declined(&scale(rig, data, 0));
    assert!(detail.starts_with("argument 0"), "{detail}");
    assert!(detail.contains("memory for kernel arguments"), "{detail}");
}

#[test]
fn host_memory_that_the_compiler_proved_read_only_is_no_hindrance() {
    let rig = Rig::new();
    let (data, input) = (rig.allocate(64), host(&rig));
    assert_eq!(scale(rig, data, input).outcome, Outcome::Replayed);
}

#[test]
fn an_address_that_nobody_knows_counts_against_a_pointer() {
    let detail = declined(&scale(Rig::new(), 0x4000_0000, 0));
    assert!(detail.contains("no call has shown"), "{detail}");
}

#[test]
fn a_word_of_a_structure_counts_only_inside_known_memory() {
    let run = |second: u64| {
        let rig = Rig::new();
        let out = rig.allocate(64);
        let second = if second == 0 { host(&rig) } else { second };
        // count(int* out, Pair pair): the structure lies at offset 8, its second half at 16.
        rig.queue(16).run(COUNT, &[out, 3, second]);
        rig.finish().0.remove(0)
    };
    assert_eq!(run(0x4000_0000).outcome, Outcome::Replayed);
    assert!(declined(&run(0)).starts_with("argument 1"));
}

#[test]
fn a_word_of_a_structure_counts_at_every_offset() {
    for shift in 0..8 {
        let rig = Rig::new();
        let (out, data) = (rig.allocate(64), host(&rig));
        let words = (u128::from(data) << (8 * shift)).to_le_bytes();
        let half =
            |part: std::ops::Range<usize>| u64::from_le_bytes(words[part].try_into().expect("8 bytes"));
        rig.queue(16).run(COUNT, &[out, half(0..8), half(8..16)]);
        assert!(declined(&rig.finish().0.remove(0)).starts_with("argument 1"), "at {shift}");
    }
}

#[test]
fn a_word_of_a_structure_counts_in_memory_that_only_the_runtime_knows() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    let locked = rig.fake.allocate_host(4096).expect("host memory");
    rig.queue(16).run(COUNT, &[out, 3, locked]);
    assert!(declined(&rig.finish().0.remove(0)).contains("only the runtime knows"));
}

#[test]
fn shared_and_special_device_memory_declines() {
    let rig = Rig::new();
    let data = rig.allocate(64);
    rig.engine.memory_exported(data, true);
    assert!(declined(&scale(rig, data, 0)).contains("others may write"));
    let rig = Rig::new();
    let data = rig.fake.machine(|machine| machine.allocate(64));
    let source = Source::Pool { pool: VRAM_POOL, flags: 4 };
    rig.engine.memory_allocated(&Allocation { address: data, bytes: 64, source });
    assert!(declined(&scale(rig, data, 0)).contains("kernel arguments"));
    for (source, what) in [(Source::Managed, "managed"), (Source::IpcImport, "another process")] {
        let rig = Rig::new();
        let data = rig.fake.machine(|machine| machine.allocate(64));
        rig.engine.memory_allocated(&Allocation { address: data, bytes: 64, source });
        assert!(declined(&scale(rig, data, 0)).contains(what));
    }
}

#[test]
fn what_is_allowed_is_replayed_and_recorded() {
    let rig = Rig::with(&[("ALLOW", "untracked")]);
    let data = host(&rig);
    let record = scale(rig, data, 0);
    assert_eq!((record.outcome, &record.allowed[..]), (Outcome::Replayed, &[Allow::Untracked][..]));
    assert_eq!(record.deterministic, None, "agreement on captured memory is no verdict on the kernel");
    let detail = record.detail.expect("says what was allowed");
    assert!(detail.contains("argument 0") && detail.contains("captured memory only"), "{detail}");
}

#[test]
fn a_difference_that_was_seen_counts_whatever_was_allowed() {
    let rig = Rig::with(&[("ALLOW", "untracked")]);
    let (data, seen) = (host(&rig), rig.allocate(64));
    let counter = std::sync::atomic::AtomicU32::new(0);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
        machine.add_u32(seen, 1 + counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
    });
    rig.queue(16).run(SCALE, &[data, 0]);
    assert_eq!(rig.finish().0.remove(0).deterministic, Some(false));
}

/// Device memory that begins with these words.
pub(super) fn words(rig: &Rig, words: &[u64]) -> u64 {
    let address = rig.allocate(4096);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    rig.fake.machine(|machine| machine.write(address, &bytes));
    address
}

#[test]
fn a_pointer_in_captured_memory_that_leads_out_of_it_declines_and_is_named() {
    let rig = Rig::new();
    let out = host(&rig);
    let table = words(&rig, &[3, out + 8]);
    let detail = declined(&scale(rig, table, 0));
    assert!(detail.starts_with("argument 0"), "{detail}");
    assert!(detail.contains(&format!("{:#x}", table + 8)), "names the word: {detail}");
    assert!(detail.contains(&format!("{:#x}", out + 8)), "and where it leads: {detail}");
}

#[test]
fn pointers_are_followed_from_allocation_to_allocation() {
    let rig = Rig::new();
    let out = host(&rig);
    let last = words(&rig, &[0, 0, out]);
    let middle = words(&rig, &[last + 4088, 7]);
    let first = words(&rig, &[middle]);
    assert!(
        declined(&scale(rig, 0, first)).starts_with("argument 1"),
        "also from an argument that is only read"
    );
}

#[test]
fn a_variable_of_the_kernels_module_is_an_origin_too() {
    let rig = Rig::new();
    let out = host(&rig);
    let table = words(&rig, &[out]);
    rig.fake.machine(|machine| machine.write(rig.counter & !7, &table.to_le_bytes()));
    let detail = declined(&scale(rig, 0, 0));
    assert!(detail.contains("variable"), "{detail}");
}

#[test]
fn a_table_in_host_memory_that_is_only_read_is_looked_through() {
    let rig = Rig::new();
    let (out, table) = (host(&rig), host(&rig));
    rig.fake.store_word(table + 16, out);
    assert!(declined(&scale(rig, 0, table)).starts_with("argument 1"));
}

#[test]
fn memory_that_the_arguments_do_not_lead_to_may_hold_anything() {
    let rig = Rig::new();
    let (out, data) = (host(&rig), rig.allocate(64));
    words(&rig, &[out]);
    assert_eq!(scale(rig, data, 0).outcome, Outcome::Replayed);
}

#[test]
fn words_that_are_no_address_of_known_memory_are_no_hindrance() {
    let rig = Rig::new();
    let out = host(&rig);
    // One behind the end, at an odd offset, and a number that nobody has memory at.
    let table = words(&rig, &[out + 4096, out << 8, out >> 56, 0x7f00_0000_0000]);
    assert_eq!(scale(rig, table, 0).outcome, Outcome::Replayed);
}

#[test]
fn a_single_pass_writes_everything_once_whatever_its_pointers() {
    let rig = Rig::with(&[("PASSES", "1")]);
    let table = words(&rig, &[host(&rig)]);
    assert_eq!(scale(rig, table, 0).outcome, Outcome::Replayed);
}

#[test]
fn an_allowance_that_was_not_needed_is_not_recorded() {
    let rig = Rig::with(&[("ALLOW", "untracked")]);
    let data = rig.allocate(64);
    assert!(scale(rig, data, 0).allowed.is_empty());
}

#[test]
fn memory_that_turns_out_to_hold_arguments_before_the_snapshot_declines() {
    let rig = Rig::new();
    let block = rig.allocate(4096);
    let queue = rig.queue(16);
    rig.fake.kernel(rig.kernel(SCALE), |machine, words| machine.add_u32(argument(words, 0), 1));
    let signal = rig.fake.new_signal(1);
    queue.write(queue.packet(SCALE, &[block], signal));
    // The next packet in software takes its arguments from the memory that the first one writes.
    let last = rig.fake.new_signal(1);
    let mut packet = queue.packet(COUNT, &[], last);
    packet[5] = block;
    rig.fake.kernel(rig.kernel(COUNT), |_, _| {});
    let index = queue.write(packet);
    queue.ring(index);
    queue.wait(last);
    assert_eq!(rig.u32(block), 1);
    let (records, _) = rig.finish();
    assert!(declined(&records[0]).contains("memory for kernel arguments"));
}

#[test]
fn memory_that_the_runtime_knows_differently_declines() {
    let rig = Rig::new();
    let memory = rig.allocate(4096);
    // Less than the hook was told.
    rig.track(memory, 1 << 20);
    assert!(declined(&scale(rig, memory, 0)).contains("knows differently"));
}

#[test]
fn module_variables_too_large_to_capture_decline_while_they_are_loaded() {
    for (options, expected) in
        [(&[][..], Outcome::Declined), (&[("ALLOW", "untracked")][..], Outcome::Replayed)]
    {
        let rig = Rig::with(options);
        let data = rig.allocate(64);
        rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
        rig.load_oversized(Executable(2), MAX_SEGMENT + 1);
        let queue = rig.queue(16);
        queue.run(SCALE, &[data]);
        rig.engine.executable_destroying(Executable(2), true);
        queue.run(SCALE, &[data]);
        let (records, _) = rig.finish();
        assert_eq!((records[0].outcome, records[1].outcome), (expected, Outcome::Replayed));
        assert_eq!(records[0].allowed.len(), options.len());
        if expected == Outcome::Declined {
            assert!(declined(&records[0]).contains("module variables"));
        }
    }
}

#[test]
fn a_variable_that_the_program_placed_in_host_memory_declines() {
    let rig = Rig::new();
    let (out, data, captured) = (host(&rig), rig.allocate(64), rig.allocate(64));
    rig.engine.variable_defined(Executable(1), captured);
    rig.engine.variable_defined(Executable(2), out);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let queue = rig.queue(16);
    queue.run(SCALE, &[data]);
    rig.engine.variable_defined(Executable(1), out);
    queue.run(SCALE, &[data]);
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Replayed, "only the kernel's own module counts");
    assert!(declined(&records[1]).contains("variable of its module"));
}

#[test]
fn pointers_in_memory_that_an_argument_leads_to_by_another_mapping_are_followed() {
    let rig = Rig::new();
    let out = host(&rig);
    let (table, alias) = (rig.map(1), rig.map(1));
    rig.fake.machine(|machine| machine.write(table, &out.to_le_bytes()));
    assert!(declined(&scale(rig, alias, 0)).starts_with("argument 0"));
}

#[test]
fn pointers_in_managed_and_locked_tables_that_the_kernel_only_reads_are_followed() {
    for source in [Source::Managed, Source::Locked] {
        let rig = Rig::new();
        let (data, out) = (rig.allocate(64), host(&rig));
        let table = rig.unseen_arguments(&[1, out]);
        rig.engine.memory_allocated(&Allocation { address: table, bytes: 4096, source });
        let detail = declined(&scale(rig, data, table));
        assert!(detail.contains(&format!("the word at {:#x}", table + 8)), "{source:?}: {detail}");
    }
}

#[test]
fn a_table_that_the_program_has_given_back_holds_nothing() {
    let rig = Rig::new();
    let data = rig.allocate(64);
    let gone = Allocation { address: 0x5000_0000, bytes: 1 << 20, source: Source::Managed };
    rig.engine.memory_allocated(&gone);
    assert_eq!(scale(rig, data, gone.address).outcome, Outcome::Replayed);
}

#[test]
fn a_kernel_that_enqueues_kernels_itself_runs_once() {
    let rig = Rig::new();
    // The compiler lists the device queue where a kernel uses it.
    let object = rig.load_changed(Executable(2), "hidden_block_count_x", "hidden_default_queue");
    rig.fake.kernel(object, |_, _| {});
    let queue = rig.queue(16);
    let signal = rig.fake.new_signal(1);
    let mut packet = queue.packet(SCALE, &[rig.allocate(64)], signal);
    packet[4] = object;
    queue.submit(packet);
    queue.wait(signal);
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::DeviceEnqueue)));
}

#[test]
fn a_queue_that_is_found_in_memory_declines() {
    let rig = Rig::new();
    let table = rig.allocate(64);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let queue = rig.queue(16);
    rig.fake.machine(|machine| machine.write(table, &queue.object.to_le_bytes()));
    queue.run(SCALE, &[table, 0]);
    let detail = declined(&rig.finish().0.remove(0));
    assert!(detail.ends_with("of a queue"), "{detail}");
}
