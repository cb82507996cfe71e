//! An agent's write-back cache: what its waves stored to ordinary VRAM and memory does not have yet.
//!
//! It stands for the second-level cache that all compute units of an agent share. It keeps stored bytes only, so a load of
//! anything else sees memory as it is, and there is nothing to invalidate. A line is named by the host address of its
//! memory: the same memory mapped at two device addresses is the same line.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

use crate::shared::Span;

/// Bytes of a line.
const LINE: usize = 128;

/// Lines are spread over this many locks.
const SHARDS: usize = 64;

/// Bytes stored to one line.
#[derive(Debug)]
struct Line {
    /// Where the line's memory lies.
    memory: *mut u8,
    bytes: [u8; LINE],
    /// Bit `i` is set if byte `i` was stored.
    dirty: u128,
}

// SAFETY: `memory` is an address only; accesses go through `Span`, which tolerates concurrent writers.
unsafe impl Send for Line {}

type Shard = HashMap<usize, Line>;

/// The cache of one agent. It grows with what is stored between two write-backs, to about twice that.
#[derive(Debug)]
pub struct Cache {
    shards: Box<[Mutex<Shard>]>,
}

/// `len` bits from bit `at` on.
fn mask(at: usize, len: usize) -> u128 {
    let ones = if len >= LINE { u128::MAX } else { (1 << len) - 1 };
    ones << at
}

/// Memory to bytes; at once if it is one aligned word.
fn load(memory: Span<'_>, to: &mut [u8]) {
    match to.len() {
        2 => to.copy_from_slice(&memory.load::<u16>(0).to_ne_bytes()),
        4 => to.copy_from_slice(&memory.load::<u32>(0).to_ne_bytes()),
        8 => to.copy_from_slice(&memory.load::<u64>(0).to_ne_bytes()),
        _ => {
            for (i, byte) in to.iter_mut().enumerate() {
                *byte = memory.load(i);
            }
        }
    }
}

/// Bytes to memory; at once if they are one aligned word.
fn store(memory: Span<'_>, from: &[u8]) {
    if let Ok(word) = <[u8; 8]>::try_from(from) {
        memory.store(0, u64::from_ne_bytes(word));
    } else if let Ok(word) = <[u8; 4]>::try_from(from) {
        memory.store(0, u32::from_ne_bytes(word));
    } else if let Ok(word) = <[u8; 2]>::try_from(from) {
        memory.store(0, u16::from_ne_bytes(word));
    } else {
        for (i, byte) in from.iter().enumerate() {
            memory.store(i, *byte);
        }
    }
}

impl Line {
    /// Writes the stored bytes among the `len` from `at` on to memory, aligned words at once, and forgets them.
    fn clean(&mut self, at: usize, len: usize) {
        let end = at + len;
        let mut at = at;
        while at < end {
            let fits = |n: &usize| {
                at.is_multiple_of(*n) && at + n <= end && self.dirty >> at & mask(0, *n) == mask(0, *n)
            };
            let size = [8, 4, 2, 1].into_iter().find(fits);
            if let Some(size) = size {
                // SAFETY: the line's memory stays mapped while the line is in the cache: it is taken out when its mappings
                // change (`Memory::flush`), and the memory file is mapped as long as the device lives.
                let memory = unsafe { Span::new(self.memory.wrapping_add(at), size) };
                store(memory, &self.bytes[at..at + size]);
            }
            at += size.unwrap_or(1);
        }
        self.dirty &= !mask(end - len, len);
    }

    fn put(&mut self, at: usize, from: &[u8]) {
        self.bytes[at..at + from.len()].copy_from_slice(from);
        self.dirty |= mask(at, from.len());
    }

    fn get(&self, at: usize, to: &mut [u8]) {
        for (i, byte) in to.iter_mut().enumerate() {
            if self.dirty >> (at + i) & 1 != 0 {
                *byte = self.bytes[at + i];
            }
        }
    }
}

/// A part of an access that lies in one line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Its first byte's offset in the access.
    skip: usize,
    /// Its first byte's offset in the line.
    at: usize,
    len: usize,
    memory: *mut u8,
}

impl Piece {
    /// Address of the line.
    fn line(self) -> *mut u8 {
        self.memory.wrapping_sub(self.at)
    }
}

/// The parts of an access of `len` bytes at `memory`.
fn pieces(memory: *mut u8, len: usize) -> impl Iterator<Item = Piece> {
    let mut skip = 0;
    core::iter::from_fn(move || {
        let memory = memory.wrapping_add(skip);
        let at = memory.addr() % LINE;
        let now = (len - skip).min(LINE - at);
        let piece = Piece { skip, at, len: now, memory };
        skip += now;
        (now > 0).then_some(piece)
    })
}

