// How long each point of the plane stays: lanes of a wave leave their loop at different times.
#include "victim.h"

#pragma clang fp contract(off)

constexpr int width = 64, height = 40, most = 120;

template <typename T>
__host__ __device__ unsigned steps(int column, int row) {
    T cx = static_cast<T>(column) * static_cast<T>(3.0 / width) - static_cast<T>(2.25);
    T cy = static_cast<T>(row) * static_cast<T>(2.5 / height) - static_cast<T>(1.25);
    T x = 0, y = 0;
    unsigned count = 0;
    while (count < most) {
        T xx = x * x, yy = y * y;
        if (xx + yy > static_cast<T>(4)) break;
        y = static_cast<T>(2) * x * y + cy;
        x = xx - yy + cx;
        ++count;
    }
    return count;
}

template <typename T>
__global__ void render(unsigned* image) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) image[row * width + column] = steps<T>(column, row);
}

template <typename T>
void run(const char* name) {
    unsigned* device = to_device(std::vector<unsigned>(width * height, ~0u));
    render<T><<<dim3(width / 16, height / 8), dim3(16, 8)>>>(device);
    CHECK(hipGetLastError());
    std::vector<unsigned> image = to_host(device, width * height);
    unsigned inside = 0;
    for (unsigned value : image) inside += value == most;
    printf("%s: %u points stay, checksum %08x\n", name, inside, checksum(image));
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < width; ++column) {
            unsigned found = image[row * width + column];
            EXPECT(found == steps<T>(column, row), "%s: point %d, %d: %u steps", name, column, row, found);
        }
    EXPECT(inside > 100 && inside < width * height / 2, "%u points stay", inside);
    CHECK(hipFree(device));
}

int main() {
    run<float>("float");
    run<double>("double");
    return 0;
}
