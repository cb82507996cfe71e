//! The engine on the simulated runtime: what an application and a reader of the report see.

mod arguments;
mod barriers;
mod concurrency;
mod cooperative;
mod copies;
mod deadlines;
mod dependencies;
mod draining;
mod dumps;
mod endless;
mod enqueued;
mod failures;
mod foreign;
mod forwarding;
mod going;
mod hostcall;
mod hung_copies;
mod life;
mod passes;
mod records;
mod rig;
mod snapshots;
mod spill;
mod tiers;
mod tool;
mod untracked;
