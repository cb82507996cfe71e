// y = a * x + y in place, four times, each launch on the result of the one before. All values are small integers, so the
// arithmetic is exact.
#include "victim.h"

__global__ void saxpy(float* y, const float* x, float a, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = a * x[i] + y[i];
}

int main() {
    const int count = 777;
    std::vector<float> x(count), y(count);
    for (int i = 0; i < count; ++i) {
        x[i] = static_cast<float>(i + 1);
        y[i] = 1.0f;
    }
    float* device_x = to_device(x);
    float* device_y = to_device(y);
    for (int launch = 0; launch < 4; ++launch) {
        saxpy<<<(count + 63) / 64, 64>>>(device_y, device_x, 2.0f, count);
        CHECK(hipGetLastError());
    }
    std::vector<float> result = to_host(device_y, count);
    printf("y[0] %g, y[%d] %g, checksum %08x\n", result[0], count - 1, result[count - 1], checksum(result));
    for (int i = 0; i < count; ++i) EXPECT(result[i] == 1.0f + 8.0f * x[i], "y[%d] is %g", i, result[i]);
    std::vector<float> untouched = to_host(device_x, count);
    EXPECT(untouched == x, "x has changed");
    CHECK(hipFree(device_x));
    CHECK(hipFree(device_y));
    return 0;
}
