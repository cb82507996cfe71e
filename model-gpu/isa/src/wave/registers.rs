//! A wave's registers, and their plain getters and setters.

use super::Wave;
use crate::WAVE_SIZE;

/// One 32-bit value for each lane.
pub type Lanes = [u32; WAVE_SIZE];

/// Registers in the vector file: 256 architectural ones, then 256 accumulation ones.
const VECTOR_REGISTERS: usize = 512;

/// Index of `a0` in the vector file.
pub(crate) const ACC_BASE: u16 = 256;

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct VectorRegister(Lanes);

/// The vector registers of a wave.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct VectorFile([VectorRegister; VECTOR_REGISTERS]);

impl VectorFile {
    /// A file of zeros. Its pages are not touched before a register is written.
    pub(crate) fn zeroed() -> Box<Self> {
        let layout = std::alloc::Layout::new::<Self>();
        // SAFETY: the layout's size is not zero. The allocation comes from the global allocator with the layout of
        // `Self`, as `Box` requires, and the all-zero pattern is a value of `Self`, which consists of `u32` only.
        unsafe {
            let file = std::alloc::alloc_zeroed(layout).cast::<Self>();
            if file.is_null() {
                std::alloc::handle_alloc_error(layout);
            }
            Box::from_raw(file)
        }
    }

    /// Zeroes the first registers of both halves.
    pub(crate) fn clear(&mut self, arch: u16, acc: u16) {
        for index in (0..arch.min(ACC_BASE)).chain(ACC_BASE..ACC_BASE + acc.min(ACC_BASE)) {
            *self.get_mut(index) = [0; WAVE_SIZE];
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u16) -> &Lanes {
        &self.0[usize::from(index) % VECTOR_REGISTERS].0
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u16) -> &mut Lanes {
        &mut self.0[usize::from(index) % VECTOR_REGISTERS].0
    }
}

impl Wave {
    /// Scalar register by operand number (0 to 127).
    ///
    /// # Panics
    /// When `number` is above 127.
    #[must_use]
    pub fn sgpr(&self, number: u8) -> u32 {
        self.scalar[usize::from(number)]
    }

    /// Sets a scalar register by operand number (0 to 127).
    ///
    /// # Panics
    /// When `number` is above 127.
    pub fn set_sgpr(&mut self, number: u8, value: u32) {
        self.scalar[usize::from(number)] = value;
    }

    /// Sets a pair of scalar registers, the low half in `number`.
    ///
    /// # Panics
    /// When `number` is above 126.
    pub fn set_sgpr64(&mut self, number: u8, value: u64) {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        self.set_sgpr(number, u32::from_le_bytes([a, b, c, d]));
        self.set_sgpr(number + 1, u32::from_le_bytes([e, f, g, h]));
    }

    /// A pair of scalar registers, the low half in `number`.
    ///
    /// # Panics
    /// When `number` is above 126.
    #[must_use]
    pub fn sgpr64(&self, number: u8) -> u64 {
        u64::from(self.sgpr(number)) | u64::from(self.sgpr(number + 1)) << 32
    }

    /// Vector register `v[number]`, all lanes.
    #[must_use]
    pub fn vgpr(&self, number: u8) -> &Lanes {
        self.vector.get(u16::from(number))
    }

    /// Sets vector register `v[number]`, all lanes whatever EXEC says.
    pub fn set_vgpr(&mut self, number: u8, lanes: &Lanes) {
        *self.vector.get_mut(u16::from(number)) = *lanes;
    }

    /// Accumulation register `a[number]`, all lanes.
    #[must_use]
    pub fn acc(&self, number: u8) -> &Lanes {
        self.vector.get(ACC_BASE + u16::from(number))
    }

    /// Sets accumulation register `a[number]`, all lanes whatever EXEC says.
    pub fn set_acc(&mut self, number: u8, lanes: &Lanes) {
        *self.vector.get_mut(ACC_BASE + u16::from(number)) = *lanes;
    }

    /// The EXEC mask: bit n is lane n.
    #[must_use]
    pub fn exec(&self) -> u64 {
        self.sgpr64(126)
    }

    /// Sets the EXEC mask.
    pub fn set_exec(&mut self, mask: u64) {
        self.set_sgpr64(126, mask);
    }

    /// The VCC mask.
    #[must_use]
    pub fn vcc(&self) -> u64 {
        self.sgpr64(106)
    }

    /// Sets the VCC mask.
    pub fn set_vcc(&mut self, mask: u64) {
        self.set_sgpr64(106, mask);
    }

    /// The scalar condition code.
    #[must_use]
    pub fn scc(&self) -> bool {
        self.scc
    }

    /// Sets the scalar condition code.
    pub fn set_scc(&mut self, value: bool) {
        self.scc = value;
    }

    /// The M0 register.
    #[must_use]
    pub fn m0(&self) -> u32 {
        self.sgpr(124)
    }

    /// Sets the M0 register.
    pub fn set_m0(&mut self, value: u32) {
        self.set_sgpr(124, value);
    }

    /// The MODE register.
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.mode
    }
}
