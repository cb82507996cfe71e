//! What a kernel argument stands for.

/// Meaning of a kernel argument (`.value_kind`; User Guide for AMDGPU Backend, "Code Object V3 Kernel Argument Metadata
/// Map" and its V5 additions).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueKind {
    /// The bytes themselves; a structure may hold pointers.
    ByValue,
    /// Address of a buffer in global memory.
    GlobalBuffer,
    /// Offset of dynamically sized group memory.
    DynamicSharedPointer,
    /// Sampler descriptor's address.
    Sampler,
    /// Image descriptor's address.
    Image,
    /// OpenCL pipe.
    Pipe,
    /// OpenCL device queue.
    Queue,
    /// Filled in by the language runtime, not by the program.
    Hidden(HiddenKind),
    /// A kind that this crate does not know, as the metadata writes it.
    Other(String),
}

/// Meaning of an argument that the language runtime fills in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HiddenKind {
    /// Global offset in X.
    GlobalOffsetX,
    /// Global offset in Y.
    GlobalOffsetY,
    /// Global offset in Z.
    GlobalOffsetZ,
    /// Not used; the space is reserved.
    None,
    /// Buffer of OpenCL's printf.
    PrintfBuffer,
    /// Buffer through which the kernel asks the host for services: HIP's printf, assert, device malloc.
    HostcallBuffer,
    /// Device queue for kernels that enqueue.
    DefaultQueue,
    /// Completion action for kernels that enqueue.
    CompletionAction,
    /// Synchronisation of a cooperative launch over several agents.
    MultigridSyncArg,
    /// Initialised device heap.
    HeapV1,
    /// Work groups in X.
    BlockCountX,
    /// Work groups in Y.
    BlockCountY,
    /// Work groups in Z.
    BlockCountZ,
    /// Work items of a group in X.
    GroupSizeX,
    /// Work items of a group in Y.
    GroupSizeY,
    /// Work items of a group in Z.
    GroupSizeZ,
    /// Work items of the last, partial group in X.
    RemainderX,
    /// Work items of the last, partial group in Y.
    RemainderY,
    /// Work items of the last, partial group in Z.
    RemainderZ,
    /// Dimensions of the grid.
    GridDims,
    /// High half of the private aperture.
    PrivateBase,
    /// High half of the group aperture.
    SharedBase,
    /// Address of the queue.
    QueuePtr,
    /// Size of dynamic group memory.
    DynamicLdsSize,
    /// A hidden kind that this crate does not know, as the metadata writes it.
    Other(String),
}

impl ValueKind {
    /// Reads the metadata's word.
    pub fn from_metadata(word: &str) -> Self {
        match word {
            "by_value" => Self::ByValue,
            "global_buffer" => Self::GlobalBuffer,
            "dynamic_shared_pointer" => Self::DynamicSharedPointer,
            "sampler" => Self::Sampler,
            "image" => Self::Image,
            "pipe" => Self::Pipe,
            "queue" => Self::Queue,
            _ => match word.strip_prefix("hidden_") {
                Some(hidden) => Self::Hidden(HiddenKind::from_metadata(hidden)),
                None => Self::Other(word.to_owned()),
            },
        }
    }

    /// Whether the language runtime fills the argument in.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Self::Hidden(_))
    }
}

impl HiddenKind {
    /// Reads the metadata's word behind `hidden_`.
    fn from_metadata(word: &str) -> Self {
        match word {
            "global_offset_x" => Self::GlobalOffsetX,
            "global_offset_y" => Self::GlobalOffsetY,
            "global_offset_z" => Self::GlobalOffsetZ,
            "none" => Self::None,
            "printf_buffer" => Self::PrintfBuffer,
            "hostcall_buffer" => Self::HostcallBuffer,
            "default_queue" => Self::DefaultQueue,
            "completion_action" => Self::CompletionAction,
            "multigrid_sync_arg" => Self::MultigridSyncArg,
            "heap_v1" => Self::HeapV1,
            "block_count_x" => Self::BlockCountX,
            "block_count_y" => Self::BlockCountY,
            "block_count_z" => Self::BlockCountZ,
            "group_size_x" => Self::GroupSizeX,
            "group_size_y" => Self::GroupSizeY,
            "group_size_z" => Self::GroupSizeZ,
            "remainder_x" => Self::RemainderX,
            "remainder_y" => Self::RemainderY,
            "remainder_z" => Self::RemainderZ,
            "grid_dims" => Self::GridDims,
            "private_base" => Self::PrivateBase,
            "shared_base" => Self::SharedBase,
            "queue_ptr" => Self::QueuePtr,
            "dynamic_lds_size" => Self::DynamicLdsSize,
            other => Self::Other(other.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_keeps_its_word() {
        assert_eq!(ValueKind::from_metadata("texture"), ValueKind::Other("texture".to_owned()));
    }

    #[test]
    fn an_unknown_hidden_kind_is_still_hidden() {
        let kind = ValueKind::from_metadata("hidden_cluster_size_x");
        assert!(kind.is_hidden());
        assert_eq!(kind, ValueKind::Hidden(HiddenKind::Other("cluster_size_x".to_owned())));
    }
}
