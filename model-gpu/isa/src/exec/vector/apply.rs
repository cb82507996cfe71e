//! Runs a scalar closure over the lanes of a wave.

use super::operand::{Fetch, Store, fetch_apart, store_apart};
use crate::exec::lanes::{map1, map2, map3, wide_fn};
use crate::exec::{Context, Flow};
use crate::float::Fp;
use crate::instruction::Inst;

wide_fn! {
    /// Two operands.
    fn apply2 / apply2_wide / apply2_body [A: Fetch, B: Fetch, R: Store, F: Fn(A, B) -> R]
    (cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
        let row = map2(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), f);
        R::store(cx, inst, &row);
        Flow::Next
    } else apply2_old {
        let row = map2(&fetch_apart::<A>(cx, inst, 0), &fetch_apart::<B>(cx, inst, 1), f);
        store_apart(cx, inst, &row);
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
    } else apply3_old {
        let row = map3(&fetch_apart::<A>(cx, inst, 0), &fetch_apart::<B>(cx, inst, 1), &fetch_apart::<C>(cx, inst, 2), f);
        store_apart(cx, inst, &row);
        Flow::Next
    }
}

/// What an instruction computes in one lane. A method of a type is inlined wherever it is called, because it says so; a
/// closure with several callers is not, and what is not inlined is not wide.
pub(crate) trait Operation: Copy {
    type Args;
    type Out;
    fn call(fp: Fp, args: Self::Args) -> Self::Out;
}

/// Which floating-point mode a loop is compiled for.
pub(crate) trait Mode: Copy {
    fn fp(self) -> Fp;
}

/// The usual mode, a constant in its own copy of the loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual;

/// Any mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given(pub(crate) Fp);

impl Mode for Usual {
    #[inline(always)]
    fn fp(self) -> Fp {
        Fp::DEFAULT
    }
}

impl Mode for Given {
    #[inline(always)]
    fn fp(self) -> Fp {
        self.0
    }
}

wide_fn! {
    /// One operand, in a mode.
    fn apply_mode1 / apply_mode1_wide / apply_mode1_body [A: Fetch, R: Store, M: Mode, O: Operation<Args = (A,), Out = R>]
    (cx: &mut Context<'_>, inst: &Inst, mode: M, _operation: O) -> Flow {
        let row = map1(&A::fetch(cx, inst, 0), |a| O::call(mode.fp(), (a,)));
        R::store(cx, inst, &row);
        Flow::Next
    } else apply_mode1_old {
        let row = map1(&fetch_apart::<A>(cx, inst, 0), |a| O::call(mode.fp(), (a,)));
        store_apart(cx, inst, &row);
        Flow::Next
    }
}

/// Runs an operation of as many operands that depends on the floating-point mode.
#[inline(always)]
pub(crate) fn apply_fp1<A: Fetch, R: Store, O: Operation<Args = (A,), Out = R>>(
    cx: &mut Context<'_>,
    inst: &Inst,
    operation: O,
) -> Flow {
    let fp = cx.fp;
    if fp == Fp::DEFAULT {
        apply_mode1(cx, inst, Usual, operation)
    } else {
        apply_mode1(cx, inst, Given(fp), operation)
    }
}

wide_fn! {
    /// Two operands, in a mode.
    fn apply_mode2 / apply_mode2_wide / apply_mode2_body [A: Fetch, B: Fetch, R: Store, M: Mode, O: Operation<Args = (A, B), Out = R>]
    (cx: &mut Context<'_>, inst: &Inst, mode: M, _operation: O) -> Flow {
        let row = map2(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), |a, b| O::call(mode.fp(), (a, b)));
        R::store(cx, inst, &row);
        Flow::Next
    } else apply_mode2_old {
        let row = map2(&fetch_apart::<A>(cx, inst, 0), &fetch_apart::<B>(cx, inst, 1), |a, b| O::call(mode.fp(), (a, b)));
        store_apart(cx, inst, &row);
        Flow::Next
    }
}

/// Runs an operation of as many operands that depends on the floating-point mode.
#[inline(always)]
pub(crate) fn apply_fp2<A: Fetch, B: Fetch, R: Store, O: Operation<Args = (A, B), Out = R>>(
    cx: &mut Context<'_>,
    inst: &Inst,
    operation: O,
) -> Flow {
    let fp = cx.fp;
    if fp == Fp::DEFAULT {
        apply_mode2(cx, inst, Usual, operation)
    } else {
        apply_mode2(cx, inst, Given(fp), operation)
    }
}

