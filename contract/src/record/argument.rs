//! What a dispatch was given: its explicit arguments, decoded and resolved.

use serde::{Deserialize, Serialize};

/// The most bytes of one argument that a record holds.
pub const MAX_ARGUMENT_BYTES: usize = 256;

/// The most pointers of one argument that a record resolves.
pub const MAX_TARGETS: usize = 16;

/// One explicit argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// Index among the explicit arguments, from 0.
    pub index: u32,
    /// Its name in the source, where the compiler recorded it.
    pub name: Option<String>,
    /// Its type: as the compiler recorded it, else from the kernel's signature.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// What it stands for.
    pub kind: ArgumentKind,
    /// Offset in the kernarg segment, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its bytes in the order of memory as hexadecimal digits, at most the first 256; null where they could not be read.
    pub bytes: Option<String>,
    /// The value for people: an address, or a number where the type is a plain one.
    pub value: Option<String>,
    /// Where its pointers lead, at most 16: one for a pointer into known memory, and those found in a structure.
    pub points_to: Vec<Target>,
}

/// A pointer, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Offset of the pointer in the argument, in bytes.
    pub at: u64,
    /// What kind of memory it leads to.
    pub class: MemoryClass,
    /// The variable's name, where it leads to a variable.
    pub name: Option<String>,
    /// Address of the allocation or variable.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Offset of the pointer's target from `base`; equal to `size` one past the end.
    pub offset: u64,
}

/// What an argument stands for (`.value_kind` of the code object's metadata).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// The bytes themselves.
    Value,
    /// An address in global memory.
    Pointer,
    /// An offset in group memory.
    Lds,
    /// The address of an image descriptor.
    Image,
    /// The address of a sampler descriptor.
    Sampler,
    /// An OpenCL pipe.
    Pipe,
    /// An OpenCL device queue.
    Queue,
    /// A kind that hsa-replay does not know.
    Other,
}

impl ArgumentKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Value,
        Self::Pointer,
        Self::Lds,
        Self::Image,
        Self::Sampler,
        Self::Pipe,
        Self::Queue,
        Self::Other,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Pointer => "pointer",
            Self::Lds => "lds",
            Self::Image => "image",
            Self::Sampler => "sampler",
            Self::Pipe => "pipe",
            Self::Queue => "queue",
            Self::Other => "other",
        }
    }
}

/// What kind of memory an address lies in. [`MemoryClass::is_restored`] says what is put back between passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryClass {
    /// Device memory that the program allocated on the dispatch's agent.
    Device,
    /// A variable of a loaded code object.
    ModuleVariable,
    /// Memory for kernel arguments.
    Kernarg,
    /// Host memory.
    Host,
    /// Device memory that is coherent while a kernel runs.
    FineGrained,
    /// Device memory that the program mapped with the virtual memory calls.
    VirtualMemory,
    /// A mapping that the agent may not write.
    NoAccess,
    /// Managed memory.
    Managed,
    /// Memory of another process.
    Import,
    /// Memory of another programming interface.
    Interop,
    /// Memory that others may write: exported, or opened to another agent.
    SharedOut,
    /// Memory of another agent.
    OtherAgent,
    /// Memory that the program asked to leave alone.
    Excluded,
    /// Memory that could not be freed.
    FailedFree,
    /// Memory that no hook has seen but the runtime knows, or knows differently.
    Unseen,
}

impl MemoryClass {
    /// Every class.
    pub const ALL: [Self; 15] = [
        Self::Device,
        Self::ModuleVariable,
        Self::Kernarg,
        Self::Host,
        Self::FineGrained,
        Self::VirtualMemory,
        Self::NoAccess,
        Self::Managed,
        Self::Import,
        Self::Interop,
        Self::SharedOut,
        Self::OtherAgent,
        Self::Excluded,
        Self::FailedFree,
        Self::Unseen,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::ModuleVariable => "module_variable",
            Self::Kernarg => "kernarg",
            Self::Host => "host",
            Self::FineGrained => "fine_grained",
            Self::VirtualMemory => "virtual_memory",
            Self::NoAccess => "no_access",
            Self::Managed => "managed",
            Self::Import => "import",
            Self::Interop => "interop",
            Self::SharedOut => "shared_out",
            Self::OtherAgent => "other_agent",
            Self::Excluded => "excluded",
            Self::FailedFree => "failed_free",
            Self::Unseen => "unseen",
        }
    }

    /// Whether memory of this class is captured and put back between passes.
    pub fn is_restored(self) -> bool {
        matches!(self, Self::Device | Self::ModuleVariable | Self::VirtualMemory)
    }
}

