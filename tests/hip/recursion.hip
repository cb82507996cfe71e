// Functions that call themselves, to another depth in each lane: the call stack is in private memory.
#include "victim.h"

__host__ __device__ __attribute__((noinline)) unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__host__ __device__ __attribute__((noinline)) unsigned odd_steps(unsigned n);

// Two functions that call each other.
__host__ __device__ __attribute__((noinline)) unsigned even_steps(unsigned n) { return n == 0 ? 1 : odd_steps(n - 1) * 3; }
__host__ __device__ __attribute__((noinline)) unsigned odd_steps(unsigned n) { return n == 0 ? 2 : even_steps(n - 1) + 5; }

__global__ void climb(unsigned* results, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) results[i] = fibonacci(i % 9) * 1000 + even_steps(i % 7);
}

int main() {
    const unsigned count = 200;
    unsigned* device = to_device(std::vector<unsigned>(count, 0));
    climb<<<2, 128>>>(device, count);
    CHECK(hipGetLastError());
    std::vector<unsigned> results = to_host(device, count);
    printf("last %u, checksum %08x\n", results.back(), checksum(results));
    for (unsigned i = 0; i < count; ++i) {
        unsigned expected = fibonacci(i % 9) * 1000 + even_steps(i % 7);
        EXPECT(results[i] == expected, "lane %u: %u, not %u", i, results[i], expected);
    }
    return 0;
}
