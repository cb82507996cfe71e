// A kernel that reads everything and writes nothing; its only store would need a value that is not there.
#include "victim.h"

__global__ void search(const unsigned* values, unsigned count, unsigned wanted, unsigned* found) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        if (values[i] == wanted) *found = i;
}

int main() {
    const unsigned count = 3000;
    std::vector<unsigned> values(count);
    for (unsigned i = 0; i < count; ++i) values[i] = 2 * i;
    unsigned* device = to_device(values);
    unsigned* found = to_device(std::vector<unsigned>(1, 0xffffffffu));
    search<<<3, 256>>>(device, count, 1001, found);
    CHECK(hipGetLastError());
    std::vector<unsigned> result = to_host(found, 1);
    printf("found %x, checksum %08x\n", result[0], checksum(to_host(device, count)));
    EXPECT(result[0] == 0xffffffffu, "found at %u", result[0]);
    CHECK(hipFree(device));
    CHECK(hipFree(found));
    return 0;
}
