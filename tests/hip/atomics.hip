// Atomics of every kind and type, in device memory and in group memory. Threads of all groups hit the same words; what
// they leave does not depend on their order.
#include "victim.h"

constexpr unsigned threads = 192, groups = 3, kinds = 12;

template <typename T>
__device__ void hit(T* words, unsigned i) {
    T value = static_cast<T>(i * 37 % 1001);
    atomicAdd(&words[0], value);
    atomicMin(&words[1], value);
    atomicMax(&words[2], value);
    atomicAnd(&words[3], static_cast<T>(~(static_cast<T>(1) << (i % 20))));
    atomicOr(&words[4], static_cast<T>(static_cast<T>(1) << (i % 30)));
    atomicXor(&words[5], static_cast<T>(value * 0x10001));
    // A lock-free maximum of squares with compare and swap.
    T seen = words[6], assumed;
    do {
        assumed = seen;
        T wanted = static_cast<T>(value * value);
        if (assumed >= wanted) break;
        seen = atomicCAS(&words[6], assumed, wanted);
    } while (seen != assumed);
    // Every value goes in once, and comes out once: what went in is what came out and what is left.
    T before = atomicExch(&words[7], static_cast<T>(i + 1));
    atomicAdd(&words[8], before);
    atomicAdd(&words[9], static_cast<T>(-1));
}

// Words that only unsigned numbers of 32 bits have: counters that wrap around.
__device__ void wrap(unsigned* words) {
    atomicInc(&words[10], 6u);
    atomicDec(&words[11], 9u);
}
template <typename T>
__device__ void wrap(T*) {}

template <typename T>
__global__ void global_memory(T* words) {
    hit(words, blockIdx.x * threads + threadIdx.x);
    wrap(words);
}

template <typename T>
__global__ void group_memory(const T* start, T* results) {
    __shared__ T words[kinds];
    if (threadIdx.x < kinds) words[threadIdx.x] = start[threadIdx.x];
    __syncthreads();
    hit(words, blockIdx.x * threads + threadIdx.x);
    wrap(words);
    __syncthreads();
    if (threadIdx.x < kinds) results[blockIdx.x * kinds + threadIdx.x] = words[threadIdx.x];
}

template <typename T>
struct Is32 {
    static constexpr bool value = false;
};
template <>
struct Is32<unsigned> {
    static constexpr bool value = true;
};

template <typename T>
std::vector<T> start() {
    return {5, 2000, 1, static_cast<T>(~static_cast<T>(0)), 0, 1, 0, 0, 0, 10000, 0, 3};
}

// What the threads from `first` on leave.
template <typename T>
std::vector<T> expected(unsigned first, unsigned count) {
    std::vector<T> words = start<T>();
    T put = 0;
    for (unsigned i = first; i < first + count; ++i) {
        T value = static_cast<T>(i * 37 % 1001);
        words[0] += value;
        words[1] = std::min(words[1], value);
        words[2] = std::max(words[2], value);
        words[3] &= static_cast<T>(~(static_cast<T>(1) << (i % 20)));
        words[4] |= static_cast<T>(static_cast<T>(1) << (i % 30));
        words[5] ^= static_cast<T>(value * 0x10001);
        words[6] = std::max(words[6], static_cast<T>(value * value));
        put += static_cast<T>(i + 1);
        words[9] -= 1;
        if (Is32<T>::value) {
            words[10] = words[10] >= 6 ? 0 : words[10] + 1;
            words[11] = words[11] == 0 || words[11] > 9 ? 9 : words[11] - 1;
        }
    }
    // The last value that went in depends on the order; together with what came out it does not.
    words[7] = 0;
    words[8] = put;
    return words;
}

template <typename T>
void compare(const char* what, std::vector<T> found, const std::vector<T>& wanted) {
    found[8] += found[7];
    found[7] = 0;
    for (unsigned i = 0; i < kinds; ++i) EXPECT(found[i] == wanted[i], "%s, word %u is %lld, not %lld", what, i, static_cast<long long>(found[i]), static_cast<long long>(wanted[i]));
    printf("%s: checksum %08x\n", what, checksum(found));
}

template <typename T>
void run(const char* name) {
    T* words = to_device(start<T>());
    global_memory<T><<<groups, threads>>>(words);
    CHECK(hipGetLastError());
    compare(name, to_host(words, kinds), expected<T>(0, groups * threads));
    T* results = to_device(std::vector<T>(groups * kinds));
    group_memory<T><<<groups, threads>>>(to_device(start<T>()), results);
    CHECK(hipGetLastError());
    std::vector<T> all = to_host(results, groups * kinds);
    for (unsigned group = 0; group < groups; ++group)
        compare(name, std::vector<T>(all.begin() + group * kinds, all.begin() + (group + 1) * kinds), expected<T>(group * threads, threads));
}

// Sums of floating-point numbers that are exact in every order.
template <typename T>
__global__ void add_all(T* words) {
    __shared__ T local;
    T value = static_cast<T>(threadIdx.x % 8) * static_cast<T>(0.25);
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    atomicAdd(&words[0], value);
    atomicAdd(&local, value);
    __syncthreads();
    if (threadIdx.x == 0) words[1 + blockIdx.x] = local;
}

template <typename T>
void run_floating(const char* name) {
    T* words = to_device(std::vector<T>(1 + groups, 0));
    add_all<T><<<groups, threads>>>(words);
    CHECK(hipGetLastError());
    std::vector<T> found = to_host(words, 1 + groups);
    T group = threads / 8 * static_cast<T>(7);
    printf("%s: %g\n", name, static_cast<double>(found[0]));
    EXPECT(found[0] == groups * group, "%s in device memory: %g", name, static_cast<double>(found[0]));
    for (unsigned i = 0; i < groups; ++i) EXPECT(found[1 + i] == group, "%s in group memory: %g", name, static_cast<double>(found[1 + i]));
}

int main() {
    run<int>("int");
    run<unsigned>("unsigned");
    run<unsigned long long>("unsigned long long");
    run_floating<float>("float");
    run_floating<double>("double");
    return 0;
}
