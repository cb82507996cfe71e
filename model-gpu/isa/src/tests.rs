//! Tests of the decoder and of execution.

mod control;
mod decoder;
mod float;
mod formats;
mod gfx90a;
mod lanes;
mod matrix;
mod memory;
mod modifiers;
mod rare;
mod reference;
mod robustness;
mod scalar;
pub(crate) mod support;
mod sync;
mod tearing;
