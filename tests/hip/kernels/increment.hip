// Device code of the programs that use HSA without HIP.
#include <hip/hip_runtime.h>

extern "C" __global__ void increment(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
}

__device__ unsigned tallied;

extern "C" __global__ void tally(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
    if (i == 0) tallied += 1;
}
