//! Floating-point arithmetic as the MODE register asks for it.
//!
//! What the model defines where the manual leaves freedom:
//! * A NaN operand makes the result that operand made quiet; of several the first in operand order. An invalid
//!   operation without a NaN operand gives the negative quiet NaN (`0xffc00000`, as `v_div_fixup_f32` does).
//! * Output denormals are judged after rounding.
//! * An output multiplier (OMOD) is ignored when output denormals of the type are enabled, as the manual says.

pub(crate) mod arithmetic;
pub(crate) mod classify;
pub(crate) mod minifloat;
pub(crate) mod mode;
pub(crate) mod narrow;
pub(crate) mod transcendental;

pub(crate) use mode::{Fp, Round};
pub(crate) use narrow::F16;
