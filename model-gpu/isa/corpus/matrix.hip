// Matrix instructions.
#include <hip/hip_runtime.h>
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));
typedef short s2 __attribute__((ext_vector_type(2)));

extern "C" __global__ void singles(f4 *a, f16v *b, f32v *c, const float *x) {
    int t = threadIdx.x;
    a[t] = __builtin_amdgcn_mfma_f32_16x16x4f32(x[t], x[t + 64], a[t], 0, 0, 0);
    a[t] = __builtin_amdgcn_mfma_f32_4x4x1f32(x[t], x[t + 64], a[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_f32_32x32x2f32(x[t], x[t + 64], b[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_f32_16x16x1f32(x[t], x[t + 64], b[t], 0, 0, 0);
    c[t] = __builtin_amdgcn_mfma_f32_32x32x1f32(x[t], x[t + 64], c[t], 0, 0, 0);
}
extern "C" __global__ void halves(f4 *a, f16v *b, const h4 *x, const s4 *y) {
    int t = threadIdx.x;
    a[t] = __builtin_amdgcn_mfma_f32_16x16x16f16(x[t], x[t + 64], a[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_f32_32x32x8f16(x[t], x[t + 64], b[t], 0, 0, 0);
    a[t] = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(y[t], y[t + 64], a[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(y[t], y[t + 64], b[t], 0, 0, 0);
}
extern "C" __global__ void others(d4 *d, const double *x, i4 *a, i16v *b, const long *y, f4 *f, double *e) {
    int t = threadIdx.x;
    d[t] = __builtin_amdgcn_mfma_f64_16x16x4f64(x[t], x[t + 64], d[t], 0, 0, 0);
    e[t] = __builtin_amdgcn_mfma_f64_4x4x4f64(x[t], x[t + 64], e[t], 0, 0, 0);
#ifndef __gfx90a__
    a[t] = __builtin_amdgcn_mfma_i32_16x16x32_i8(y[t], y[t + 64], a[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_i32_32x32x16_i8(y[t], y[t + 64], b[t], 0, 0, 0);
    f[t] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(y[t], y[t + 64], f[t], 0, 0, 0);
    f[t] = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(y[t], y[t + 64], f[t], 0, 0, 0);
#endif
}
#ifdef __gfx90a__
extern "C" __global__ void small(f4 *a, f16v *b, f32v *c, const s2 *x, i4 *d, i16v *e, const int *y) {
    int t = threadIdx.x;
    a[t] = __builtin_amdgcn_mfma_f32_16x16x8bf16(x[t], x[t + 64], a[t], 0, 0, 0);
    a[t] = __builtin_amdgcn_mfma_f32_4x4x2bf16(x[t], x[t + 64], a[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_f32_32x32x4bf16(x[t], x[t + 64], b[t], 0, 0, 0);
    b[t] = __builtin_amdgcn_mfma_f32_16x16x2bf16(x[t], x[t + 64], b[t], 0, 0, 0);
    c[t] = __builtin_amdgcn_mfma_f32_32x32x2bf16(x[t], x[t + 64], c[t], 0, 0, 0);
    d[t] = __builtin_amdgcn_mfma_i32_16x16x16i8(y[t], y[t + 64], d[t], 0, 0, 0);
    e[t] = __builtin_amdgcn_mfma_i32_32x32x8i8(y[t], y[t + 64], e[t], 0, 0, 0);
}
#endif
