//! env(1) of GNU coreutils: the options that it takes from one word of a script's first line, and the program behind them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Options whose value is the rest of the word or the next one.
const WITH_VALUE: &[u8] = b"uCa";

/// Long options, by their whole names: which short one each is.
const LONG: [(&str, u8); 12] = [
    ("argv0", b'a'),
    ("block-signal", 0),
    ("chdir", b'C'),
    ("debug", b'v'),
    ("default-signal", 0),
    ("help", b'h'),
    ("ignore-environment", b'i'),
    ("ignore-signal", 0),
    ("list-signal-handling", 0),
    ("null", b'0'),
    ("split-string", b'S'),
    ("unset", b'u'),
];

/// What env is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// The program that it looks for.
    pub program: OsString,
    /// The folder into which it changes before.
    pub folder: Option<PathBuf>,
    /// What it changes of the environment, in order: a name, and its new value if it has one.
    pub changes: Vec<(OsString, Option<OsString>)>,
    /// Whether nothing of the old environment is left.
    pub clears: bool,
}

impl Env {
    /// What a variable is for the program, given what it is here.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        let changed = self.changes.iter().rev().find(|(changed, _)| changed == name);
        match changed {
            Some((_, value)) => value.clone(),
            None if self.clears => None,
            None => env::var_os(name),
        }
    }
}

/// Reads the word that env gets from a first line; the error completes the sentence "env …".
pub fn split_for_env(argument: &[u8]) -> Result<Env, String> {
    let mut answer = Env::default();
    let mut words = vec![argument.to_vec()].into_iter().peekable();
    let mut options_over = false;
    while let Some(word) = words.next() {
        if options_over || !word.starts_with(b"-") {
            // Everything up to the program sets a variable.
            match word.iter().position(|&byte| byte == b'=') {
                Some(at) => {
                    let name = OsString::from_vec(word[..at].to_vec());
                    answer.changes.push((name, Some(OsString::from_vec(word[at + 1..].to_vec()))));
                    options_over = true;
                    continue;
                }
                None => {
                    answer.program = OsString::from_vec(word);
                    return Ok(answer);
                }
            }
        }
        match word.as_slice() {
            b"--" => options_over = true,
            b"-" => answer.clears = true,
            _ => {
                let split = option(&word, &mut words, &mut answer)?;
                if let Some(text) = split {
                    let mut all = words_of(&text)?;
                    all.extend(words);
                    words = all.into_iter().peekable();
                }
            }
        }
    }
    Err("is not told which program to run".to_owned())
}

/// Takes one word of options; gives the text that `-S` is to split.
fn option(
    word: &[u8],
    words: &mut Peekable<std::vec::IntoIter<Vec<u8>>>,
    answer: &mut Env,
) -> Result<Option<Vec<u8>>, String> {
    let shown = || String::from_utf8_lossy(word).into_owned();
    let mut value_of = |given: Option<&[u8]>| {
        given
            .map(<[u8]>::to_vec)
            .or_else(|| words.next())
            .ok_or_else(|| format!("lacks the value of {}", shown()))
    };
    if let Some(long) = word.strip_prefix(b"--") {
        let end = long.iter().position(|&byte| byte == b'=').unwrap_or(long.len());
        let value = long.get(end + 1..);
        // A beginning is enough if it is that of one option.
        let name = &long[..end];
        let mut known = LONG.iter().filter(|(long, _)| long.as_bytes().starts_with(name));
        let (Some((_, short)), None) = (known.next(), known.next()) else {
            return Err(format!("does not know the option {}", shown()));
        };
        return match short {
            b'S' => value_of(value).map(Some),
            short if WITH_VALUE.contains(short) => {
                set(*short, value_of(value)?, answer);
                Ok(None)
            }
            b'i' => {
                answer.clears = true;
                Ok(None)
            }
            b'h' | b'0' => Err(format!("runs no program with {}", shown())),
            _ => Ok(None),
        };
    }
    for (at, letter) in word.iter().enumerate().skip(1) {
        let rest = Some(&word[at + 1..]).filter(|rest| !rest.is_empty());
        match letter {
            b'i' => answer.clears = true,
            b'v' => {}
            b'S' => return value_of(rest).map(Some),
            letter if WITH_VALUE.contains(letter) => {
                set(*letter, value_of(rest)?, answer);
                return Ok(None);
            }
            b'0' => return Err("runs no program with -0".to_owned()),
            // Without -S, blanks and all behind them are taken for options.
            _ => return Err(format!("does not know an option in `{}`", shown())),
        }
    }
    Ok(None)
}

