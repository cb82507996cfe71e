//! What the parts of hsa-replay promise each other and the outside: options, environment, config file,
//! reasons, report records.
//!
//! * [`option`]: one table that defines every option once;
//! * [`settings`]: the layers option, environment and file resolved into one [`Settings`];
//! * [`filter`] and [`kernel_name`]: which dispatches are candidates;
//! * [`record`]: the report's records, with [`Outcome`] and [`Reason`];
//! * [`progress`]: the page on which the library tells `run` what it is at;
//! * [`message`]: lines for the user from within a program;
//! * [`text`]: names of others, made harmless for messages;
//! * [`report`]: writing records one line at a time and reading them back, even from a damaged file.
//!
//! The crate is light on purpose, since the shim carries it into every process: no command-line parser, no
//! thread, no global state.

pub mod filter;
pub mod kernel_name;
pub mod message;
pub mod option;
pub mod progress;
pub mod record;
pub mod report;
pub mod settings;
pub mod size_signal;
pub mod text;

pub use filter::{KernelFilter, LaunchWindow};
pub use kernel_name::KernelName;
pub use option::{OPTIONS, OptionId, OptionSpec, ValueKind};
pub use record::{Allow, Begin, ContentHash, Dispatch, Outcome, Reason, Record, Session, Summary};
pub use settings::{Layer, SettingError, Settings, Source};

/// Version of hsa-replay, as it stands in `session.version` and in `hsa-replay --version`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
