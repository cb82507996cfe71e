// Two GPUs: copies between them, and kernels of each that work in the other's memory.
#include "victim.h"

__global__ void add(unsigned* to, const unsigned* from, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] + by;
}

int main() {
    const unsigned count = 1000, bytes = count * sizeof(unsigned);
    int devices = 0;
    CHECK(hipGetDeviceCount(&devices));
    EXPECT(devices == 2, "%d devices", devices);
    std::vector<unsigned> values(count);
    for (unsigned i = 0; i < count; ++i) values[i] = i * i;
    unsigned* memory[2];
    for (int device = 0; device < 2; ++device) {
        CHECK(hipSetDevice(device));
        memory[device] = to_device(device == 0 ? values : std::vector<unsigned>(count, 0));
        int can = 0;
        CHECK(hipDeviceCanAccessPeer(&can, device, 1 - device));
        EXPECT(can == 1, "device %d cannot reach the other", device);
    }
    // A copy without access of each other.
    CHECK(hipMemcpyPeer(memory[1], 1, memory[0], 0, bytes));
    EXPECT(to_host(memory[1], count) == values, "after a copy to the peer");
    // Work in the copy, on the device that has it.
    CHECK(hipSetDevice(1));
    add<<<4, 256>>>(memory[1], memory[1], count, 1);
    CHECK(hipDeviceSynchronize());
    // Each device in the other's memory.
    CHECK(hipDeviceEnablePeerAccess(0, 0));
    add<<<4, 256>>>(memory[0], memory[1], count, 10);
    CHECK(hipDeviceSynchronize());
    CHECK(hipSetDevice(0));
    CHECK(hipDeviceEnablePeerAccess(1, 0));
    add<<<4, 256>>>(memory[1], memory[0], count, 100);
    CHECK(hipDeviceSynchronize());
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    unsigned* again = to_device(std::vector<unsigned>(count, 0));
    CHECK(hipMemcpyPeerAsync(again, 0, memory[1], 1, bytes, stream));
    CHECK(hipStreamSynchronize(stream));
    std::vector<unsigned> result = to_host(again, count), first = to_host(memory[0], count);
    printf("last %u %u, checksum %08x\n", first.back(), result.back(), checksum(result));
    for (unsigned i = 0; i < count; ++i) {
        EXPECT(first[i] == values[i] + 11, "device 0: value %u is %u", i, first[i]);
        EXPECT(result[i] == values[i] + 111, "device 1: value %u is %u", i, result[i]);
    }
    return 0;
}
