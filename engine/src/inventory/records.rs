//! The records by address, and a number that tells whether they are still what they were.

use super::Record;
use crate::sync::{AtomicU64, Ordering, RwLock};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

type Map = BTreeMap<u64, Record>;

/// All of it that windows are told apart by changes under [`Records::write`] only: what there is, and whether it is captured.
#[derive(Debug, Default)]
pub(super) struct Records {
    map: RwLock<Map>,
    version: AtomicU64,
}

impl Records {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read()
    }

    pub(super) fn write(&self) -> Changing<'_> {
        Changing { map: self.map.write(), version: &self.version }
    }

    /// Another one after every change. Whoever reads it before the records has a number that the next change makes old.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

/// The records while they are being changed.
pub(super) struct Changing<'a> {
    map: RwLockWriteGuard<'a, Map>,
    version: &'a AtomicU64,
}

impl Deref for Changing<'_> {
    type Target = Map;

    fn deref(&self) -> &Map {
        &self.map
    }
}

impl DerefMut for Changing<'_> {
    fn deref_mut(&mut self) -> &mut Map {
        &mut self.map
    }
}

impl Drop for Changing<'_> {
    /// Before the lock is let go: whoever sees the change sees the number too.
    fn drop(&mut self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}