/// Bytes as hexadecimal digits, at most [`MAX_ARGUMENT_BYTES`] of them.
pub fn argument_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().take(MAX_ARGUMENT_BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The value of a plain type as text, from its bytes in the order of memory; `None` for any other type, or when type and
/// size disagree.
pub fn scalar(type_name: &str, bytes: &[u8]) -> Option<String> {
    let words: Vec<&str> =
        type_name.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile")).collect();
    Some(match words[..] {
        ["bool"] => match u8::from_le_bytes(bytes.try_into().ok()?) {
            0 => "false".to_owned(),
            1 => "true".to_owned(),
            other => other.to_string(),
        },
        ["float"] => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        ["double"] => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        ["char"] | ["signed", "char"] | ["short"] | ["int"] | ["long"] | ["long", "long"] => signed(bytes)?,
        ["unsigned", "char" | "short" | "int" | "long"]
        | ["unsigned"]
        | ["unsigned", "long", "long"]
        | ["uchar" | "ushort" | "uint" | "ulong" | "size_t"] => unsigned(bytes)?,
        _ => return None,
    })
}

fn signed(bytes: &[u8]) -> Option<String> {
    Some(match bytes.len() {
        1 => i8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        2 => i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        4 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        8 => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        _ => return None,
    })
}

fn unsigned(bytes: &[u8]) -> Option<String> {
    let mut word = [0; 8];
    word.get_mut(..bytes.len()).filter(|_| bytes.len().is_power_of_two())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(word).to_string())
}

/// The types of the parameters in a demangled signature; empty where it has no list of parameters.
pub fn parameter_types(signature: &str) -> Vec<&str> {
    let Some(end) = signature.rfind(')') else { return Vec::new() };
    let mut depth = 0_usize;
    let start = signature[..end].char_indices().rev().find_map(|(at, character)| match character {
        ')' => {
            depth += 1;
            None
        }
        '(' if depth == 0 => Some(at + 1),
        '(' => {
            depth -= 1;
            None
        }
        _ => None,
    });
    let Some(start) = start else { return Vec::new() };
    let list = &signature[start..end];
    let mut types = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for (at, character) in list.char_indices() {
        match character {
            '(' | '<' | '[' | '{' => depth += 1,
            ')' | '>' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                types.push(list[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    let last = list[from..].trim();
    if !last.is_empty() && last != "void" {
        types.push(last);
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_a_signature_are_those_between_its_last_brackets() {
        for (signature, types) in [
            ("saxpy(int, float, float const*, float*)", &["int", "float", "float const*", "float*"][..]),
            ("void scale<float>(float*, int)", &["float*", "int"]),
            ("f(Pair<int, long>, void (*)(int, int))", &["Pair<int, long>", "void (*)(int, int)"]),
            ("g()", &[]),
            ("plain_c_name", &[]),
            ("broken)", &[]),
        ] {
            assert_eq!(parameter_types(signature), types, "{signature}");
        }
    }

    #[test]
    fn plain_types_have_a_value_and_others_have_none() {
        for (type_name, bytes, value) in [
            ("float", &[0, 0, 0x20, 0x40][..], Some("2.5")),
            ("double const", &[0, 0, 0, 0, 0, 0, 0xf0, 0xbf], Some("-1")),
            ("int", &[0xfe, 0xff, 0xff, 0xff], Some("-2")),
            ("unsigned int", &[0xfe, 0xff, 0xff, 0xff], Some("4294967294")),
            ("unsigned long", &[0xff; 8], Some("18446744073709551615")),
            ("short", &[1, 0], Some("1")),
            ("unsigned char", &[200], Some("200")),
            ("bool", &[1], Some("true")),
            ("float", &[0; 8], None),
            ("Pair", &[0; 8], None),
            ("float*", &[0; 8], None),
            ("int", &[], None),
        ] {
            assert_eq!(scalar(type_name, bytes).as_deref(), value, "{type_name}");
        }
    }

    #[test]
    fn bytes_are_digits_in_the_order_of_memory_and_bounded() {
        assert_eq!(argument_bytes(&[0x00, 0x0a, 0xff]), "000aff");
        assert_eq!(argument_bytes(&[0; 4096]).len(), 2 * MAX_ARGUMENT_BYTES);
    }

    #[test]
    fn names_are_those_of_the_format() {
        for class in MemoryClass::ALL {
            assert_eq!(serde_json::to_value(class).expect("text"), class.name());
        }
        for kind in ArgumentKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("text"), kind.name());
        }
    }
}
