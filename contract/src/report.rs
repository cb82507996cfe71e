//! Reports as files: JSON Lines, appended one write a line, readable however they end.

mod dump;
mod name;
mod patience;
mod reader;
mod writer;

pub use dump::{
    DUMP_GRAIN, DUMP_VERSION, DumpHeader, DumpReader, DumpWriter, DumpedSpan, MAX_DUMPED, dump_spans,
    is_dump_name,
};
pub use name::{expand_origin, expand_pid};
pub use reader::{LONGEST_LINE, Problem, ProblemKind, Reader, TornDispatch};
pub use writer::{Held, OpenError, WriteError, Writer, check_appendable, prepare, prepare_folder};
