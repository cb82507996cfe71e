//! Virtual memory: physical memory by handle, mapped at reserved addresses.
//!
//! The engine knows memory by address; what a handle stands for, and where it is mapped, is kept here. ROCr reports
//! such mappings differently from release to release, so the calls are what counts.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::slice;

use hsa_replay_engine::handles::{Agent, Pool};
use hsa_replay_engine::{Access, Allocation, Closing, Source, Unmapped};
use hsa_sys::{
    HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_WO, HSA_STATUS_ERROR_INVALID_ALLOCATION,
    HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_SUCCESS, hsa_amd_memory_access_desc_t,
    hsa_amd_memory_pool_t, hsa_amd_memory_type_t, hsa_amd_vmem_alloc_handle_t, hsa_status_t,
};
use parking_lot::Mutex;

use super::late::{self, Pending};
use super::memory::{Address, allocating};
use crate::forward::real;
use crate::{event_thread, life};

/// Physical memory behind a handle. It lives as long as the handle is held or a mapping of it exists.
#[derive(Default)]
struct Physical {
    /// Which one it is, for the engine: handles are given again.
    number: u64,
    /// The pool that it came from, `None` when another process or driver owns it.
    pool: Option<Pool>,
    exported: bool,
    /// How often the handle was created, imported or retained, less the releases.
    held: u64,
    /// Addresses at which it is mapped.
    mappings: Vec<u64>,
}

#[derive(Default)]
struct Table {
    handles: HashMap<u64, Physical>,
    /// The handle that is mapped at an address.
    mapped: BTreeMap<u64, u64>,
    /// Numbers given so far.
    numbers: u64,
}

impl Table {
    /// What a handle stands for. One that no call has shown may be anybody's.
    fn physical(&mut self, handle: u64, pool: Option<Pool>) -> &mut Physical {
        self.handles.entry(handle).or_insert_with(|| {
            self.numbers += 1;
            Physical { number: self.numbers, pool, ..Physical::default() }
        })
    }

    /// A handle that was just created: whatever had its value before is gone.
    fn created(&mut self, handle: u64, pool: Pool) -> &mut Physical {
        self.handles.remove(&handle);
        self.physical(handle, Some(pool))
    }

    /// Forgets a handle that nothing refers to any more.
    fn tidy(&mut self, handle: u64) {
        if self
            .handles
            .get(&handle)
            .is_some_and(|physical| physical.held == 0 && physical.mappings.is_empty())
        {
            self.handles.remove(&handle);
        }
    }