impl Cache {
    pub(super) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, line: *mut u8) -> MutexGuard<'_, Shard> {
        self.shards[line.addr() / LINE % SHARDS].lock()
    }

    /// A word as waves see it.
    pub(super) fn load_word(&self, memory: Span<'_>) -> u32 {
        let mut word = [0; 4];
        for piece in pieces(memory.start(), 4) {
            self.load_piece(piece, &mut word[piece.skip..piece.skip + piece.len]);
        }
        u32::from_ne_bytes(word)
    }

    /// Stores a word to memory, over what waves stored there.
    pub(super) fn store_word_through(&self, memory: Span<'_>, value: u32) {
        let word = value.to_ne_bytes();
        for piece in pieces(memory.start(), 4) {
            self.store_piece(piece, &word[piece.skip..piece.skip + piece.len], true);
        }
    }

    fn load_piece(&self, piece: Piece, to: &mut [u8]) {
        let shard = self.shard(piece.line());
        // SAFETY: the callers' bytes are mapped for the call, and the piece is a part of them.
        load(unsafe { Span::new(piece.memory, piece.len) }, to);
        if let Some(line) = shard.get(&piece.line().addr()) {
            line.get(piece.at, to);
        }
    }

    fn store_piece(&self, piece: Piece, from: &[u8], through: bool) {
        let mut shard = self.shard(piece.line());
        let key = piece.line().addr();
        if through {
            if let Some(line) = shard.get_mut(&key) {
                line.dirty &= !mask(piece.at, piece.len);
                if line.dirty == 0 {
                    shard.remove(&key);
                }
            }
            // SAFETY: as in `load_piece`, and the callers may write.
            store(unsafe { Span::new(piece.memory, piece.len) }, from);
        } else {
            let line =
                shard.entry(key).or_insert_with(|| Line { memory: piece.line(), bytes: [0; LINE], dirty: 0 });
            line.put(piece.at, from);
        }
    }

    /// Writes what was stored to the `bytes` bytes of memory from `start` on to memory.
    pub(super) fn write_back_range(&self, start: *mut u8, bytes: u64) {
        let inside = |key: usize| (key as u64).wrapping_sub(start.addr() as u64) < bytes;
        for shard in &self.shards {
            for (_, mut line) in shard.lock().extract_if(|key, _| inside(*key)) {
                line.clean(0, LINE);
            }
        }
    }
}

impl model_gpu_isa::Cache for Cache {
    unsafe fn load(&self, host: *mut u8, to: &mut [u8]) {
        for piece in pieces(host, to.len()) {
            self.load_piece(piece, &mut to[piece.skip..piece.skip + piece.len]);
        }
    }

    unsafe fn store(&self, host: *mut u8, from: &[u8], through: bool) {
        for piece in pieces(host, from.len()) {
            self.store_piece(piece, &from[piece.skip..piece.skip + piece.len], through);
        }
    }

    unsafe fn modify(&self, host: *mut u8, bytes: usize, through: bool, f: &dyn Fn(u64) -> u64) -> u64 {
        let at = host.addr() % LINE;
        let start = host.wrapping_sub(at);
        let mut shard = self.shard(start);
        let key = start.addr();
        // SAFETY: mapped and writable by the caller's promise.
        let memory = unsafe { Span::new(host, bytes) };
        if through {
            if let Some(line) = shard.get_mut(&key) {
                line.clean(at, bytes);
                if line.dirty == 0 {
                    shard.remove(&key);
                }
            }
            return modify_memory(memory, bytes, f);
        }
        let line = shard.entry(key).or_insert_with(|| Line { memory: start, bytes: [0; LINE], dirty: 0 });
        let mut value = [0; 8];
        load(memory, &mut value[..bytes]);
        line.get(at, &mut value[..bytes]);
        let old = u64::from_le_bytes(value);
        line.put(at, &f(old).to_le_bytes()[..bytes]);
        old
    }

    fn write_back(&self) {
        for shard in &self.shards {
            for (_, mut line) in shard.lock().drain() {
                line.clean(0, LINE);
            }
        }
    }
}

/// A read-modify-write in memory.
fn modify_memory(memory: Span<'_>, bytes: usize, f: &dyn Fn(u64) -> u64) -> u64 {
    use core::sync::atomic::Ordering::SeqCst;
    let narrow = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
    let aligned = "an atomic is aligned, as its caller checked";
    if bytes == 4 {
        let word = memory.atomic_u32(0).expect(aligned);
        let old = word.fetch_update(SeqCst, SeqCst, |old| Some(narrow(f(u64::from(old)))));
        u64::from(old.unwrap_or_else(|old| old))
    } else {
        let word = memory.atomic_u64(0).expect(aligned);
        word.fetch_update(SeqCst, SeqCst, |old| Some(f(old))).unwrap_or_else(|old| old)
    }
}
