// Two agents: copies between them, and a kernel of one that reads the other's memory, with or (told "alone") without
// having been given access.
#include "victim.h"

#include <cstring>

const int count = 256;

__global__ void add(int* to, const int* from) { to[threadIdx.x] += from[threadIdx.x]; }

int main(int words, char** word) {
    int devices = 0;
    CHECK(hipGetDeviceCount(&devices));
    EXPECT(devices == 2, "%d devices", devices);
    int may = 0;
    CHECK(hipDeviceCanAccessPeer(&may, 1, 0));
    EXPECT(may == 1, "no peer access");
    std::vector<int> start(count);
    for (int i = 0; i < count; ++i) start[i] = i;
    CHECK(hipSetDevice(0));
    int* far = to_device(start);
    CHECK(hipSetDevice(1));
    int* near = to_device(std::vector<int>(count, 1000));
    if (words > 1 && strcmp(word[1], "alone") == 0) {
        add<<<1, count>>>(near, far);
        printf("%s\n", hipDeviceSynchronize() == hipSuccess ? "no fault" : "a fault");
        return 0;
    }
    CHECK(hipDeviceEnablePeerAccess(0, 0));
    add<<<1, count>>>(near, far);
    CHECK(hipDeviceSynchronize());
    std::vector<int> back = to_host(near, count);
    for (int i = 0; i < count; ++i) EXPECT(back[i] == 1000 + i, "value %d is %d", i, back[i]);
    CHECK(hipMemcpyPeer(far, 0, near, 1, count * sizeof(int)));
    CHECK(hipDeviceSynchronize());
    CHECK(hipSetDevice(0));
    EXPECT(to_host(far, count) == back, "a copy between the agents");
    printf("peers reach each other\n");
    return 0;
}
