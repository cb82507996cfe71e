//! Every dense matrix instruction against a plain matrix product of elements placed as the manuals' tables say.
//!
//! The sum starts with the element of C and takes the products in ascending order of the depth, each with one rounding.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bit patterns"
)]

use super::support::{Rig, mfma, v};
use crate::Target;
use crate::float::F16;
use crate::float::minifloat::{BF8, FP8};
use crate::instruction::Encoding;

/// Numbers that every format holds exactly, but whose sums of products are rounded in single precision.
fn number(seed: u32) -> f64 {
    f64::from(i32::try_from(seed * 37 % 15).expect("small") - 7) / 4.0
        * if seed.is_multiple_of(5) { 16.0 } else { 1.0 }
}

struct Product {
    mnemonic: &'static str,
    rows: u32,
    depth: u32,
    blocks: u32,
    ty: &'static str,
}

impl Product {
    /// Takes `v_mfma_f32_32x32x4_2b_f16` or `v_mfma_f32_32x32x4f16` apart.
    fn of(mnemonic: &'static str) -> Self {
        let rest = mnemonic.split_once("mfma_").expect("a matrix product").1;
        let (_, rest) = rest.split_once('_').expect("a result type");
        let (shape, ty) = match rest.split_once('_') {
            Some((shape, ty))
                if shape.ends_with(|c: char| c.is_ascii_digit())
                    && !shape.contains(|c: char| c.is_ascii_alphabetic() && c != 'x') =>
            {
                (shape, ty)
            }
            _ => {
                // Old names: the type follows the depth at once.
                let at = rest.rfind('x').expect("a shape") + 1;
                let end = at + rest[at..].find(|c: char| !c.is_ascii_digit()).expect("a type");
                (&rest[..end], &rest[end..])
            }
        };
        let sizes: Vec<u32> = shape.split('x').map(|n| n.parse().expect("a size")).collect();
        let ty =
            ty.split_once("b_").filter(|(blocks, _)| blocks.parse::<u32>().is_ok()).map_or(ty, |(_, ty)| ty);
        let rows = sizes[0];
        // What the name does not say: the lanes that the depth does not use hold more blocks.
        let blocks = match (rows, sizes[2], ty) {
            (4, _, t) if t.contains("f64") => 4,
            (4, ..) => 16,
            _ => named_blocks(mnemonic),
        };
        Self { mnemonic, rows, depth: sizes[2], blocks, ty: ty.trim_end_matches("_1k") }
    }

    fn double(&self) -> bool {
        self.ty == "f64"
    }

    /// Consecutive elements of the depth in a lane.
    fn packed(&self) -> u32 {
        self.rows * self.depth * self.blocks / 64
    }

    /// Bits of an element of A and B, and its registers in a lane.
    fn bits(&self, a: bool, value: f64) -> (u64, u32) {
        let single = value as f32;
        match self.ty {
            "f64" => (value.to_bits(), 64),
            "f32" | "xf32" => (single.to_bits().into(), 32),
            "f16" => (F16::from_f64(value, crate::float::Round::NearestEven).0.into(), 16),
            "bf16" => (u64::from(single.to_bits() >> 16), 16),
            "i8" => (u64::from(value as i8 as u8), 8),
            other => {
                let format = if a { &other[..3] } else { &other[4..] };
                (
                    u64::from(if format == "fp8" {
                        FP8.encode(single, false)
                    } else {
                        BF8.encode(single, false)
                    }),
                    8,
                )
            }
        }
    }

    /// Where element (block, i, j) of C and D lies: register (in elements) and lane.
    fn place(&self, block: u32, i: u32, j: u32) -> (u32, u32) {
        match (self.rows, self.double()) {
            (32, _) => (16 * block + i / 8 * 4 + i % 4, i / 4 % 2 * 32 + j),
            (16, false) => (4 * block + i % 4, i / 4 * 16 + j),
            (16, true) => (i / 4, i % 4 * 16 + j),
            (_, false) => (i, 4 * block + j),
            (_, true) => (0, 16 * i + 4 * block + j),
        }
    }

    fn element(&self, which: u32, block: u32, line: u32, k: u32) -> f64 {
        let value = number(which * 101 + block * 31 + line * 7 + k * 3);
        if self.ty == "i8" { (value * 4.0).clamp(-128.0, 127.0) } else { value }
    }

