// What the device says is free stays so over a kernel, and can be had.
#include "victim.h"

__global__ void mark(unsigned* words, unsigned value) { words[threadIdx.x * 1000] = value; }

size_t free_memory() {
    size_t free = 0, total = 0;
    CHECK(hipMemGetInfo(&free, &total));
    return free;
}

int main() {
    const size_t MiB = 1 << 20, bytes = 24 * MiB;
    unsigned* words = nullptr;
    CHECK(hipMalloc(reinterpret_cast<void**>(&words), bytes));
    CHECK(hipMemset(words, 0, bytes));
    // The first launch may take memory for the code.
    mark<<<1, 64>>>(words, 1);
    CHECK(hipDeviceSynchronize());
    const size_t before = free_memory();
    mark<<<1, 64>>>(words, 2);
    CHECK(hipDeviceSynchronize());
    const size_t after = free_memory();
    EXPECT(before == after, "%zu bytes were free before a kernel and %zu after it", before, after);
    // One allocation cannot have all of it.
    void* rest[4];
    for (void*& part : rest) CHECK(hipMalloc(&part, (after - 8 * MiB) / 4));
    for (void* part : rest) CHECK(hipFree(part));
    printf("%zu MiB are free, checksum %08x\n", after / MiB, checksum(to_host(words, 100000)));
    CHECK(hipFree(words));
    return 0;
}
