// Integer and floating-point arithmetic of every width, control flow, and conversions.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>

template <typename T> __device__ T mix(T a, T b, T c) {
    T r = a + b * c;
    r = r - a / (b | 1);
    r ^= a % (c | 1);
    r = (r << (b & 7)) | (r >> (c & 7));
    if (a > b) r += c; else if (a == c) r -= b; else r = ~r;
    return r < c ? r & a : r | b;
}

#define INT_KERNEL(name, T) \
    extern "C" __global__ void name(T *out, const T *a, const T *b, const T *c, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) out[i] = mix<T>(a[i], b[i], c[i]); \
    }
INT_KERNEL(int8, int8_t) INT_KERNEL(uint8, uint8_t) INT_KERNEL(int16, int16_t) INT_KERNEL(uint16, uint16_t)
INT_KERNEL(int32, int32_t) INT_KERNEL(uint32, uint32_t) INT_KERNEL(int64, int64_t) INT_KERNEL(uint64, uint64_t)

template <typename T> __device__ T fmix(T a, T b, T c) {
    T r = a * b + c;
    r = r / b - a;
    if (r < c) r = -r;
    if (!(a >= b)) r += T(2.5);
    if (r != r) r = T(1);
    return r > T(4) ? r * T(0.5) : r - c;
}

#define FLOAT_KERNEL(name, T) \
    extern "C" __global__ void name(T *out, const T *a, const T *b, const T *c, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) out[i] = fmix<T>(a[i], b[i], c[i]); \
    }
FLOAT_KERNEL(float16, _Float16) FLOAT_KERNEL(float32, float) FLOAT_KERNEL(float64, double)

extern "C" __global__ void conversions(double *d, float *f, long *l, int *i, _Float16 *h, unsigned char *c, short *s) {
    int t = threadIdx.x;
    d[t] = f[t]; f[t] = h[t]; h[t] = (_Float16)d[t]; l[t] = (long)f[t]; i[t] = (int)d[t]; c[t] = (unsigned char)f[t];
    s[t] = (short)h[t]; d[t] += l[t]; f[t] += i[t]; h[t] += s[t]; f[t] += c[t]; d[t] += (unsigned)i[t];
    l[t] += (unsigned long)d[t]; f[t] += (float)(unsigned long)l[t]; h[t] += (_Float16)(unsigned short)s[t];
}

extern "C" __global__ void bits(unsigned *u, unsigned long *ul) {
    int t = threadIdx.x;
    unsigned x = u[t]; unsigned long y = ul[t];
    x = __popc(x) + __clz(x) + __ffs(x) + __brev(x) + __byte_perm(x, x + 1, 0x3210);
    y = __popcll(y) + __clzll(y) + __ffsll((unsigned long long)y) + __brevll(y);
    u[t] = __umulhi(x, 77) + __mul24((int)x, 3) + __umul24(x, 5) + __sad((int)x, 7, 9u) + __funnelshift_l(x, 5, 7);
    ul[t] = __umul64hi(y, 12345678901ul) + (y >> (x & 63)) + (y << (x & 31)) + ((long)y >> 3);
}

extern "C" __global__ void __launch_bounds__(256) loops(float *a, int n) {
    float acc = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (a[i] < 0) continue;
        if (a[i] > 100) break;
        switch (i & 3) { case 0: acc += a[i]; break; case 1: acc -= a[i]; break; case 2: acc *= 1.5f; break; default: acc = fmaf(acc, a[i], 1); }
    }
    a[threadIdx.x] = acc;
}

typedef float float2v __attribute__((ext_vector_type(2)));
typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef short short2v __attribute__((ext_vector_type(2)));
extern "C" __global__ void packed(float2v *f, half2v *h, short2v *s) {
    int t = threadIdx.x;
    f[t] = f[t] * f[t + 64] + f[t + 128]; f[t] += f[t + 1]; f[t] *= 2.0f;
    h[t] = h[t] * h[t + 64] + h[t + 128]; h[t] += h[t + 1]; h[t] = __builtin_elementwise_max(h[t], h[t + 2]);
    h[t] = __builtin_elementwise_min(h[t], -h[t + 3]);
    s[t] = s[t] * s[t + 64] + s[t + 128]; s[t] -= s[t + 1]; s[t] <<= 3; s[t] >>= s[t + 2]; s[t] = __builtin_elementwise_max(s[t], s[t + 3]);
}