    fn check(&self, target: Target) {
        let mut rig = Rig::of(target);
        let packed = self.packed();
        for (which, first) in [(1, 2_u8), (2, 6)] {
            let mut registers = [[0_u32; 64]; 4];
            for lane in 0..64_u32 {
                let (line, block) = (lane % self.rows, lane / self.rows % self.blocks);
                let outer = lane / self.rows / self.blocks;
                for n in 0..packed {
                    let value = self.element(which, block, line, outer * packed + n);
                    let (bits, width) = self.bits(which == 1, value);
                    let at = n * width;
                    registers[(at / 32) as usize][lane as usize] |= (bits << (at % 32)) as u32;
                    if width == 64 {
                        registers[1][lane as usize] = (bits >> 32) as u32;
                    }
                }
            }
            for (n, register) in (0..).zip(registers) {
                rig.wave.set_vgpr(first + n, &register);
            }
        }
        let size = if self.double() { 2 } else { 1 };
        let integer = self.ty == "i8";
        let mut c = vec![[0_u32; 64]; 64];
        let mut expected = Vec::new();
        for block in 0..self.blocks {
            for i in 0..self.rows {
                for j in 0..self.rows {
                    let (register, lane) = self.place(block, i, j);
                    let start =
                        self.element(3, block, i, j).trunc() + if integer { 0.0 } else { 2.0_f64.powi(-18) };
                    let products =
                        (0..self.depth).map(|k| (self.element(1, block, i, k), self.element(2, block, j, k)));
                    let (from, result) = if self.double() {
                        (start.to_bits(), products.fold(start, |sum, (a, b)| a.mul_add(b, sum)).to_bits())
                    } else if integer {
                        let sum =
                            products.fold(start as i32, |sum, (a, b)| sum + a as i8 as i32 * b as i8 as i32);
                        (u64::from(start as i32 as u32), u64::from(sum as u32))
                    } else {
                        let sum =
                            products.fold(start as f32, |sum, (a, b)| (a as f32).mul_add(b as f32, sum));
                        (u64::from((start as f32).to_bits()), u64::from(sum.to_bits()))
                    };
                    c[(register * size) as usize][lane as usize] = from as u32;
                    if size == 2 {
                        c[(register * 2 + 1) as usize][lane as usize] = (from >> 32) as u32;
                    }
                    expected.push((block, i, j, register, lane, result));
                }
            }
        }
        for (n, register) in (0..32).zip(&c) {
            rig.wave.set_acc(n, register);
        }
        let [low, high] = mfma(self.mnemonic, 40, [v(2), v(6), v(0)], [0; 3]);
        // C and D in the accumulation file.
        rig.run(&[low | 1 << 15, high]);
        for (block, i, j, register, lane, result) in expected {
            let at =
                |n: u32| rig.wave.acc(40 + u8::try_from(register * size + n).expect("small"))[lane as usize];
            let got = if size == 2 { u64::from(at(0)) | u64::from(at(1)) << 32 } else { at(0).into() };
            assert_eq!(
                got, result,
                "{target} {} block {block} [{i}][{j}]: {got:#x}, not {result:#x}",
                self.mnemonic
            );
        }
    }
}

/// Blocks as the new names say them, or as the old ones imply.
fn named_blocks(mnemonic: &str) -> u32 {
    for blocks in [2, 4, 16] {
        if mnemonic.contains(&format!("_{blocks}b_")) {
            return blocks;
        }
    }
    match mnemonic.rsplit("mfma_").next().expect("a name") {
        "f32_32x32x1f32" | "f32_32x32x4f16" | "i32_32x32x4i8" | "f32_32x32x4bf16_1k" | "f32_32x32x2bf16" => 2,
        "f32_16x16x1f32" | "f32_16x16x4f16" | "i32_16x16x4i8" | "f32_16x16x4bf16_1k" | "f32_16x16x2bf16" => 4,
        _ => 1,
    }
}

#[test]
pub(super) fn every_shape_multiplies_and_adds_in_ascending_order_of_depth() {
    for target in Target::ALL {
        for row in crate::tables::rows(target, Encoding::Vop3p).filter(|row| row.mnemonic.contains("_mfma_"))
        {
            Product::of(row.mnemonic).check(target);
        }
    }
}
