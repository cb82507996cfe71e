//! NaN rules and number classes.

use super::F16;

/// The bits of a float, and what its kind of NaN looks like.
pub(crate) trait Float: Copy + PartialOrd {
    /// The result of an invalid operation.
    const INVALID: Self;
    fn nan(self) -> bool;
    fn signaling(self) -> bool;
    fn quiet(self) -> Self;
    fn negative(self) -> bool;
    fn zero(self) -> bool;
    fn infinite(self) -> bool;
    fn subnormal(self) -> bool;
    fn less(self, other: Self) -> bool;

    /// The class as a one-hot mask in the order of `v_cmp_class`: signaling NaN, quiet NaN, -infinity, -normal,
    /// -denormal, -0, +0, +denormal, +normal, +infinity.
    fn class(self) -> u32 {
        if self.nan() {
            return if self.signaling() { 1 } else { 2 };
        }
        let rank = if self.infinite() {
            0
        } else if self.zero() {
            3
        } else if self.subnormal() {
            2
        } else {
            1
        };
        if self.negative() { 4 << rank } else { 0x200 >> rank }
    }
}

impl Float for f32 {
    const INVALID: Self = f32::from_bits(0xffc0_0000);
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
    fn signaling(self) -> bool {
        self.is_nan() && self.to_bits() & 0x40_0000 == 0
    }
    #[inline(always)]
    fn quiet(self) -> Self {
        f32::from_bits(self.to_bits() | 0x40_0000)
    }
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
    fn zero(self) -> bool {
        self == 0.0
    }
    fn infinite(self) -> bool {
        self.is_infinite()
    }
    fn subnormal(self) -> bool {
        self.is_subnormal()
    }
    fn less(self, other: Self) -> bool {
        self < other
    }
}

impl Float for f64 {
    const INVALID: Self = f64::from_bits(0xfff8_0000_0000_0000);
    #[inline(always)]
    fn nan(self) -> bool {
        self.is_nan()
    }
    fn signaling(self) -> bool {
        self.is_nan() && self.to_bits() & 0x8_0000_0000_0000 == 0
    }
    #[inline(always)]
    fn quiet(self) -> Self {
        f64::from_bits(self.to_bits() | 0x8_0000_0000_0000)
    }
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
    fn zero(self) -> bool {
        self == 0.0
    }
    fn infinite(self) -> bool {
        self.is_infinite()
    }
    fn subnormal(self) -> bool {
        self.is_subnormal()
    }
    fn less(self, other: Self) -> bool {
        self < other
    }
}

impl PartialOrd for F16 {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

impl Float for F16 {
    const INVALID: Self = F16(0xfe00);
    fn nan(self) -> bool {
        self.is_nan()
    }
    fn signaling(self) -> bool {
        self.is_nan() && self.0 & 0x200 == 0
    }
    fn quiet(self) -> Self {
        F16(self.0 | 0x200)
    }
    fn negative(self) -> bool {
        self.0 & 0x8000 != 0
    }
    fn zero(self) -> bool {
        self.0 & 0x7fff == 0
    }
    fn infinite(self) -> bool {
        self.0 & 0x7fff == 0x7c00
    }
    fn subnormal(self) -> bool {
        self.is_subnormal()
    }
    fn less(self, other: Self) -> bool {
        self.to_f32() < other.to_f32()
    }
}

/// The NaN that an operation of these operands gives: the first NaN among them made quiet, else the invalid one.
#[inline(always)]
pub(crate) fn nan_of<F: Float>(a: F, b: F, c: F) -> F {
    if a.nan() {
        a.quiet()
    } else if b.nan() {
        b.quiet()
    } else if c.nan() {
        c.quiet()
    } else {
        F::INVALID
    }
}

/// `v_min`: the other operand when one is NaN, -0 below +0; with IEEE a signaling NaN makes the result NaN.
pub(crate) fn minimum<F: Float>(ieee: bool, a: F, b: F) -> F {
    if ieee && a.signaling() {
        a.quiet()
    } else if ieee && b.signaling() {
        b.quiet()
    } else if a.nan() {
        b
    } else if b.nan() || a.less(b) || (a.zero() && b.zero() && a.negative()) {
        a
    } else {
        b
    }
}

/// `v_max`: as [`minimum`], mirrored.
pub(crate) fn maximum<F: Float>(ieee: bool, a: F, b: F) -> F {
    if ieee && a.signaling() {
        a.quiet()
    } else if ieee && b.signaling() {
        b.quiet()
    } else if a.nan() {
        b
    } else if b.nan() || b.less(a) || (a.zero() && b.zero() && !a.negative()) {
        a
    } else {
        b
    }
}

/// `v_med3`: the middle one; with a NaN among them, the minimum of the three.
pub(crate) fn median<F: Float>(ieee: bool, a: F, b: F, c: F) -> F {
    if a.nan() || b.nan() || c.nan() {
        return minimum(ieee, minimum(ieee, a, b), c);
    }
    let low = minimum(false, a, b);
    let high = maximum(false, a, b);
    maximum(false, low, minimum(false, high, c))
}
