//! What a wave can ask of the device around it.

use crate::Gws;

/// The device's answers to the instructions that look outside the wave.
pub trait Environment {
    /// `s_memtime`: the core clock counter, in core clock cycles; never goes backwards.
    fn core_clock(&self) -> u64;

    /// `s_memrealtime`: the constant-rate clock, in ticks of 100 MHz on gfx942; never goes backwards.
    fn real_time(&self) -> u64;

    /// `s_sendmsg` and `s_sendmsghalt`: the message's number (low bits of the immediate) and M0.
    /// Message 1 (MSG_INTERRUPT) raises an interrupt whose event identifier is in M0.
    ///
    /// # Errors
    /// A reason, when the device does not know the message; it ends the wave as an illegal instruction.
    fn send_message(&self, message: u16, m0: u32) -> Result<(), String>;

    /// `ds_gws_*`: the resources of global wave sync that the wave's queue has; none makes the instructions illegal.
    fn gws(&self) -> Option<&Gws> {
        None
    }
}
