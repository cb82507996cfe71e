//! Lane-operations per second on one core, for four kinds of code.
//!
//! Usage: `bench CODE-OBJECT`, the code object of `corpus/bench.hip`. Counts instructions of waves times 64 lanes.

#[path = "../tests/launch/mod.rs"]
mod launch;

use std::process::ExitCode;
use std::time::Instant;

use launch::{Arena, Grid, Module, launch};

fn main() -> ExitCode {
    let Some(object) = std::env::args().nth(1) else {
        eprintln!("usage: bench CODE-OBJECT");
        return ExitCode::from(2);
    };
    let object = match std::fs::read(&object) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("cannot read {object}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut arena = Arena::new(64 << 20);
    let module = Module::load(&mut arena, &object);
    let out = arena.allocate(16 << 20);
    let input = arena.allocate(16 << 20);
    for kernel in ["alu", "memory", "lds", "divergent"] {
        let mut arguments = out.to_le_bytes().to_vec();
        arguments.extend(input.to_le_bytes());
        arguments.extend(1000_u32.to_le_bytes());
        let start = Instant::now();
        match launch(&mut arena, &module, kernel, Grid::linear(16, 256), &arguments) {
            Ok(executed) => {
                let seconds = start.elapsed().as_secs_f64();
                #[allow(clippy::cast_precision_loss, reason = "a rate to three digits")]
                let rate = executed as f64 * 64.0 / seconds / 1e9;
                println!("{kernel:10} {rate:6.2} G lane-ops/s ({executed} instructions in {seconds:.3} s)");
            }
            Err(exception) => {
                eprintln!("{kernel}: {exception}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
