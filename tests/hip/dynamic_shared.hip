// Group memory whose size the launch decides, beside some of fixed size; up to all that a compute unit has.
#include "victim.h"

extern __shared__ unsigned dynamic[];

__global__ void turn(unsigned* values, unsigned count) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) dynamic[i] = values[blockIdx.x * count + i];
    __syncthreads();
    unsigned mine = 0;
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) mine += dynamic[i];
    atomicAdd(&sum, mine);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) values[blockIdx.x * count + i] = dynamic[count - 1 - i] + sum;
}

int main() {
    const unsigned groups = 2;
    for (unsigned count : {1u, 100u, 1000u, 4096u, 16000u}) {
        std::vector<unsigned> values(groups * count), expected(groups * count);
        unsigned state = count;
        for (unsigned& value : values) value = next_random(state);
        for (unsigned group = 0; group < groups; ++group) {
            unsigned sum = 0;
            for (unsigned i = 0; i < count; ++i) sum += values[group * count + i];
            for (unsigned i = 0; i < count; ++i) expected[group * count + i] = values[group * count + count - 1 - i] + sum;
        }
        unsigned* device = to_device(values);
        turn<<<groups, 256, count * sizeof(unsigned)>>>(device, count);
        CHECK(hipGetLastError());
        std::vector<unsigned> result = to_host(device, values.size());
        printf("%u words, checksum %08x\n", count, checksum(result));
        EXPECT(result == expected, "%u words", count);
        CHECK(hipFree(device));
    }
    return 0;
}
