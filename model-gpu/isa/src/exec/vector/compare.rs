//! Comparisons: a mask of the active lanes for which the relation holds.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::carry::write_mask_result;
use super::operand::{Fetch, fetch_apart, write_mask};
use crate::exec::lanes::{collect, map2, wide_fn};
use crate::exec::{Context, Flow};
use crate::float::F16;
use crate::float::classify::Float;
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

wide_fn! {
    /// Runs a relation over the lanes.
    fn compare / compare_wide / compare_body [A: Fetch, B: Fetch, F: Fn(A, B) -> bool]
    (cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
        let mask = collect(&map2(&A::fetch(cx, inst, 0), &B::fetch(cx, inst, 1), f));
        write_relation(cx, inst, mask)
    } else compare_old {
        let mask = collect(&map2(&fetch_apart::<A>(cx, inst, 0), &fetch_apart::<B>(cx, inst, 1), f));
        write_relation(cx, inst, mask)
    }
}

/// `v_cmpx` writes EXEC too; all else is the same, and compiled once.
#[inline(never)]
fn write_relation(cx: &mut Context<'_>, inst: &Inst, mask: u64) -> Flow {
    let active = write_mask(cx, inst);
    write_mask_result(cx, inst, mask);
    if inst.row.mnemonic.starts_with("v_cmpx") {
        cx.wave.set_exec(mask & active);
    }
    Flow::Next
}

/// Less or greater: neither equal nor unordered.
fn unequal(order: Option<std::cmp::Ordering>) -> bool {
    matches!(order, Some(std::cmp::Ordering::Less | std::cmp::Ordering::Greater))
}

/// For each relation the plain comparison and the one that writes EXEC too.
macro_rules! comparisons {
    ($a:ty, $b:ty; $($cmp:ident $cmpx:ident $f:expr;)*) => { $(
        pub(crate) const $cmp: Op = Op {
            exec: |cx, inst| compare::<$a, $b, _>(cx, inst, $f),
            dst: Ty::Mask,
            src: [<$a as Fetch>::TY, <$b as Fetch>::TY, Ty::None],
            traits: Traits::NONE,
        };
        pub(crate) const $cmpx: Op = $cmp;
    )* };
}

/// The sixteen relations of floats.
macro_rules! float_comparisons {
    ($ty:ty; $($cmp:ident $cmpx:ident),* $(,)?) => {
        float_comparisons!(@ $ty; [$($cmp $cmpx),*]
            |_, _| false,
            |a, b| a < b,
            |a, b| a == b,
            |a, b| a <= b,
            |a, b| a > b,
            |a, b| unequal(a.partial_cmp(&b)),
            |a, b| a >= b,
            |a, b| !a.nan() && !b.nan(),
            |a, b| a.nan() || b.nan(),
            |a, b| !matches!(a.partial_cmp(&b), Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Equal)),
            |a, b| !unequal(a.partial_cmp(&b)),
            |a, b| !matches!(a.partial_cmp(&b), Some(std::cmp::Ordering::Greater)),
            |a, b| !matches!(a.partial_cmp(&b), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)),
            |a, b| a != b,
            |a, b| !matches!(a.partial_cmp(&b), Some(std::cmp::Ordering::Less)),
            |_, _| true,
        );
    };
    (@ $ty:ty; [$($cmp:ident $cmpx:ident),*] $($f:expr),* $(,)?) => {
        comparisons! { $ty, $ty; $($cmp $cmpx $f;)* }
    };
}

float_comparisons! { f32;
    v_cmp_f_f32 v_cmpx_f_f32, v_cmp_lt_f32 v_cmpx_lt_f32, v_cmp_eq_f32 v_cmpx_eq_f32, v_cmp_le_f32 v_cmpx_le_f32,
    v_cmp_gt_f32 v_cmpx_gt_f32, v_cmp_lg_f32 v_cmpx_lg_f32, v_cmp_ge_f32 v_cmpx_ge_f32, v_cmp_o_f32 v_cmpx_o_f32,
    v_cmp_u_f32 v_cmpx_u_f32, v_cmp_nge_f32 v_cmpx_nge_f32, v_cmp_nlg_f32 v_cmpx_nlg_f32,
    v_cmp_ngt_f32 v_cmpx_ngt_f32, v_cmp_nle_f32 v_cmpx_nle_f32, v_cmp_neq_f32 v_cmpx_neq_f32,
    v_cmp_nlt_f32 v_cmpx_nlt_f32, v_cmp_tru_f32 v_cmpx_tru_f32,
}

float_comparisons! { f64;
    v_cmp_f_f64 v_cmpx_f_f64, v_cmp_lt_f64 v_cmpx_lt_f64, v_cmp_eq_f64 v_cmpx_eq_f64, v_cmp_le_f64 v_cmpx_le_f64,
    v_cmp_gt_f64 v_cmpx_gt_f64, v_cmp_lg_f64 v_cmpx_lg_f64, v_cmp_ge_f64 v_cmpx_ge_f64, v_cmp_o_f64 v_cmpx_o_f64,
    v_cmp_u_f64 v_cmpx_u_f64, v_cmp_nge_f64 v_cmpx_nge_f64, v_cmp_nlg_f64 v_cmpx_nlg_f64,
    v_cmp_ngt_f64 v_cmpx_ngt_f64, v_cmp_nle_f64 v_cmpx_nle_f64, v_cmp_neq_f64 v_cmpx_neq_f64,
    v_cmp_nlt_f64 v_cmpx_nlt_f64, v_cmp_tru_f64 v_cmpx_tru_f64,
}

