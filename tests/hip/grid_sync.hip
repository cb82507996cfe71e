// A cooperative launch: all groups meet three times, and each reads what another wrote before the meeting.
#include "victim.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void rotate(unsigned* cells, unsigned* other, unsigned count) {
    cg::grid_group grid = cg::this_grid();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < 3; ++round) {
        other[i] = cells[(i + blockDim.x) % count] * 3 + round;
        grid.sync();
        cells[i] = other[(i + 1) % count];
        grid.sync();
    }
}

int main() {
    unsigned groups = 6, group = 64, count = groups * group;
    int cooperative = 0;
    CHECK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0));
    EXPECT(cooperative == 1, "the device has no cooperative launch");
    std::vector<unsigned> cells(count), other(count);
    for (unsigned i = 0; i < count; ++i) cells[i] = i * i;
    unsigned* device = to_device(cells);
    unsigned* device_other = to_device(other);
    void* arguments[] = {&device, &device_other, &count};
    CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(rotate), dim3(groups), dim3(group), arguments, 0, nullptr));
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> result = to_host(device, count);
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < count; ++i) other[i] = cells[(i + group) % count] * 3 + round;
        for (unsigned i = 0; i < count; ++i) cells[i] = other[(i + 1) % count];
    }
    printf("first %u, checksum %08x\n", result[0], checksum(result));
    EXPECT(result == cells, "after three rounds");
    return 0;
}
