//! Copies and fills, which write device memory without a packet: the engine keeps them apart from its windows.
//!
//! An asynchronous copy that has to wait is submitted later, by a thread of the engine's: everything that the call needs is
//! taken over, for the application may reuse its arguments at once. Its call has succeeded as far as the application knows, so if
//! the runtime refuses it then, it is made otherwise: by the plainest call, then by the host, which waits for it.

use std::ffi::c_void;
use std::{ptr, slice};

use hsa_replay_engine::handles::{Agent, Signal};
use hsa_replay_engine::runtime::{RuntimeError, RuntimeResult};
use hsa_replay_engine::{AsyncCopy, OtherWay};
use hsa_sys::{
    HSA_STATUS_SUCCESS, hsa_agent_t, hsa_amd_copy_direction_t, hsa_amd_sdma_engine_id_t, hsa_dim3_t,
    hsa_pitched_ptr_t, hsa_signal_t, hsa_status_t,
};

use super::status_of;
use crate::forward::real;
use crate::life;

/// Addresses go to another thread as numbers, which are the same for all threads.
fn number<T>(pointer: *const T) -> usize {
    pointer.expose_provenance()
}

/// The dependencies of a call.
///
/// # Safety
/// As for the copy calls: `list` holds `count` signals, unless one of them is zero.
unsafe fn dependencies(count: u32, list: *const hsa_signal_t) -> Vec<hsa_signal_t> {
    if count == 0 || list.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's obligation.
    unsafe { slice::from_raw_parts(list, count as usize) }.to_vec()
}

/// The list as the call takes it: null when it was null or empty.
fn list(dependencies: &[hsa_signal_t]) -> *const hsa_signal_t {
    if dependencies.is_empty() { ptr::null() } else { dependencies.as_ptr() }
}

/// Which copies keep their order: those of one direction and engine.
fn order(to: hsa_agent_t, from: hsa_agent_t, engine: u64) -> u64 {
    to.handle.rotate_left(32) ^ from.handle ^ engine.rotate_left(56)
}

fn result_of(call: &'static str, status: hsa_status_t) -> RuntimeResult<()> {
    if status == HSA_STATUS_SUCCESS { Ok(()) } else { Err(RuntimeError { call, status }) }
}

/// What the engine is told of an asynchronous copy.
struct Call<'a> {
    name: &'static str,
    agents: &'a [Agent],
    dependencies: &'a [hsa_signal_t],
    completion: hsa_signal_t,
    bytes: u64,
    order: u64,
}

impl Call<'_> {
    /// Gives the copy to the engine; without one it runs now.
    fn make(
        self,
        submit: impl FnOnce() -> hsa_status_t + Send + 'static,
        others: impl FnOnce() -> Vec<OtherWay>,
    ) -> hsa_status_t {
        let dependencies: Vec<Signal> =
            self.dependencies.iter().map(|signal| Signal(signal.handle)).collect();
        let copy = AsyncCopy {
            agents: self.agents,
            dependencies: &dependencies,
            completion: Signal(self.completion.handle),
            bytes: self.bytes,
            order: self.order,
        };
        let name = self.name;
        let mut submit = Some(submit);
        let made = life::with(|engine| {
            let submit = submit.take();
            let submit = move || submit.map_or(Ok(()), |submit| result_of(name, submit()));
            engine.async_copy(&copy, submit, others)
        });
        match (made, submit) {
            (Some(result), _) => status_of(result),
            (None, Some(submit)) => submit(),
            (None, None) => HSA_STATUS_SUCCESS,
        }
    }
}

/// A copy of consecutive bytes.
#[derive(Clone)]
struct Linear {
    to: usize,
    to_agent: hsa_agent_t,
    from: usize,
    from_agent: hsa_agent_t,
    bytes: usize,
    /// As the call says: a list that is missing is refused by the runtime.
    dependency_count: u32,
    dependencies: Vec<hsa_signal_t>,
    completion: hsa_signal_t,
}

impl Linear {
    /// Gives the copy to the engine: `submit` makes the call of this name.
    fn make(
        self,
        name: &'static str,
        engine: u64,
        submit: impl FnOnce(&Self) -> hsa_status_t + Send + 'static,
    ) -> hsa_status_t {
        let again = self.clone();
        let call = Call {
            name,
            agents: &[Agent(again.to_agent.handle), Agent(again.from_agent.handle)],
            dependencies: &again.dependencies,
            completion: again.completion,
            bytes: again.bytes as u64,
            order: order(again.to_agent, again.from_agent, engine),
        };
        call.make(move || submit(&self), || again.clone().others())
    }

