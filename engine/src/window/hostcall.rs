//! Whether a kernel talked to the host.
//!
//! The metadata of unoptimised kernels lists the buffer for host calls whether they make any or not. So the buffer's header
//! is kept before the first pass and looked at after each one: its stacks of free and ready packets carry a count of
//! operations, and so never look the same after a call. A kernel that did talk has been heard once; a further pass would
//! make it heard again.

use super::Window;
use crate::host_memory::HostMemory;
use code_object::HiddenKind;

/// Bytes of the header that hold pointers, the doorbell and both stacks (`device-libs`, `hostcall_impl.cl`).
const HEADER_BYTES: u64 = 64;

/// The header of a host call buffer as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostcallBuffer {
    address: u64,
    before: Vec<u8>,
}

impl HostcallBuffer {
    /// Whether it is not what it was, or is gone.
    pub(super) fn has_moved(&self) -> bool {
        HostMemory::open().read(self.address, HEADER_BYTES).as_ref() != Some(&self.before)
    }
}

impl Window<'_> {
    /// The buffer that this dispatch was given, if any; the address of one that does not lie in memory that the host can
    /// read is an error.
    pub(super) fn hostcall_buffer(
        &self,
        kernel: &code_object::Kernel,
        kernarg: &[u8],
    ) -> Result<Option<HostcallBuffer>, u64> {
        let argument = kernel.hidden_argument(&HiddenKind::HostcallBuffer);
        let address = argument.and_then(|argument| super::decide::word(kernarg, argument.offset));
        let Some(given) = address.filter(|&address| address != 0) else {
            return Ok(None);
        };
        let address = self.host_address(given, HEADER_BYTES).ok_or(given)?;
        let before = HostMemory::open().read(address, HEADER_BYTES).ok_or(given)?;
        Ok(Some(HostcallBuffer { address, before }))
    }
}
