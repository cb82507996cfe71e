//! Execution: the semantic functions and what they share.

pub(crate) mod context;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod scalar;
pub(crate) mod vector;

pub(crate) use context::{Context, Flow};
