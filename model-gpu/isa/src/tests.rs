//! Tests of the decoder and of execution.

mod control;
mod decoder;
mod float;
mod gfx90a;
mod lanes;
mod matrix;
mod memory;
mod modifiers;
mod reference;
mod robustness;
mod scalar;
pub(crate) mod support;
mod tearing;
