// An assertion that holds for all but one thread: the program is told which, and ends as on a GPU.
#undef NDEBUG
#include "victim.h"

#include <cassert>

__global__ void demand(const int* values, int limit) {
    int value = values[threadIdx.x];
    assert(value < limit);
}

int main() {
    std::vector<int> values(64);
    for (int i = 0; i < 64; ++i) values[i] = i;
    int* device = to_device(values);
    demand<<<1, 64>>>(device, 64);
    CHECK(hipDeviceSynchronize());
    puts("the first launch holds");
    fflush(stdout);
    demand<<<1, 64>>>(device, 63);
    hipError_t status = hipDeviceSynchronize();
    // Some releases end the program before this, others answer with an error.
    if (status != hipSuccess) abort();
    puts("the second launch has not failed");
    return 0;
}
