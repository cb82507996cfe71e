//! Running programs on the real ROCr and HIP of a ROCm root, with the software GPU in place of a driver.
//!
//! A missing root or library is a failure that says which command makes it: nothing here is ever skipped.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

pub mod changes;
mod installed;
mod launch;
mod release;
pub mod report;
mod victim;

pub use installed::Installed;
pub use launch::{Launch, Run};
pub use release::{Release, checkout, workspace};
pub use victim::Victim;
