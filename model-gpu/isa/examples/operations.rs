//! Runs every kernel of a code object of `corpus/operations.hip` and compares with the host's results.
//!
//! Usage: `operations CODE-OBJECT EXPECTED`, both made by `scripts/check`.

#[path = "../tests/launch/mod.rs"]
mod launch;

use std::process::ExitCode;

use launch::{Arena, Grid, Module, launch};

/// One operation with its inputs and what the host computed.
struct Case<'a> {
    name: &'a str,
    count: u32,
    result_size: usize,
    /// 1, or the size of floats whose NaNs are all equal.
    float: usize,
    inputs: [&'a [u8]; 3],
    expected: &'a [u8],
}

/// Takes `size` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], size: usize) -> &'a [u8] {
    let (front, rest) = bytes.split_at(size);
    *bytes = rest;
    front
}

fn word(bytes: &mut &[u8]) -> u32 {
    u32::from_le_bytes(take(bytes, 4).try_into().expect("four bytes"))
}

fn next_case<'a>(bytes: &mut &'a [u8]) -> Case<'a> {
    let length = word(bytes) as usize;
    let name = std::str::from_utf8(take(bytes, length)).expect("a name");
    let (size, result_size, count, float) =
        (word(bytes) as usize, word(bytes) as usize, word(bytes), word(bytes) as usize);
    let inputs = std::array::from_fn(|_| take(bytes, size * count as usize));
    let expected = take(bytes, result_size * count as usize);
    Case { name, count, result_size, float, inputs, expected }
}

fn is_nan(value: &[u8]) -> bool {
    match value {
        [a, b] => u16::from_le_bytes([*a, *b]) & 0x7fff > 0x7c00,
        [a, b, c, d] => f32::from_le_bytes([*a, *b, *c, *d]).is_nan(),
        _ => value.try_into().is_ok_and(|bytes| f64::from_le_bytes(bytes).is_nan()),
    }
}

/// The first result that differs.
fn difference(case: &Case<'_>, got: &[u8]) -> Option<usize> {
    let pairs = got.chunks(case.result_size).zip(case.expected.chunks(case.result_size));
    pairs
        .enumerate()
        .find(|(_, (a, b))| a != b && !(case.float > 1 && is_nan(a) && is_nan(b)))
        .map(|(n, _)| n)
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [object, expected] = arguments.as_slice() else {
        eprintln!("usage: operations CODE-OBJECT EXPECTED");
        return ExitCode::from(2);
    };
    let object = std::fs::read(object).expect("the code object");
    let expected = std::fs::read(expected).expect("the expected results");
    let mut rest = expected.as_slice();
    let (mut good, mut bad) = (0, 0);
    while !rest.is_empty() {
        let case = next_case(&mut rest);
        let mut arena = Arena::new(16 << 20);
        let module = Module::load(&mut arena, &object);
        let out = arena.allocate(case.expected.len() as u64);
        let mut kernarg = out.to_le_bytes().to_vec();
        for input in case.inputs {
            let address = arena.upload(input);
            kernarg.extend_from_slice(&address.to_le_bytes());
        }
        let result = launch(&mut arena, &module, case.name, Grid::linear(case.count / 256, 256), &kernarg);
        let got = arena.read(out, case.expected.len());
        match (result, difference(&case, &got)) {
            (Ok(_), None) => good += 1,
            (Err(exception), _) => {
                bad += 1;
                println!("{}: {exception}", case.name);
            }
            (Ok(_), Some(n)) => {
                bad += 1;
                let at = |bytes: &[u8], size: usize| hex(&bytes[n * size..(n + 1) * size]);
                let inputs = case.inputs.map(|input| at(input, input.len() / case.count as usize));
                let (got, expected) = (at(&got, case.result_size), at(case.expected, case.result_size));
                println!("{} {inputs:?}: got {got}, expected {expected}", case.name);
            }
        }
    }
    println!("{good} operations agree, {bad} do not");
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A little-endian number in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
}
