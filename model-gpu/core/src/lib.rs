//! A software gfx942: memory, queues, signals, events, clocks and dispatch.
