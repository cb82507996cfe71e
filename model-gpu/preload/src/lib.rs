//! Preloaded library that answers for the kernel driver and libdrm with the software GPU.
