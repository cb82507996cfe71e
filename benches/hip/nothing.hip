// A kernel that does nothing, for benches/hsa/paths.cpp: compiled with --genco.
#include <hip/hip_runtime.h>

extern "C" __global__ void nothing() {}
