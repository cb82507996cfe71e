// LDS, scratch, atomics, calls, wide accesses.
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
#include <cstdint>

extern "C" __global__ void tile(float *out, const float *a, const float *b, int n) {
    __shared__ float x[16][17], y[16][16];
    int r = threadIdx.y, c = threadIdx.x;
    float acc = 0;
    for (int t = 0; t < n / 16; ++t) {
        x[r][c] = a[(blockIdx.y * 16 + r) * n + t * 16 + c];
        y[r][c] = b[(t * 16 + r) * n + blockIdx.x * 16 + c];
        __syncthreads();
        for (int k = 0; k < 16; ++k) acc += x[r][k] * y[k][c];
        __syncthreads();
    }
    out[(blockIdx.y * 16 + r) * n + blockIdx.x * 16 + c] = acc;
}

extern "C" __global__ void wide(uint4 *o, const uint4 *i, uint2 *o2, const uint2 *i2, uint3 *o3, const uint3 *i3) {
    extern __shared__ uint4 buf[];
    int t = threadIdx.x;
    buf[t] = i[t]; __syncthreads(); o[t] = buf[t ^ 1]; o2[t] = i2[t]; o3[t] = i3[t];
}

extern "C" __global__ void bytes(uint8_t *o, const int8_t *i, uint16_t *o2, const int16_t *i2) {
    __shared__ uint8_t sb[256]; __shared__ int16_t sh[256];
    int t = threadIdx.x;
    sb[t] = i[t]; sh[t] = i2[t]; __syncthreads(); o[t] = sb[255 - t] + sh[t]; o2[t] = sh[255 - t] + sb[t];
}

__device__ __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursion(int *o, int n) { o[threadIdx.x] = fib(n + (threadIdx.x & 3)); }

__device__ __attribute__((noinline)) int op0(int a, int b) { return a + b; }
__device__ __attribute__((noinline)) int op1(int a, int b) { return a - b; }
__device__ __attribute__((noinline)) int op2(int a, int b) { return a * b; }
extern "C" __global__ void pointers(int *o, int n) {
    int (*table[3])(int, int) = {op0, op1, op2};
    o[threadIdx.x] = table[(threadIdx.x + n) % 3](threadIdx.x, n);
}

extern "C" __global__ void scratch(int *o, int n) {
    int local[40]; long wide[9]; char small[33];
    for (int i = 0; i < 40; ++i) local[i] = i * n;
    for (int i = 0; i < 9; ++i) wide[i] = local[(i * 7 + n) % 40];
    for (int i = 0; i < 33; ++i) small[i] = wide[(i + n) % 9];
    o[threadIdx.x] = local[(n + threadIdx.x) % 40] + wide[threadIdx.x % 9] + small[(threadIdx.x + n) % 33];
}

extern "C" __global__ void indexed(float *o, const float *a, int n) {
    float v[12];
    for (int i = 0; i < 12; ++i) v[i] = a[threadIdx.x * 12 + i];
    v[n] += 3.0f; v[(n * 5) % 12] = v[(n + 1) % 12];
    float s = 0;
    for (int i = 0; i < 12; ++i) s += v[i] * i;
    o[threadIdx.x] = s + v[n];
}

template <typename T> __device__ void arith(T *p, T v) {
    atomicAdd(p, v); atomicExch(p, v); atomicCAS(p, v, (T)(v + 1));
}
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d, int *res) {
    __shared__ int si[4]; __shared__ unsigned su[4]; __shared__ unsigned long long sl[4]; __shared__ float sf[4]; __shared__ double sd[4];
    int t = threadIdx.x & 3;
    arith(i, t); arith(u, (unsigned)t); arith(l, (unsigned long long)t);
    arith(si + t, t); arith(su + t, (unsigned)t); arith(sl + t, (unsigned long long)t);
    int r = atomicSub(i, 3) + atomicMin(i, t) + atomicMax(i, t) + atomicAnd(i, t) + atomicOr(i, t) + atomicXor(i, t);
    r += atomicInc(u, 7) + atomicDec(u, 9) + atomicMin(u, 4u) + atomicMax(u, 5u);
    r += atomicSub(si, 3) + atomicMin(si, t) + atomicMax(si, t) + atomicAnd(si, t) + atomicOr(si, t) + atomicXor(si, t);
    r += atomicInc(su, 7) + atomicDec(su, 9) + atomicMin(su, 4u) + atomicMax(su, 5u);
    r += (int)(atomicMin(l, 4ull) + atomicMax(l, 5ull) + atomicAnd(l, 6ull) + atomicOr(l, 7ull) + atomicXor(l, 8ull));
    r += (int)(atomicMin(sl, 4ull) + atomicMax(sl, 5ull) + atomicAnd(sl, 6ull) + atomicOr(sl, 7ull) + atomicXor(sl, 8ull));
    atomicAdd(f, 1.5f); atomicAdd(d, 2.5); atomicAdd(sf + t, 1.5f); atomicAdd(sd + t, 2.5);
    unsafeAtomicAdd(f, 1.0f); unsafeAtomicAdd(d, 1.0);
    r += (int)atomicAdd(f, 1.0f);
    res[threadIdx.x] = r;
    __threadfence(); __threadfence_system(); __threadfence_block();
}

extern "C" __global__ void lanes(int *o, unsigned long long *m) {
    int t = threadIdx.x; int x = o[t];
    x += __shfl(x, 3) + __shfl_up(x, 1) + __shfl_down(x, 2) + __shfl_xor(x, 5);
    x += __any(x > 3) + __all(x < 100);
    m[t] = __ballot(x & 1) + __lane_id();
    if (t & 1) x += __popcll(__ballot(x > 7));
    for (int s = 32; s > 0; s >>= 1) x += __shfl_down(x, s);
    x += __builtin_amdgcn_mov_dpp(x, 0x111, 0xf, 0xf, true) + __builtin_amdgcn_update_dpp(x, t, 0x142, 0xa, 0xf, false);
    x += __builtin_amdgcn_ds_swizzle(x, 0x401f) + __builtin_amdgcn_readfirstlane(x) + __builtin_amdgcn_readlane(x, 5);
    x += __builtin_amdgcn_ds_permute(t * 4, x);
    o[t] = x;
}

extern "C" __global__ void clocks(unsigned long long *o) {
    o[0] = clock64(); o[1] = wall_clock64(); o[2] = __builtin_amdgcn_s_memtime(); o[3] = __builtin_amdgcn_s_getreg(0xf804);
    __builtin_amdgcn_s_sleep(1);
    if (o[0] == 1) __builtin_trap();
}

__device__ int counter; __constant__ int table[64];
extern "C" __global__ void variables(int *o) { static __device__ int hidden; hidden += table[threadIdx.x & 63]; o[0] = atomicAdd(&counter, 1) + hidden; }

extern "C" __global__ void flat(int *g, int n) {
    __shared__ int s[64]; int l[8] = {};
    int *p = n == 0 ? g : n == 1 ? s : l;
    p[threadIdx.x & 7] = n; __syncthreads(); atomicAdd(p, 1);
    g[threadIdx.x] = p[0] + ((char *)p)[1] + ((short *)p)[1] + (int)((long *)p)[1];
}
