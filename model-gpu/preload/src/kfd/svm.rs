//! Shared virtual memory: ranges of the program's memory with attributes, by address.
//!
//! Pages never move, since host and device share them; the attributes decide which GPUs may use a range, and are given
//! back when asked for.

use core::ffi::c_void;

use model_gpu_core::AGENT_LIMIT;
use parking_lot::Mutex;

use super::Errno;
use super::abi::{SvmAttribute, SvmHead};
use crate::session::Session;

/// `KFD_IOCTL_SVM_ATTR_*`
mod attribute {
    pub(super) const PREFERRED_LOC: u32 = 0;
    pub(super) const PREFETCH_LOC: u32 = 1;
    pub(super) const ACCESS: u32 = 2;
    pub(super) const ACCESS_IN_PLACE: u32 = 3;
    pub(super) const NO_ACCESS: u32 = 4;
    pub(super) const SET_FLAGS: u32 = 5;
    pub(super) const CLR_FLAGS: u32 = 6;
    pub(super) const GRANULARITY: u32 = 7;
}

/// `KFD_IOCTL_SVM_LOCATION_UNDEFINED`
const UNDEFINED: u32 = u32::MAX;

/// `KFD_IOCTL_SVM_FLAG_GPU_RO`
const GPU_READ_ONLY: u32 = 8;

/// Flags of a range that nobody set any for: host access, coherent.
const DEFAULT_FLAGS: u32 = 3;

/// Most attributes in one request.
const MOST_ATTRIBUTES: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attributes {
    preferred: u32,
    prefetch: u32,
    access: u64,
    in_place: u64,
    flags: u32,
    granularity: u32,
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            preferred: UNDEFINED,
            prefetch: UNDEFINED,
            access: 0,
            in_place: 0,
            flags: DEFAULT_FLAGS,
            granularity: 9,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    attributes: Attributes,
}

/// All ranges with attributes; they never overlap.
#[derive(Debug, Default)]
pub(crate) struct Svm {
    ranges: Mutex<Vec<Range>>,
}

impl Svm {
    /// The program unmapped `[start, start + bytes)`: its attributes are forgotten. Answers what agents could reach there:
    /// agent, address and bytes.
    pub(crate) fn forget(&self, start: u64, bytes: u64) -> Vec<(usize, u64, u64)> {
        let end = start.saturating_add(bytes);
        let mut ranges = self.ranges.lock();
        if !ranges.iter().any(|r| r.start < end && r.end > start) {
            return Vec::new();
        }
        let parts = cut(&mut ranges, start, end);
        drop(ranges);
        let reached = |part: &Range| {
            let (agents, part) = (part.attributes.access | part.attributes.in_place, *part);
            let has = move |agent: &usize| agents >> agent & 1 != 0;
            (0..AGENT_LIMIT).filter(has).map(move |agent| (agent, part.start, part.end - part.start))
        };
        parts.iter().flat_map(reached).collect()
    }

    /// Changes the attributes of `[start, end)`; answers the parts with their new attributes.
    fn change(&self, start: u64, end: u64, change: impl Fn(&mut Attributes)) -> Vec<Range> {
        let mut ranges = self.ranges.lock();
        let mut parts = cut(&mut ranges, start, end);
        parts.sort_by_key(|part| part.start);
        let mut at = start;
        let mut gaps = Vec::new();
        for part in &parts {
            if part.start > at {
                gaps.push(Range { start: at, end: part.start, attributes: Attributes::default() });
            }
            at = part.end;
        }
        if at < end {
            gaps.push(Range { start: at, end, attributes: Attributes::default() });
        }
        parts.extend(gaps);
        for part in &mut parts {
            change(&mut part.attributes);
        }
        ranges.extend(&parts);
        parts
    }

    /// The attributes of the parts of `[start, end)`; the default where nothing was set.
    fn query(&self, start: u64, end: u64) -> Vec<Attributes> {
        let ranges = self.ranges.lock();
        let parts: Vec<_> = ranges.iter().filter(|r| r.start < end && r.end > start).copied().collect();
        let covered: u64 = parts.iter().map(|r| r.end.min(end) - r.start.max(start)).sum();
        let mut found: Vec<_> = parts.into_iter().map(|r| r.attributes).collect();
        if covered < end - start {
            found.push(Attributes::default());
        }
        found
    }
}

/// Cuts `[start, end)` out of the ranges; answers the parts cut out.
fn cut(ranges: &mut Vec<Range>, start: u64, end: u64) -> Vec<Range> {
    let mut out = Vec::new();
    let mut kept = Vec::with_capacity(ranges.len() + 1);
    for range in ranges.drain(..) {
        if range.start >= end || range.end <= start {
            kept.push(range);
            continue;
        }
        if range.start < start {
            kept.push(Range { end: start, ..range });
        }
        if range.end > end {
            kept.push(Range { start: end, ..range });
        }
        out.push(Range { start: range.start.max(start), end: range.end.min(end), ..range });
    }
    *ranges = kept;
    out
}

