//! Tests of the decoder and of execution.

mod comparisons;
mod control;
pub(crate) mod coverage;
mod decoder;
mod exceptions;
mod float;
mod formats;
mod forms;
mod gfx90a;
mod lanes;
mod matrices;
mod matrix;
mod memory;
mod modes;
mod modifiers;
mod rare;
mod reference;
mod robustness;
mod scalar;
mod scalar_table;
mod spaces;
pub(crate) mod support;
mod sync;
mod table;
mod tearing;
