//! Runs a scalar closure over the lanes of a wave.

use super::operand::{Fetch, Store};
use crate::exec::lanes::{map1, map2, map3};
use crate::exec::{Context, Flow};
use crate::float::Fp;
use crate::instruction::Inst;

#[inline(always)]
pub(crate) fn apply1<A: Fetch, R: Store>(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(A) -> R) -> Flow {
    let row = map1(&A::fetch(cx, inst, 0), f);
    R::store(cx, inst, &row);
    Flow::Next
}

#[inline(always)]
pub(crate) fn apply2<A: Fetch, B: Fetch, R: Store>(
    cx: &mut Context<'_>,
    inst: &Inst,
    f: impl Fn(A, B) -> R,
) -> Flow {
    let row = map2(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), f);
    R::store(cx, inst, &row);
    Flow::Next
}

#[inline(always)]
pub(crate) fn apply3<A: Fetch, B: Fetch, C: Fetch, R: Store>(
    cx: &mut Context<'_>,
    inst: &Inst,
    f: impl Fn(A, B, C) -> R,
) -> Flow {
    let row = map3(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), &C::fetch(cx, inst, 2), f);
    R::store(cx, inst, &row);
    Flow::Next
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
                |cx, inst| crate::exec::vector::apply::call!(apply1 apply2 apply3; cx, inst, operation; $($ty),+)
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
                |cx, inst| crate::exec::vector::apply::call!(
                    apply_fp1 apply_fp2 apply_fp3; cx, inst, operation; $($ty),+)
            },
            dst: <$ret as crate::exec::vector::operand::Store>::TY,
            src: crate::exec::vector::apply::kinds!($($ty),+),
            traits: crate::instruction::Traits { $($($tr: $val,)+)? ..crate::instruction::Traits::NONE },
        };
        crate::exec::vector::apply::vector_ops!($($rest)*);
    };
}

/// Calls the function for the number of types given.
macro_rules! call {
    ($one:ident $two:ident $three:ident; $cx:expr, $inst:expr, $f:expr; $a:ty) => {
        crate::exec::vector::apply::$one($cx, $inst, $f)
    };
    ($one:ident $two:ident $three:ident; $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty) => {
        crate::exec::vector::apply::$two($cx, $inst, $f)
    };
    ($one:ident $two:ident $three:ident; $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty, $c:ty) => {
        crate::exec::vector::apply::$three($cx, $inst, $f)
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
