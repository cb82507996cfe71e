//! Drop-in `libhsa-runtime64.so.1`: exports every symbol of the HSA runtime and forwards each to the real one.
//!
//! - `forward`: the exports, one trampoline each through a slot; `bind` fills a slot on its first call.
//! - `runtime`: finds and opens the real runtime; `absent` answers for what it lacks.
//! - `hooks`: the functions that stand in for some exports; `arming` says whether they do, `life` when the
//!   engine runs, and `engine_runtime` is the real runtime as the engine calls it.
//! - `debugger`: the one exported data symbol. `identity`: the exports that mark this library; `interface` the others of
//!   `include/hsa_replay.h`, and `tool` the user's library that it describes.
//! - `settings`: what the environment asks for. `log`: messages, off unless asked for.
//!
//! Nothing happens before the first HSA call: no constructor, no thread, no environment read.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("hsa-replay is for x86-64 Linux: its trampolines follow the System V ABI of that machine");

mod absent;
mod arming;
mod bind;
mod debugger;
mod engine_runtime;
mod event_thread;
mod forward;
mod hooks;
mod identity;
mod interface;
mod life;
mod log;
mod runtime;
mod settings;
mod tool;
