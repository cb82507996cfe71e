//! Memory instructions.
//!
//! [`port`] translates addresses and is the only way to memory outside the wave; [`host`] is the only module that touches
//! the host memory behind it. [`place`] finds where each lane's access goes.

pub(crate) mod atomic;
pub(crate) mod buffer;
pub(crate) mod format;
pub(crate) mod gws;
pub(crate) mod host;
pub(crate) mod lds;
pub(crate) mod lds_atomic;
pub(crate) mod lds_lanes;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod scalar;
pub(crate) mod scalar_store;
pub(crate) mod vector;
