//! Memory that travels as a descriptor, inside a process and between processes.
//!
//! A small anonymous file stands for each export. It says whose memory it is and where that lies in the device's memory
//! file, so that another process's device finds the same pages. Each export keeps its buffer as long as anybody anywhere
//! holds the descriptor: the kernel grants a write lease on a file only when nobody else has it open.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Weak};

use model_gpu_core::memory::{Buffer, Kind, Request, Rights, identity};
use model_gpu_core::say;
use parking_lot::Mutex;

use crate::interpose::open_again;
use crate::kfd::Errno;
use crate::session::Session;

type Key = (u64, u64);

/// What is shared with others, and what others share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    exports: Mutex<HashMap<Key, Export>>,
    imports: Mutex<HashMap<Key, Weak<Buffer>>>,
}

#[derive(Debug)]
struct Export {
    buffer: Arc<Buffer>,
    /// For the question whether anybody else has the file open.
    keeper: OwnedFd,
    /// The descriptor behind an interprocess handle, open until the handle's memory is freed.
    named: Option<OwnedFd>,
}

/// What the file says.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Label {
    magic: u64,
    /// Device and inode of the memory file.
    memory: [u64; 2],
    offset: u64,
    bytes: u64,
    /// The process, and the memory file's number there.
    process: i32,
    file: i32,
    agent: u32,
    kind: u32,
    rights: u32,
    /// What the runtime said of the memory when it made an interprocess handle.
    told: u32,
}

const LABEL: usize = size_of::<Label>();
const MAGIC: u64 = 0x6d6f_6465_6c64_6d61;

/// `F_SETSIG` of fcntl(2).
const SET_SIGNAL: i32 = 10;

