//! Options, environment, config file, reasons and report records: what others test against.
