// Vectors of odd sizes around those of waves, groups and pages, each changed in place; none of them touches its neighbours.
#include "victim.h"

__global__ void negate(int* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = ~values[i];
}

int main() {
    const unsigned sizes[] = {0, 1, 2, 31, 63, 64, 65, 127, 255, 256, 257, 1000, 1023, 1025, 4097};
    const unsigned guard = 16;
    for (unsigned size : sizes) {
        std::vector<int> values(size + 2 * guard);
        for (unsigned i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 2654435761u);
        int* device = to_device(values);
        // A grid must not be empty: for no elements one group runs and finds nothing to do.
        negate<<<size / 256 + 1, 256>>>(device + guard, size);
        CHECK(hipGetLastError());
        std::vector<int> result = to_host(device, values.size());
        for (unsigned i = 0; i < values.size(); ++i) {
            bool inside = i >= guard && i < guard + size;
            EXPECT(result[i] == (inside ? ~values[i] : values[i]), "size %u, element %u is %d", size, i, result[i]);
        }
        printf("size %u, checksum %08x\n", size, checksum(result));
        CHECK(hipFree(device));
    }
    return 0;
}
