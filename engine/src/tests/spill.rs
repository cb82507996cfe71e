//! The disk tier's file: full, cut short, or closed by the application.

#![allow(unsafe_code, reason = "takes a descriptor away, as a program that closes them all does")]

use super::rig::Rig;
use crate::copy::Mover;
use crate::fake::{Fake, GPU};
use crate::inventory::{Region, RegionKind};
use crate::runtime::Runtime;
use crate::store::{DiskStore, Plan, Store, Trouble};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One region of the agent, saved in a file.
fn on_disk(rig: &Rig, file: std::fs::File) -> (DiskStore, Plan) {
    let base = rig.allocate(10_000);
    let region = Region::new(RegionKind::Allocation, base, 10_000, GPU);
    let plan = Plan::new(vec![Arc::new(region)]);
    let runtime: Arc<dyn Runtime> = Arc::<Fake>::clone(&rig.fake);
    let mut store = DiskStore::with_file(runtime, std::env::temp_dir(), file);
    assert_eq!(store.reserve(plan.bytes), Ok(()));
    (store, plan)
}

fn mover(rig: &Rig) -> Mover<'_> {
    Mover::new(&rig.engine.process, GPU, Instant::now() + Duration::from_secs(30))
}

#[test]
fn a_disk_that_is_full_is_found_and_named() {
    let rig = Rig::new();
    let full = std::fs::OpenOptions::new().read(true).write(true).open("/dev/full").expect("a device");
    let (mut store, plan) = on_disk(&rig, full);
    let named = Trouble::Failed("the file on disk: No space left on device (os error 28)".to_owned());
    assert_eq!(store.save(&plan, &mover(&rig)), Err(named));
    drop(store);
    rig.finish();
}

#[test]
fn what_cannot_be_read_back_from_disk_is_not_written_to_memory() {
    let rig = Rig::new();
    let file = tempfile::tempfile().expect("a file");
    let (mut store, plan) = on_disk(&rig, file.try_clone().expect("the same file"));
    assert_eq!(store.save(&plan, &mover(&rig)), Ok(()));
    let parts = [(0, 64..9_000)];
    let back = store.write_back(&plan, &parts, &mover(&rig));
    assert_eq!((back.bytes, &back.failed[..]), (8_936, &[][..]));
    file.set_len(100).expect("cut");
    assert!(matches!(store.bytes(&plan, 0, &mover(&rig)), Err(Trouble::Failed(_))));
    let back = store.write_back(&plan, &parts, &mover(&rig));
    assert_eq!((back.bytes, &back.failed[..], back.stuck), (0, &parts[..], false));
    drop(store);
    rig.finish();
}

#[test]
fn a_file_of_the_applications_that_got_our_descriptor_is_neither_written_nor_closed() {
    let rig = Rig::new();
    let (mut store, plan) = on_disk(&rig, tempfile::tempfile().expect("a file"));
    assert_eq!(store.save(&plan, &mover(&rig)), Ok(()));
    let number = store.descriptor().expect("is open");
    let theirs = tempfile::tempfile().expect("a file");
    theirs.write_all_at(b"theirs", 0).expect("written");
    // SAFETY: the number is open. From here on it belongs to this, as if the application had closed ours and opened its own.
    let mut taken = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::dup2(&theirs, &mut taken).expect("replaced");

    let closed = "the file on disk: the program closed its descriptor".to_owned();
    assert_eq!(store.save(&plan, &mover(&rig)), Err(Trouble::Failed(closed.clone())));
    let parts = [(0, 64..9_000)];
    let back = store.write_back(&plan, &parts, &mover(&rig));
    assert_eq!((back.bytes, &back.failed[..], back.stuck), (0, &parts[..], false));
    assert_eq!(store.bytes(&plan, 0, &mover(&rig)).err(), Some(Trouble::Failed(closed)));
    // The next window has a file of its own, although the one before was as large.
    assert_eq!(store.reserve(plan.bytes), Ok(()));
    assert_eq!(store.save(&plan, &mover(&rig)), Ok(()));
    assert_ne!(store.descriptor(), Some(number));
    drop(store);

    assert_eq!(theirs.metadata().expect("there").len(), 6, "nothing was written to it");
    // SAFETY: only looked at, while `taken` has it.
    let still = unsafe { BorrowedFd::borrow_raw(number) };
    assert!(rustix::io::fcntl_getfd(still).is_ok(), "it is still open");
    drop(taken);
    rig.finish();
}

#[test]
fn the_descriptor_is_out_of_the_applications_way() {
    let rig = Rig::new();
    let (store, _) = on_disk(&rig, tempfile::tempfile().expect("a file"));
    assert!(store.descriptor() >= Some(480), "{:?}", store.descriptor());
    drop(store);
    rig.finish();
}
