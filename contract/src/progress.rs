//! What the library is at, told to `run` while it happens: a piece of shared memory, called the page.
//!
//! `run` makes the page when it has a terminal to show it on and names it in a variable; each agent's worker claims a slot
//! of it and writes there at the start of a window and of each pass: a few stores, no call, no lock. Nobody waits for
//! anybody, and a program that closes every descriptor or changes its working directory does not lose the page.
//! The page cannot be made shorter (`F_SEAL_SHRINK`), so touching it cannot fault.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Bytes of the page: room for a node's processes with all of their agents, 127 slots. Only what is written to takes memory.
const BYTES: usize = 16 * 4096;
const WORDS: usize = BYTES / 8;
/// Words in front of the first slot: the magic number, the number of slots claimed.
const HEADER: usize = 8;
/// Words of a slot.
const SLOT: usize = 64;
const SLOTS: usize = (WORDS - HEADER) / SLOT;

const MAGIC: u64 = u64::from_le_bytes(*b"hsarply1");
const MAGIC_AT: usize = 0;
const CLAIMED_AT: usize = 1;

/// The words of a slot. The first is odd while its owner writes (a sequence lock with one writer).
const SEQUENCE: usize = 0;
const PID: usize = 1;
const WINDOW: usize = 2;
const PASS: usize = 3;
const PASSES: usize = 4;
const CAPTURED: usize = 5;
const NAME_BYTES: usize = 6;
const NAME: usize = 8;
const LONGEST_NAME: usize = (SLOT - NAME) * 8;

/// The page, mapped for the rest of the process.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    words: &'static [AtomicU64; WORDS],
}

/// The place of one agent's worker on the page.
#[derive(Debug)]
pub struct Slot {
    words: &'static [AtomicU64],
}

/// An open window, as a slot shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The process.
    pub pid: u32,
    /// Ordinal of the window in its slot, from 1.
    pub window: u64,
    /// The kernel's signature, cut off where it is long.
    pub kernel: String,
    /// The running pass, from 1; 0 before the first.
    pub pass: u32,
    /// How many passes there will be; 0 where that is not known.
    pub passes: u32,
    /// Bytes of the snapshot; 0 before it is taken.
    pub captured: u64,
}

impl Page {
    /// Makes a page. Whoever opens the file (by `/proc/PID/fd/N`, as long as it is open here) shares it.
    pub fn create() -> io::Result<(Self, File)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(rustix::fs::memfd_create("hsa-replay-progress", flags)?);
        file.set_len(BYTES as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let page = Self::map(&file)?;
        page.words[MAGIC_AT].store(MAGIC, Ordering::Release);
        Ok((page, file))
    }

    /// Opens the page of another process.
    pub fn open(path: &Path) -> io::Result<Self> {
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(path)?;
        let sealed = rustix::fs::fcntl_get_seals(&file)?.contains(SealFlags::SHRINK);
        if !sealed || file.metadata()?.len() != BYTES as u64 {
            return Err(io::Error::other("is not a page of hsa-replay"));
        }
        let page = Self::map(&file)?;
        if page.words[MAGIC_AT].load(Ordering::Acquire) != MAGIC {
            return Err(io::Error::other("is not a page of hsa-replay"));
        }
        Ok(page)
    }

