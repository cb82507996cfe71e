// Launches until somebody ends it. After the tenth launch it says its process number, so that the end can come in the
// middle of the work.
#include "victim.h"

#include <unistd.h>

__global__ void increment(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
}

int main() {
    const unsigned count = 256;
    unsigned* device = to_device(std::vector<unsigned>(count, 0));
    for (unsigned launch = 1;; ++launch) {
        increment<<<1, count>>>(device, count);
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
        if (launch == 10) {
            printf("pid %d\n", static_cast<int>(getpid()));
            fflush(stdout);
        }
    }
}
