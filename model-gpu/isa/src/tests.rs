//! Tests of the decoder and of execution.

pub(crate) mod coverage;
