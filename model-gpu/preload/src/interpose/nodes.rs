//! Device nodes: `/dev/kfd` and the render nodes, all of them duplicates of the device's memory file.
//!
//! Because a node is the memory file, the runtime's own `mmap` of an offset that the driver answered just works. A
//! render node is an open file description of its own whose position says which GPU it is.

use core::ffi::c_int;
use std::os::fd::RawFd;

use model_gpu_core::trace;

use crate::interpose::{fail, real};
use crate::session;

/// A device node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// The compute driver.
    Kfd,
    /// The render node of an agent.
    Render(usize),
}

/// Minor number of the first render node.
pub(crate) const FIRST_RENDER_MINOR: u32 = 128;

/// The node that `path` names, if it is one of ours.
pub(crate) fn node(path: &[u8]) -> Option<Node> {
    if path == b"/dev/kfd" {
        return Some(Node::Kfd);
    }
    let minor: u32 = core::str::from_utf8(path.strip_prefix(b"/dev/dri/renderD")?).ok()?.parse().ok()?;
    let agent = usize::try_from(minor.checked_sub(FIRST_RENDER_MINOR)?).ok()?;
    (agent < crate::settings::settings().agents).then_some(Node::Render(agent))
}

/// Opens a node.
pub(crate) fn open(node: Node, flags: c_int) -> RawFd {
    let session = match session::open() {
        Ok(session) => session,
        Err(error) => return fail(error.raw_os_error().unwrap_or(libc::ENODEV)),
    };
    let file = session.machine.memory.backing().fd();
    if !session.owns(file) {
        // The program closed every descriptor it found, and the device's with them.
        return fail(libc::EBADF);
    }
    let fd = match node {
        Node::Kfd => duplicate(file, flags & libc::O_CLOEXEC != 0),
        Node::Render(agent) => open_render(file, agent, flags),
    };
    trace!("open {node:?} -> {fd}");
    fd
}

fn duplicate(file: RawFd, close_on_exec: bool) -> RawFd {
    let command = if close_on_exec { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    // SAFETY: plain system call on a descriptor of ours.
    unsafe { libc::fcntl(file, command, 0) }
}

/// Opens a path by the real C library.
pub(crate) fn open_path(path: &str, flags: c_int) -> RawFd {
    let path = format!("{path}\0");
    let Some(open) = real!(open: fn(*const libc::c_char, c_int, libc::mode_t) -> c_int) else {
        return fail(libc::ENOSYS);
    };
    // SAFETY: the path ends with a zero byte; the call has the signature of C's open.
    unsafe { open(path.as_ptr().cast(), flags, 0) }
}

/// A new open file description of the file behind a descriptor of this process.
pub(crate) fn open_again(file: RawFd, flags: c_int) -> RawFd {
    open_path(&format!("/proc/self/fd/{file}"), flags)
}

/// A new open file description of the memory file, positioned at `1 + agent`.
fn open_render(file: RawFd, agent: usize, flags: c_int) -> RawFd {
    let fd = open_again(file, libc::O_RDWR | flags & libc::O_CLOEXEC);
    if fd < 0 {
        return fd;
    }
    let position = i64::try_from(agent).unwrap_or(0) + 1;
    // SAFETY: plain system call on the descriptor just opened.
    if unsafe { libc::lseek(fd, position, libc::SEEK_SET) } != position {
        return fail(libc::EIO);
    }
    fd
}

/// The agent whose render node `fd` is.
pub(crate) fn agent_of(fd: RawFd) -> Option<usize> {
    let session = session::session().filter(|s| s.owns(fd))?;
    // SAFETY: plain system call that changes nothing.
    let position = unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) };
    let agent = usize::try_from(position).ok()?.checked_sub(1)?;
    (agent < session.machine.config.agents).then_some(agent)
}

/// Catches `ioctl`: the compute driver's requests on a descriptor of the device.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: libc::c_ulong, argument: *mut libc::c_void) -> c_int {
    /// Magic letters of the compute driver's and of DRM's requests.
    const KFD: libc::c_ulong = 0x4b;
    const DRM: libc::c_ulong = 0x64;
    let letter = request >> 8 & 0xff;
    if (letter == KFD || letter == DRM)
        && let Some(inside) = super::Inside::enter()
    {
        if let Some(session) = session::session().filter(|s| s.owns(fd)) {
            // SAFETY: the caller promises that `argument` points to the structure that the request's number names.
            return unsafe {
                if letter == KFD {
                    crate::kfd::ioctl(session, request, argument)
                } else {
                    crate::drm::ioctl(session, request, argument)
                }
            };
        }
        if session::is_inherited(fd) {
            // The driver, too, answers so when a child uses its parent's descriptor.
            return fail(libc::EBADF);
        }
        drop(inside);
    }
    match real!(ioctl: fn(c_int, libc::c_ulong, *mut libc::c_void) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(fd, request, argument) },
        None => fail(libc::ENOSYS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_of_agents_that_exist_are_ours() {
        assert_eq!(node(b"/dev/kfd"), Some(Node::Kfd));
        assert_eq!(node(b"/dev/dri/renderD128"), Some(Node::Render(0)));
        assert_eq!(node(b"/dev/dri/renderD129"), None);
        assert_eq!(node(b"/dev/dri/renderD127"), None);
        assert_eq!(node(b"/dev/dri/card0"), None);
        assert_eq!(node(b"/dev/kfd2"), None);
    }
}
