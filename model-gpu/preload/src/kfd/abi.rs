//! Structures of `kfd_ioctl.h` (Linux, interface 1.17), and how they travel.

use core::ffi::{c_ulong, c_void};

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident = $bytes:literal { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct $name { $(pub(super) $field: $type,)* }
        const _: () = assert!(size_of::<$name>() == $bytes);
        // SAFETY: the structure holds integers only, and its size shows that there is no padding between them.
        unsafe impl Plain for $name {}
    )*};
}

/// A structure of integers without padding: any bytes are a value.
///
/// # Safety
/// Every bit pattern must be a valid value, and there must be no padding.
pub(super) unsafe trait Plain: Copy + Default {}

structures! {
    /// `kfd_ioctl_get_version_args`
    GetVersion = 8 { major: u32, minor: u32, }
    /// `kfd_ioctl_create_queue_args`
    CreateQueue = 96 {
        ring_base_address: u64, write_pointer_address: u64, read_pointer_address: u64, doorbell_offset: u64,
        ring_size: u32, gpu_id: u32, queue_type: u32, queue_percentage: u32, queue_priority: u32, queue_id: u32,
        eop_buffer_address: u64, eop_buffer_size: u64, ctx_save_restore_address: u64,
        ctx_save_restore_size: u32, ctl_stack_size: u32, sdma_engine_id: u32, pad: u32,
    }
    /// `kfd_ioctl_destroy_queue_args`, and the like: one number
    Number = 8 { id: u32, pad: u32, }
    /// `kfd_ioctl_update_queue_args`
    UpdateQueue = 24 {
        ring_base_address: u64, queue_id: u32, ring_size: u32, queue_percentage: u32, queue_priority: u32,
    }
    /// `kfd_ioctl_set_cu_mask_args`
    SetCuMask = 16 { queue_id: u32, num_cu_mask: u32, cu_mask_ptr: u64, }
    /// `kfd_ioctl_get_available_memory_args`
    AvailableMemory = 16 { available: u64, gpu_id: u32, pad: u32, }
    /// `kfd_ioctl_set_memory_policy_args`
    SetMemoryPolicy = 32 {
        alternate_aperture_base: u64, alternate_aperture_size: u64,
        gpu_id: u32, default_policy: u32, alternate_policy: u32, pad: u32,
    }
    /// `kfd_ioctl_get_clock_counters_args`
    GetClockCounters = 40 {
        gpu_clock_counter: u64, cpu_clock_counter: u64, system_clock_counter: u64, system_clock_freq: u64,
        gpu_id: u32, pad: u32,
    }
    /// `kfd_process_device_apertures`
    DeviceApertures = 56 {
        lds_base: u64, lds_limit: u64, scratch_base: u64, scratch_limit: u64, gpuvm_base: u64, gpuvm_limit: u64,
        gpu_id: u32, pad: u32,
    }
    /// `kfd_ioctl_get_process_apertures_args`
    GetProcessApertures = 400 { apertures: [DeviceApertures; 7], num_of_nodes: u32, pad: u32, }
    /// `kfd_ioctl_smi_events_args`
    SmiEvents = 8 { gpu_id: u32, anon_fd: u32, }
    /// `kfd_ioctl_get_process_apertures_new_args`
    GetProcessAperturesNew = 16 { apertures_ptr: u64, num_of_nodes: u32, pad: u32, }
    /// `kfd_ioctl_create_event_args`
    CreateEvent = 32 {
        event_page_offset: u64, event_trigger_data: u32, event_type: u32, auto_reset: u32, node_id: u32,
        event_id: u32, event_slot_index: u32,
    }
    /// `kfd_event_data`; `data` is the union
    EventData = 48 { data: [u32; 8], extension: u64, event_id: u32, pad: u32, }
    /// `kfd_ioctl_wait_events_args`
    WaitEvents = 24 { events_ptr: u64, num_events: u32, wait_for_all: u32, timeout: u32, wait_result: u32, }
    /// `kfd_ioctl_set_scratch_backing_va_args`
    SetScratchBackingVa = 16 { va_addr: u64, gpu_id: u32, pad: u32, }
    /// `kfd_ioctl_get_tile_config_args`
    GetTileConfig = 40 {
        tile_config_ptr: u64, macro_tile_config_ptr: u64, num_tile_configs: u32, num_macro_tile_configs: u32,
        gpu_id: u32, gb_addr_config: u32, num_banks: u32, num_ranks: u32,
    }
    /// `kfd_ioctl_set_trap_handler_args`
    SetTrapHandler = 24 { tba_addr: u64, tma_addr: u64, gpu_id: u32, pad: u32, }
    /// `kfd_ioctl_acquire_vm_args`
    AcquireVm = 8 { drm_fd: u32, gpu_id: u32, }
    /// `kfd_ioctl_alloc_memory_of_gpu_args`
    AllocMemory = 40 { va_addr: u64, size: u64, handle: u64, mmap_offset: u64, gpu_id: u32, flags: u32, }
    /// `kfd_ioctl_free_memory_of_gpu_args`
    FreeMemory = 8 { handle: u64, }
    /// `kfd_ioctl_map_memory_to_gpu_args` and `kfd_ioctl_unmap_memory_from_gpu_args`
    MapMemory = 24 { handle: u64, device_ids_array_ptr: u64, n_devices: u32, n_success: u32, }
    /// `kfd_ioctl_alloc_queue_gws_args`
    AllocQueueGws = 16 { queue_id: u32, num_gws: u32, first_gws: u32, pad: u32, }
    /// `kfd_ioctl_get_dmabuf_info_args`
    GetDmabufInfo = 32 {
        size: u64, metadata_ptr: u64, metadata_size: u32, gpu_id: u32, flags: u32, dmabuf_fd: u32,
    }
    /// `kfd_ioctl_import_dmabuf_args`
    ImportDmabuf = 24 { va_addr: u64, handle: u64, gpu_id: u32, dmabuf_fd: u32, }
    /// `kfd_ioctl_export_dmabuf_args`
    ExportDmabuf = 16 { handle: u64, flags: u32, dmabuf_fd: u32, }
    /// `kfd_ioctl_ipc_export_handle_args` (AMD's driver package)
    IpcExport = 32 { handle: u64, share_handle: [u32; 4], gpu_id: u32, flags: u32, }
    /// `kfd_ioctl_ipc_import_handle_args` (AMD's driver package)
    IpcImport = 48 { handle: u64, va_addr: u64, mmap_offset: u64, share_handle: [u32; 4], gpu_id: u32, flags: u32, }
    /// `kfd_ioctl_svm_args` without its attributes
    SvmHead = 24 { start_addr: u64, size: u64, op: u32, nattr: u32, }
    /// `kfd_ioctl_svm_attribute`
    SvmAttribute = 8 { kind: u32, value: u32, }
    /// `kfd_ioctl_set_xnack_mode_args`
    SetXnackMode = 4 { xnack_enabled: i32, }
    /// `kfd_ioctl_dbg_trap_args`; the union is `arguments`
    DebugTrap = 32 { pid: u32, op: u32, arguments: [u64; 3], }
    /// `kfd_runtime_info`
    RuntimeInfo = 16 { r_debug: u64, runtime_state: u32, ttmp_setup: u32, }
    /// `kfd_queue_snapshot_entry`
    QueueSnapshot = 64 {
        exception_status: u64, ring_base_address: u64, write_pointer_address: u64, read_pointer_address: u64,
        ctx_save_restore_address: u64, queue_id: u32, gpu_id: u32, ring_size: u32, queue_type: u32,
        ctx_save_restore_area_size: u32, reserved: u32,
    }
    /// `kfd_dbg_device_info_entry`
    DeviceSnapshot = 120 {
        exception_status: u64, lds_base: u64, lds_limit: u64, scratch_base: u64, scratch_limit: u64,
        gpuvm_base: u64, gpuvm_limit: u64, gpu_id: u32, location_id: u32, vendor_id: u32, device_id: u32,
        revision_id: u32, subsystem_vendor_id: u32, subsystem_device_id: u32, fw_version: u32,
        gfx_target_version: u32, simd_count: u32, max_waves_per_simd: u32, array_count: u32,
        simd_arrays_per_engine: u32, num_xcc: u32, capability: u32, debug_prop: u32,
    }
    /// `kfd_ioctl_runtime_enable_args`
    RuntimeEnable = 16 { r_debug: u64, mode_mask: u32, capabilities_mask: u32, }
}

