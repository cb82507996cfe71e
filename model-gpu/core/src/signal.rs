//! Signals: the words in the program's memory through which packets complete and wait (`amd_signal_t`).

use core::sync::atomic::Ordering;

use crate::events::Events;
use crate::memory::{Access, Fault, View};

/// Byte offsets in `amd_signal_t` (amd_hsa_signal.h).
mod offset {
    pub const VALUE: u64 = 8;
    pub const MAILBOX: u64 = 16;
    pub const EVENT: u64 = 24;
    pub const START: u64 = 32;
    pub const END: u64 = 40;
}

/// What an event mailbox holds while nothing happened (the driver's UNSIGNALED_EVENT_SLOT).
pub const EMPTY_MAILBOX: u64 = u64::MAX;

/// A signal of the program, by its handle; the null handle stands for no signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(pub u64);

impl Signal {
    /// Whether this is the null handle.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The value.
    ///
    /// # Errors
    /// The handle points to memory that the device cannot reach.
    pub fn value(self, view: &View<'_>) -> Result<i64, Fault> {
        Ok(view.load::<u64>(self.0.wrapping_add(offset::VALUE))?.cast_signed())
    }

    /// Completes: writes start and end ticks if given, takes one off the value, then tells whoever sleeps.
    ///
    /// # Errors
    /// The handle points to memory that the device cannot reach.
    pub fn complete(self, view: &View<'_>, events: &Events, ticks: Option<(u64, u64)>) -> Result<(), Fault> {
        if self.is_null() {
            return Ok(());
        }
        if let Some((start, end)) = ticks {
            view.store(self.0.wrapping_add(offset::START), start)?;
            view.store(self.0.wrapping_add(offset::END), end)?;
        }
        // The program may destroy the signal as soon as it sees the new value: read the rest before.
        let event = self.event(view)?;
        let at = self.0.wrapping_add(offset::VALUE);
        let span = view.span(at, 8, Access::Write)?;
        match span.atomic_u64(0) {
            // Pairs with the program's acquire load: whatever the packet wrote is visible with the new value.
            Some(value) => {
                value.fetch_sub(1, Ordering::SeqCst);
            }
            None => span.store(0, span.load::<u64>(0).wrapping_sub(1)),
        }
        event.raise(view, events)
    }

    /// Sets the value, then tells whoever sleeps. Only for signals whose program expects the device to write them.
    ///
    /// # Errors
    /// The handle points to memory that the device cannot reach.
    pub fn store(self, view: &View<'_>, events: &Events, value: i64) -> Result<(), Fault> {
        let event = self.event(view)?;
        view.store(self.0.wrapping_add(offset::VALUE), value.cast_unsigned())?;
        event.raise(view, events)
    }

    fn event(self, view: &View<'_>) -> Result<Wake, Fault> {
        Ok(Wake {
            mailbox: view.load(self.0.wrapping_add(offset::MAILBOX))?,
            event: view.load(self.0.wrapping_add(offset::EVENT))?,
        })
    }
}

/// How a signal wakes its sleepers.
#[derive(Clone, Copy, Debug)]
struct Wake {
    mailbox: u64,
    event: u32,
}

impl Wake {
    fn raise(self, view: &View<'_>, events: &Events) -> Result<(), Fault> {
        if self.event == 0 {
            return Ok(());
        }
        if self.mailbox != 0 {
            view.store(self.mailbox, u64::from(self.event))?;
        }
        // Before the event is set: a wave that writes the mailbox from then on is not to be overwritten.
        if self.mailbox != 0 {
            view.store(self.mailbox, EMPTY_MAILBOX)?;
        }
        // A program may destroy the event while its last signal is on the way; the driver ignores that too.
        let _ = events.set(self.event);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Kind, Want};
    use crate::testing::Bench;
    use core::time::Duration;

    #[test]
    fn completion_writes_ticks_then_value_then_event() {
        let bench = Bench::new();
        let event = bench.machine.events.create(Kind::Signal, true).expect("slot");
        let signal = bench.signal(3);
        let view = bench.view();
        let mailbox = bench.take(8);
        view.store(signal.0 + 16, mailbox).expect("mapped");
        view.store(signal.0 + 24, event).expect("mapped");
        signal.complete(&view, &bench.machine.events, Some((5, 9))).expect("mapped");
        assert_eq!(signal.value(&view), Ok(2));
        assert_eq!((view.load::<u64>(signal.0 + 32), view.load::<u64>(signal.0 + 40)), (Ok(5), Ok(9)));
        let want = [Want { id: event, age: 0 }];
        assert!(bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists").1);
        assert_eq!(view.load::<u64>(mailbox), Ok(EMPTY_MAILBOX));
    }

    #[test]
    fn the_null_signal_completes_silently_and_a_wild_one_faults() {
        let bench = Bench::new();
        let view = bench.view();
        assert_eq!(Signal(0).complete(&view, &bench.machine.events, None), Ok(()));
        assert!(Signal(0x10).complete(&view, &bench.machine.events, None).is_err());
    }
}
