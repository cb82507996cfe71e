//! Files that are wrong: each is a named error, none is a panic.

use code_object::{CodeObject, Error};
use proptest::prelude::*;

const OBJECTS: [&[u8]; 3] = [
    include_bytes!("data/variables-v4.co"),
    include_bytes!("data/variables-v5.co"),
    include_bytes!("data/hostcall-v5.co"),
];

/// Offsets in the ELF identification and header (ELF-64 Object File Format, "ELF Header").
const EI_CLASS: usize = 4;
const EI_DATA: usize = 5;
const EI_OSABI: usize = 7;
const EI_ABIVERSION: usize = 8;
const E_MACHINE: usize = 18;
const E_PHNUM: usize = 56;

fn with(offset: usize, byte: u8) -> Vec<u8> {
    let mut bytes = OBJECTS[1].to_vec();
    bytes[offset] = byte;
    bytes
}

fn error(bytes: &[u8]) -> Error {
    CodeObject::parse(bytes).expect_err("the file is malformed")
}

#[test]
fn no_elf_is_refused() {
    assert!(matches!(error(b""), Error::NotElf(_)));
    assert!(matches!(error(b"!<arch>\n"), Error::NotElf(_)));
    assert!(matches!(error(&with(EI_CLASS, 1)), Error::NotElf(_)));
    assert!(matches!(error(&with(EI_DATA, 2)), Error::NotElf(_)));
}

#[test]
fn another_machine_is_refused_by_number() {
    assert_eq!(error(&with(E_MACHINE, 62)), Error::WrongMachine(62));
}

#[test]
fn another_system_is_refused_by_number() {
    assert_eq!(error(&with(EI_OSABI, 65)), Error::WrongOsAbi(65));
}

#[test]
fn version_2_and_versions_to_come_are_refused_by_number() {
    assert_eq!(error(&with(EI_ABIVERSION, 0)), Error::UnknownVersion(0));
    assert_eq!(error(&with(EI_ABIVERSION, 5)), Error::UnknownVersion(5));
}

#[test]
fn a_file_without_program_headers_has_no_metadata() {
    assert_eq!(error(&with(E_PHNUM, 0)), Error::NoMetadata);
}

#[test]
fn a_missing_descriptor_is_named() {
    let mut bytes = OBJECTS[1].to_vec();
    let names: Vec<usize> = find_all(&bytes, b"_Z5countPi4Pair.kd\0");
    // One in .dynstr and one in .strtab; the metadata's copy has no terminator.
    assert_eq!(names.len(), 2);
    for at in names {
        bytes[at + 2] = b'6';
    }
    assert_eq!(error(&bytes), Error::MissingDescriptor("_Z5countPi4Pair.kd".to_owned()));
}

#[test]
fn names_that_overlap_each_other_do_not_multiply_the_work() {
    // A symbol table whose every entry names the same long string: 24 bytes in, 60000 out.
    let bytes = overlapping_names(4000, 60_000);
    let error = error(&bytes);
    assert!(matches!(error, Error::NamesTooLong { .. }), "{error}");
}

fn find_all(bytes: &[u8], needle: &[u8]) -> Vec<usize> {
    (0..bytes.len() - needle.len()).filter(|&at| &bytes[at..at + needle.len()] == needle).collect()
}