fn set(letter: u8, value: Vec<u8>, answer: &mut Env) {
    let value = OsString::from_vec(value);
    match letter {
        b'u' => answer.changes.push((value, None)),
        b'C' => answer.folder = Some(value.into()),
        _ => {}
    }
}

/// Splits a text as `-S` does: at blanks, with quotes, escapes and `${NAME}`.
fn words_of(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (b'\\', Some(b'\'')) if !matches!(bytes.peek(), Some(b'\\' | b'\'')) => {
                word.get_or_insert_default().push(byte);
            }
            (b'\\', _) => match bytes.next() {
                Some(b'c') if quote.is_none() => break,
                Some(b'_') if quote.is_none() => words.extend(word.take()),
                Some(escaped) => word.get_or_insert_default().push(match escaped {
                    b'_' => b' ',
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    same @ (b'"' | b'#' | b'$' | b'\'' | b'\\') => same,
                    _ => return Err("gets an escape after -S that it does not know".to_owned()),
                }),
                None => return Err("gets a backslash at the end of what -S splits".to_owned()),
            },
            (b'$', None | Some(b'"')) => {
                let name: Vec<u8> = if bytes.next() == Some(b'{') {
                    bytes.by_ref().take_while(|&byte| byte != b'}').collect()
                } else {
                    return Err("takes variables after -S only as ${NAME}".to_owned());
                };
                let value = env::var_os(OsStr::from_bytes(&name));
                if let Some(value) = value {
                    word.get_or_insert_default().extend_from_slice(value.as_bytes());
                }
            }
            (b'#', None) if word.is_none() => break,
            (byte, None) if byte.is_ascii_whitespace() || byte == 0x0b => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    if quote.is_some() {
        return Err("gets a quote after -S that is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn program(argument: &str, expected: &str) {
        let program = split_for_env(argument.as_bytes()).map(|answer| answer.program);
        assert_eq!(program, Ok(expected.into()), "{argument}");
    }

    #[test]
    fn the_program_stands_behind_options_and_variables() {
        for argument in [
            "python3",
            "-S python3 -u",
            "-Spython3",
            "-vS python3 -u",
            "-ivS A=b python3",
            "-S -u FOO python3",
            "-S -uFOO python3",
            "-S -C /tmp python3",
            "-S --chdir=/tmp --unset FOO python3",
            "-S --unset=FOO -i A=1 B=2 python3 x=y",
            "-S -- A=1 python3",
            "-S - python3",
            "-S -vS 'python3' -x",
            "--split-string=-a name python3",
            "--split=python3 -O",
            "-S --ignore-signal=PIPE --argv0=x python3",
            "-S 'python3' \"-c\"",
        ] {
            program(argument, "python3");
        }
        program(r#"-S "a b" c"#, "a b");
        program(r"-S a\_b", "a");
        program(r#"-S "a\_b""#, "a b");
        program("-S '' x", "");
        program("python3 -u", "python3 -u");
    }

    #[test]
    fn what_env_refuses_is_said() {
        for (argument, problem) in [
            ("-u FOO python3", "which program"),
            ("-C /tmp python3", "which program"),
            ("-i python3", "does not know an option in `-i python3`"),
            ("-S", "lacks the value"),
            ("-S -u", "lacks the value"),
            ("--help", "runs no program"),
            ("-S -z python3", "does not know"),
            ("--no-such python3", "does not know"),
            ("--i python3", "does not know"),
            ("-S 'python3", "not closed"),
            ("-S $HOME/python3", "only as ${NAME}"),
        ] {
            let error = split_for_env(argument.as_bytes()).expect_err(argument);
            assert!(error.contains(problem), "{argument}: {error}");
        }
    }

    #[test]
    fn what_env_changes_is_known() {
        let read = |argument: &str| split_for_env(argument.as_bytes()).expect(argument);
        let answer = read("-S -i -u A B=1 -C /");
        assert_eq!(answer.program, "-C");
        let answer = read("-vS -i -C /tmp -u A PATH=/x:/y prog");
        assert_eq!((answer.folder, answer.clears), (Some("/tmp".into()), true));
        let answer = read("-S -u A PATH=/x:/y prog");
        assert_eq!(answer.variable("PATH"), Some("/x:/y".into()));
        assert_eq!(answer.variable("A"), None);
        assert_eq!(answer.variable("HOME"), env::var_os("HOME"));
        assert_eq!(read("-iS prog").variable("HOME"), None);
        assert_eq!(read("-S ${HOME}/x").program, format!("{}/x", env::var("HOME").expect("set")).as_str());
    }
}
