// The device library's mathematics, printf, assert, and cooperative groups.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_cooperative_groups.h>
#include <cassert>
#include <cmath>

extern "C" __global__ void math32(float *o, float x, float y) {
    float r = sinf(x) + cosf(y) + tanf(x) + asinf(x) + acosf(y) + atanf(x) + atan2f(x, y) + sinhf(x) + coshf(y) + tanhf(x);
    r += expf(x) + exp2f(y) + exp10f(x) + logf(x) + log2f(y) + log10f(x) + log1pf(y) + expm1f(x) + powf(x, y) + sqrtf(x);
    r += rsqrtf(y) + cbrtf(x) + hypotf(x, y) + fmodf(x, y) + remainderf(x, y) + erff(x) + erfcf(y) + tgammaf(x) + lgammaf(y);
    r += floorf(x) + ceilf(y) + truncf(x) + roundf(y) + rintf(x) + nearbyintf(y) + fabsf(x) + copysignf(x, y) + fdimf(x, y);
    r += fmaxf(x, y) + fminf(x, y) + fmaf(x, y, r) + ldexpf(x, 3) + j0f(x) + y1f(y) + normcdff(x) + sinpif(x) + cospif(y);
    int e; r += frexpf(x, &e) + e + ilogbf(y) + logbf(x) + scalbnf(x, e) + nextafterf(x, y) + __fdividef(x, y) + __sinf(x);
    r += __expf(x) + __logf(y) + __powf(x, y) + lrintf(x) + llroundf(y) + (isnan(x) ? 1 : 0) + (isinf(y) ? 1 : 0) + signbit(x);
    o[threadIdx.x] = r;
}

extern "C" __global__ void math64(double *o, double x, double y) {
    double r = sin(x) + cos(y) + tan(x) + asin(x) + acos(y) + atan(x) + atan2(x, y) + sinh(x) + cosh(y) + tanh(x);
    r += exp(x) + exp2(y) + exp10(x) + log(x) + log2(y) + log10(x) + log1p(y) + expm1(x) + pow(x, y) + sqrt(x);
    r += rsqrt(y) + cbrt(x) + hypot(x, y) + fmod(x, y) + remainder(x, y) + erf(x) + erfc(y) + tgamma(x) + lgamma(y);
    r += floor(x) + ceil(y) + trunc(x) + round(y) + rint(x) + fabs(x) + copysign(x, y) + fmax(x, y) + fmin(x, y) + fma(x, y, r);
    int e; r += frexp(x, &e) + e + ilogb(y) + ldexp(x, e) + nextafter(x, y) + j0(x) + sinpi(x) + (isnan(x) ? 1 : 0) + x / y;
    o[threadIdx.x] = r;
}

extern "C" __global__ void math16(__half *o, __half x, __half y) {
    __half r = __hadd(x, y); r = __hfma(x, y, r); r = __hadd(r, hsin(x)); r = __hadd(r, hcos(y)); r = __hadd(r, hexp(x));
    r = __hadd(r, hlog(y)); r = __hadd(r, hsqrt(x)); r = __hadd(r, hrsqrt(y)); r = __hadd(r, hrcp(x)); r = __hadd(r, hfloor(y));
    r = __hadd(r, hceil(x)); r = __hadd(r, htrunc(y)); r = __hadd(r, hrint(x)); r = __hdiv(r, y); r = __hmul(r, hexp2(x));
    if (__hgt(r, x)) r = __hneg(r); if (__hisnan(r)) r = x; o[threadIdx.x] = __hsub(r, hlog2(y));
    o[threadIdx.x + 64] = __float2half(__half2float(x) * 3) ; o[threadIdx.x + 128] = __int2half_rn(threadIdx.x);
}

extern "C" __global__ void prints(int n, double d, const char *s) {
    if (threadIdx.x == 0) printf("%d %f %s\n", n, d, s);
    assert(n > 0);
}

extern "C" __global__ void groups(int *o) {
    namespace cg = cooperative_groups;
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int x = o[block.thread_rank()];
    for (int i = 8; i > 0; i /= 2) x += tile.shfl_down(x, i);
    block.sync();
    cg::this_grid().sync();
    o[block.thread_rank()] = x + cg::this_grid().thread_rank();
}

extern "C" __global__ void intrinsics(float *f, int *i, unsigned *u) {
    int t = threadIdx.x; float a = f[t], b = f[t + 64], c = f[t + 128];
    a = __builtin_amdgcn_fmed3f(a, b, c) + __builtin_amdgcn_rcpf(a) + __builtin_amdgcn_fractf(b) + __builtin_amdgcn_cubeid(a, b, c);
    a += __builtin_amdgcn_frexp_mantf(a) + __builtin_amdgcn_frexp_expf(b) + __builtin_amdgcn_ldexpf(a, t) + (__builtin_amdgcn_classf(a, 0x1f) ? 1 : 0);
    a += __builtin_amdgcn_sinf(a) + __builtin_amdgcn_cosf(b);
    unsigned x = u[t], y = u[t + 64], z = u[t + 128];
    x = __builtin_amdgcn_perm(x, y, z) + __builtin_amdgcn_alignbit(x, y, z) + __builtin_amdgcn_alignbyte(x, y, z) + __builtin_amdgcn_ubfe(x, y, z);
    x += __builtin_amdgcn_sbfe(x, y, z) + __builtin_amdgcn_sad_u8(x, y, z) + __builtin_amdgcn_msad_u8(x, y, z) + __builtin_amdgcn_lerp(x, y, z);
    x += __builtin_amdgcn_mbcnt_lo(x, y) + __builtin_amdgcn_mbcnt_hi(x, y) + __builtin_amdgcn_sad_u16(x, y, z);
    x += __builtin_amdgcn_sdot4(x, y, z, false) + __builtin_amdgcn_udot4(x, y, z, true) + __builtin_amdgcn_sdot8(x, y, z, false) + __builtin_amdgcn_udot8(x, y, z, false);
    u[t] = x; f[t] = a; i[t] = __builtin_amdgcn_cvt_pk_i16(t, t + 1)[0];
}