/// A file that has only what the reader needs to reach the symbols.
fn overlapping_names(symbols: usize, name: usize) -> Vec<u8> {
    const HEADER: usize = 64;
    const SECTION: usize = 64;
    const SYMBOL: usize = 24;
    let strings_at = HEADER + 3 * SECTION;
    let symbols_at = strings_at + name + 1;
    let mut bytes = OBJECTS[1][..HEADER].to_vec();
    let mut put = |at: usize, value: &[u8]| {
        if bytes.len() < at + value.len() {
            bytes.resize(at + value.len(), 0);
        }
        bytes[at..at + value.len()].copy_from_slice(value);
    };
    let long = |value: usize| (value as u64).to_le_bytes();
    put(32, &long(0)); // e_phoff
    put(E_PHNUM, &[0, 0]);
    put(40, &long(HEADER)); // e_shoff
    put(60, &[3, 0, 2, 0]); // e_shnum, e_shstrndx
    let mut section = |index: usize, kind: u8, at: usize, size: usize, entry: usize| {
        let header = HEADER + index * SECTION;
        put(header + 4, &[kind]);
        put(header + 24, &long(at));
        put(header + 32, &long(size));
        put(header + 40, &[2]); // sh_link: the string table
        put(header + 56, &long(entry));
    };
    section(0, 0, 0, 0, 0);
    section(1, 2, symbols_at, symbols * SYMBOL, SYMBOL);
    section(2, 3, strings_at, name + 1, 0);
    put(strings_at, &vec![b'n'; name]);
    put(strings_at + name, &[0]);
    for index in 0..symbols {
        let at = symbols_at + index * SYMBOL;
        put(at, &[0; SYMBOL]);
        put(at + 4, &[1]); // local object
        put(at + 6, &[1]); // defined in section 1
        put(at + 16, &[8]); // st_size
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_bytes_never_panic(
        object in 0..OBJECTS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..16),
    ) {
        let mut bytes = OBJECTS[object].to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_everything(&bytes);
    }

    /// Most of the structure lies in the first kilobytes, where a uniform choice rarely hits.
    #[test]
    fn changed_headers_and_metadata_never_panic(
        object in 0..OBJECTS.len(),
        changes in prop::collection::vec((0..0xa00_usize, any::<u8>()), 1..16),
    ) {
        let mut bytes = OBJECTS[object].to_vec();
        for (at, value) in changes {
            bytes[at] = value;
        }
        read_everything(&bytes);
    }

    #[test]
    fn changed_section_headers_and_symbols_never_panic(
        object in 0..OBJECTS.len(),
        changes in prop::collection::vec((1..2000_usize, any::<u8>()), 1..16),
    ) {
        let mut bytes = OBJECTS[object].to_vec();
        for (behind, value) in changes {
            let at = bytes.len() - behind;
            bytes[at] = value;
        }
        read_everything(&bytes);
    }

    #[test]
    fn a_file_cut_anywhere_never_panics(object in 0..OBJECTS.len(), at in any::<prop::sample::Index>()) {
        let bytes = OBJECTS[object];
        read_everything(&bytes[..at.index(bytes.len())]);
    }

    #[test]
    fn any_bytes_behind_a_valid_header_never_panic(
        object in 0..OBJECTS.len(),
        header in prop_oneof![Just(64_usize), Just(64 + 56 * 9)],
        rest in prop::collection::vec(any::<u8>(), 0..4096),
    ) {
        let mut bytes = OBJECTS[object][..header].to_vec();
        bytes.extend(rest);
        read_everything(&bytes);
    }

    #[test]
    fn any_symbol_has_a_name_in_proportion(symbol in prop_oneof![
        "\\PC{0,60}",
        "_Z[0-9A-Za-z_.]{0,80}",
        "_ZN?[0-9]{1,2}[a-zA-Z_]{0,12}(I[A-Za-z0-9_]{0,20}E)*(S[0-9A-Z_]{0,3}_|T[0-9]?_|P|K|R|L|X|J){0,30}E?[a-z]{0,6}",
    ]) {
        prop_assert!(code_object::demangle(&symbol).len() <= 4096.max(symbol.len() * 64) + symbol.len());
    }

    #[test]
    fn moved_pieces_never_panic(
        object in 0..OBJECTS.len(),
        from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), length in 1..512_usize,
    ) {
        let source = OBJECTS[object];
        let from = from.index(source.len());
        let piece = &source[from..source.len().min(from + length)];
        let mut bytes = source.to_vec();
        let to = to.index(bytes.len());
        let fits = piece.len().min(bytes.len() - to);
        bytes[to..to + fits].copy_from_slice(&piece[..fits]);
        read_everything(&bytes);
    }
}

/// Uses every answer: what a mutated file still says must be safe to ask for, and its errors to print.
fn read_everything(bytes: &[u8]) {
    match CodeObject::parse(bytes) {
        Ok(object) => {
            for kernel in object.kernels() {
                let _ = (kernel.demangled(), kernel.host_calls(), kernel.descriptor());
            }
            for segment in object.writable_segments() {
                assert!(segment.size > 0 && segment.end() > segment.address);
            }
            for variable in object.variables() {
                assert!(
                    object
                        .writable_segments()
                        .iter()
                        .any(|segment| segment.contains(variable.address, variable.size))
                );
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
