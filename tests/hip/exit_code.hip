// Ends with a code of its own, from a thread that is not the first one and with work still in flight.
#include "victim.h"

#include <thread>

__global__ void increment(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
}

int main() {
    const unsigned count = 128;
    unsigned* device = to_device(std::vector<unsigned>(count, 1));
    increment<<<1, count>>>(device, count);
    CHECK(hipGetLastError());
    std::vector<unsigned> result = to_host(device, count);
    printf("values[0] %u\n", result[0]);
    fflush(stdout);
    increment<<<1, count>>>(device, count);
    std::thread([] { exit(3); }).join();
}
