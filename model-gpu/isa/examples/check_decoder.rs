//! Compares the decoder with another disassembler's output.
//!
//! Usage: `check_decoder TARGET`. Reads lines `MNEMONIC HEXWORD...` from standard input, disassembles the words and compares
//! mnemonic and length. Prints
//! each kind of disagreement once and the coverage; fails when anything disagrees.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::process::ExitCode;

use model_gpu_isa::{Target, disassemble};

fn main() -> ExitCode {
    let Some(target) = std::env::args().nth(1).as_deref().and_then(Target::from_name) else {
        eprintln!("usage: check_decoder gfx90a|gfx942");
        return ExitCode::from(2);
    };
    let mut total = 0_u64;
    let mut mnemonics = BTreeMap::<String, u64>::new();
    let mut wrong = BTreeMap::<String, u64>::new();
    for line in std::io::stdin().lock().lines() {
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                eprintln!("cannot read standard input: {error}");
                return ExitCode::FAILURE;
            }
        };
        let mut fields = line.split_whitespace();
        let Some(mnemonic) = fields.next() else { continue };
        let words: Result<Vec<u32>, _> = fields.map(|word| u32::from_str_radix(word, 16)).collect();
        let Ok(words) = words else {
            eprintln!("not a line of mnemonic and hexadecimal words: {line}");
            return ExitCode::FAILURE;
        };
        total += 1;
        *mnemonics.entry(mnemonic.to_owned()).or_default() += 1;
        let problem = match disassemble(target, &words) {
            Ok(ours) if ours.mnemonic == mnemonic && ours.size == words.len() * 4 => continue,
            Ok(ours) => format!(
                "{mnemonic}, {} bytes: decoded as {}, {} bytes",
                words.len() * 4,
                ours.mnemonic,
                ours.size
            ),
            Err(reason) => format!("{mnemonic}: {reason}"),
        };
        *wrong.entry(problem).or_default() += 1;
    }
    let failures: u64 = wrong.values().sum();
    for (problem, count) in &wrong {
        println!("{count:7}  {problem}");
    }
    println!("{target}: {} of {total} instructions agree, {} mnemonics", total - failures, mnemonics.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