wide_fn! {
    /// Three operands, in a mode.
    fn apply_mode3 / apply_mode3_wide / apply_mode3_body [A: Fetch, B: Fetch, C: Fetch, R: Store, M: Mode, O: Operation<Args = (A, B, C), Out = R>]
    (cx: &mut Context<'_>, inst: &Inst, mode: M, _operation: O) -> Flow {
        let row = map3(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), &C::fetch(cx, inst, 2), |a, b, c| O::call(mode.fp(), (a, b, c)));
        R::store(cx, inst, &row);
        Flow::Next
    } else apply_mode3_old {
        let row = map3(&fetch_apart::<A>(cx, inst, 0), &fetch_apart::<B>(cx, inst, 1), &fetch_apart::<C>(cx, inst, 2), |a, b, c| O::call(mode.fp(), (a, b, c)));
        store_apart(cx, inst, &row);
        Flow::Next
    }
}

/// Runs an operation of as many operands that depends on the floating-point mode.
#[inline(always)]
pub(crate) fn apply_fp3<A: Fetch, B: Fetch, C: Fetch, R: Store, O: Operation<Args = (A, B, C), Out = R>>(
    cx: &mut Context<'_>,
    inst: &Inst,
    operation: O,
) -> Flow {
    let fp = cx.fp;
    if fp == Fp::DEFAULT {
        apply_mode3(cx, inst, Usual, operation)
    } else {
        apply_mode3(cx, inst, Given(fp), operation)
    }
}

/// Defines operations: `name(a: u32, b: u32) -> u32 { ... }`, or `name(fp; a: f32) -> f32 { ... }` when the result
/// depends on the floating-point mode. `[trait: value, ...]` before the body sets [`Traits`](crate::instruction::Traits).
macro_rules! vector_ops {
    () => {};
    ($name:ident($($arg:ident: $ty:ty),+) -> $ret:ty $([$($tr:ident: $val:expr),+])? $body:block $($rest:tt)*) => {
        crate::exec::vector::apply::vector_ops!(@ mode $name(_fp; $($arg: $ty),+) -> $ret $([$($tr: $val),+])? $body);
        crate::exec::vector::apply::vector_ops!($($rest)*);
    };
    ($name:ident($fp:ident; $($arg:ident: $ty:ty),+) -> $ret:ty $([$($tr:ident: $val:expr),+])? $body:block
     $($rest:tt)*) => {
        crate::exec::vector::apply::vector_ops!(@ fp $name($fp; $($arg: $ty),+) -> $ret $([$($tr: $val),+])? $body);
        crate::exec::vector::apply::vector_ops!($($rest)*);
    };
    (@ $kind:ident $name:ident($fp:ident; $($arg:ident: $ty:ty),+) -> $ret:ty $([$($tr:ident: $val:expr),+])?
     $body:block) => {
        pub(crate) const $name: crate::instruction::Op = crate::instruction::Op {
            exec: {
                #[derive(Clone, Copy)]
                struct Lane;
                impl crate::exec::vector::apply::Operation for Lane {
                    type Args = ($($ty,)+);
                    type Out = $ret;
                    #[inline(always)]
                    fn call($fp: crate::float::Fp, ($($arg,)+): Self::Args) -> $ret $body
                }
                |cx, inst| crate::exec::vector::apply::call!($kind cx, inst, Lane; $($ty),+)
            },
            dst: <$ret as crate::exec::vector::operand::Store>::TY,
            src: crate::exec::vector::apply::kinds!($($ty),+),
            traits: crate::instruction::Traits { $($($tr: $val,)+)? ..crate::instruction::Traits::NONE },
        };
    };
}

/// Runs an operation of as many operands as types are given, in the wave's mode or in one that does not matter.
macro_rules! call {
    (mode $cx:expr, $inst:expr, $f:expr; $a:ty) => {
        crate::exec::vector::apply::apply_mode1($cx, $inst, crate::exec::vector::apply::Usual, $f)
    };
    (mode $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty) => {
        crate::exec::vector::apply::apply_mode2($cx, $inst, crate::exec::vector::apply::Usual, $f)
    };
    (mode $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty, $c:ty) => {
        crate::exec::vector::apply::apply_mode3($cx, $inst, crate::exec::vector::apply::Usual, $f)
    };
    (fp $cx:expr, $inst:expr, $f:expr; $a:ty) => {
        crate::exec::vector::apply::apply_fp1($cx, $inst, $f)
    };
    (fp $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty) => {
        crate::exec::vector::apply::apply_fp2($cx, $inst, $f)
    };
    (fp $cx:expr, $inst:expr, $f:expr; $a:ty, $b:ty, $c:ty) => {
        crate::exec::vector::apply::apply_fp3($cx, $inst, $f)
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
