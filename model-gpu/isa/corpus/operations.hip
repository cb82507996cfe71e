// One operation on arrays of edge cases and random values, compiled for the host and for the device. As a host program it
// writes inputs and expected results; the model's results must have the same bytes. Compile with -ffp-contract=off.
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef _Float16 half;

#if defined(__HIP__) && defined(__HIP_DEVICE_COMPILE__)
#define OP(name, R, T, expr) \
    extern "C" __global__ void name(R *out, const T *pa, const T *pb, const T *pc) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; T a = pa[i], b = pb[i], c = pc[i]; out[i] = (R)(expr); }
#else
#define OP(name, R, T, expr) \
    static void name(R *out, const T *pa, const T *pb, const T *pc, int n) { \
        for (int i = 0; i < n; ++i) { T a = pa[i], b = pb[i], c = pc[i]; out[i] = (R)(expr); } } \
    static Register<R, T> register_##name(#name, name);
constexpr int N = 4096;
static uint64_t state = 88172645463325252ull;
static uint64_t next() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
static void put(const void *p, size_t n) { if (fwrite(p, 1, n, stdout) != n) exit(1); }
static void put32(uint32_t v) { put(&v, 4); }
static const uint64_t edges32[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0x807fffff, 0x80000001,
    0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f7fffff, 0x4b000000,
    0x4b800001, 0xcb000001, 0x7f7fffff, 0x00800001, 0x3f000000, 0x40490fdb, 0x5f000000, 0x4f000000, 0xcf000000, 0x4effffff, 0x33800000};
static const uint64_t edges64[] = {0, 1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x3ff0000000000000, 0xbff0000000000000,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0x4330000000000000,
    0x41dfffffffc00000, 0xc1e0000000000000, 0x43e0000000000000, 0xffffffff, 0x100000000, 0x3fdfffffffffffff, 0x3ff8000000000000, 0x8000000000000001};
static const uint64_t edges16[] = {0, 1, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x3ff, 0x400, 0x7bff, 0x3800, 0x6400, 0xffff, 0x7fff, 0x8001};
template <typename T> static void fill(T *p) {
    for (int i = 0; i < N; ++i) {
        uint64_t r = next(), v = next();
        const uint64_t *e = sizeof(T) == 8 ? edges64 : sizeof(T) == 4 ? edges32 : edges16;
        size_t count = sizeof(T) == 8 ? sizeof edges64 / 8 : sizeof(T) == 4 ? sizeof edges32 / 8 : sizeof edges16 / 8;
        if (r % 3 == 0) v = e[(r >> 8) % count];
        else if (r % 3 == 1) v = (r >> 8) % 200 - 100;
        if (r % 3 == 1 && (r >> 40) % 2) { T f = (T)((double)(int64_t)v * 0.37); memcpy(p + i, &f, sizeof(T)); }
        else memcpy(p + i, &v, sizeof(T));
    }
}
template <typename R, typename T> struct Register {
    Register(const char *name, void (*f)(R *, const T *, const T *, const T *, int)) {
        static T a[N], b[N], c[N]; static R out[N];
        fill(a); fill(b); fill(c); memset(out, 0, sizeof out); f(out, a, b, c, N);
        put32((uint32_t)strlen(name)); put(name, strlen(name)); put32(sizeof(T)); put32(sizeof(R)); put32(N);
        // 1: compare as bytes; 2, 4, 8: floats of that size, for which any NaN equals any other.
        put32(R(0.5) != R(0) ? sizeof(R) : 1);
        put(a, sizeof a); put(b, sizeof b); put(c, sizeof c); put(out, sizeof out);
    }
};
#endif

