// Host functions between kernels of a stream: each sees the work before it and none of that behind it.
#include "victim.h"

__global__ void add(unsigned* values, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

struct Seen {
    const unsigned* copy;
    unsigned value;
    unsigned order;
};

unsigned calls = 0;

void look(void* data) {
    Seen* seen = static_cast<Seen*>(data);
    seen->value = seen->copy[0];
    seen->order = ++calls;
}

int main() {
    const unsigned count = 300, rounds = 3;
    unsigned* device = to_device(std::vector<unsigned>(count, 0));
    unsigned* copies = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&copies), rounds * count * sizeof(unsigned), hipHostMallocDefault));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    Seen seen[rounds] = {};
    for (unsigned round = 0; round < rounds; ++round) {
        add<<<2, 192, 0, stream>>>(device, count, round + 1);
        unsigned* copy = copies + round * count;
        CHECK(hipMemcpyAsync(copy, device, count * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        seen[round].copy = copy;
        CHECK(hipLaunchHostFunc(stream, look, &seen[round]));
    }
    CHECK(hipStreamSynchronize(stream));
    unsigned expected = 0;
    for (unsigned round = 0; round < rounds; ++round) {
        expected += round + 1;
        printf("call %u saw %u\n", seen[round].order, seen[round].value);
        EXPECT(seen[round].order == round + 1 && seen[round].value == expected, "round %u", round);
    }
    CHECK(hipStreamDestroy(stream));
    CHECK(hipHostFree(copies));
    CHECK(hipFree(device));
    return 0;
}
