//! The 64 bytes to which a dispatch packet's kernel object points.

/// Size of a kernel descriptor in bytes.
pub const DESCRIPTOR_SIZE: u64 = 64;

/// `USES_DYNAMIC_STACK` of the kernel code properties.
const USES_DYNAMIC_STACK: u16 = 1 << 11;
/// `ENABLE_WAVEFRONT_SIZE32` of the kernel code properties.
const WAVEFRONT_SIZE32: u16 = 1 << 10;

/// A kernel descriptor (User Guide for AMDGPU Backend, "Kernel Descriptor").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Fixed group memory of a work group in bytes.
    pub group_segment_fixed_size: u32,
    /// Fixed private memory of a work item in bytes.
    pub private_segment_fixed_size: u32,
    /// Kernarg segment in bytes; 0 also means "not recorded" in old files.
    pub kernarg_size: u32,
    /// Distance from the descriptor to the first instruction in bytes.
    pub kernel_code_entry_byte_offset: i64,
    /// Third program resource register.
    pub compute_pgm_rsrc3: u32,
    /// First program resource register.
    pub compute_pgm_rsrc1: u32,
    /// Second program resource register.
    pub compute_pgm_rsrc2: u32,
    /// Which user registers the kernel expects, and two more properties.
    pub kernel_code_properties: u16,
    /// Kernarg dwords preloaded to registers: length in bits 0 to 6, offset in bits 7 to 15.
    pub kernarg_preload: u16,
}

impl KernelDescriptor {
    /// Decodes the 64 bytes of a descriptor.
    pub fn decode(bytes: &[u8; 64]) -> Self {
        Self {
            group_segment_fixed_size: u32::from_le_bytes(field(bytes, 0)),
            private_segment_fixed_size: u32::from_le_bytes(field(bytes, 4)),
            kernarg_size: u32::from_le_bytes(field(bytes, 8)),
            kernel_code_entry_byte_offset: i64::from_le_bytes(field(bytes, 16)),
            compute_pgm_rsrc3: u32::from_le_bytes(field(bytes, 44)),
            compute_pgm_rsrc1: u32::from_le_bytes(field(bytes, 48)),
            compute_pgm_rsrc2: u32::from_le_bytes(field(bytes, 52)),
            kernel_code_properties: u16::from_le_bytes(field(bytes, 56)),
            kernarg_preload: u16::from_le_bytes(field(bytes, 58)),
        }
    }

    /// Whether the private segment's size is not known at compile time (recursion, indirect calls).
    pub fn uses_dynamic_stack(&self) -> bool {
        self.kernel_code_properties & USES_DYNAMIC_STACK != 0
    }

    /// Work items of a wavefront: 32 or 64.
    pub fn wavefront_size(&self) -> u32 {
        if self.kernel_code_properties & WAVEFRONT_SIZE32 != 0 { 32 } else { 64 }
    }
}

fn field<const N: usize>(bytes: &[u8; 64], offset: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[offset + index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_read_from_its_place() {
        let mut bytes = [0; 64];
        for (offset, value) in [(0, 1_u32), (4, 2), (8, 3), (44, 4), (48, 5), (52, 6)] {
            bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&(-256_i64).to_le_bytes());
        bytes[56..58].copy_from_slice(&0x0c08_u16.to_le_bytes());
        bytes[58..60].copy_from_slice(&7_u16.to_le_bytes());
        let descriptor = KernelDescriptor::decode(&bytes);
        assert_eq!(
            descriptor,
            KernelDescriptor {
                group_segment_fixed_size: 1,
                private_segment_fixed_size: 2,
                kernarg_size: 3,
                kernel_code_entry_byte_offset: -256,
                compute_pgm_rsrc3: 4,
                compute_pgm_rsrc1: 5,
                compute_pgm_rsrc2: 6,
                kernel_code_properties: 0x0c08,
                kernarg_preload: 7,
            }
        );
        assert!(descriptor.uses_dynamic_stack());
        assert_eq!(descriptor.wavefront_size(), 32);
    }
}
