// Memory that host and device share: managed memory and a managed variable, memory of the host that is mapped for the
// device, and memory of the program's own that is registered.
#include "victim.h"

__managed__ unsigned total;

__global__ void add(unsigned* values, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    values[i] += by;
    atomicAdd(&total, 1u);
}

int main() {
    const unsigned count = 500;
    unsigned* managed = nullptr;
    CHECK(hipMallocManaged(reinterpret_cast<void**>(&managed), count * sizeof(unsigned)));
    unsigned* mapped = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&mapped), count * sizeof(unsigned), hipHostMallocMapped));
    std::vector<unsigned> own(count);
    CHECK(hipHostRegister(own.data(), count * sizeof(unsigned), hipHostRegisterDefault));
    for (unsigned i = 0; i < count; ++i) {
        managed[i] = i;
        mapped[i] = 2 * i;
        own[i] = 3 * i;
    }
    total = 7;
    unsigned* device_mapped = nullptr;
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_mapped), mapped, 0));
    unsigned* device_own = nullptr;
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_own), own.data(), 0));
    for (unsigned round = 1; round <= 2; ++round) {
        add<<<4, 128>>>(managed, count, 100 * round);
        add<<<4, 128>>>(device_mapped, count, 10 * round);
        add<<<4, 128>>>(device_own, count, round);
        CHECK(hipDeviceSynchronize());
        // The host writes between two launches, and no copy is made.
        for (unsigned i = 0; i < count; ++i) managed[i] += 1;
    }
    printf("total %u, last %u %u %u\n", total, managed[count - 1], mapped[count - 1], own[count - 1]);
    EXPECT(total == 7 + 6 * count, "total %u", total);
    for (unsigned i = 0; i < count; ++i) {
        EXPECT(managed[i] == i + 302, "managed[%u] is %u", i, managed[i]);
        EXPECT(mapped[i] == 2 * i + 30, "mapped[%u] is %u", i, mapped[i]);
        EXPECT(own[i] == 3 * i + 3, "own[%u] is %u", i, own[i]);
    }
    CHECK(hipHostUnregister(own.data()));
    CHECK(hipHostFree(mapped));
    CHECK(hipFree(managed));
    return 0;
}
