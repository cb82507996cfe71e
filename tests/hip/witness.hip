// Counts in host memory, which no replay restores, how often the kernel ran. The count goes to standard error, since it is
// the one thing that a replayed run may differ in. The address is in a variable, not an argument.
#include "victim.h"

__device__ unsigned* host_counter;

__global__ void increment(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
    if (i == 0) atomicAdd_system(host_counter, 1u);
}

__global__ void decrement(unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] -= 1;
    if (i == 0) atomicAdd_system(host_counter + 1, 1u);
}

int main() {
    const unsigned count = 100;
    unsigned* counter = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&counter), 2 * sizeof *counter, hipHostMallocMapped));
    counter[0] = counter[1] = 0;
    unsigned* mapped = nullptr;
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), counter, 0));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(host_counter), &mapped, sizeof mapped));
    unsigned* device = to_device(std::vector<unsigned>(count, 10));
    for (int launch = 0; launch < 3; ++launch) increment<<<1, 128>>>(device, count);
    for (int launch = 0; launch < 2; ++launch) decrement<<<1, 128>>>(device, count);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> result = to_host(device, count);
    printf("values[0] %u, checksum %08x\n", result[0], checksum(result));
    fprintf(stderr, "witness: increment ran %u times, decrement %u times\n", counter[0], counter[1]);
    for (unsigned i = 0; i < count; ++i) EXPECT(result[i] == 11, "values[%u] is %u", i, result[i]);
    CHECK(hipFree(device));
    CHECK(hipHostFree(counter));
    return 0;
}
