//! The bound types have the sizes and offsets that a C compiler sees in the real headers of each ROCr release.

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};

use hsa_sys::*;

/// One row as in `layouts/*.txt`: a type with its size, or a type and a field with its offset.
macro_rules! row {
    ($type:ident) => {
        (stringify!($type).to_owned(), size_of::<$type>())
    };
    ($type:ident, $name:literal, $($path:ident).+) => {
        (format!("{}.{}", stringify!($type), $name), offset_of!($type, $($path).+))
    };
}

fn bound() -> BTreeMap<String, usize> {
    BTreeMap::from([
        row!(hsa_queue_t),
        row!(hsa_queue_t, "type", type_),
        row!(hsa_queue_t, "features", features),
        row!(hsa_queue_t, "base_address", base_address),
        row!(hsa_queue_t, "doorbell_signal", doorbell_signal),
        row!(hsa_queue_t, "size", size),
        row!(hsa_queue_t, "id", id),
        row!(amd_queue_v2_t, "caps", caps),
        row!(amd_queue_v2_t, "write_dispatch_id", write_dispatch_id),
        row!(amd_queue_v2_t, "group_segment_aperture_base_hi", group_segment_aperture_base_hi),
        row!(amd_queue_v2_t, "private_segment_aperture_base_hi", private_segment_aperture_base_hi),
        row!(amd_queue_v2_t, "max_cu_id", max_cu_id),
        row!(amd_queue_v2_t, "max_wave_id", max_wave_id),
        row!(amd_queue_v2_t, "read_dispatch_id", read_dispatch_id),
        row!(
            amd_queue_v2_t,
            "read_dispatch_id_field_base_byte_offset",
            read_dispatch_id_field_base_byte_offset
        ),
        row!(amd_queue_v2_t, "compute_tmpring_size", compute_tmpring_size),
        row!(amd_queue_v2_t, "scratch_backing_memory_location", scratch_backing_memory_location),
        row!(amd_queue_v2_t, "scratch_wave64_lane_byte_size", scratch_wave64_lane_byte_size),
        row!(amd_queue_v2_t, "queue_properties", queue_properties),
        row!(amd_queue_v2_t, "queue_inactive_signal", queue_inactive_signal),
        row!(amd_signal_t),
        row!(amd_signal_t, "kind", kind),
        row!(amd_signal_t, "value", __bindgen_anon_1.value),
        row!(amd_signal_t, "event_mailbox_ptr", event_mailbox_ptr),
        row!(amd_signal_t, "event_id", event_id),
        row!(amd_signal_t, "start_ts", start_ts),
        row!(amd_signal_t, "end_ts", end_ts),
        row!(amd_signal_t, "queue_ptr", __bindgen_anon_2.queue_ptr),
        row!(hsa_kernel_dispatch_packet_t),
        row!(hsa_kernel_dispatch_packet_t, "header", header),
        row!(hsa_kernel_dispatch_packet_t, "setup", setup),
        row!(hsa_kernel_dispatch_packet_t, "workgroup_size_x", workgroup_size_x),
        row!(hsa_kernel_dispatch_packet_t, "workgroup_size_y", workgroup_size_y),
        row!(hsa_kernel_dispatch_packet_t, "workgroup_size_z", workgroup_size_z),
        row!(hsa_kernel_dispatch_packet_t, "grid_size_x", grid_size_x),
        row!(hsa_kernel_dispatch_packet_t, "grid_size_y", grid_size_y),
        row!(hsa_kernel_dispatch_packet_t, "grid_size_z", grid_size_z),
        row!(hsa_kernel_dispatch_packet_t, "private_segment_size", private_segment_size),
        row!(hsa_kernel_dispatch_packet_t, "group_segment_size", group_segment_size),
        row!(hsa_kernel_dispatch_packet_t, "kernel_object", kernel_object),
        row!(hsa_kernel_dispatch_packet_t, "kernarg_address", kernarg_address),
        row!(hsa_kernel_dispatch_packet_t, "completion_signal", completion_signal),
        row!(hsa_barrier_and_packet_t),
        row!(hsa_barrier_and_packet_t, "header", header),
        row!(hsa_barrier_and_packet_t, "dep_signal", dep_signal),
        row!(hsa_barrier_and_packet_t, "completion_signal", completion_signal),
        row!(hsa_barrier_or_packet_t),
        row!(hsa_barrier_or_packet_t, "dep_signal", dep_signal),
        row!(hsa_barrier_or_packet_t, "completion_signal", completion_signal),
        row!(hsa_amd_barrier_value_packet_t),
        row!(hsa_amd_barrier_value_packet_t, "header", header),
        row!(hsa_amd_barrier_value_packet_t, "signal", signal),
        row!(hsa_amd_barrier_value_packet_t, "value", value),
        row!(hsa_amd_barrier_value_packet_t, "mask", mask),
        row!(hsa_amd_barrier_value_packet_t, "cond", cond),
        row!(hsa_amd_barrier_value_packet_t, "completion_signal", completion_signal),
        row!(hsa_agent_dispatch_packet_t),
        row!(hsa_agent_dispatch_packet_t, "return_address", return_address),
        row!(hsa_amd_memory_access_desc_t),
        row!(hsa_amd_memory_pool_access_t),
        row!(hsa_amd_memory_pool_link_info_t),
        row!(hsa_amd_profiling_dispatch_time_t),
        row!(hsa_amd_profiling_dispatch_time_t, "start", start),
        row!(hsa_amd_profiling_dispatch_time_t, "end", end),
        row!(hsa_amd_profiling_async_copy_time_t),
        row!(hsa_amd_pointer_info_t, "agentBaseAddress", agentBaseAddress),
        row!(hsa_amd_pointer_info_t, "hostBaseAddress", hostBaseAddress),
        row!(hsa_amd_pointer_info_t, "sizeInBytes", sizeInBytes),
        row!(hsa_amd_pointer_info_t, "userData", userData),
        row!(hsa_amd_pointer_info_t, "agentOwner", agentOwner),
        row!(hsa_amd_pointer_info_t, "global_flags", global_flags),
        row!(hsa_amd_svm_attribute_pair_t),
        row!(hsa_amd_ipc_memory_t),
        row!(hsa_pitched_ptr_t),
        row!(hsa_dim3_t),
        row!(hsa_amd_vmem_alloc_handle_t),
        row!(hsa_amd_event_t),
        row!(hsa_executable_symbol_t),
    ])
}

fn measured(table: &str) -> BTreeMap<String, usize> {
    table
        .lines()
        .map(|line| {
            let (name, value) = line.split_once(' ').expect("a row is a name and a number");
            (name.to_owned(), value.parse().expect("a number of bytes"))
        })
        .collect()
}

#[test]
fn layouts_are_those_of_rocr_6_1_2() {
    assert_eq!(bound(), measured(include_str!("../layouts/rocr-6.1.2.txt")));
}

#[test]
fn layouts_are_those_of_rocr_7_2_4() {
    assert_eq!(bound(), measured(include_str!("../layouts/rocr-7.2.4.txt")));
}