    /// The other ways to make it.
    fn others(self) -> Vec<OtherWay> {
        let (to, from, bytes, completion) = (self.to, self.from, self.bytes, self.completion);
        vec![
            OtherWay::submitting(move || result_of("hsa_amd_memory_async_copy", self.submit())),
            OtherWay::waiting(move || copy_now(completion, [(to, from, bytes)])),
        ]
    }

    fn submit(&self) -> hsa_status_t {
        // SAFETY: the obligations of the call that is made in this way: memory and signals live until the copy is complete.
        unsafe {
            real!(hsa_amd_memory_async_copy)(
                ptr::with_exposed_provenance_mut(self.to),
                self.to_agent,
                ptr::with_exposed_provenance(self.from),
                self.from_agent,
                self.bytes,
                self.dependency_count,
                list(&self.dependencies),
                self.completion,
            )
        }
    }
}

/// Copies pieces (to, from, bytes) before it returns, and completes the signal.
fn copy_now(
    completion: hsa_signal_t,
    pieces: impl IntoIterator<Item = (usize, usize, usize)>,
) -> RuntimeResult<()> {
    for (to, from, bytes) in pieces {
        let (to, from) = (ptr::with_exposed_provenance_mut(to), ptr::with_exposed_provenance(from));
        // SAFETY: the memory of a copy that is not complete, see `Linear::submit`.
        result_of("hsa_memory_copy", unsafe { real!(hsa_memory_copy)(to, from, bytes) })?;
    }
    if completion.handle != 0 {
        // SAFETY: the signal lives until the copy is complete.
        unsafe { real!(hsa_signal_subtract_screlease)(completion, 1) };
    }
    Ok(())
}

pub unsafe extern "C" fn hsa_amd_memory_async_copy(
    dst: *mut c_void,
    dst_agent: hsa_agent_t,
    src: *const c_void,
    src_agent: hsa_agent_t,
    size: usize,
    num_dep_signals: u32,
    dep_signals: *const hsa_signal_t,
    completion_signal: hsa_signal_t,
) -> hsa_status_t {
    let linear = Linear {
        to: number(dst),
        to_agent: dst_agent,
        from: number(src),
        from_agent: src_agent,
        bytes: size,
        dependency_count: num_dep_signals,
        // SAFETY: the caller's obligation.
        dependencies: unsafe { dependencies(num_dep_signals, dep_signals) },
        completion: completion_signal,
    };
    linear.make("hsa_amd_memory_async_copy", 0, Linear::submit)
}

#[allow(clippy::too_many_arguments, reason = "the signature is HSA's")]
pub unsafe extern "C" fn hsa_amd_memory_async_copy_on_engine(
    dst: *mut c_void,
    dst_agent: hsa_agent_t,
    src: *const c_void,
    src_agent: hsa_agent_t,
    size: usize,
    num_dep_signals: u32,
    dep_signals: *const hsa_signal_t,
    completion_signal: hsa_signal_t,
    engine_id: hsa_amd_sdma_engine_id_t,
    force_copy_on_sdma: bool,
) -> hsa_status_t {
    let linear = Linear {
        to: number(dst),
        to_agent: dst_agent,
        from: number(src),
        from_agent: src_agent,
        bytes: size,
        dependency_count: num_dep_signals,
        // SAFETY: the caller's obligation.
        dependencies: unsafe { dependencies(num_dep_signals, dep_signals) },
        completion: completion_signal,
    };
    linear.make("hsa_amd_memory_async_copy_on_engine", u64::from(engine_id), move |linear| {
        // SAFETY: the caller's obligations are passed on, as in `Linear::submit`.
        unsafe {
            real!(hsa_amd_memory_async_copy_on_engine)(
                ptr::with_exposed_provenance_mut(linear.to),
                linear.to_agent,
                ptr::with_exposed_provenance(linear.from),
                linear.from_agent,
                linear.bytes,
                linear.dependency_count,
                list(&linear.dependencies),
                linear.completion,
                engine_id,
                force_copy_on_sdma,
            )
        }
    })
}