float_comparisons! { Half;
    v_cmp_f_f16 v_cmpx_f_f16, v_cmp_lt_f16 v_cmpx_lt_f16, v_cmp_eq_f16 v_cmpx_eq_f16, v_cmp_le_f16 v_cmpx_le_f16,
    v_cmp_gt_f16 v_cmpx_gt_f16, v_cmp_lg_f16 v_cmpx_lg_f16, v_cmp_ge_f16 v_cmpx_ge_f16, v_cmp_o_f16 v_cmpx_o_f16,
    v_cmp_u_f16 v_cmpx_u_f16, v_cmp_nge_f16 v_cmpx_nge_f16, v_cmp_nlg_f16 v_cmpx_nlg_f16,
    v_cmp_ngt_f16 v_cmpx_ngt_f16, v_cmp_nle_f16 v_cmpx_nle_f16, v_cmp_neq_f16 v_cmpx_neq_f16,
    v_cmp_nlt_f16 v_cmpx_nlt_f16, v_cmp_tru_f16 v_cmpx_tru_f16,
}

/// A half as the f32 of equal value, for comparing.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Half(f32);

impl Half {
    fn nan(self) -> bool {
        self.0.is_nan()
    }
}

impl Fetch for Half {
    const TY: Ty = Ty::F16;
    #[inline(always)]
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> [Self; 64] {
        F16::fetch(cx, inst, n).map(|half| Half(half.to_f32()))
    }
}

/// The eight relations of integers.
macro_rules! integer_comparisons {
    ($ty:ty; $($cmp:ident $cmpx:ident),* $(,)?) => {
        integer_comparisons!(@ $ty; [$($cmp $cmpx),*]
            |_, _| false, |a, b| a < b, |a, b| a == b, |a, b| a <= b,
            |a, b| a > b, |a, b| a != b, |a, b| a >= b, |_, _| true,
        );
    };
    (@ $ty:ty; [$($cmp:ident $cmpx:ident),*] $($f:expr),* $(,)?) => {
        comparisons! { $ty, $ty; $($cmp $cmpx $f;)* }
    };
}

integer_comparisons! { i16;
    v_cmp_f_i16 v_cmpx_f_i16, v_cmp_lt_i16 v_cmpx_lt_i16, v_cmp_eq_i16 v_cmpx_eq_i16, v_cmp_le_i16 v_cmpx_le_i16,
    v_cmp_gt_i16 v_cmpx_gt_i16, v_cmp_ne_i16 v_cmpx_ne_i16, v_cmp_ge_i16 v_cmpx_ge_i16, v_cmp_t_i16 v_cmpx_t_i16,
}
integer_comparisons! { u16;
    v_cmp_f_u16 v_cmpx_f_u16, v_cmp_lt_u16 v_cmpx_lt_u16, v_cmp_eq_u16 v_cmpx_eq_u16, v_cmp_le_u16 v_cmpx_le_u16,
    v_cmp_gt_u16 v_cmpx_gt_u16, v_cmp_ne_u16 v_cmpx_ne_u16, v_cmp_ge_u16 v_cmpx_ge_u16, v_cmp_t_u16 v_cmpx_t_u16,
}
integer_comparisons! { i32;
    v_cmp_f_i32 v_cmpx_f_i32, v_cmp_lt_i32 v_cmpx_lt_i32, v_cmp_eq_i32 v_cmpx_eq_i32, v_cmp_le_i32 v_cmpx_le_i32,
    v_cmp_gt_i32 v_cmpx_gt_i32, v_cmp_ne_i32 v_cmpx_ne_i32, v_cmp_ge_i32 v_cmpx_ge_i32, v_cmp_t_i32 v_cmpx_t_i32,
}
integer_comparisons! { u32;
    v_cmp_f_u32 v_cmpx_f_u32, v_cmp_lt_u32 v_cmpx_lt_u32, v_cmp_eq_u32 v_cmpx_eq_u32, v_cmp_le_u32 v_cmpx_le_u32,
    v_cmp_gt_u32 v_cmpx_gt_u32, v_cmp_ne_u32 v_cmpx_ne_u32, v_cmp_ge_u32 v_cmpx_ge_u32, v_cmp_t_u32 v_cmpx_t_u32,
}
integer_comparisons! { i64;
    v_cmp_f_i64 v_cmpx_f_i64, v_cmp_lt_i64 v_cmpx_lt_i64, v_cmp_eq_i64 v_cmpx_eq_i64, v_cmp_le_i64 v_cmpx_le_i64,
    v_cmp_gt_i64 v_cmpx_gt_i64, v_cmp_ne_i64 v_cmpx_ne_i64, v_cmp_ge_i64 v_cmpx_ge_i64, v_cmp_t_i64 v_cmpx_t_i64,
}
integer_comparisons! { u64;
    v_cmp_f_u64 v_cmpx_f_u64, v_cmp_lt_u64 v_cmpx_lt_u64, v_cmp_eq_u64 v_cmpx_eq_u64, v_cmp_le_u64 v_cmpx_le_u64,
    v_cmp_gt_u64 v_cmpx_gt_u64, v_cmp_ne_u64 v_cmpx_ne_u64, v_cmp_ge_u64 v_cmpx_ge_u64, v_cmp_t_u64 v_cmpx_t_u64,
}

comparisons! { f32, u32; v_cmp_class_f32 v_cmpx_class_f32 |a, b| a.class() & b != 0; }
comparisons! { f64, u32; v_cmp_class_f64 v_cmpx_class_f64 |a, b| a.class() & b != 0; }
comparisons! { F16, u32; v_cmp_class_f16 v_cmpx_class_f16 |a, b| a.class() & b != 0; }