fn error() -> Errno {
    Errno(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

fn own(fd: RawFd) -> Result<OwnedFd, Errno> {
    // SAFETY: the descriptor is fresh and nobody else's.
    if fd < 0 { Err(error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

impl Label {
    fn of(session: &Session, buffer: &Buffer, told: u32) -> Result<Self, Errno> {
        let backing = session.machine.memory.backing();
        let (file, offset, (device, inode)) = match &buffer.foreign {
            None => (
                backing.fd(),
                buffer.offset.ok_or(Errno(libc::EINVAL))?,
                backing.identity().map_err(|_| error())?,
            ),
            Some(foreign) => {
                let (file, offset) = foreign.place();
                (file, offset, identity(file).map_err(|_| error())?)
            }
        };
        let Rights { writable, executable, public, coherent } = buffer.rights;
        Ok(Self {
            magic: MAGIC,
            memory: [device, inode],
            offset,
            bytes: buffer.bytes,
            process: i32::try_from(std::process::id()).unwrap_or(0),
            file,
            agent: u32::try_from(buffer.agent).unwrap_or(u32::MAX),
            kind: u32::from(buffer.kind == Kind::Vram),
            rights: u32::from(writable)
                | u32::from(executable) << 1
                | u32::from(public) << 2
                | u32::from(coherent) << 3,
            told,
        })
    }

    fn write(&self, fd: RawFd) -> Result<(), Errno> {
        let length = i64::try_from(self.bytes).unwrap_or(0);
        // SAFETY: the structure holds integers without padding and lives through the call.
        let written = unsafe {
            // The size that a seek to the end tells is the memory's.
            libc::ftruncate(fd, length);
            libc::pwrite(fd, core::ptr::from_ref(self).cast(), LABEL, 0)
        };
        if usize::try_from(written) == Ok(LABEL) { Ok(()) } else { Err(error()) }
    }

    fn read(fd: RawFd) -> Option<Self> {
        let mut label = Self::default();
        // SAFETY: there is room for a structure of integers, of which any bytes are a value.
        let read = unsafe { libc::pread(fd, (&raw mut label).cast(), LABEL, 0) };
        (usize::try_from(read) == Ok(LABEL) && label.magic == MAGIC).then_some(label)
    }
}

impl Export {
    /// Whether the file is open somewhere else.
    fn is_open(&self) -> bool {
        let fd = self.keeper.as_raw_fd();
        // SAFETY: plain system calls on a descriptor of ours. Should somebody open the file while the lease is held, the
        // kernel sends the signal named here, which is ignored by default.
        unsafe {
            libc::fcntl(fd, SET_SIGNAL, libc::SIGURG);
            let granted = libc::fcntl(fd, libc::F_SETLEASE, libc::F_WRLCK) == 0;
            if granted {
                libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK);
            }
            !granted
        }
    }
}

/// A new file that stands for `buffer`, and its export.
fn label(session: &Session, buffer: &Arc<Buffer>, told: u32) -> Result<(OwnedFd, Key, Export), Errno> {
    if !matches!(buffer.kind, Kind::Vram | Kind::Gtt) {
        // The driver, too, exports only what it allocated.
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: the name is a valid C string.
    let first = own(unsafe { libc::memfd_create(c"model-gpu-dmabuf".as_ptr(), libc::MFD_CLOEXEC) })?;
    Label::of(session, buffer, told)?.write(first.as_raw_fd())?;
    let key = identity(first.as_raw_fd()).map_err(|_| error())?;
    // The file's first description does not count as an open one: both of these do.
    let fd = own(open_again(first.as_raw_fd(), libc::O_RDWR | libc::O_CLOEXEC))?;
    let keeper = own(open_again(first.as_raw_fd(), libc::O_RDWR | libc::O_CLOEXEC))?;
    write_metadata(first.as_raw_fd(), &buffer.metadata.lock());
    Ok((fd, key, Export { buffer: buffer.clone(), keeper, named: None }))
}

fn write_metadata(fd: RawFd, metadata: &[u8]) {
    let at = i64::try_from(LABEL).unwrap_or(0);
    // SAFETY: the buffer is valid for its length. The file is memory: a write to it does not fail.
    let _ = unsafe { libc::pwrite(fd, metadata.as_ptr().cast(), metadata.len(), at) };
}

/// Notes what the program says of `buffer`: everyone who has it sees it.
pub(crate) fn set_metadata(session: &Session, buffer: &Buffer, metadata: &[u8]) {
    if let Some(foreign) = &buffer.foreign {
        return write_metadata(foreign.descriptor(), metadata);
    }
    *buffer.metadata.lock() = metadata.to_vec();
    let exports = session.shared.exports.lock();
    for export in exports.values().filter(|e| Arc::ptr_eq(&e.buffer.metadata, &buffer.metadata)) {
        write_metadata(export.keeper.as_raw_fd(), metadata);
    }
}

/// What was noted of `buffer`, `bytes` bytes of it: zeros where nothing was.
pub(crate) fn metadata(buffer: &Buffer, bytes: usize) -> Vec<u8> {
    let mut metadata = buffer.metadata.lock().clone();
    metadata.resize(bytes, 0);
    if let Some(foreign) = &buffer.foreign {
        let at = i64::try_from(LABEL).unwrap_or(0);
        // SAFETY: the buffer is valid for its length; what the file does not have stays zero.
        unsafe { libc::pread(foreign.descriptor(), metadata.as_mut_ptr().cast(), bytes, at) };
    }
    metadata
}

/// A descriptor that stands for `buffer`.
pub(crate) fn export(session: &Session, buffer: &Arc<Buffer>, close_on_exec: bool) -> Result<RawFd, Errno> {
    sweep(session);
    let (fd, key, export) = label(session, buffer, 0)?;
    if !close_on_exec {
        // SAFETY: plain system call on a descriptor of ours.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
    }
    session.shared.exports.lock().insert(key, export);
    Ok(fd.into_raw_fd())
}

/// A name for `buffer` that another process can use: the process, the descriptor there, and its inode.
pub(crate) fn name(session: &Session, buffer: &Arc<Buffer>, told: u32) -> Result<[u32; 4], Errno> {
    sweep(session);
    let mut exports = session.shared.exports.lock();
    let known = exports.iter().find_map(|(key, export)| {
        let named = export.named.as_ref().filter(|_| export.buffer.id == buffer.id)?;
        Some((key.1, named.as_raw_fd()))
    });
    let (inode, number) = match known {
        Some(known) => known,
        None => {
            let (fd, key, export) = label(session, buffer, told)?;
            let number = fd.as_raw_fd();
            exports.insert(key, Export { named: Some(fd), ..export });
            (key.1, number)
        }
    };
    let halves = [inode & 0xffff_ffff, inode >> 32].map(|half| u32::try_from(half).unwrap_or(0));
    Ok([std::process::id(), number.cast_unsigned(), halves[0], halves[1]])
}

/// The buffer that a name of [`name`] stands for, and what was told of it.
pub(crate) fn find_named(session: &Session, name: [u32; 4]) -> Result<(Arc<Buffer>, u32), Errno> {
    let [process, number, low, high] = name;
    let fd = own(open_again_of(process.cast_signed(), number.cast_signed())).inspect_err(|errno| {
        say!("interprocess handle: process {process} cannot be reached: error {}", errno.0);
    })?;
    let inode = u64::from(high) << 32 | u64::from(low);
    let found = identity(fd.as_raw_fd()).is_ok_and(|key| key.1 == inode);
    let label = Label::read(fd.as_raw_fd()).filter(|_| found).ok_or(Errno(libc::EINVAL))?;
    Ok((find(session, fd.as_raw_fd()).ok_or(Errno(libc::EINVAL))?, label.told))
}

/// Opens descriptor `number` of another process once more.
fn open_again_of(process: i32, number: RawFd) -> RawFd {
    crate::interpose::open_path(&format!("/proc/{process}/fd/{number}"), libc::O_RDWR | libc::O_CLOEXEC)
}

/// The buffer that a descriptor stands for: one of this process, or another's memory, which becomes a buffer here.
pub(crate) fn find(session: &Session, fd: RawFd) -> Option<Arc<Buffer>> {
    let key = identity(fd).ok()?;
    if let Some(export) = session.shared.exports.lock().get(&key) {
        return Some(export.buffer.clone());
    }
    let mut imports = session.shared.imports.lock();
    imports.retain(|_, buffer| buffer.strong_count() > 0);
    if let Some(buffer) = imports.get(&key).and_then(Weak::upgrade) {
        return Some(buffer);
    }
    let label = Label::read(fd)?;
    let process = label.process;
    let file = own(open_again_of(process, label.file))
        .ok()
        .filter(|file| identity(file.as_raw_fd()).is_ok_and(|found| [found.0, found.1] == label.memory));
    let Some(file) = file else {
        say!("imported memory: process {process}, which exported it, is gone or cannot be reached");
        return None;
    };
    // SAFETY: plain system call on a descriptor that the caller has.
    let hold = own(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) }).ok()?;
    let rights = Rights {
        writable: label.rights & 1 != 0,
        executable: label.rights & 2 != 0,
        public: label.rights & 4 != 0,
        coherent: label.rights & 8 != 0,
    };
    let request = Request {
        agent: usize::try_from(label.agent).ok()?,
        kind: if label.kind == 1 { Kind::Vram } else { Kind::Gtt },
        address: 0,
        bytes: label.bytes,
        user: 0,
        rights,
    };
    let adopted = session.machine.memory.adopt(&request, file, label.offset, hold);
    let buffer =
        adopted.inspect_err(|refusal| say!("imported memory of process {process}: {refusal}")).ok()?;
    imports.insert(key, Arc::downgrade(&buffer));
    Some(buffer)
}

/// The program freed the handle `id`: interprocess names of it are no longer valid.
pub(crate) fn freed(session: &Session, id: u64) {
    let mut exports = session.shared.exports.lock();
    for export in exports.values_mut().filter(|export| export.buffer.id == id) {
        export.named = None;
    }
    drop(exports);
    sweep(session);
}

/// Forgets exports whose descriptors are all closed.
pub(crate) fn sweep(session: &Session) {
    let gone: Vec<_> = session.shared.exports.lock().extract_if(|_, export| !export.is_open()).collect();
    // Buffers give their memory back outside the lock.
    drop(gone);
}
