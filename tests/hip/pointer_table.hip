// A __device__ array that the kernel reaches only through a __constant__ table of addresses: no argument leads to it.
#include "victim.h"

constexpr int rows = 4;
constexpr int columns = 16;

__device__ int cells[rows * columns];
__constant__ int* table[rows];

__global__ void accumulate(int by) {
    int* row = table[blockIdx.x];
    row[threadIdx.x] += by * (static_cast<int>(blockIdx.x) + 1);
}

int main() {
    int* base = nullptr;
    CHECK(hipGetSymbolAddress(reinterpret_cast<void**>(&base), HIP_SYMBOL(cells)));
    int* addresses[rows];
    for (int row = 0; row < rows; ++row) addresses[row] = base + row * columns;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), addresses, sizeof addresses));
    accumulate<<<rows, columns>>>(10);
    accumulate<<<rows, columns>>>(1);
    CHECK(hipGetLastError());
    std::vector<int> result(rows * columns);
    CHECK(hipMemcpyFromSymbol(result.data(), HIP_SYMBOL(cells), result.size() * sizeof(int)));
    printf("%d %d %d %d\n", result[0], result[columns], result[2 * columns], result[3 * columns]);
    for (int i = 0; i < rows * columns; ++i)
        EXPECT(result[i] == 11 * (i / columns + 1), "cells[%d] is %d", i, result[i]);
    return 0;
}
