//! Scalar ALU, program control and the hardware registers.

pub(crate) mod alu;
pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod control;
pub(crate) mod exec_mask;
pub(crate) mod fork;
pub(crate) mod hardware;
pub(crate) mod indexing;
pub(crate) mod operand;
