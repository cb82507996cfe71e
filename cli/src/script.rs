//! The first line of a script, as execve(2) reads it, and what env(1) makes of the word that it gets there.

mod env_words;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use env_words::{Env, split_for_env};

/// A script is looked at so far.
pub const LOOKED_AT: u64 = 1 << 20;

/// A line `#!INTERPRETER ARGUMENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLine<'a> {
    /// The file that the kernel runs instead.
    pub interpreter: &'a OsStr,
    /// The rest of the line, which is one word for the interpreter; may be empty.
    pub argument: &'a [u8],
    /// Whether the line ends in a carriage return, which the kernel takes for a part of the last word.
    pub ends_in_return: bool,
}

impl<'a> FirstLine<'a> {
    /// Reads the line as the kernel does (`fs/binfmt_script.c`); `None` if there is none that names an interpreter.
    pub fn of(start: &'a [u8]) -> Option<Self> {
        let rest = start.strip_prefix(b"#!")?;
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        // One name, and the rest as one word.
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let line = &line[line.iter().position(|byte| !is_blank(byte))?..];
        let end = line.iter().position(is_blank).unwrap_or(line.len());
        let (name, argument) = line.split_at(end);
        Some(Self {
            interpreter: OsStr::from_bytes(name),
            argument: argument.trim_ascii(),
            ends_in_return: line.ends_with(b"\r"),
        })
    }

    /// Whether the interpreter takes a carriage return behind its argument for the end of the line, as perl(1) does alone of the
    /// usual ones.
    pub fn overlooks_return(&self) -> bool {
        let name = Path::new(self.interpreter).file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"perl") && !self.argument.is_empty()
    }

    /// Whether env(1) is the interpreter.
    pub fn is_env(&self) -> bool {
        Path::new(self.interpreter).file_name() == Some(OsStr::new("env"))
    }
}

/// The beginning of a file; empty if it cannot be read, or would be waited for.
pub fn start_of(file: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    if file.is_file() {
        let _unreadable = File::open(file).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut start));
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_is_one_name_and_one_word() {
        let read = |line: &'static str| {
            FirstLine::of(line.as_bytes()).map(|line| (line.interpreter.to_str().unwrap(), line.argument))
        };
        assert_eq!(read("#!/bin/sh\necho"), Some(("/bin/sh", &b""[..])));
        assert_eq!(read("#! \t/bin/sh -e  -x \n"), Some(("/bin/sh", &b"-e  -x"[..])));
        assert_eq!(read("#!/bin/sh"), Some(("/bin/sh", &b""[..])));
        for none in ["", "#", "#!", "#! \t\n/bin/sh", "echo", "\u{feff}#!/bin/sh"] {
            assert_eq!(read(none), None, "{none}");
        }
        assert!(FirstLine::of(b"#!/bin/sh\r\n").expect("a line").ends_in_return);
    }
}
