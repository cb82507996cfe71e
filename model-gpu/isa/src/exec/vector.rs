//! Vector ALU: one operation on every active lane.
//!
//! A semantic function is a scalar closure over typed operands; [`operand`] fetches and stores them, with all modifiers,
//! and [`apply`] runs the closure over the lanes.

pub(crate) mod apply;
pub(crate) mod bits;
pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod division;
pub(crate) mod dot;
pub(crate) mod dpp;
pub(crate) mod exceptions;
pub(crate) mod float16;
pub(crate) mod float32;
pub(crate) mod float64;
pub(crate) mod integer;
pub(crate) mod integer16;
pub(crate) mod lane;
pub(crate) mod matrix;
pub(crate) mod operand;
pub(crate) mod packed;
pub(crate) mod sad;
pub(crate) mod sparse;
