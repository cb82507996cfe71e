//! What one call through the shim costs while it is not armed, over the same call made directly: `cargo run --release
//! --example call_cost`.
//!
//! Both are measured in one run, in turns, against a runtime whose function returns at once; the median of the rounds
//! is printed.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

type Load = unsafe extern "C" fn(u64) -> i64;

const ROUNDS: usize = 21;
const CALLS: u32 = 20_000_000;

fn open(path: &std::path::Path) -> Load {
    // SAFETY: the fake runtime and the shim have no constructors.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.expect("the library loads");
    // SAFETY: hsa_signal_load_relaxed takes a 64-bit handle and returns a 64-bit value, in both.
    let function = unsafe { *library.get::<Load>(c"hsa_signal_load_relaxed").expect("an exported function") };
    std::mem::forget(library);
    function
}

/// Nanoseconds a call.
fn measure(function: Load) -> f64 {
    let function = black_box(function);
    let start = Instant::now();
    for argument in 0..u64::from(CALLS) {
        // SAFETY: the fake runtime's function only adds to its argument.
        black_box(unsafe { function(black_box(argument)) });
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let stage = support::Stage::new();
    let real = stage.path("real").join(support::SONAME);
    let direct = open(&real);
    // The runtime is mapped by now, where the shim finds it.
    let forwarded = open(&stage.path("shim").join(support::SONAME));
    // SAFETY: as in `measure`; binds the slot.
    unsafe { forwarded(0) };

    let (mut direct_ns, mut forwarded_ns) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        direct_ns.push(measure(direct));
        forwarded_ns.push(measure(forwarded));
    }
    let (direct, forwarded) = (median(direct_ns), median(forwarded_ns));
    println!("direct call     {direct:6.2} ns");
    println!("through the shim {forwarded:5.2} ns");
    println!("difference      {:6.2} ns, ratio {:.2}", forwarded - direct, forwarded / direct);
}
