//! The MessagePack document of the metadata note.

use serde::Deserialize;

use crate::Error;

/// The document (User Guide for AMDGPU Backend, "Code Object V3 Metadata Map" and later).
#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    #[serde(rename = "amdhsa.target")]
    pub(crate) target: Option<String>,
    /// Absent in objects that only hold device functions and variables.
    #[serde(rename = "amdhsa.kernels", default)]
    pub(crate) kernels: Vec<RawKernel>,
}

/// A kernel as the metadata describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct RawKernel {
    #[serde(rename = ".name")]
    pub(crate) name: String,
    #[serde(rename = ".symbol")]
    pub(crate) symbol: String,
    #[serde(rename = ".language")]
    pub(crate) language: Option<String>,
    #[serde(rename = ".language_version")]
    pub(crate) language_version: Option<Vec<u32>>,
    #[serde(rename = ".args", default)]
    pub(crate) args: Vec<RawArgument>,
    #[serde(rename = ".kernarg_segment_size")]
    pub(crate) kernarg_segment_size: u64,
    #[serde(rename = ".kernarg_segment_align")]
    pub(crate) kernarg_segment_align: u64,
    #[serde(rename = ".group_segment_fixed_size")]
    pub(crate) group_segment_fixed_size: u64,
    #[serde(rename = ".private_segment_fixed_size")]
    pub(crate) private_segment_fixed_size: u64,
    #[serde(rename = ".wavefront_size")]
    pub(crate) wavefront_size: u32,
    #[serde(rename = ".max_flat_workgroup_size")]
    pub(crate) max_flat_workgroup_size: u32,
    /// From code object version 5 on; the descriptor has it too.
    #[serde(rename = ".uses_dynamic_stack")]
    pub(crate) uses_dynamic_stack: Option<Flag>,
}

/// A kernel argument as the metadata describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct RawArgument {
    #[serde(rename = ".offset")]
    pub(crate) offset: u64,
    #[serde(rename = ".size")]
    pub(crate) size: u64,
    #[serde(rename = ".value_kind")]
    pub(crate) value_kind: String,
    #[serde(rename = ".name")]
    pub(crate) name: Option<String>,
    #[serde(rename = ".type_name")]
    pub(crate) type_name: Option<String>,
    #[serde(rename = ".address_space")]
    pub(crate) address_space: Option<String>,
    #[serde(rename = ".access")]
    pub(crate) access: Option<String>,
    #[serde(rename = ".actual_access")]
    pub(crate) actual_access: Option<String>,
    #[serde(rename = ".is_const")]
    pub(crate) is_const: Option<Flag>,
    #[serde(rename = ".is_restrict")]
    pub(crate) is_restrict: Option<Flag>,
    #[serde(rename = ".is_volatile")]
    pub(crate) is_volatile: Option<Flag>,
}

/// A boolean that some compilers write as an integer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Flag {
    Boolean(bool),
    Integer(u64),
}

impl Flag {
    pub(crate) fn is_set(flag: Option<Self>) -> bool {
        match flag {
            None => false,
            Some(Self::Boolean(value)) => value,
            Some(Self::Integer(value)) => value != 0,
        }
    }
}

/// Reads the note's contents. What follows the document is padding.
pub(crate) fn parse(note: &[u8]) -> Result<Document, Error> {
    rmp_serde::from_slice(note).map_err(|error| Error::Metadata(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_kernels_is_empty() {
        // fixmap of one: "amdhsa.version" => [1, 2]
        let mut note = vec![0x81, 0xae];
        note.extend_from_slice(b"amdhsa.version");
        note.extend_from_slice(&[0x92, 1, 2]);
        assert!(parse(&note).unwrap().kernels.is_empty());
    }

    #[test]
    fn a_missing_kernel_field_is_named() {
        // { "amdhsa.kernels": [ {} ] }
        let mut note = vec![0x81, 0xae];
        note.extend_from_slice(b"amdhsa.kernels");
        note.extend_from_slice(&[0x91, 0x80]);
        let error = parse(&note).unwrap_err().to_string();
        assert!(error.contains(".name"), "{error}");
    }

    #[test]
    fn an_array_that_claims_more_than_the_note_holds_is_an_error() {
        // { "amdhsa.kernels": array of 2^32 - 1 }
        let mut note = vec![0x81, 0xae];
        note.extend_from_slice(b"amdhsa.kernels");
        note.extend_from_slice(&[0xdd, 0xff, 0xff, 0xff, 0xff]);
        assert!(matches!(parse(&note), Err(Error::Metadata(_))));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let mut note = vec![0x81, 0xa1, b'x'];
        note.extend(std::iter::repeat_n(0x91, 100_000));
        note.push(0xc0);
        assert!(matches!(parse(&note), Err(Error::Metadata(_))));
    }
}