    fn map(file: &File) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; it replaces nothing.
        let address = unsafe { mmap(ptr::null_mut(), BYTES, access, MapFlags::SHARED, file, 0) }?;
        // SAFETY: the mapping is page aligned, as long as the array and never unmapped; the file is sealed against shrinking,
        // so every byte of it stays accessible; other processes write it, and every access is atomic.
        Ok(Self { words: unsafe { &*address.cast::<[AtomicU64; WORDS]>() } })
    }

    /// Takes a slot for the calling process, one that nobody had or one whose process has ended; `None` when there is none.
    pub fn claim(self) -> Option<Slot> {
        let index = usize::try_from(self.words[CLAIMED_AT].fetch_add(1, Ordering::AcqRel)).ok()?;
        self.claim_from(index)
    }

    /// The same, beginning with the slot of this index. Whoever writes its number there first has it: a process that has been
    /// given an index may be overtaken by one that looks for a slot that nobody has.
    fn claim_from(self, index: usize) -> Option<Slot> {
        let own = u64::from(std::process::id());
        let take = |slot: &'static [AtomicU64], owner: u64| {
            let taken = slot[PID].compare_exchange(owner, own, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok().then_some(Slot { words: slot })
        };
        if let Some(slot) = self.slots().nth(index).and_then(|slot| take(slot, 0)) {
            return Some(slot);
        }
        self.slots().find_map(|slot| {
            let owner = slot[PID].load(Ordering::Acquire);
            let taken = if lives(owner) { None } else { take(slot, owner) };
            // Its owner may have ended while it wrote.
            taken.inspect(|_| {
                let sequence = slot[SEQUENCE].load(Ordering::Relaxed);
                slot[SEQUENCE].store(sequence.next_multiple_of(2), Ordering::Release);
            })
        })
    }

    /// The windows that are open now, in processes that live.
    pub fn activities(self) -> Vec<Activity> {
        self.slots().filter_map(read).filter(|activity| lives(activity.pid.into())).collect()
    }

    fn slots(self) -> impl Iterator<Item = &'static [AtomicU64]> {
        self.words[HEADER..].chunks_exact(SLOT).take(SLOTS)
    }
}

impl Slot {
    /// A window opens.
    pub fn window(&self, kernel: &str) {
        let window = self.words[WINDOW].load(Ordering::Relaxed) + 1;
        let end =
            (0..=LONGEST_NAME.min(kernel.len())).rev().find(|&end| kernel.is_char_boundary(end)).unwrap_or(0);
        self.write(|words| {
            words[WINDOW].store(window, Ordering::Relaxed);
            for word in [PASS, PASSES, CAPTURED] {
                words[word].store(0, Ordering::Relaxed);
            }
            words[NAME_BYTES].store(end as u64, Ordering::Relaxed);
            for (word, bytes) in words[NAME..].iter().zip(kernel.as_bytes()[..end].chunks(8)) {
                let mut eight = [0; 8];
                eight[..bytes.len()].copy_from_slice(bytes);
                word.store(u64::from_le_bytes(eight), Ordering::Relaxed);
            }
        });
    }

    /// The snapshot is taken.
    pub fn captured(&self, bytes: u64) {
        self.write(|words| words[CAPTURED].store(bytes, Ordering::Relaxed));
    }

    /// Pass `pass`, from 1, of `passes` begins; 0 `passes`: nobody knows how many there will be.
    pub fn pass(&self, pass: u32, passes: u32) {
        self.write(|words| {
            words[PASS].store(pass.into(), Ordering::Relaxed);
            words[PASSES].store(passes.into(), Ordering::Relaxed);
        });
    }

    /// The window is closed.
    pub fn idle(&self) {
        self.write(|words| words[NAME_BYTES].store(u64::MAX, Ordering::Relaxed));
    }

