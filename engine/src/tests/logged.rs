//! What the log says.

use super::rig::{COUNT, Rig};
use std::fmt::{Debug, Write};
use std::sync::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The warnings of all tests of this process.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps warnings; the worker that says them is a thread of its own.
struct Kept;

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        WARNINGS.lock().expect("no panic while listing").push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// No other test frees as many. Two restores skip them.
#[test]
fn memory_that_is_not_put_back_since_it_was_freed_is_said_once_a_window() {
    tracing::subscriber::set_global_default(Kept).expect("no other test takes the log");
    let rig = Rig::with(&[("CHECK", "0")]);
    let out = rig.allocate(64);
    let freed: Vec<u64> = (0..23).map(|_| rig.allocate(64)).collect();
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    freed.into_iter().for_each(|address| rig.free(address));
    rig.fake.release();
    queue.wait(counted);
    let record = rig.finish().0.remove(0);
    assert_eq!(record.restore.expect("put back").skipped, 2 * 23);
    let warnings = WARNINGS.lock().expect("no panic while listing");
    let said: Vec<_> = warnings.iter().filter(|line| line.starts_with("23 regions were freed")).collect();
    assert_eq!(said, ["23 regions were freed while count(int*, Pair) was replayed; they are not put back"]);
}