#define INTEGERS(T, U, S) \
    OP(add_##S, T, T, a + b) OP(sub_##S, T, T, a - b) OP(mul_##S, T, T, a * b) OP(mad_##S, T, T, a * b + c) \
    OP(div_##S, T, T, b == 0 || b == (T)-1 ? a : (T)(a / b)) OP(rem_##S, T, T, b == 0 || b == (T)-1 ? c : (T)(a % b)) \
    OP(and_##S, T, T, a & b) OP(or_##S, T, T, a | b) OP(xor_##S, T, T, a ^ b) OP(not_##S, T, T, ~a) OP(andn_##S, T, T, a & ~b) \
    OP(or3_##S, T, T, a | b | c) OP(andor_##S, T, T, (a & b) | c) OP(bfi_##S, T, T, (a & b) | (~a & c)) \
    OP(shl_##S, T, T, (U)a << (b & (sizeof(T) * 8 - 1))) OP(shr_##S, T, T, a >> (b & (sizeof(T) * 8 - 1))) \
    OP(shladd_##S, T, T, ((U)a << 3) + b) OP(lt_##S, int, T, a < b) OP(le_##S, int, T, a <= b) OP(eq_##S, int, T, a == b) \
    OP(ne_##S, int, T, a != b) OP(select_##S, T, T, a > b ? c : a) OP(min_##S, T, T, a < b ? a : b) OP(max_##S, T, T, a > b ? a : b) \
    OP(med_##S, T, T, (a < b ? a : b) > c ? (a < b ? a : b) : c) OP(neg_##S, T, T, -(U)a) OP(add3_##S, T, T, a + b + c) \
    OP(tofloat_##S, float, T, a) OP(todouble_##S, double, T, a) OP(bytesum_##S, int, T, (uint8_t)a + (uint8_t)(a >> 8) * 3 + (int8_t)b) \
    OP(bfe_##S, T, T, (a >> 3) & 0x1f) OP(absdiff_##S, T, T, a > b ? (U)a - (U)b : (U)b - (U)a) OP(xad_##S, T, T, (a ^ b) + c) OP(mulc_##S, T, T, a * 37 + 11)

INTEGERS(int8_t, uint8_t, i8) INTEGERS(uint8_t, uint8_t, u8) INTEGERS(int16_t, uint16_t, i16) INTEGERS(uint16_t, uint16_t, u16)
INTEGERS(int32_t, uint32_t, i32) INTEGERS(uint32_t, uint32_t, u32) INTEGERS(int64_t, uint64_t, i64) INTEGERS(uint64_t, uint64_t, u64)

OP(popc32, int, uint32_t, __builtin_popcount(a)) OP(popc64, int, uint64_t, __builtin_popcountll(a))
OP(clz32, int, uint32_t, a ? __builtin_clz(a) : 32) OP(clz64, int, uint64_t, a ? __builtin_clzll(a) : 64)
OP(ctz32, int, uint32_t, a ? __builtin_ctz(a) : 32) OP(ctz64, int, uint64_t, a ? __builtin_ctzll(a) : 64)
OP(rev32, uint32_t, uint32_t, __builtin_bitreverse32(a)) OP(rev64, uint64_t, uint64_t, __builtin_bitreverse64(a))
OP(swap32, uint32_t, uint32_t, __builtin_bswap32(a)) OP(swap64, uint64_t, uint64_t, __builtin_bswap64(a))
OP(rotl32, uint32_t, uint32_t, __builtin_rotateleft32(a, b)) OP(rotl64, uint64_t, uint64_t, __builtin_rotateleft64(a, b))
OP(umulh32, uint32_t, uint32_t, ((uint64_t)a * b) >> 32) OP(smulh32, int32_t, int32_t, ((int64_t)a * b) >> 32)
OP(umulh64, uint64_t, uint64_t, ((unsigned __int128)a * b) >> 64) OP(wide_mad, uint64_t, uint32_t, (uint64_t)a * b + c)
OP(wide_smad, int64_t, int32_t, (int64_t)a * b + c) OP(mul24, int32_t, int32_t, ((a << 8) >> 8) * ((b << 8) >> 8))
OP(umul24, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff) + c) OP(usat, uint32_t, uint32_t, __builtin_elementwise_add_sat(a, b))
OP(ssat, int32_t, int32_t, __builtin_elementwise_add_sat(a, b)) OP(ssubsat, int32_t, int32_t, __builtin_elementwise_sub_sat(a, b))
OP(usat16, uint16_t, uint16_t, (uint32_t)a + b > 0xffff ? 0xffff : a + b) OP(add128, uint64_t, uint64_t, (unsigned __int128)(((unsigned __int128)a << 64 | b) + ((unsigned __int128)c << 64 | a)) >> 64)
OP(sub128, uint64_t, uint64_t, (unsigned __int128)(((unsigned __int128)a << 64 | b) - ((unsigned __int128)c << 64 | a)) >> 64)

#define FLOATS(T, S, RTZ_SAFE) \
    OP(fadd_##S, T, T, a + b) OP(fsub_##S, T, T, a - b) OP(fmul_##S, T, T, a * b) OP(fdiv_##S, T, T, a / b) OP(fneg_##S, T, T, -a) \
    OP(fmul_add_##S, T, T, a * b + c) OP(fabs_##S, T, T, a < 0 ? -a : a) OP(flt_##S, int, T, a < b) OP(fle_##S, int, T, a <= b) \
    OP(feq_##S, int, T, a == b) OP(fne_##S, int, T, a != b) OP(fnlt_##S, int, T, !(a < b)) OP(fnge_##S, int, T, !(a >= b)) \
    OP(funo_##S, int, T, __builtin_isunordered(a, b)) OP(flg_##S, int, T, __builtin_islessgreater(a, b)) OP(fngt_##S, int, T, !(a > b)) \
    OP(fnle_##S, int, T, !(a <= b)) OP(ford_##S, int, T, !__builtin_isunordered(a, b)) OP(fselect_##S, T, T, a > b ? -c : a) \
    OP(frcp_##S, T, T, T(1) / a) OP(fhalf_##S, T, T, a * T(0.5) + T(2)) OP(fmulneg_##S, T, T, -a * b) OP(fsubabs_##S, T, T, a - (b < 0 ? -b : b)) \
    OP(ftoi32_##S, int32_t, T, a > T(-30000) && a < T(30000) ? (int32_t)a : 7) OP(ftou32_##S, uint32_t, T, a > T(-1) && a < T(60000) ? (uint32_t)a : 7) \
    OP(ftoi64_##S, int64_t, T, a > T(-30000) && a < T(30000) ? (int64_t)a : 7) OP(ftou64_##S, uint64_t, T, a > T(-1) && a < T(60000) ? (uint64_t)a : 7) \
    OP(tof32_##S, float, T, a) OP(tof64_##S, double, T, a) OP(tof16_##S, half, T, a) OP(fcopysign_##S, T, T, __builtin_elementwise_copysign(a, b))

FLOATS(float, f32, 1) FLOATS(double, f64, 1) FLOATS(half, f16, 1)
OP(ffma32, float, float, __builtin_fmaf(a, b, c)) OP(ffma64, double, double, __builtin_fma(a, b, c)) OP(ffms32, float, float, __builtin_fmaf(-a, b, -c))
OP(ffloor32, float, float, __builtin_floorf(a)) OP(fceil32, float, float, __builtin_ceilf(a)) OP(ftrunc32, float, float, __builtin_truncf(a)) OP(frint32, float, float, __builtin_rintf(a))
OP(ffloor64, double, double, __builtin_floor(a)) OP(fceil64, double, double, __builtin_ceil(a)) OP(ftrunc64, double, double, __builtin_trunc(a)) OP(frint64, double, double, __builtin_rint(a))
OP(fsqrt32, float, float, __builtin_sqrtf(a)) OP(fsqrt64, double, double, __builtin_sqrt(a))
OP(fcopysign32, float, float, __builtin_copysignf(a, b)) OP(fcopysign64, double, double, __builtin_copysign(a, b))

struct alignas(8) P2 { float x, y; };
typedef float v2f __attribute__((ext_vector_type(2))); typedef half v2h __attribute__((ext_vector_type(2))); typedef int16_t v2s __attribute__((ext_vector_type(2)));
typedef uint16_t v2u __attribute__((ext_vector_type(2)));
template <typename V, typename T> struct Bits { V v; };
static __attribute__((always_inline))
#ifdef __HIP__
__device__ __host__
#endif
inline uint64_t pk32(uint64_t a, uint64_t b, uint64_t c, int op) {
    v2f x, y, z, r; __builtin_memcpy(&x, &a, 8); __builtin_memcpy(&y, &b, 8); __builtin_memcpy(&z, &c, 8);
    r = op == 0 ? x + y : op == 1 ? x * y : op == 2 ? x * y + z : op == 3 ? x - y : x * 2.0f + z.yx;
    // A NaN's bits are the machine's choice.
    if (r.x != r.x) r.x = 1; if (r.y != r.y) r.y = 1; uint64_t o; __builtin_memcpy(&o, &r, 8); return o;
}
static __attribute__((always_inline))
#ifdef __HIP__
__device__ __host__
#endif
inline uint32_t pk16(uint32_t a, uint32_t b, uint32_t c, int op) {
    v2s x, y, z, r; v2u u, w, t; __builtin_memcpy(&x, &a, 4); __builtin_memcpy(&y, &b, 4); __builtin_memcpy(&z, &c, 4);
    __builtin_memcpy(&u, &a, 4); __builtin_memcpy(&w, &b, 4);
    r = op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y + z : op == 3 ? __builtin_elementwise_max(x, y) : op == 4 ? __builtin_elementwise_min(x, y)
      : op == 5 ? x << (y & 15) : op == 6 ? x >> (y & 15) : op == 7 ? __builtin_elementwise_add_sat(x, y) : x.yx + y;
    if (op == 9) { t = u >> (w & 15); __builtin_memcpy(&r, &t, 4); }
    if (op == 10) { t = __builtin_elementwise_max(u, w); __builtin_memcpy(&r, &t, 4); }
    uint32_t o; __builtin_memcpy(&o, &r, 4); return o;
}
OP(pkadd32, uint64_t, uint64_t, pk32(a, b, c, 0)) OP(pkmul32, uint64_t, uint64_t, pk32(a, b, c, 1)) OP(pkmad32, uint64_t, uint64_t, pk32(a, b, c, 2))
OP(pksub32, uint64_t, uint64_t, pk32(a, b, c, 3)) OP(pkconst32, uint64_t, uint64_t, pk32(a, b, c, 4))
OP(pkadd16, uint32_t, uint32_t, pk16(a, b, c, 0)) OP(pksub16, uint32_t, uint32_t, pk16(a, b, c, 1)) OP(pkmad16, uint32_t, uint32_t, pk16(a, b, c, 2))
OP(pkmax16, uint32_t, uint32_t, pk16(a, b, c, 3)) OP(pkmin16, uint32_t, uint32_t, pk16(a, b, c, 4)) OP(pkshl16, uint32_t, uint32_t, pk16(a, b, c, 5))
OP(pksar16, uint32_t, uint32_t, pk16(a, b, c, 6)) OP(pksat16, uint32_t, uint32_t, pk16(a, b, c, 7)) OP(pkswap16, uint32_t, uint32_t, pk16(a, b, c, 8))
OP(pkshr16, uint32_t, uint32_t, pk16(a, b, c, 9)) OP(pkumax16, uint32_t, uint32_t, pk16(a, b, c, 10))

static __attribute__((noinline))
#ifdef __HIP__
__device__ __host__
#endif
uint32_t collatz(uint32_t a, uint32_t depth) { return a <= 1 || depth == 0 ? depth : collatz(a & 1 ? 3 * a + 1 : a / 2, depth - 1); }
OP(recursion, uint32_t, uint32_t, collatz(a & 0xff, 40))
static
#ifdef __HIP__
__device__ __host__
#endif
uint32_t looped(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t s = a, t[17];
    for (uint32_t i = 0; i < 17; ++i) t[i] = a * i + c;
    for (uint32_t i = 0; i < (b & 31); ++i) {
        s = s * 1664525 + 1013904223; if (s & 0x1000) continue; if ((s >> 24) == 7) break;
        switch (s >> 29) { case 0: s ^= t[s % 17]; break; case 3: t[s % 17] += s; break; case 5: s -= c; break; default: s += i; }
    }
    return s + t[b % 17];
}
OP(looping, uint32_t, uint32_t, looped(a, b, c))

#if !(defined(__HIP__) && defined(__HIP_DEVICE_COMPILE__))
int main() { return 0; }
#endif
