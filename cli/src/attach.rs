//! Getting the library into a program: finding it, and the two variables that make the loader take it.
//!
//! `LD_PRELOAD` of the library itself works even for programs that carry an `RPATH` of their own; programs that open the
//! runtime by one of its two names later find it through `LD_LIBRARY_PATH`. Both keep what the user has set there.

mod folder;
mod library;

pub use folder::Folder;
pub use library::{Library, find};

/// The variable whose libraries the loader takes first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// The variable whose folders the loader searches before its own.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
