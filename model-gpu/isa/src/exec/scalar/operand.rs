//! Typed operands of scalar instructions.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use crate::exec::{Context, Flow};
use crate::instruction::Inst;
use crate::operand::Ty;

/// A value in one scalar register or a pair.
pub(crate) trait Scalar: Copy {
    const TY: Ty;
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Self;
    fn store(self, cx: &mut Context<'_>, inst: &Inst);
    fn nonzero(self) -> bool;
}

macro_rules! scalar {
    ($($ty:ty, $kind:ident, $get:ident, $set:ident, $raw:ty;)*) => { $(
        impl Scalar for $ty {
            const TY: Ty = Ty::$kind;
            #[inline(always)]
            fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Self {
                cx.$get(&inst.src[n]) as $ty
            }
            #[inline(always)]
            fn store(self, cx: &mut Context<'_>, inst: &Inst) {
                cx.$set(inst.dst, self as $raw);
            }
            fn nonzero(self) -> bool {
                self != 0
            }
        }
    )* };
}

scalar! {
    u32, B32, scalar32, set_scalar, u32;
    i32, B32, scalar32, set_scalar, u32;
    u64, B64, scalar64, set_pair, u64;
    i64, B64, scalar64, set_pair, u64;
}

/// What an operation does to SCC.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scc {
    Keep,
    Set(bool),
}

#[inline(always)]
pub(crate) fn finish<R: Scalar>(cx: &mut Context<'_>, inst: &Inst, result: R, scc: Scc) -> Flow {
    result.store(cx, inst);
    if let Scc::Set(value) = scc {
        cx.wave.scc = value;
    }
    Flow::Next
}

/// Defines scalar operations of one or two sources. `keep` leaves SCC alone, `nonzero` sets it when the result is not
/// zero, `scc` takes the result and the new SCC from the body.
macro_rules! scalar_ops {
    () => {};
    ($kind:ident $name:ident($a:ident: $ta:ty) -> $ret:ty $body:block $($rest:tt)*) => {
        pub(crate) const $name: crate::instruction::Op = crate::instruction::Op {
            exec: |cx, inst| {
                let $a = <$ta as crate::exec::scalar::operand::Scalar>::fetch(cx, inst, 0);
                crate::exec::scalar::operand::scalar_ops!(@ $kind cx, inst, $ret, $body)
            },
            dst: <$ret as crate::exec::scalar::operand::Scalar>::TY,
            src: [
                <$ta as crate::exec::scalar::operand::Scalar>::TY,
                crate::operand::Ty::None,
                crate::operand::Ty::None,
            ],
            traits: crate::instruction::Traits::NONE,
        };
        crate::exec::scalar::operand::scalar_ops!($($rest)*);
    };
    ($kind:ident $name:ident($a:ident: $ta:ty, $b:ident: $tb:ty) -> $ret:ty $body:block $($rest:tt)*) => {
        pub(crate) const $name: crate::instruction::Op = crate::instruction::Op {
            exec: |cx, inst| {
                let $a = <$ta as crate::exec::scalar::operand::Scalar>::fetch(cx, inst, 0);
                let $b = <$tb as crate::exec::scalar::operand::Scalar>::fetch(cx, inst, 1);
                crate::exec::scalar::operand::scalar_ops!(@ $kind cx, inst, $ret, $body)
            },
            dst: <$ret as crate::exec::scalar::operand::Scalar>::TY,
            src: [
                <$ta as crate::exec::scalar::operand::Scalar>::TY,
                <$tb as crate::exec::scalar::operand::Scalar>::TY,
                crate::operand::Ty::None,
            ],
            traits: crate::instruction::Traits::NONE,
        };
        crate::exec::scalar::operand::scalar_ops!($($rest)*);
    };
    (@ keep $cx:ident, $inst:ident, $ret:ty, $body:block) => {{
        let result: $ret = $body;
        crate::exec::scalar::operand::finish(
            $cx, $inst, result, crate::exec::scalar::operand::Scc::Keep)
    }};
    (@ nonzero $cx:ident, $inst:ident, $ret:ty, $body:block) => {{
        let result: $ret = $body;
        let scc = crate::exec::scalar::operand::Scalar::nonzero(result);
        crate::exec::scalar::operand::finish(
            $cx, $inst, result, crate::exec::scalar::operand::Scc::Set(scc))
    }};
    (@ scc $cx:ident, $inst:ident, $ret:ty, $body:block) => {{
        let (result, scc): ($ret, bool) = $body;
        crate::exec::scalar::operand::finish(
            $cx, $inst, result, crate::exec::scalar::operand::Scc::Set(scc))
    }};
}

pub(crate) use scalar_ops;
