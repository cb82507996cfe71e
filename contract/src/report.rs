//! Reports as files: JSON Lines, appended one write a line, readable however they end.

mod name;
mod reader;
mod writer;

pub use name::expand_pid;
pub use reader::{Problem, ProblemKind, Reader};
pub use writer::{OpenError, WriteError, Writer, check_appendable, prepare};
