//! Aligned 64-bit accesses are single: nobody sees half of one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::support::{DATA, Rig, flat};

/// Loads or stores of a wave while another thread accesses the same words.
const ROUNDS: u32 = 20_000;

/// Flips the 64 bits at `word` between all clear and all set while `body` runs.
fn while_flipping(word: &AtomicU64, body: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                word.store(0, Ordering::Relaxed);
                word.store(u64::MAX, Ordering::Relaxed);
            }
        });
        body();
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn vector_and_scalar_loads_of_two_dwords_are_single() {
    let mut rig = Rig::new();
    let word = rig.memory.shared(DATA);
    rig.set64(2, |_| DATA);
    rig.set64(4, |_| DATA + 4);
    rig.wave.set_sgpr64(4, DATA);
    let mut words = flat("global_load_dwordx2", 10, 2, 0, 0, false).to_vec();
    words.extend(flat("global_load_dwordx4", 12, 4, 0, 0x1ff8, false));
    // s_load_dwordx2 s[10:11], s[4:5], 0.
    words.extend([0xc006_0282, 0]);
    while_flipping(word, || {
        for _ in 0..ROUNDS {
            rig.run(&words);
            for lane in 0..64 {
                assert_eq!(rig.get(10, lane), rig.get(11, lane), "lane {lane}");
                assert_eq!(rig.get(13, lane), rig.get(14, lane), "the pair in the middle, lane {lane}");
            }
            assert_eq!(rig.wave.sgpr(10), rig.wave.sgpr(11));
        }
    });
}

#[test]
fn vector_stores_of_two_dwords_are_single() {
    let mut rig = Rig::new();
    let word = rig.memory.shared(DATA);
    rig.set64(2, |_| DATA);
    rig.set64(4, |lane| if lane % 2 == 0 { 0 } else { u64::MAX });
    let words = flat("global_store_dwordx2", 0, 2, 4, 0, false);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut torn = 0;
            while !done.load(Ordering::Relaxed) {
                let seen = word.load(Ordering::Relaxed);
                torn += u32::from(seen != 0 && seen != u64::MAX);
            }
            torn
        });
        for _ in 0..ROUNDS {
            rig.run(&words);
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(reader.join().expect("no panic"), 0, "halves of stores were seen");
    });
}
