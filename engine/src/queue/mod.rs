//! Software queues: what the application sees in place of each hardware queue.
//!
//! * [`soft_queue`]: the queue object with its virtual indices, and how threads share the forwarding;
//! * [`hand_over`]: which thread forwards;
//! * [`forward`]: which packets go on to the hardware, in order, and where forwarding stops;
//! * [`candidate`]: a dispatch that waits for its window;
//! * [`barrier`]: how a window drains the queue;
//! * [`dependency`]: which packets wait in software;
//! * [`hardware`]: the hardware ring, of which this engine is the only producer;
//! * [`select`]: which dispatches are candidates for a window.

mod barrier;
mod candidate;
mod dependency;
mod forward;
mod hand_over;
mod hardware;
mod select;
mod soft_queue;

pub(crate) use barrier::{Barrier, Stuck};
pub(crate) use candidate::{Candidate, Stage};
pub(crate) use forward::{Forwarder, Stop};
pub(crate) use soft_queue::SoftQueue;
