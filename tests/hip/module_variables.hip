// __device__ variables that the runtime lists under no name: static, in an anonymous namespace, local to a kernel.
#include "victim.h"

__device__ unsigned visible = 100;
static __device__ unsigned file_local = 200;

namespace {
__device__ unsigned unnamed = 300;
}

__global__ void count(unsigned* results) {
    static __device__ unsigned kernel_local;
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        results[0] = ++visible;
        results[1] = ++file_local;
        results[2] = ++unnamed;
        results[3] = ++kernel_local;
    }
}

int main() {
    unsigned* device = to_device(std::vector<unsigned>(4, 0));
    for (unsigned launch = 1; launch <= 3; ++launch) {
        count<<<1, 64>>>(device);
        CHECK(hipGetLastError());
        std::vector<unsigned> results = to_host(device, 4);
        printf("%u %u %u %u\n", results[0], results[1], results[2], results[3]);
        EXPECT(results[0] == 100 + launch && results[1] == 200 + launch && results[2] == 300 + launch &&
                   results[3] == launch,
               "launch %u", launch);
    }
    CHECK(hipFree(device));
    return 0;
}