    /// One call may unmap a row of mappings.
    fn unmapped(&mut self, range: Range<u64>) {
        let row: Vec<(u64, u64)> =
            self.mapped.range(range).map(|(address, handle)| (*address, *handle)).collect();
        for (address, handle) in row {
            self.mapped.remove(&address);
            if let Some(physical) = self.handles.get_mut(&handle) {
                physical.mappings.retain(|mapping| *mapping != address);
            }
            self.tidy(handle);
        }
    }
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

/// Runs with the table, which is never locked across a call of the runtime or the engine.
fn table<R>(action: impl FnOnce(&mut Table) -> R) -> R {
    action(TABLE.lock().get_or_insert_with(Table::default))
}

/// Notes a handle that a successful call has given out again. It may be known already.
///
/// # Safety
/// If `status` is success, `place` is null or holds the handle.
unsafe fn held(status: hsa_status_t, place: *mut hsa_amd_vmem_alloc_handle_t) {
    if status == HSA_STATUS_SUCCESS && !place.is_null() {
        // SAFETY: not null, hence the place that the call has written to.
        let handle = unsafe { place.read() }.handle;
        table(|table| {
            table.physical(handle, None).held += 1;
        });
    }
}

pub unsafe extern "C" fn hsa_amd_vmem_handle_create(
    pool: hsa_amd_memory_pool_t,
    size: usize,
    kind: hsa_amd_memory_type_t,
    flags: u64,
    handle: *mut hsa_amd_vmem_alloc_handle_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = allocating(|| unsafe { real!(hsa_amd_vmem_handle_create)(pool, size, kind, flags, handle) });
    if status == HSA_STATUS_SUCCESS && !handle.is_null() {
        // SAFETY: the call has written the handle there.
        let handle = unsafe { handle.read() }.handle;
        table(|table| table.created(handle, Pool(pool.handle)).held = 1);
    }
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_import_shareable_handle(
    dmabuf: c_int,
    handle: *mut hsa_amd_vmem_alloc_handle_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_import_shareable_handle)(dmabuf, handle) };
    // SAFETY: the call writes the handle there when it succeeds.
    unsafe { held(status, handle) };
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_retain_alloc_handle(
    handle: *mut hsa_amd_vmem_alloc_handle_t,
    address: *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_retain_alloc_handle)(handle, address) };
    // SAFETY: the call writes the handle there when it succeeds.
    unsafe { held(status, handle) };
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_handle_release(handle: hsa_amd_vmem_alloc_handle_t) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_handle_release)(handle) };
    if status == HSA_STATUS_SUCCESS {
        table(|table| {
            if let Some(physical) = table.handles.get_mut(&handle.handle) {
                physical.held = physical.held.saturating_sub(1);
            }
            table.tidy(handle.handle);
        });
    }
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_export_shareable_handle(
    dmabuf: *mut c_int,
    handle: hsa_amd_vmem_alloc_handle_t,
    flags: u64,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_export_shareable_handle)(dmabuf, handle, flags) };
    if status == HSA_STATUS_SUCCESS {
        let mappings = table(|table| {
            let physical = table.physical(handle.handle, None);
            physical.exported = true;
            physical.mappings.clone()
        });
        for address in mappings {
            life::with(|engine| engine.memory_exported(address, event_thread::may_wait()));
        }
    }
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_map(
    address: *mut c_void,
    size: usize,
    offset: usize,
    handle: hsa_amd_vmem_alloc_handle_t,
    flags: u64,
) -> hsa_status_t {
    late::wait_for(&range_of(address, size));
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_map)(address, size, offset, handle, flags) };
    if status == HSA_STATUS_SUCCESS {
        let address = address.addr() as u64;
        let (source, exported) = table(|table| {
            table.mapped.insert(address, handle.handle);
            let physical = table.physical(handle.handle, None);
            physical.mappings.push(address);
            let (pool, number) = (physical.pool, physical.number);
            (Source::VirtualMemory { pool, physical: number, offset: offset as u64 }, physical.exported)
        });
        life::with(|engine| {
            engine.memory_allocated(&Allocation { address, bytes: size as u64, source });
            if exported {
                engine.memory_exported(address, event_thread::may_wait());
            }
        });
    }
    status
}

/// Whether a call has changed nothing: ROCr gives these before it touches anything (`Runtime::VMemoryHandleUnmap`,
/// `VMemorySetAccess`), for a part of a mapping too.
fn refused(status: hsa_status_t) -> bool {
    matches!(status, HSA_STATUS_ERROR_INVALID_ARGUMENT | HSA_STATUS_ERROR_INVALID_ALLOCATION)
}

fn range_of(address: *mut c_void, size: usize) -> Range<u64> {
    let start = address.addr() as u64;
    start..start.saturating_add(size as u64)
}

pub unsafe extern "C" fn hsa_amd_vmem_address_free(address: *mut c_void, size: usize) -> hsa_status_t {
    // The runtime refuses to free addresses at which memory is mapped.
    late::wait_for(&range_of(address, size));
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_amd_vmem_address_free)(address, size) }
}

