//! Runs a scalar closure over the lanes of a wave.

use super::operand::{Fetch, Store};
use crate::exec::lanes::{map1, map2, map3, wide_fn};
use crate::exec::{Context, Flow};
use crate::float::Fp;
use crate::instruction::Inst;

wide_fn! {
    /// One operand.
    fn apply1 / apply1_wide / apply1_body [A: Fetch, R: Store, F: Fn(A) -> R]
    (cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
        let row = map1(&A::fetch(cx, inst, 0), f);
        R::store(cx, inst, &row);
        Flow::Next
    }
}

wide_fn! {
    /// Two operands.
    fn apply2 / apply2_wide / apply2_body [A: Fetch, B: Fetch, R: Store, F: Fn(A, B) -> R]
    (cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
        let row = map2(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), f);
        R::store(cx, inst, &row);
        Flow::Next
    }
}

wide_fn! {
    /// Three operands.
    fn apply3 / apply3_wide / apply3_body [A: Fetch, B: Fetch, C: Fetch, R: Store, F: Fn(A, B, C) -> R]
    (cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
        let row = map3(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), &C::fetch(cx, inst, 2), f);
        R::store(cx, inst, &row);
        Flow::Next
    }
}

/// As [`apply1`] for a closure that depends on the floating-point mode. The usual mode is a constant in its own copy
/// of the loop.
#[inline(always)]
pub(crate) fn apply_fp1<A: Fetch, R: Store>(
    cx: &mut Context<'_>,
    inst: &Inst,
    f: impl Fn(Fp, A) -> R,
) -> Flow {
    let fp = cx.fp;
    if fp == Fp::DEFAULT { apply1(cx, inst, |a| f(Fp::DEFAULT, a)) } else { apply1(cx, inst, |a| f(fp, a)) }
}

/// As [`apply_fp1`], of two operands.
#[inline(always)]
pub(crate) fn apply_fp2<A: Fetch, B: Fetch, R: Store>(
    cx: &mut Context<'_>,
    inst: &Inst,
    f: impl Fn(Fp, A, B) -> R,
) -> Flow {
    let fp = cx.fp;
    if fp == Fp::DEFAULT {
        apply2(cx, inst, |a, b| f(Fp::DEFAULT, a, b))
    } else {
        apply2(cx, inst, |a, b| f(fp, a, b))
    }
}

/// As [`apply_fp1`], of three operands.
#[inline(always)]
pub(crate) fn apply_fp3<A: Fetch, B: Fetch, C: Fetch, R: Store>(
    cx: &mut Context<'_>,
    inst: &Inst,
    f: impl Fn(Fp, A, B, C) -> R,
) -> Flow {
    let fp = cx.fp;
    if fp == Fp::DEFAULT {
        apply3(cx, inst, |a, b, c| f(Fp::DEFAULT, a, b, c))
    } else {
        apply3(cx, inst, |a, b, c| f(fp, a, b, c))
    }
}

/// Defines operations: `name(a: u32, b: u32) -> u32 { ... }`, or `name(fp; a: f32) -> f32 { ... }` when the result
/// depends on the floating-point mode. `[trait: value, ...]` before the body sets [`Traits`](crate::instruction::Traits).
macro_rules! vector_ops {
    () => {};
    ($name:ident($($arg:ident: $ty:ty),+) -> $ret:ty $([$($tr:ident: $val:expr),+])? $body:block $($rest:tt)*) => {
        pub(crate) const $name: crate::instruction::Op = crate::instruction::Op {
            exec: {
                #[inline(always)]
                fn operation($($arg: $ty),+) -> $ret $body
                |cx, inst| crate::exec::vector::apply::call!(cx, inst, operation; $($ty),+)
            },
            dst: <$ret as crate::exec::vector::operand::Store>::TY,
            src: crate::exec::vector::apply::kinds!($($ty),+),
            traits: crate::instruction::Traits { $($($tr: $val,)+)? ..crate::instruction::Traits::NONE },
        };
        crate::exec::vector::apply::vector_ops!($($rest)*);
    };
    ($name:ident($fp:ident; $($arg:ident: $ty:ty),+) -> $ret:ty $([$($tr:ident: $val:expr),+])? $body:block
     $($rest:tt)*) => {
        pub(crate) const $name: crate::instruction::Op = crate::instruction::Op {
            exec: {
                #[inline(always)]
                fn operation($fp: crate::float::Fp, $($arg: $ty),+) -> $ret $body
                |cx, inst| crate::exec::vector::apply::call!(fp cx, inst, operation; $($ty),+)
            },
            dst: <$ret as crate::exec::vector::operand::Store>::TY,
            src: crate::exec::vector::apply::kinds!($($ty),+),
            traits: crate::instruction::Traits { $($($tr: $val,)+)? ..crate::instruction::Traits::NONE },
        };
        crate::exec::vector::apply::vector_ops!($($rest)*);
    };
}

/// Applies a function of as many operands as types are given. The function goes into a closure, which is inlined.
macro_rules! call {
    ($cx:expr, $inst:expr, $f:expr; $a:ty) => {
        crate::exec::vector::apply::apply1($cx, $inst, |a: $a| $f(a))
    };
    ($cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty) => {
        crate::exec::vector::apply::apply2($cx, $inst, |a: $a, b: $b| $f(a, b))
    };
    ($cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty, $c:ty) => {
        crate::exec::vector::apply::apply3($cx, $inst, |a: $a, b: $b, c: $c| $f(a, b, c))
    };
    (fp $cx:expr, $inst:expr, $f:expr; $a:ty) => {
        crate::exec::vector::apply::apply_fp1($cx, $inst, |fp, a: $a| $f(fp, a))
    };
    (fp $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty) => {
        crate::exec::vector::apply::apply_fp2($cx, $inst, |fp, a: $a, b: $b| $f(fp, a, b))
    };
    (fp $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty, $c:ty) => {
        crate::exec::vector::apply::apply_fp3($cx, $inst, |fp, a: $a, b: $b, c: $c| $f(fp, a, b, c))
    };
}

/// The operand kinds of one to three types.
macro_rules! kinds {
    (@ $ty:ty) => { <$ty as crate::exec::vector::operand::Fetch>::TY };
    ($a:ty) => {
        [crate::exec::vector::apply::kinds!(@ $a), crate::operand::Ty::None, crate::operand::Ty::None]
    };
    ($a:ty, $b:ty) => {
        [crate::exec::vector::apply::kinds!(@ $a), crate::exec::vector::apply::kinds!(@ $b), crate::operand::Ty::None]
    };
    ($a:ty, $b:ty, $c:ty) => {
        [
            crate::exec::vector::apply::kinds!(@ $a),
            crate::exec::vector::apply::kinds!(@ $b),
            crate::exec::vector::apply::kinds!(@ $c),
        ]
    };
}

pub(crate) use {call, kinds, vector_ops};
