// Sums by shuffles within waves, group memory between waves, and one atomic per group.
#include "victim.h"

__global__ void sum(const unsigned* values, unsigned count, unsigned long long* total) {
    __shared__ unsigned long long waves[16];
    unsigned long long mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += values[i];
    for (int distance = warpSize / 2; distance > 0; distance /= 2) mine += __shfl_down(mine, distance);
    if (threadIdx.x % warpSize == 0) waves[threadIdx.x / warpSize] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long group = 0;
        for (unsigned wave = 0; wave < blockDim.x / warpSize; ++wave) group += waves[wave];
        atomicAdd(total, group);
    }
}

int main() {
    const unsigned count = 10007;
    std::vector<unsigned> values(count);
    unsigned long long expected = 0;
    unsigned state = 11;
    for (unsigned& value : values) {
        value = next_random(state);
        expected += value;
    }
    unsigned* device = to_device(values);
    unsigned long long* total = to_device(std::vector<unsigned long long>(1, 0));
    sum<<<5, 256>>>(device, count, total);
    CHECK(hipGetLastError());
    unsigned long long result = to_host(total, 1)[0];
    printf("total %llu\n", result);
    EXPECT(result == expected, "total %llu, not %llu", result, expected);
    CHECK(hipFree(device));
    CHECK(hipFree(total));
    return 0;
}