/// A pitched pointer that may go to another thread.
struct Pitched {
    base: usize,
    pitch: usize,
    slice: usize,
}

impl Pitched {
    /// # Safety
    /// `pointer` is null or leads to a pitched pointer.
    unsafe fn read(pointer: *const hsa_pitched_ptr_t) -> Option<Self> {
        // SAFETY: the caller's obligation.
        let pitched = unsafe { pointer.as_ref() }?;
        Some(Self { base: number(pitched.base), pitch: pitched.pitch, slice: pitched.slice })
    }

    /// The address of an element, and the distances of rows and slices from there.
    fn at(&self, offset: hsa_dim3_t) -> (usize, usize, usize) {
        let first =
            self.base + offset.z as usize * self.slice + offset.y as usize * self.pitch + offset.x as usize;
        (first, self.pitch, self.slice)
    }

    fn raw(&self) -> hsa_pitched_ptr_t {
        hsa_pitched_ptr_t {
            base: ptr::with_exposed_provenance_mut(self.base),
            pitch: self.pitch,
            slice: self.slice,
        }
    }
}

/// The rows of a copy between two blocks, as pieces of consecutive bytes.
fn rows(
    to: &Pitched,
    to_offset: hsa_dim3_t,
    from: &Pitched,
    from_offset: hsa_dim3_t,
    range: hsa_dim3_t,
) -> impl Iterator<Item = (usize, usize, usize)> + Send + use<> {
    let (to, from) = (to.at(to_offset), from.at(from_offset));
    (0..range.z as usize).flat_map(move |z| {
        (0..range.y as usize).map(move |y| {
            let row = |(first, pitch, slice): (usize, usize, usize)| first + z * slice + y * pitch;
            (row(to), row(from), range.x as usize)
        })
    })
}

#[allow(clippy::too_many_arguments, reason = "the signature is HSA's")]
pub unsafe extern "C" fn hsa_amd_memory_async_copy_rect(
    dst: *const hsa_pitched_ptr_t,
    dst_offset: *const hsa_dim3_t,
    src: *const hsa_pitched_ptr_t,
    src_offset: *const hsa_dim3_t,
    range: *const hsa_dim3_t,
    copy_agent: hsa_agent_t,
    dir: hsa_amd_copy_direction_t,
    num_dep_signals: u32,
    dep_signals: *const hsa_signal_t,
    completion_signal: hsa_signal_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligation: null, which the runtime refuses, or valid for reads.
    let given = unsafe {
        (Pitched::read(dst), dst_offset.as_ref(), Pitched::read(src), src_offset.as_ref(), range.as_ref())
    };
    let (Some(to), Some(&to_offset), Some(from), Some(&from_offset), Some(&range_of)) = given else {
        // SAFETY: the caller's obligations are passed on.
        return unsafe {
            real!(hsa_amd_memory_async_copy_rect)(
                dst,
                dst_offset,
                src,
                src_offset,
                range,
                copy_agent,
                dir,
                num_dep_signals,
                dep_signals,
                completion_signal,
            )
        };
    };
    // SAFETY: the caller's obligation.
    let dependencies = unsafe { dependencies(num_dep_signals, dep_signals) };
    let call = Call {
        name: "hsa_amd_memory_async_copy_rect",
        agents: &[Agent(copy_agent.handle)],
        dependencies: &dependencies.clone(),
        completion: completion_signal,
        bytes: u64::from(range_of.x).saturating_mul(u64::from(range_of.y)).saturating_mul(range_of.z.into()),
        order: order(copy_agent, hsa_agent_t { handle: u64::from(dir) }, 0),
    };
    let rows = rows(&to, to_offset, &from, from_offset, range_of);
    let submit = move || {
        let (to, from) = (to.raw(), from.raw());
        // SAFETY: as above; the descriptions are copies, which the runtime reads during the call.
        unsafe {
            real!(hsa_amd_memory_async_copy_rect)(
                &raw const to,
                &raw const to_offset,
                &raw const from,
                &raw const from_offset,
                &raw const range_of,
                copy_agent,
                dir,
                num_dep_signals,
                list(&dependencies),
                completion_signal,
            )
        }
    };
    call.make(submit, || vec![OtherWay::waiting(move || copy_now(completion_signal, rows))])
}
