// A kernel that asks the host to print: each line must appear once, however often the kernel runs.
#include "victim.h"

__global__ void speak(int* values) {
    values[threadIdx.x] += 1;
    if (threadIdx.x == 3) printf("thread %d has %d\n", static_cast<int>(threadIdx.x), values[3]);
}

int main() {
    int* device = to_device(std::vector<int>(64, 6));
    speak<<<1, 64>>>(device);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    std::vector<int> result = to_host(device, 64);
    printf("values[0] %d\n", result[0]);
    for (int value : result) EXPECT(value == 7, "a value is %d", value);
    CHECK(hipFree(device));
    return 0;
}
