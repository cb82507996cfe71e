//! How much of a report is read before its records are taken: a long line would otherwise be in memory many times over.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Bytes of blocks that are under way when another is read: records take a multiple of them. Blocks are small unless a line is long.
pub const MOST: usize = 8 << 20;

/// What is read and not yet taken.
#[derive(Debug, Default)]
pub struct UnderWay {
    bytes: Mutex<usize>,
    taken: Condvar,
}

/// A block's part of it, until its records are taken or nobody wants them.
#[derive(Debug)]
pub struct Share(Arc<UnderWay>, usize);

impl UnderWay {
    /// Waits until another block may be read. Whoever takes the records waits for none that is not under way already.
    pub fn wait(&self) {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let few = self.taken.wait_while(bytes, |bytes| *bytes >= MOST);
        drop(few.unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes a block of so many bytes.
    pub fn add(self: &Arc<Self>, bytes: usize) -> Share {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
        Share(Arc::clone(self), bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= self.1;
        self.0.taken.notify_one();
    }
}
