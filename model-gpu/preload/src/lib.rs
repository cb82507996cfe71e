//! Preloaded library that answers for the kernel driver and libdrm with the software GPU.
//!
//! `LD_PRELOAD=libmodel_gpu.so PROGRAM` gives an unmodified ROCm stack an AMD GPU: [`interpose`] catches the C library
//! calls through which the stack reaches the driver and passes everything else on; [`kfd`] answers the driver's ioctls,
//! [`drm`] libdrm's amdgpu calls, and [`sysfs`] the files that describe the device. The device itself is `model-gpu-core`.

mod drm;
mod interpose;
mod kfd;
mod product;
mod session;
mod settings;
mod sysfs;
