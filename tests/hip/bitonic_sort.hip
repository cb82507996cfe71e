// Bitonic sort in place, one launch a step: each launch depends on the one before.
#include "victim.h"

#include <algorithm>

__global__ void exchange(unsigned* values, unsigned block, unsigned distance) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned partner = i ^ distance;
    if (partner <= i) return;
    bool ascending = (i & block) == 0;
    unsigned a = values[i], b = values[partner];
    if ((a > b) == ascending) {
        values[i] = b;
        values[partner] = a;
    }
}

int main() {
    const unsigned count = 512;
    std::vector<unsigned> values(count);
    unsigned state = 5;
    for (unsigned& value : values) value = next_random(state);
    unsigned* device = to_device(values);
    unsigned launches = 0;
    for (unsigned block = 2; block <= count; block *= 2)
        for (unsigned distance = block / 2; distance > 0; distance /= 2, ++launches)
            exchange<<<count / 128, 128>>>(device, block, distance);
    CHECK(hipGetLastError());
    std::vector<unsigned> result = to_host(device, count);
    printf("%u launches, smallest %u, largest %u, checksum %08x\n", launches, result[0], result.back(), checksum(result));
    std::sort(values.begin(), values.end());
    EXPECT(result == values, "not sorted");
    CHECK(hipFree(device));
    return 0;
}
