// Memory that comes and goes in the order of a stream.
#include "victim.h"

__global__ void fill(unsigned* values, unsigned count, unsigned seed) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = i * seed;
}

__global__ void add(unsigned* sums, const unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sums[i] += values[i];
}

int main() {
    const unsigned count = 5000, bytes = count * sizeof(unsigned);
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    unsigned* sums = nullptr;
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&sums), bytes, stream));
    CHECK(hipMemsetAsync(sums, 0, bytes, stream));
    for (unsigned round = 1; round <= 4; ++round) {
        unsigned* values = nullptr;
        CHECK(hipMallocAsync(reinterpret_cast<void**>(&values), bytes, stream));
        fill<<<(count + 127) / 128, 128, 0, stream>>>(values, count, round);
        add<<<(count + 127) / 128, 128, 0, stream>>>(sums, values, count);
        CHECK(hipFreeAsync(values, stream));
    }
    std::vector<unsigned> result(count);
    CHECK(hipMemcpyAsync(result.data(), sums, bytes, hipMemcpyDeviceToHost, stream));
    CHECK(hipFreeAsync(sums, stream));
    CHECK(hipStreamSynchronize(stream));
    printf("last %u, checksum %08x\n", result.back(), checksum(result));
    for (unsigned i = 0; i < count; ++i) EXPECT(result[i] == i * 10, "sum %u is %u", i, result[i]);
    return 0;
}
