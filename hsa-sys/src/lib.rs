//! Raw bindings to the HSA runtime interface.
