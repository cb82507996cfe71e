// Matrix products with matrix instructions, one product a wave, in every kind of number. All values are small integers, so
// every order of addition gives the same.
#include "victim.h"

using float4_t = __attribute__((ext_vector_type(4))) float;
using float16_t = __attribute__((ext_vector_type(16))) float;
using double4_t = __attribute__((ext_vector_type(4))) double;
using int4_t = __attribute__((ext_vector_type(4))) int;
using half4_t = __attribute__((ext_vector_type(4))) _Float16;
using short4_t = __attribute__((ext_vector_type(4))) short;

// The upper half of a float: exact for the small integers here.
__device__ short to_bfloat(int value) { return static_cast<short>(__float_as_uint(static_cast<float>(value)) >> 16); }

// Where element `i` of a lane's part of D lies in its 16 x 16, or 32 x 32, product.
__device__ int row16(int lane, int i) { return 4 * (lane / 16) + i; }
__device__ int row32(int lane, int i) { return 8 * (i / 4) + 4 * (lane / 32) + i % 4; }

// D = A B, with A of m rows and k columns, B of k rows and m columns, row by row.
__global__ void float_16(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    float4_t sum = {0, 0, 0, 0};
    for (int k = lane / 16; k < 16; k += 4)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(static_cast<float>(a[lane % 16 * 16 + k]), static_cast<float>(b[k * 16 + lane % 16]), sum, 0, 0, 0);
    for (int i = 0; i < 4; ++i) d[row16(lane, i) * 16 + lane % 16] = static_cast<int>(sum[i]);
}

__global__ void float_32(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    float16_t sum = {};
    for (int k = lane / 32; k < 16; k += 2)
        sum = __builtin_amdgcn_mfma_f32_32x32x2f32(static_cast<float>(a[lane % 32 * 16 + k]), static_cast<float>(b[k * 32 + lane % 32]), sum, 0, 0, 0);
    for (int i = 0; i < 16; ++i) d[row32(lane, i) * 32 + lane % 32] = static_cast<int>(sum[i]);
}

__global__ void half_16(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    half4_t left, right;
    for (int i = 0; i < 4; ++i) {
        int k = 4 * (lane / 16) + i;
        left[i] = static_cast<_Float16>(a[lane % 16 * 16 + k]);
        right[i] = static_cast<_Float16>(b[k * 16 + lane % 16]);
    }
    float4_t sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, float4_t{0, 0, 0, 0}, 0, 0, 0);
    for (int i = 0; i < 4; ++i) d[row16(lane, i) * 16 + lane % 16] = static_cast<int>(sum[i]);
}

__global__ void half_32(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    float16_t sum = {};
    for (int start = 0; start < 16; start += 8) {
        half4_t left, right;
        for (int i = 0; i < 4; ++i) {
            int k = start + 4 * (lane / 32) + i;
            left[i] = static_cast<_Float16>(a[lane % 32 * 16 + k]);
            right[i] = static_cast<_Float16>(b[k * 32 + lane % 32]);
        }
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(left, right, sum, 0, 0, 0);
    }
    for (int i = 0; i < 16; ++i) d[row32(lane, i) * 32 + lane % 32] = static_cast<int>(sum[i]);
}

__global__ void bfloat_16(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    short4_t left, right;
    for (int i = 0; i < 4; ++i) {
        int k = 4 * (lane / 16) + i;
        left[i] = to_bfloat(a[lane % 16 * 16 + k]);
        right[i] = to_bfloat(b[k * 16 + lane % 16]);
    }
    float4_t sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left, right, float4_t{0, 0, 0, 0}, 0, 0, 0);
    for (int i = 0; i < 4; ++i) d[row16(lane, i) * 16 + lane % 16] = static_cast<int>(sum[i]);
}

__global__ void double_16(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    double4_t sum = {0, 0, 0, 0};
    for (int k = lane / 16; k < 16; k += 4)
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(static_cast<double>(a[lane % 16 * 16 + k]), static_cast<double>(b[k * 16 + lane % 16]), sum, 0, 0, 0);
    // Doubles lie otherwise: four rows apart.
    for (int i = 0; i < 4; ++i) d[(lane / 16 + 4 * i) * 16 + lane % 16] = static_cast<int>(sum[i]);
}

// Bytes: the two targets have instructions of another depth.
__global__ void bytes_16(const int* a, const int* b, int* d) {
    int lane = threadIdx.x;
    int4_t sum = {0, 0, 0, 0};
#if defined(__gfx942__)
    union {
        signed char byte[8];
        long word;
    } left = {}, right = {};
    // The product is 16 deep, the instruction 32: the rest is zero.
    for (int i = 0; i < 8; ++i) {
        int k = 8 * (lane / 16) + i;
        left.byte[i] = static_cast<signed char>(k < 16 ? a[lane % 16 * 16 + k] : 0);
        right.byte[i] = static_cast<signed char>(k < 16 ? b[k * 16 + lane % 16] : 0);
    }
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(left.word, right.word, sum, 0, 0, 0);
#elif defined(__gfx90a__)
    union {
        signed char byte[4];
        int word;
    } left = {}, right = {};
    for (int i = 0; i < 4; ++i) {
        int k = 4 * (lane / 16) + i;
        left.byte[i] = static_cast<signed char>(a[lane % 16 * 16 + k]);
        right.byte[i] = static_cast<signed char>(b[k * 16 + lane % 16]);
    }
    sum = __builtin_amdgcn_mfma_i32_16x16x16i8(left.word, right.word, sum, 0, 0, 0);
#endif
    for (int i = 0; i < 4; ++i) d[row16(lane, i) * 16 + lane % 16] = sum[i];
}

void run(const char* name, void (*kernel)(const int*, const int*, int*), int m) {
    const int k = 16;
    std::vector<int> a(m * k), b(k * m), expected(m * m, 0);
    unsigned state = 14;
    for (int& value : a) value = static_cast<int>(next_random(state) % 17) - 8;
    for (int& value : b) value = static_cast<int>(next_random(state) % 17) - 8;
    for (int row = 0; row < m; ++row)
        for (int column = 0; column < m; ++column)
            for (int i = 0; i < k; ++i) expected[row * m + column] += a[row * k + i] * b[i * m + column];
    int* d = to_device(std::vector<int>(m * m, 1 << 30));
    kernel<<<1, 64>>>(to_device(a), to_device(b), d);
    CHECK(hipGetLastError());
    std::vector<int> result = to_host(d, m * m);
    printf("%s: checksum %08x\n", name, checksum(result));
    for (int i = 0; i < m * m; ++i) EXPECT(result[i] == expected[i], "%s: row %d, column %d is %d, not %d", name, i / m, i % m, result[i], expected[i]);
}

int main() {
    run("float, 16 x 16", float_16, 16);
    run("float, 32 x 32", float_32, 32);
    run("half, 16 x 16", half_16, 16);
    run("half, 32 x 32", half_32, 32);
    run("bfloat, 16 x 16", bfloat_16, 16);
    run("double, 16 x 16", double_16, 16);
    run("bytes, 16 x 16", bytes_16, 16);
    return 0;
}
