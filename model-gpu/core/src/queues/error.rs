//! Errors that a queue tells the program about.

/// Why a queue stopped: the driver's exception codes (`kfd_dbg_trap_exception_code`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// A wave executed an abort trap.
    WaveAbort,
    /// A wave executed another trap.
    WaveTrap,
    /// An arithmetic exception.
    WaveMath,
    /// An instruction that does not exist.
    WaveIllegalInstruction,
    /// An address outside every aperture.
    WaveAperture,
    /// The dispatch's dimensions make no sense.
    DispatchDimension,
    /// More group memory than there is, or less than the kernel needs.
    DispatchGroupSegment,
    /// No kernel descriptor at the kernel object's address.
    DispatchCode,
    /// A packet of a kind that the queue does not execute.
    PacketUnsupported,
    /// A work-group larger than the device allows.
    DispatchWorkGroup,
    /// More registers than there are.
    DispatchRegister,
    /// A vendor packet that the queue does not know.
    VendorUnsupported,
}

impl QueueError {
    /// Bit of the exception in the mask that the program reads; code `c` is bit `c - 1`.
    #[must_use]
    pub fn exception_mask(self) -> u64 {
        let code = match self {
            Self::WaveAbort => 1,
            Self::WaveTrap => 2,
            Self::WaveMath => 3,
            Self::WaveIllegalInstruction => 4,
            Self::WaveAperture => 6,
            Self::DispatchDimension => 16,
            Self::DispatchGroupSegment => 17,
            Self::DispatchCode => 18,
            Self::PacketUnsupported => 20,
            Self::DispatchWorkGroup => 21,
            Self::DispatchRegister => 22,
            Self::VendorUnsupported => 23,
        };
        1 << (code - 1)
    }

    /// Value of the queue's inactive signal, for runtimes that do not read exceptions.
    #[must_use]
    pub fn inactive_value(self) -> i64 {
        match self {
            Self::DispatchDimension => 2,
            Self::DispatchGroupSegment => 4,
            Self::DispatchCode => 8,
            Self::PacketUnsupported => 32,
            Self::DispatchWorkGroup => 64,
            Self::DispatchRegister => 128,
            Self::VendorUnsupported => 256,
            Self::WaveAperture => 0x2000_0000,
            Self::WaveIllegalInstruction => 0x4000_0000,
            Self::WaveAbort | Self::WaveTrap | Self::WaveMath => 0x8000_0000,
        }
    }
}
