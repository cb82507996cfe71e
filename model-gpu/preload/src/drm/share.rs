//! Buffers that travel as descriptors: a small anonymous file stands for each export.

use std::os::fd::RawFd;
use std::sync::Arc;

use model_gpu_core::memory::{Buffer, identity};

use crate::kfd::Errno;
use crate::session::Session;

/// A descriptor that stands for `buffer`.
pub(crate) fn export(session: &Session, buffer: &Arc<Buffer>, close_on_exec: bool) -> Result<RawFd, Errno> {
    let flags = if close_on_exec { libc::MFD_CLOEXEC } else { 0 };
    // SAFETY: the name is a valid C string.
    let fd = unsafe { libc::memfd_create(c"model-gpu-dmabuf".as_ptr(), flags) };
    let error = || Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EMFILE));
    if fd < 0 {
        return Err(error());
    }
    let key = identity(fd).map_err(|_| error())?;
    let mut exports = session.exports.lock();
    exports.retain(|_, buffer| buffer.strong_count() > 0);
    exports.insert(key, Arc::downgrade(buffer));
    Ok(fd)
}

/// The buffer that an exported descriptor stands for.
pub(crate) fn find(session: &Session, fd: RawFd) -> Option<Arc<Buffer>> {
    let key = identity(fd).ok()?;
    session.exports.lock().get(&key)?.upgrade()
}
