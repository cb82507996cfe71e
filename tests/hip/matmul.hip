// Tiled matrix multiplication in group memory; sizes are no multiple of the tile.
#include "victim.h"

constexpr int tile = 16;

__global__ void multiply(const float* a, const float* b, float* c, int rows, int inner, int columns) {
    __shared__ float left[tile][tile];
    __shared__ float right[tile][tile + 1];
    int row = blockIdx.y * tile + threadIdx.y;
    int column = blockIdx.x * tile + threadIdx.x;
    float sum = 0.0f;
    for (int step = 0; step < inner; step += tile) {
        int k = step + threadIdx.x;
        int l = step + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0.0f;
        right[threadIdx.y][threadIdx.x] = l < inner && column < columns ? b[l * columns + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < tile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

int main() {
    const int rows = 37, inner = 29, columns = 41;
    std::vector<float> a(rows * inner), b(inner * columns);
    unsigned state = 3;
    // Small integers: every order of summation gives the same floats.
    for (float& value : a) value = static_cast<float>(static_cast<int>(next_random(state) % 17) - 8);
    for (float& value : b) value = static_cast<float>(static_cast<int>(next_random(state) % 17) - 8);
    float* device_a = to_device(a);
    float* device_b = to_device(b);
    float* device_c = to_device(std::vector<float>(rows * columns, -1.0f));
    dim3 grid((columns + tile - 1) / tile, (rows + tile - 1) / tile);
    multiply<<<grid, dim3(tile, tile)>>>(device_a, device_b, device_c, rows, inner, columns);
    CHECK(hipGetLastError());
    std::vector<float> c = to_host(device_c, rows * columns);
    printf("c[0] %g, c[last] %g, checksum %08x\n", c[0], c.back(), checksum(c));
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
            float expected = 0.0f;
            for (int i = 0; i < inner; ++i) expected += a[row * inner + i] * b[i * columns + column];
            float value = c[row * columns + column];
            EXPECT(value == expected, "c[%d][%d] is %g, not %g", row, column, value, expected);
        }
    CHECK(hipFree(device_a));
    CHECK(hipFree(device_b));
    CHECK(hipFree(device_c));
    return 0;
}
