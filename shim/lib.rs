//! Drop-in `libhsa-runtime64.so.1`: exports every symbol of the HSA runtime and forwards each to the real one.