    fn write(&self, change: impl FnOnce(&[AtomicU64])) {
        let sequence = &self.words[SEQUENCE];
        let before = sequence.load(Ordering::Relaxed);
        sequence.store(before + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        change(self.words);
        sequence.store(before + 2, Ordering::Release);
    }
}

/// Whether a process is there, as far as this one sees.
fn lives(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// What a slot shows; `None` for one that was never written or whose window is closed, and for one that is being written: the
/// next look sees it.
fn read(slot: &[AtomicU64]) -> Option<Activity> {
    let before = slot[SEQUENCE].load(Ordering::Acquire);
    if before == 0 || before % 2 == 1 {
        return None;
    }
    let words: Vec<u64> = slot.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    fence(Ordering::Acquire);
    if slot[SEQUENCE].load(Ordering::Relaxed) != before {
        return None;
    }
    let length = usize::try_from(words[NAME_BYTES]).ok().filter(|&length| length <= LONGEST_NAME)?;
    let mut name: Vec<u8> = words[NAME..].iter().flat_map(|word| word.to_le_bytes()).collect();
    name.truncate(length);
    let number = |word: usize| u32::try_from(words[word]).unwrap_or(u32::MAX);
    Some(Activity {
        pid: number(PID),
        window: words[WINDOW],
        kernel: String::from_utf8_lossy(&name).into_owned(),
        pass: number(PASS),
        passes: number(PASSES),
        captured: words[CAPTURED],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn shared() -> (Page, Page, File) {
        let (reader, file) = Page::create().expect("memory");
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        (reader, Page::open(Path::new(&name)).expect("the same page"), file)
    }

    #[test]
    fn a_window_is_seen_from_its_start_to_its_end() {
        let (reader, writer, _file) = shared();
        let slot = writer.claim().expect("a free slot");
        assert_eq!(reader.activities(), []);
        slot.window("saxpy(float, float const*, float*)");
        slot.captured(4096);
        slot.pass(2, 5);
        let expected = Activity {
            pid: std::process::id(),
            window: 1,
            kernel: "saxpy(float, float const*, float*)".to_owned(),
            pass: 2,
            passes: 5,
            captured: 4096,
        };
        assert_eq!(reader.activities(), [expected]);
        slot.idle();
        assert_eq!(reader.activities(), []);
        slot.window("é".repeat(1000).as_str());
        let long = &reader.activities()[0];
        assert_eq!((long.window, long.pass, long.captured), (2, 0, 0));
        assert_eq!(long.kernel, "é".repeat(LONGEST_NAME / 2));
    }

    #[test]
    fn every_agent_has_its_slot_until_there_are_none() {
        let (reader, writer, _file) = shared();
        let slots: Vec<Slot> = std::iter::from_fn(|| writer.claim()).collect();
        assert_eq!(slots.len(), SLOTS);
        for slot in &slots {
            slot.window("k");
        }
        assert_eq!(reader.activities().len(), SLOTS);
        assert!(writer.claim().is_none());
    }

    #[test]
    fn each_agent_of_a_node_is_seen_in_each_of_its_processes() {
        let (reader, writer, _file) = shared();
        let slots: Vec<Option<Slot>> = (0..8 * 8).map(|_| writer.claim()).collect();
        assert!(slots.iter().all(Option::is_some));
        slots.iter().flatten().for_each(|slot| slot.window("k"));
        assert_eq!(reader.activities().len(), 64);
    }

    #[test]
    fn a_slot_is_given_to_one_although_another_was_about_to_take_it() {
        let (_reader, writer, _file) = shared();
        // All indices are given, and no slot is taken yet.
        writer.words[CLAIMED_AT].store(SLOTS as u64, Ordering::Relaxed);
        let overtaking = writer.claim().expect("a slot that nobody has");
        let late = writer.claim_from(0).expect("another slot");
        assert!(!std::ptr::eq(overtaking.words, late.words), "two workers write to one slot");
    }

    #[test]
    fn the_slot_of_a_process_that_has_ended_is_not_shown_and_is_given_out_again() {
        let (reader, writer, _file) = shared();
        let slots: Vec<Slot> = std::iter::from_fn(|| writer.claim()).collect();
        let mut ended = std::process::Command::new("true").spawn().expect("starts");
        ended.wait().expect("ends");
        slots[3].window("killed in the middle of a write");
        slots[3].words[PID].store(ended.id().into(), Ordering::Relaxed);
        assert_eq!(reader.activities(), []);
        slots[3].words[SEQUENCE].fetch_add(1, Ordering::Relaxed);
        let again = writer.claim().expect("the slot of the process that has ended");
        again.window("next");
        assert_eq!(reader.activities().len(), 1);
        assert!(writer.claim().is_none());
    }

    #[test]
    fn what_is_seen_was_written_at_one_time() {
        let (reader, writer, _file) = shared();
        let slot = writer.claim().expect("a free slot");
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for number in 1..20_000 {
                    slot.window(&number.to_string());
                    slot.pass(number, number);
                }
            });
            while !writing.is_finished() {
                for seen in reader.activities() {
                    assert_eq!(seen.window.to_string(), seen.kernel);
                    assert!(
                        seen.pass == 0 || (u64::from(seen.pass) == seen.window && seen.passes == seen.pass)
                    );
                }
            }
        });
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("page");
        std::fs::write(&file, [0; BYTES]).expect("file");
        for path in [file.as_path(), Path::new("/dev/null"), folder.path(), Path::new("/no/such")] {
            assert!(Page::open(path).is_err(), "{}", path.display());
        }
    }
}