/// `KFD_IOC_ALLOC_MEM_FLAGS_*`
pub(super) mod alloc {
    pub(in super::super) const VRAM: u32 = 1 << 0;
    pub(in super::super) const GTT: u32 = 1 << 1;
    pub(in super::super) const USERPTR: u32 = 1 << 2;
    pub(in super::super) const DOORBELL: u32 = 1 << 3;
    pub(in super::super) const MMIO_REMAP: u32 = 1 << 4;
    pub(in super::super) const EXT_COHERENT: u32 = 1 << 24;
    pub(in super::super) const UNCACHED: u32 = 1 << 25;
    pub(in super::super) const COHERENT: u32 = 1 << 26;
    pub(in super::super) const AQL_QUEUE_MEM: u32 = 1 << 27;
    pub(in super::super) const PUBLIC: u32 = 1 << 29;
    pub(in super::super) const EXECUTABLE: u32 = 1 << 30;
    pub(in super::super) const WRITABLE: u32 = 1 << 31;
}

/// A request's structure on its way in and out.
#[derive(Debug)]
pub(super) struct Arguments<T> {
    value: T,
    bytes: usize,
    at: *mut c_void,
}

impl<T: Plain> Arguments<T> {
    /// Copies the structure in.
    ///
    /// # Safety
    /// `at` points to as many readable and writable bytes as the request's number says.
    pub(super) unsafe fn fetch(request: c_ulong, at: *mut c_void) -> Self {
        let told = usize::try_from(request >> 16 & 0x3fff).unwrap_or(0);
        let bytes = told.min(size_of::<T>());
        let mut value = T::default();
        // SAFETY: `bytes` is within both structures, and any bytes are a value of a plain one.
        unsafe { core::ptr::copy_nonoverlapping(at.cast::<u8>(), (&raw mut value).cast(), bytes) };
        Self { value, bytes, at }
    }

