// In-place a[i] += 1 and a counter of calls: a pass that starts from anything but the snapshot shows in both.
#include "victim.h"

__device__ unsigned calls;

__global__ void increment(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
    if (i == 0) calls += 1;
}

int main() {
    const unsigned count = 1000;
    std::vector<unsigned> values(count);
    for (unsigned i = 0; i < count; ++i) values[i] = i;
    unsigned* device = to_device(values);
    increment<<<(count + 255) / 256, 256>>>(device, count);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> result = to_host(device, count);
    unsigned called = 0;
    CHECK(hipMemcpyFromSymbol(&called, HIP_SYMBOL(calls), sizeof called));
    printf("values[5] %u, checksum %08x, calls %u\n", result[5], checksum(result), called);
    for (unsigned i = 0; i < count; ++i) EXPECT(result[i] == i + 1, "values[%u] is %u", i, result[i]);
    EXPECT(called == 1, "%u calls", called);
    CHECK(hipFree(device));
    return 0;
}
