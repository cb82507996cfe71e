// Kernels and variables of every linkage; counts and offsets are asserted by the tests of this crate.
#include <hip/hip_runtime.h>

__device__ int counter = 7;
__device__ float table[64];
static __device__ unsigned hidden_counter;

namespace {
__device__ unsigned anonymous_counter;
}

struct Pair {
    int first;
    double second;
};

template <typename T>
__global__ void scale(T* data, const T* __restrict__ input, T by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = input[i] * by;
}
template __global__ void scale<float>(float*, const float* __restrict__, float, int);

__global__ void count(int* out, Pair pair) {
    __shared__ int tile[32];
    static __device__ int local_calls;
    tile[threadIdx.x & 31] = pair.first;
    __syncthreads();
    if (threadIdx.x == 0) {
        counter += 1;
        hidden_counter += 1;
        anonymous_counter += 2;
        local_calls += 1;
        table[blockIdx.x & 63] = static_cast<float>(pair.second);
        *out = tile[blockIdx.x & 31];
    }
}
