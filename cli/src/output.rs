//! What is written to standard output, made harmless: a report holds names that others chose, and a terminal obeys some
//! characters, shows others in another order, and hides some.
//!
//! Text has such characters as their escapes; JSON has the same characters as `\uXXXX`, so that its values stay what they are.

use std::io::{self, Write};

use hsa_replay_contract::text::is_shown;

/// Text for people. Line ends pass.
#[derive(Debug)]
pub struct Text<W: Write>(pub W);

/// JSON, of which each string comes in one piece, as `serde_json` writes it.
#[derive(Debug)]
pub struct Json<W: Write> {
    output: W,
    /// Whether `<` is an escape too, so that no tag can begin in it.
    in_markup: bool,
}

impl<W: Write> Json<W> {
    /// JSON as a file of its own.
    pub fn new(output: W) -> Self {
        Self { output, in_markup: false }
    }

    /// JSON inside of a page.
    pub fn in_markup(output: W) -> Self {
        Self { output, in_markup: true }
    }

    /// What it is written to.
    pub fn inner(&mut self) -> &mut W {
        &mut self.output
    }
}

impl<W: Write> Write for Text<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let passes = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if bytes.iter().all(passes) {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        each(
            &mut self.0,
            bytes,
            |character| character == '\n' || is_shown(character),
            |character, output| write!(output, "{}", character.escape_default()),
        )?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> Write for Json<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let in_markup = self.in_markup;
        let passes = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n') && !(in_markup && *byte == b'<');
        if bytes.iter().all(passes) {
            self.output.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let passes =
            |character| (character == '\n' || is_shown(character)) && !(in_markup && character == '<');
        each(&mut self.output, bytes, passes, |character, output| {
            // Outside of strings JSON is ASCII that prints, and line ends.
            character.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(output, "\\u{unit:04x}"))
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Writes what passes in as few pieces as there are, and each other character by `other`.
fn each<W: Write>(
    output: &mut W,
    bytes: &[u8],
    passes: impl Fn(char) -> bool,
    other: impl Fn(char, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    for part in bytes.utf8_chunks() {
        let text = part.valid();
        let mut written = 0;
        for (at, character) in text.char_indices().filter(|(_, character)| !passes(*character)) {
            output.write_all(&text.as_bytes()[written..at])?;
            other(character, output)?;
            written = at + character.len_utf8();
        }
        output.write_all(&text.as_bytes()[written..])?;
        if !part.invalid().is_empty() {
            other(char::REPLACEMENT_CHARACTER, output)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str = "a<b>\u{1b}[2J \u{202e}\u{e0041}\u{7f} ж\n";

    #[test]
    fn text_has_escapes_for_what_does_not_print_and_keeps_its_lines() {
        let mut bytes = Vec::new();
        Text(&mut bytes).write_all(ODD.as_bytes()).expect("memory");
        assert_eq!(String::from_utf8(bytes).expect("text"), "a<b>\\u{1b}[2J \\u{202e}\\u{e0041}\\u{7f} ж\n");
    }

    #[test]
    fn json_means_what_it_meant() {
        for in_markup in [false, true] {
            let mut bytes = Vec::new();
            let mut output = Json { output: &mut bytes, in_markup };
            serde_json::to_writer(&mut output, &[ODD, "</script>"]).expect("memory");
            let text = String::from_utf8(bytes).expect("text");
            assert!(text.chars().all(is_shown), "{text}");
            assert_eq!(text.contains('<'), !in_markup);
            assert_eq!(serde_json::from_str::<[String; 2]>(&text).expect("JSON"), [ODD, "</script>"]);
        }
    }
}
