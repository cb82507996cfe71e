// Stream-ordered allocations, which newer HIP maps as virtual memory: kernels that add in place, so that a pass from memory
// that was not put back shows, also where no argument but a pointer in another allocation leads.
#include "victim.h"

__global__ void raise(unsigned* values, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

__global__ void raise_all(unsigned* const* rows, unsigned count) {
    rows[blockIdx.x][threadIdx.x % count] += blockIdx.x + 1;
}

int main() {
    const unsigned count = 3000;
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    unsigned* values = nullptr;
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&values), count * sizeof *values, stream));
    CHECK(hipMemsetAsync(values, 0, count * sizeof *values, stream));
    for (unsigned by = 1; by <= 3; ++by) raise<<<(count + 255) / 256, 256, 0, stream>>>(values, count, by);

    unsigned* rows[2];
    for (auto& row : rows) {
        CHECK(hipMallocAsync(reinterpret_cast<void**>(&row), 64 * sizeof *row, stream));
        CHECK(hipMemsetAsync(row, 0, 64 * sizeof *row, stream));
    }
    unsigned** table = to_device(std::vector<unsigned*>(rows, rows + 2));
    raise_all<<<2, 64, 0, stream>>>(table, 64);
    CHECK(hipGetLastError());
    CHECK(hipStreamSynchronize(stream));

    std::vector<unsigned> result = to_host(values, count);
    std::vector<unsigned> first = to_host(rows[0], 64), second = to_host(rows[1], 64);
    printf("values[7] %u, checksum %08x, rows %u %u\n", result[7], checksum(result), first[5], second[5]);
    for (unsigned i = 0; i < count; ++i) EXPECT(result[i] == 6, "values[%u] is %u", i, result[i]);
    for (unsigned i = 0; i < 64; ++i) EXPECT(first[i] == 1 && second[i] == 2, "%u: %u %u", i, first[i], second[i]);

    // Memory that goes back to the pool and comes out of it again.
    for (int round = 0; round < 2; ++round) {
        CHECK(hipFreeAsync(values, stream));
        CHECK(hipMallocAsync(reinterpret_cast<void**>(&values), count * sizeof *values, stream));
        CHECK(hipMemsetAsync(values, 0, count * sizeof *values, stream));
        raise<<<(count + 255) / 256, 256, 0, stream>>>(values, count, 9);
        CHECK(hipStreamSynchronize(stream));
        EXPECT(to_host(values, count)[count - 1] == 9, "after round %d", round);
    }
    CHECK(hipFreeAsync(values, stream));
    for (auto row : rows) CHECK(hipFreeAsync(row, stream));
    CHECK(hipFree(table));
    CHECK(hipStreamDestroy(stream));
    return 0;
}