pub unsafe extern "C" fn hsa_amd_vmem_unmap(address: *mut c_void, size: usize) -> hsa_status_t {
    let range = range_of(address, size);
    late::wait_for(&range);
    let may_wait = event_thread::may_wait();
    let unmapping = life::with(|engine| engine.memory_unmapping(range.start, size as u64, may_wait));
    let (number, unmapped) = (Address::of(address), range.clone());
    let unmap = move || {
        // SAFETY: the caller's obligations are passed on.
        let status = unsafe { real!(hsa_amd_vmem_unmap)(number.pointer(), size) };
        let outcome = match status {
            HSA_STATUS_SUCCESS => Unmapped::Done,
            status if refused(status) => Unmapped::Refused,
            _ => Unmapped::Failed,
        };
        if outcome == Unmapped::Done {
            table(|table| table.unmapped(unmapped));
        }
        (status, outcome)
    };
    let Some(unmapping) = unmapping else { return unmap().0 };
    if unmapping.is_late() {
        let pending = Pending::new(range);
        let unmap = move || {
            let (status, outcome) = unmap();
            if outcome != Unmapped::Done {
                tracing::warn!("memory could not be unmapped after a copy of it: status {status:#x}");
            }
            drop(pending);
            outcome
        };
        life::with(|engine| engine.unmap_later(unmapping, unmap));
        return HSA_STATUS_SUCCESS;
    }
    let (status, outcome) = unmap();
    life::with(|engine| engine.memory_unmapped(&unmapping, outcome));
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_set_access(
    address: *mut c_void,
    size: usize,
    list: *const hsa_amd_memory_access_desc_t,
    count: usize,
) -> hsa_status_t {
    let entries = if list.is_null() || count == 0 {
        &[][..]
    } else {
        // SAFETY: the caller's obligation: this many descriptions.
        unsafe { slice::from_raw_parts(list, count) }
    };
    let range = range_of(address, size);
    late::wait_for(&range);
    let accesses: Vec<Access> = entries
        .iter()
        .map(|entry| Access {
            agent: Agent(entry.agent_handle.handle),
            writes: matches!(entry.permissions, HSA_ACCESS_PERMISSION_RW | HSA_ACCESS_PERMISSION_WO),
        })
        .collect();
    let (base, bytes, may_wait) = (range.start, size as u64, event_thread::may_wait());
    let closings: Vec<Closing> = accesses
        .iter()
        .filter(|access| !access.writes)
        .filter_map(|access| life::with(|engine| engine.memory_closing(base, bytes, access.agent, may_wait)))
        .collect();
    let told = move |status, closings: &[Closing], may_wait| {
        if status == HSA_STATUS_SUCCESS {
            for access in accesses {
                life::with(|engine| engine.memory_access(base, bytes, access, may_wait));
            }
        } else if refused(status) {
            for closing in closings {
                life::with(|engine| engine.memory_not_closed(closing));
            }
        }
    };
    if closings.iter().any(Closing::is_late) {
        let (number, entries, pending) = (Address::of(address), entries.to_vec(), Pending::new(range));
        let call = move |closings: &[Closing]| {
            let (list, count) = (entries.as_ptr(), entries.len());
            // SAFETY: the caller's obligations are passed on; the descriptions were copied.
            let status = unsafe { real!(hsa_amd_vmem_set_access)(number.pointer(), size, list, count) };
            if status != HSA_STATUS_SUCCESS {
                tracing::warn!("access could not be changed after a copy of the memory: status {status:#x}");
            }
            // Perhaps on the thread of the window that was at the memory.
            told(status, closings, false);
            drop(pending);
        };
        life::with(|engine| engine.close_later(closings, call));
        return HSA_STATUS_SUCCESS;
    }
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_set_access)(address, size, list, count) };
    told(status, &closings, may_wait);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physical(held: u64, mappings: &[u64]) -> Physical {
        Physical { held, mappings: mappings.to_vec(), ..Physical::default() }
    }

    #[test]
    fn a_handle_is_known_until_it_is_released_and_unmapped_everywhere() {
        let mut table = Table::default();
        table.handles.insert(7, physical(0, &[0x1000, 0x2000]));
        table.mapped.extend([(0x1000, 7), (0x2000, 7)]);
        table.unmapped(0x1000..0x2000);
        assert!(table.handles.contains_key(&7), "still mapped at 0x2000");
        table.unmapped(0x2000..0x3000);
        assert!(table.handles.is_empty() && table.mapped.is_empty());
    }

    #[test]
    fn a_row_of_mappings_is_unmapped_at_once() {
        let mut table = Table::default();
        table.handles.extend([(7, physical(0, &[0x1000, 0x3000])), (8, physical(0, &[0x2000]))]);
        table.mapped.extend([(0x1000, 7), (0x2000, 8), (0x3000, 7)]);
        table.unmapped(0x1000..0x3000);
        assert_eq!(table.handles.keys().collect::<Vec<_>>(), [&7]);
        assert_eq!((table.handles[&7].mappings.len(), table.mapped.len()), (1, 1));
    }

    #[test]
    fn a_handle_that_was_just_created_is_no_former_one_of_the_same_value() {
        let mut table = Table::default();
        let former = table.physical(7, None).number;
        table.physical(7, None).exported = true;
        let created = table.created(7, Pool(1));
        assert!(created.number != former && created.pool == Some(Pool(1)) && !created.exported);
    }

    #[test]
    fn a_held_handle_outlives_its_mappings_and_strange_addresses_do_no_harm() {
        let mut table = Table::default();
        table.handles.insert(7, physical(1, &[0x1000]));
        table.mapped.insert(0x1000, 7);
        table.unmapped(0x1000..0x1001);
        table.unmapped(0x9000..0xa000);
        assert!(table.handles.contains_key(&7));
    }
}
