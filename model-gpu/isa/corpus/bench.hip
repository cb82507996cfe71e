// Four kinds of code for examples/bench.rs.
#include <hip/hip_runtime.h>

extern "C" __global__ void alu(float *o, const float *a, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x; float x = a[t], y = t, z = 1;
    for (int i = 0; i < n; ++i) { x = fmaf(x, 1.0001f, y); y = fmaf(y, 0.9999f, z); z = z * 1.00001f + x; x = x - y * 0.5f; }
    o[t] = x + y + z;
}
extern "C" __global__ void memory(float *o, const float *a, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
    for (int i = 0; i < n; ++i) s += a[(t + i * 4096) & 0xfffff];
    o[t] = s;
}
extern "C" __global__ void lds(float *o, const float *a, int n) {
    __shared__ float s[256]; int t = threadIdx.x; s[t] = a[t]; __syncthreads();
    for (int i = 0; i < n; ++i) { float v = s[(t + i) & 255]; __syncthreads(); s[t] = v + 1; __syncthreads(); }
    o[blockIdx.x * blockDim.x + t] = s[t];
}
extern "C" __global__ void divergent(float *o, const float *a, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x; unsigned x = t * 2654435761u;
    for (int i = 0; i < n; ++i) { if (x & 1) x = x * 3 + 1; else if (x & 2) x = x / 2 + i; else x ^= x >> 7; }
    o[t] = x;
}
