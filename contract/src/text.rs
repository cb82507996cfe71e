//! Text of others for people: names of kernels, files and devices hold any characters, and what does not print would steer the
//! terminal, or let a line read as another.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether a character is shown as it is: not a control character, and neither one that reorders, hides or joins others, nor a
/// space that does not look like one.
pub fn is_shown(character: char) -> bool {
    matches!(character, ' '..='~') || (!character.is_ascii() && character.escape_debug().len() == 1)
}

/// `text` on one line, with each character that does not print as its escape: `\n`, `\u{202e}`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    text.chars().for_each(|character| push(&mut escaped, character));
    Cow::Owned(escaped)
}

/// The same in at most `width` characters: what does not fit ends in `…`.
pub fn shorten(text: &str, width: usize) -> String {
    if text.len() <= width && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut room = width;
    // Where the text ends if what comes next does not fit.
    let mut end = 0;
    for character in text.chars() {
        let before = short.len();
        push(&mut short, character);
        let length = short[before..].chars().count();
        if length > room {
            short.truncate(end);
            short.push('…');
            return short;
        }
        room -= length;
        if room > 0 {
            end = short.len();
        }
    }
    short
}

fn push(text: &mut String, character: char) {
    if is_shown(character) {
        text.push(character);
    } else {
        text.extend(character.escape_default());
    }
}

/// The name of a file for a message: as it is where it prints, otherwise as a word of a shell, `$'a\xff'`, so that it can be
/// told from any other and typed.
pub fn name_of<P: AsRef<Path> + ?Sized>(path: &P) -> FileName<'_> {
    FileName(path.as_ref())
}

/// See [`name_of`].
#[derive(Clone, Copy, Debug)]
pub struct FileName<'a>(&'a Path);

impl fmt::Display for FileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.0.to_str().filter(|text| text.chars().all(is_shown)) {
            return f.write_str(text);
        }
        f.write_str("$'")?;
        for part in self.0.as_os_str().as_bytes().utf8_chunks() {
            for character in part.valid().chars() {
                match character {
                    '\'' | '\\' => write!(f, "\\{character}")?,
                    '\n' => f.write_str("\\n")?,
                    '\t' => f.write_str("\\t")?,
                    _ if is_shown(character) => write!(f, "{character}")?,
                    _ => character
                        .encode_utf8(&mut [0; 4])
                        .bytes()
                        .try_for_each(|byte| write!(f, "\\x{byte:02x}"))?,
                }
            }
            part.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        f.write_str("'")
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn what_steers_a_terminal_or_reorders_text_is_escaped_and_letters_of_any_script_are_not() {
        for (text, expected) in [
            ("void f<int>(\"a\", '\\b')", "void f<int>(\"a\", '\\b')"),
            ("ärger ñ 核 ж µs", "ärger ñ 核 ж µs"),
            ("\u{1b}[2J\u{9b}2J\u{7f}", "\\u{1b}[2J\\u{9b}2J\\u{7f}"),
            ("a\r\n\tb\0", "a\\r\\n\\tb\\u{0}"),
            (
                "\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}",
                "\\u{202e}\\u{2066}\\u{200b}\\u{feff}\\u{2028}\\u{e0041}",
            ),
        ] {
            assert_eq!(shown(text), expected);
            assert_eq!(shorten(text, 1000), expected);
        }
    }

    #[test]
    fn names_are_cut_at_characters_and_never_inside_an_escape() {
        assert_eq!(shorten("saxpy", 5), "saxpy");
        assert_eq!(shorten("saxpy(float)", 6), "saxpy…");
        assert_eq!(shorten("ärger", 3), "är…");
        assert_eq!(shorten("a\nb", 10), "a\\nb");
        assert_eq!(shorten("a\u{1b}b", 5), "a…");
        assert_eq!(shorten("ab", 0), "…");
        assert_eq!(shorten(&"k".repeat(100_000), 10).chars().count(), 10);
    }

    #[test]
    fn a_file_s_name_can_be_told_from_any_other_and_typed() {
        for (bytes, expected) in [
            (&b"/a b/r.jsonl"[..], "/a b/r.jsonl"),
            ("/größe".as_bytes(), "/größe"),
            (b"r\xff'\\.jsonl", "$'r\\xff\\'\\\\.jsonl'"),
            (b"\x1b[1m\n", "$'\\x1b[1m\\n'"),
            ("\u{202e}".as_bytes(), "$'\\xe2\\x80\\xae'"),
        ] {
            assert_eq!(name_of(OsStr::from_bytes(bytes)).to_string(), expected);
        }
    }
}
