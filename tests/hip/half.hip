// Arithmetic in half precision, scalar and in pairs, and in bfloat16: the host computes the same bits.
#include "victim.h"

#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>

#include <cstring>

#pragma clang fp contract(off)

using Half = _Float16;
using Pair = __attribute__((ext_vector_type(2))) _Float16;

constexpr int results = 8;

template <typename T>
unsigned short bits_of(T value) {
    unsigned short bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

__host__ __device__ inline Half compute(Half a, Half b, int which) {
    switch (which) {
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a / b;
        case 4: return static_cast<Half>(static_cast<float>(a) * 1.5f);
        case 5: return static_cast<Half>(static_cast<int>(a) % 7);
        case 6: return a < b ? a : b;
        default: return -a;
    }
}

__global__ void scalars(const Half* a, const Half* b, Half* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    for (int which = 0; which < results; ++which) out[i * results + which] = compute(a[i], b[i], which);
}

__global__ void pairs(const Pair* a, const Pair* b, Pair* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = a[i] * b[i] - a[i];
}

__global__ void intrinsics(const __half2* a, const __half2* b, __half2* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = i % 2 == 0 ? __hmul2(a[i], b[i]) : __hadd2(a[i], b[i]);
}

__global__ void bfloats(const float* a, const float* b, hip_bfloat16* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = hip_bfloat16(a[i]) * hip_bfloat16(b[i]) + hip_bfloat16(b[i]);
}

int main() {
    const int count = 256;
    std::vector<Half> a(count), b(count);
    std::vector<float> wide_a(count), wide_b(count);
    unsigned state = 41;
    for (int i = 0; i < count; ++i) {
        wide_a[i] = (static_cast<float>(next_random(state) % 20000) - 10000) / 64.0f;
        wide_b[i] = (static_cast<float>(next_random(state) % 2000) + 1) / 1024.0f;
        a[i] = static_cast<Half>(wide_a[i]);
        b[i] = static_cast<Half>(wide_b[i]);
    }
    // Neighbours of zero and of the largest number.
    a[0] = static_cast<Half>(6.1e-5f);
    b[0] = static_cast<Half>(0.3f);
    a[1] = static_cast<Half>(65504.0f);
    b[1] = static_cast<Half>(2.0f);
    a[2] = static_cast<Half>(5.97e-8f);
    b[2] = static_cast<Half>(0.5f);
    Half* out = to_device(std::vector<Half>(count * results));
    Half* device_a = to_device(a);
    Half* device_b = to_device(b);
    scalars<<<2, 128>>>(device_a, device_b, out, count);
    CHECK(hipGetLastError());
    std::vector<Half> found = to_host(out, count * results);
    for (int i = 0; i < count; ++i)
        for (int which = 0; which < results; ++which) {
            // The number beyond the integers has no place in the fifth.
            unsigned short bits = bits_of(found[i * results + which]), expected = bits_of(compute(a[i], b[i], which));
            EXPECT(bits == expected, "number %d, operation %d: %04x, not %04x", i, which, bits, expected);
        }
    Pair* paired = to_device(std::vector<Pair>(count / 2));
    pairs<<<1, count / 2>>>(reinterpret_cast<Pair*>(device_a), reinterpret_cast<Pair*>(device_b), paired, count / 2);
    CHECK(hipGetLastError());
    std::vector<Pair> found_pairs = to_host(paired, count / 2);
    __half2* added = reinterpret_cast<__half2*>(paired);
    intrinsics<<<1, count / 2>>>(reinterpret_cast<__half2*>(device_a), reinterpret_cast<__half2*>(device_b), added, count / 2);
    CHECK(hipGetLastError());
    std::vector<Pair> found_added = to_host(paired, count / 2);
    for (int i = 0; i < count; ++i) {
        Half product = a[i] * b[i];
        unsigned short bits = bits_of(found_pairs[i / 2][i % 2]), expected = bits_of(static_cast<Half>(product - a[i]));
        EXPECT(bits == expected, "pair %d: %04x, not %04x", i / 2, bits, expected);
        bits = bits_of(found_added[i / 2][i % 2]), expected = bits_of(i / 2 % 2 == 0 ? product : static_cast<Half>(a[i] + b[i]));
        EXPECT(bits == expected, "intrinsics of pair %d: %04x, not %04x", i / 2, bits, expected);
    }
    hip_bfloat16* short_out = to_device(std::vector<hip_bfloat16>(count));
    bfloats<<<2, 128>>>(to_device(wide_a), to_device(wide_b), short_out, count);
    CHECK(hipGetLastError());
    std::vector<hip_bfloat16> shorts = to_host(short_out, count);
    for (int i = 0; i < count; ++i) {
        hip_bfloat16 expected = hip_bfloat16(wide_a[i]) * hip_bfloat16(wide_b[i]) + hip_bfloat16(wide_b[i]);
        EXPECT(shorts[i].data == expected.data, "bfloat %d: %04x, not %04x", i, shorts[i].data, expected.data);
    }
    printf("checksums %08x %08x\n", checksum(found), checksum(shorts));
    return 0;
}