/// Answers a request about shared memory: a head with its attributes behind it.
///
/// # Safety
/// `argument` points to a head and as many attributes as it says.
pub(super) unsafe fn svm(session: &Session, argument: *mut c_void) -> Result<(), Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    // SAFETY: the caller promises the head.
    let head: SvmHead = unsafe { argument.cast::<SvmHead>().read_unaligned() };
    let aligned = (head.start_addr | head.size).is_multiple_of(4096);
    let end = head.start_addr.checked_add(head.size).ok_or(INVALID)?;
    if !aligned || head.size == 0 || head.nattr > MOST_ATTRIBUTES {
        return Err(INVALID);
    }
    // SAFETY: the attributes follow the head.
    let attributes = unsafe { argument.cast::<u8>().add(size_of::<SvmHead>()) }.cast::<SvmAttribute>();
    for i in 0..head.nattr as usize {
        // SAFETY: the caller promises `nattr` attributes.
        let at = unsafe { attributes.add(i) };
        // SAFETY: as before.
        let mut attribute = unsafe { at.read_unaligned() };
        match head.op {
            0 => set(session, head.start_addr, end, attribute)?,
            1 => {
                get(session, head.start_addr, end, &mut attribute)?;
                // SAFETY: as before.
                unsafe { at.write_unaligned(attribute) };
            }
            _ => return Err(INVALID),
        }
    }
    Ok(())
}

fn set(
    session: &Session,
    start: u64,
    end: u64,
    SvmAttribute { kind, value }: SvmAttribute,
) -> Result<(), Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    let agent = || session.agent(value).map(|agent| 1u64 << agent).ok_or(INVALID);
    let parts = match kind {
        attribute::PREFERRED_LOC => session.svm.change(start, end, |a| a.preferred = value),
        attribute::PREFETCH_LOC => session.svm.change(start, end, |a| a.prefetch = value),
        attribute::ACCESS | attribute::ACCESS_IN_PLACE | attribute::NO_ACCESS => {
            let agent = agent()?;
            session.svm.change(start, end, |a| {
                a.access &= !agent;
                a.in_place &= !agent;
                match kind {
                    attribute::ACCESS => a.access |= agent,
                    attribute::ACCESS_IN_PLACE => a.in_place |= agent,
                    _ => {}
                }
            })
        }
        attribute::SET_FLAGS => session.svm.change(start, end, |a| a.flags |= value),
        attribute::CLR_FLAGS => session.svm.change(start, end, |a| a.flags &= !value),
        attribute::GRANULARITY => session.svm.change(start, end, |a| a.granularity = value.min(63)),
        _ => return Err(INVALID),
    };
    for Range { start, end, attributes } in parts {
        let agents = attributes.access | attributes.in_place;
        session.machine.memory.share(start, end - start, agents, attributes.flags & GPU_READ_ONLY == 0)?;
    }
    Ok(())
}

fn get(session: &Session, start: u64, end: u64, attribute: &mut SvmAttribute) -> Result<(), Errno> {
    const INVALID: Errno = Errno(libc::EINVAL);
    let parts = session.svm.query(start, end);
    let common = |pick: fn(&Attributes) -> u32| {
        let first = parts.first().map_or(UNDEFINED, pick);
        if parts.iter().all(|a| pick(a) == first) { first } else { UNDEFINED }
    };
    match attribute.kind {
        attribute::PREFERRED_LOC => attribute.value = common(|a| a.preferred),
        attribute::PREFETCH_LOC => attribute.value = common(|a| a.prefetch),
        attribute::ACCESS | attribute::ACCESS_IN_PLACE | attribute::NO_ACCESS => {
            let agent = 1u64 << session.agent(attribute.value).ok_or(INVALID)?;
            attribute.kind = if parts.iter().all(|a| a.access & agent != 0) {
                attribute::ACCESS
            } else if parts.iter().all(|a| (a.access | a.in_place) & agent != 0) {
                attribute::ACCESS_IN_PLACE
            } else {
                attribute::NO_ACCESS
            };
        }
        attribute::SET_FLAGS => attribute.value = parts.iter().fold(u32::MAX, |flags, a| flags & a.flags),
        attribute::CLR_FLAGS => attribute.value = parts.iter().fold(u32::MAX, |flags, a| flags & !a.flags),
        attribute::GRANULARITY => attribute.value = parts.iter().map(|a| a.granularity).min().unwrap_or(9),
        _ => return Err(INVALID),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_split_at_the_edges_and_are_forgotten_with_the_pages() {
        let svm = Svm::default();
        svm.change(0x1000, 0x5000, |a| a.access = 1);
        svm.change(0x2000, 0x3000, |a| a.preferred = 7);
        let query = |start, end| svm.query(start, end);
        assert_eq!(query(0x1000, 0x2000), [Attributes { access: 1, ..Attributes::default() }]);
        assert_eq!(query(0x2000, 0x3000), [Attributes { access: 1, preferred: 7, ..Attributes::default() }]);
        assert_eq!(query(0x5000, 0x6000), [Attributes::default()]);
        assert_eq!(svm.forget(0x5000, 0x1000), []);
        let mut reached = svm.forget(0x2000, 0x2000);
        reached.sort_unstable();
        assert_eq!(reached, [(0, 0x2000, 0x1000), (0, 0x3000, 0x1000)]);
        assert_eq!(query(0x2000, 0x4000), [Attributes::default()]);
        assert_eq!(query(0x4000, 0x5000), [Attributes { access: 1, ..Attributes::default() }]);
        assert_eq!(query(0x1000, 0x6000).len(), 3);
    }
}
