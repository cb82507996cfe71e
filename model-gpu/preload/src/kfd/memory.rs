//! Requests about memory: allocation, mapping, and exchange by descriptor.

use model_gpu_core::memory::{Buffer, Kind, Request, Rights};
use model_gpu_core::{say, trace};

use super::Errno;
use super::abi::{
    AllocMemory, ExportDmabuf, FreeMemory, GetDmabufInfo, ImportDmabuf, IpcExport, IpcImport, MapMemory,
    alloc, read_array, write_array,
};
use crate::drm::{program_metadata, share};
use crate::session::Session;

type Answer = Result<(), Errno>;

const INVALID: Errno = Errno(libc::EINVAL);

pub(super) fn alloc_memory_of_gpu(session: &Session, args: &mut AllocMemory) -> Answer {
    let agent = session.agent(args.gpu_id).ok_or(INVALID)?;
    let kinds = [
        (alloc::VRAM, Kind::Vram),
        (alloc::GTT, Kind::Gtt),
        (alloc::USERPTR, Kind::User),
        (alloc::DOORBELL, Kind::Doorbell),
        (alloc::MMIO_REMAP, Kind::Mmio),
    ];
    let kind = kinds.iter().find(|(flag, _)| args.flags & flag != 0).ok_or(INVALID)?.1;
    if args.flags & alloc::AQL_QUEUE_MEM != 0 {
        say!("doubly mapped queue memory is for GPUs before gfx9: not supported");
        return Err(INVALID);
    }
    let rights = Rights {
        writable: args.flags & alloc::WRITABLE != 0,
        executable: args.flags & alloc::EXECUTABLE != 0,
        public: args.flags & alloc::PUBLIC != 0,
        coherent: args.flags & (alloc::COHERENT | alloc::UNCACHED | alloc::EXT_COHERENT) != 0,
    };
    let (address, user) = (args.va_addr, args.mmap_offset);
    let buffer =
        session.machine.allocate(&Request { agent, kind, address, bytes: args.size, user, rights })?;
    trace!("allocates {:#x} bytes of {kind:?} for {address:#x}, flags {:#x}", args.size, args.flags);
    args.handle = buffer.id;
    if let Some(offset) = buffer.offset {
        args.mmap_offset = offset;
    }
    Ok(())
}

pub(super) fn free_memory_of_gpu(session: &Session, args: &mut FreeMemory) -> Answer {
    session.machine.memory.free(args.handle)?;
    share::freed(session, args.handle);
    Ok(())
}

/// The agents that a request names, as a mask.
fn agents(session: &Session, args: &MapMemory) -> Result<u64, Errno> {
    let count = args.n_devices as usize;
    if count == 0 || count > session.machine.config.agents {
        return Err(INVALID);
    }
    // SAFETY: the program says that it has an array of `n_devices` numbers there.
    let ids: Vec<u32> = unsafe { read_array(args.device_ids_array_ptr, count) };
    ids.into_iter().try_fold(0, |mask, id| Ok(mask | 1 << session.agent(id).ok_or(INVALID)?))
}

pub(super) fn map_memory_to_gpu(session: &Session, args: &mut MapMemory) -> Answer {
    let agents = agents(session, args)?;
    session.machine.map(args.handle, agents)?;
    args.n_success = args.n_devices;
    Ok(())
}

pub(super) fn unmap_memory_from_gpu(session: &Session, args: &mut MapMemory) -> Answer {
    let agents = agents(session, args)?;
    session.machine.memory.unmap(args.handle, agents)?;
    args.n_success = args.n_devices;
    Ok(())
}

pub(super) fn export_dmabuf(session: &Session, args: &mut ExportDmabuf) -> Answer {
    let buffer = session.machine.memory.buffer(args.handle).ok_or(INVALID)?;
    let close_on_exec = args.flags & u32::try_from(libc::O_CLOEXEC).unwrap_or(0) != 0;
    let fd = share::export(session, &buffer, close_on_exec)?;
    args.dmabuf_fd = u32::try_from(fd).map_err(|_| Errno(libc::EMFILE))?;
    Ok(())
}

fn flags(buffer: &Buffer) -> u32 {
    let kind = if buffer.kind == Kind::Vram { alloc::VRAM } else { alloc::GTT };
    let public = if buffer.rights.public { alloc::PUBLIC } else { 0 };
    kind | public
}

pub(super) fn get_dmabuf_info(session: &Session, args: &mut GetDmabufInfo) -> Answer {
    let fd = i32::try_from(args.dmabuf_fd).map_err(|_| INVALID)?;
    let buffer = share::find(session, fd).ok_or(INVALID)?;
    args.size = buffer.bytes;
    args.gpu_id = session.machine.config.gpu_ids[buffer.agent];
    args.flags = flags(&buffer);
    let metadata = program_metadata(&buffer);
    let room = core::mem::replace(&mut args.metadata_size, u32::try_from(metadata.len()).unwrap_or(0));
    if args.metadata_ptr != 0 {
        if (room as usize) < metadata.len() {
            return Err(INVALID);
        }
        // SAFETY: the program says that it has `room` bytes there.
        unsafe { write_array(args.metadata_ptr, &metadata) };
    }
    Ok(())
}

pub(super) fn import_dmabuf(session: &Session, args: &mut ImportDmabuf) -> Answer {
    session.agent(args.gpu_id).ok_or(INVALID)?;
    let fd = i32::try_from(args.dmabuf_fd).map_err(|_| INVALID)?;
    let buffer = share::find(session, fd).ok_or(INVALID)?;
    args.handle = session.machine.memory.import(&buffer, args.va_addr)?;
    Ok(())
}

/// AMD's driver package: a name of 16 bytes by which another process finds the memory.
pub(super) fn ipc_export_handle(session: &Session, args: &mut IpcExport) -> Answer {
    session.agent(args.gpu_id).ok_or(INVALID)?;
    let buffer = session.machine.memory.buffer(args.handle).ok_or(INVALID)?;
    args.share_handle = share::name(session, &buffer, args.flags)?;
    Ok(())
}

/// AMD's driver package: the memory behind such a name.
pub(super) fn ipc_import_handle(session: &Session, args: &mut IpcImport) -> Answer {
    session.agent(args.gpu_id).ok_or(INVALID)?;
    let (buffer, flags) = share::find_named(session, args.share_handle)?;
    args.handle = session.machine.memory.import(&buffer, args.va_addr)?;
    args.mmap_offset = buffer.offset.unwrap_or(0);
    args.flags = flags;
    Ok(())
}