    pub(super) fn value(&mut self) -> &mut T {
        &mut self.value
    }

    /// Copies the structure out.
    ///
    /// # Safety
    /// As for `fetch`.
    pub(super) unsafe fn store(&self) {
        // SAFETY: `bytes` is within both structures.
        unsafe {
            core::ptr::copy_nonoverlapping((&raw const self.value).cast::<u8>(), self.at.cast(), self.bytes)
        };
    }
}

/// Reads `count` structures of the program.
///
/// # Safety
/// `at` is the address of that many.
pub(super) unsafe fn read_array<T: Plain>(at: u64, count: usize) -> Vec<T> {
    let at: *const T = core::ptr::with_exposed_provenance(usize::try_from(at).unwrap_or(0));
    // SAFETY: the caller promises the array.
    (0..count).map(|i| unsafe { at.add(i).read_unaligned() }).collect()
}

/// Writes structures to the program.
///
/// # Safety
/// `at` is the address of room for them.
pub(super) unsafe fn write_array<T: Plain>(at: u64, values: &[T]) {
    let at: *mut T = core::ptr::with_exposed_provenance_mut(usize::try_from(at).unwrap_or(0));
    for (i, value) in values.iter().enumerate() {
        // SAFETY: the caller promises the room.
        unsafe { at.add(i).write_unaligned(*value) };
    }
}

// SAFETY: any bytes are a value.
unsafe impl Plain for u32 {}
// SAFETY: as before.
unsafe impl Plain for u8 {}

/// Names of requests that exist but are not answered.
pub(super) fn name(number: u8) -> Option<&'static str> {
    Some(match number {
        0x0d => "DBG_REGISTER",
        0x0e => "DBG_UNREGISTER",
        0x0f => "DBG_ADDRESS_WATCH",
        0x10 => "DBG_WAVE_CONTROL",
        0x1b => "GET_QUEUE_WAVE_STATE",
        0x22 => "CRIU_OP",
        0x82 => "DBG_TRAP of AMD's driver package",
        0x83 => "CROSS_MEMORY_COPY",
        0x84 => "RLC_SPM",
        0x85 => "PC_SAMPLE",
        _ => return None,
    })
}
