//! The interpreter's loop.

use super::{Machine, Wave};
use crate::exec::memory::port::MemoryPort;
use crate::exec::scalar::hardware::{EXCEPTIONS, EXCEPTIONS_SHIFT, VSKIP};
use crate::exec::scalar::indexing::{INDEX_MODE, indexed};
use crate::exec::vector::exceptions;
use crate::exec::{Context, Flow};
use crate::float::Fp;
use crate::instruction::{Encoding, Inst};
use crate::{CodeCache, Exception, Lds, Stop};

impl Wave {
    /// Executes about `budget` instructions, fewer when the wave stops for another reason.
    ///
    /// # Errors
    /// The [`Exception`] that ended the wave; it must not be run again.
    pub fn run(&mut self, lds: &mut Lds, machine: &mut Machine<'_>, budget: u64) -> Result<Stop, Exception> {
        if self.ended {
            return Ok(Stop::EndOfProgram);
        }
        if !self.pc.is_multiple_of(4) {
            return Err(Exception::IllegalInstruction {
                pc: self.pc,
                words: Vec::new(),
                reason: "the address of the code is not a multiple of 4".to_owned(),
            });
        }
        let limit = self.executed.saturating_add(budget);
        let fp = Fp::from_mode(self.mode);
        let mut cx = Context {
            wave: self,
            lds,
            memory: MemoryPort::new(machine.memory),
            environment: machine.environment,
            fp,
            exception: None,
        };
        while cx.wave.executed < limit {
            match run_block(&mut cx, machine.code)? {
                None => {}
                Some(stop) => return Ok(stop),
            }
        }
        Ok(Stop::Budget)
    }
}

/// Executes from the wave's pc to the end of its block.
fn run_block(cx: &mut Context<'_>, code: &mut CodeCache) -> Result<Option<Stop>, Exception> {
    let block = code.block(cx.wave.config.target, cx.wave.pc, &mut cx.memory);
    for (count, inst) in (1..).zip(&block.instructions) {
        #[cfg(test)]
        crate::tests::coverage::note(inst);
        let flow = step(cx, inst);
        if flow == Flow::Next {
            continue;
        }
        cx.wave.executed += count;
        match flow {
            Flow::Branch => {}
            Flow::Again => cx.wave.pc = inst.address,
            _ => cx.wave.pc = inst.next(),
        }
        return match flow {
            Flow::Next | Flow::Branch => Ok(None),
            Flow::InvalidateCode => {
                code.invalidate();
                Ok(None)
            }
            Flow::Barrier => Ok(Some(Stop::Barrier)),
            Flow::Yield | Flow::Again => Ok(Some(Stop::Yield)),
            Flow::End => {
                cx.wave.ended = true;
                Ok(Some(Stop::EndOfProgram))
            }
            Flow::Raise => {
                cx.wave.pc = inst.address;
                Err(cx.exception.take().unwrap_or(Exception::IllegalInstruction {
                    pc: inst.address,
                    words: Vec::new(),
                    reason: format!("{} raised nothing", inst.mnemonic()),
                }))
            }
        };
    }
    cx.wave.executed += block.instructions.len() as u64;
    cx.wave.pc = block.next;
    match &block.end {
        Some(exception) => Err(exception.clone()),
        None => Ok(None),
    }
}

#[inline(always)]
fn step(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let config = &cx.wave.config;
    if inst.arch_top > config.arch_vgprs || inst.acc_top > config.acc_vgprs {
        return registers_missing(cx, inst);
    }
    if cx.wave.mode & (INDEX_MODE | VSKIP | EXCEPTIONS) != 0 || config.records_exceptions {
        return step_in_mode(cx, inst);
    }
    (inst.exec)(cx, inst)
}

/// A step with vector instructions skipped, indexed or watched for exceptions.
#[cold]
fn step_in_mode(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    if cx.wave.mode & VSKIP != 0 && is_vector(inst) {
        return Flow::Next;
    }
    if cx.wave.mode & INDEX_MODE != 0 && is_vector_alu(inst) {
        return match indexed(cx, inst) {
            Some(moved) => execute(cx, &moved),
            None => cx.illegal(inst, "the index in M0 moves a register out of the vector file"),
        };
    }
    execute(cx, inst)
}

/// Executes an instruction and records its arithmetic exceptions; one whose trap is enabled ends the wave before anything
/// is written.
fn execute(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let watched = cx.wave.mode & EXCEPTIONS != 0 || cx.wave.config.records_exceptions;
    if watched && is_vector_alu(inst) {
        let raised = exceptions::raised(cx, inst);
        cx.wave.trapsts |= raised;
        if raised & (cx.wave.mode & EXCEPTIONS) >> EXCEPTIONS_SHIFT != 0 {
            cx.exception = Some(Exception::Arithmetic { pc: inst.address, status: raised });
            return Flow::Raise;
        }
    }
    (inst.exec)(cx, inst)
}

fn is_vector(inst: &Inst) -> bool {
    !matches!(
        inst.encoding,
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk | Encoding::Sopp | Encoding::Smem
    )
}

fn is_vector_alu(inst: &Inst) -> bool {
    matches!(
        inst.encoding,
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p
    )
}

#[cold]
fn registers_missing(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let reason = format!(
        "needs {} v and {} a registers, the wave has {} and {}",
        inst.arch_top, inst.acc_top, cx.wave.config.arch_vgprs, cx.wave.config.acc_vgprs
    );
    cx.illegal(inst, &reason)
}
