// Heat on a plate: a five-point stencil over tiles with a halo in group memory, several steps between two buffers. Products
// and sums are not contracted, so the host computes the same bits.
#include "victim.h"

#include <utility>

#pragma clang fp contract(off)

constexpr int tile = 16;

__host__ __device__ float relax(float centre, float north, float south, float west, float east) {
    return centre + 0.2f * (north + south + west + east - 4.0f * centre);
}

__global__ void step(const float* from, float* to, int width, int height) {
    __shared__ float cells[tile + 2][tile + 2];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    // The tile with its halo, 18 by 18 cells by 256 threads; the plate's edge repeats itself.
    for (unsigned cell = threadIdx.y * tile + threadIdx.x; cell < (tile + 2) * (tile + 2); cell += tile * tile) {
        int column = static_cast<int>(cell % (tile + 2)), row = static_cast<int>(cell / (tile + 2));
        int at_x = min(max(static_cast<int>(blockIdx.x) * tile + column - 1, 0), width - 1);
        int at_y = min(max(static_cast<int>(blockIdx.y) * tile + row - 1, 0), height - 1);
        cells[row][column] = from[at_y * width + at_x];
    }
    __syncthreads();
    if (x >= width || y >= height) return;
    int column = threadIdx.x + 1, row = threadIdx.y + 1;
    to[y * width + x] = relax(cells[row][column], cells[row - 1][column], cells[row + 1][column], cells[row][column - 1], cells[row][column + 1]);
}

int main() {
    const int width = 50, height = 37, steps = 5;
    std::vector<float> cells(width * height);
    unsigned state = 3;
    for (float& cell : cells) cell = static_cast<float>(next_random(state) % 1000) / 7.0f;
    float* from = to_device(cells);
    float* to = to_device(cells);
    for (int i = 0; i < steps; ++i) {
        step<<<dim3((width + tile - 1) / tile, (height + tile - 1) / tile), dim3(tile, tile)>>>(from, to, width, height);
        std::swap(from, to);
    }
    CHECK(hipGetLastError());
    std::vector<float> result = to_host(from, cells.size());
    for (int i = 0; i < steps; ++i) {
        std::vector<float> next(cells.size());
        auto at = [&](int x, int y) { return cells[std::min(std::max(y, 0), height - 1) * width + std::min(std::max(x, 0), width - 1)]; };
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                next[y * width + x] = relax(at(x, y), at(x, y - 1), at(x, y + 1), at(x - 1, y), at(x + 1, y));
        cells = next;
    }
    printf("corner %a, centre %a, checksum %08x\n", result[0], result[18 * width + 25], checksum(result));
    for (size_t i = 0; i < cells.size(); ++i) EXPECT(result[i] == cells[i], "cell %zu is %a, not %a", i, result[i], cells[i]);
    return 0;
}
