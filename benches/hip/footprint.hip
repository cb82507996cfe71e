// Owns FOOTPRINT MiB of device memory in REGIONS allocations, launches a kernel that writes WRITTEN KiB of it LAUNCHES
// times, and prints what a plain memcpy of the same number of bytes costs on this machine, in this process:
// `memcpy BYTES NANOSECONDS`, the best of five.
//
// usage: footprint FOOTPRINT_MIB REGIONS WRITTEN_KIB LAUNCHES
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        hipError_t status = (call);                                                                                    \
        if (status != hipSuccess) {                                                                                    \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status));                                        \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

__global__ void raise(unsigned *words, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) words[i] += 1;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: footprint FOOTPRINT_MIB REGIONS WRITTEN_KIB LAUNCHES\n");
        return 2;
    }
    const size_t footprint = std::strtoull(argv[1], nullptr, 10) << 20;
    const size_t regions = std::strtoull(argv[2], nullptr, 10);
    const unsigned words = static_cast<unsigned>(std::strtoull(argv[3], nullptr, 10) << 8);
    const int launches = std::atoi(argv[4]);

    std::vector<unsigned *> memory(regions);
    for (auto &region : memory) {
        CHECK(hipMalloc(&region, footprint / regions));
        CHECK(hipMemset(region, 1, footprint / regions));
    }
    CHECK(hipDeviceSynchronize());

    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) {
        raise<<<(words + 255) / 256, 256>>>(memory[0], words);
        CHECK(hipDeviceSynchronize());
    }
    const auto end = std::chrono::steady_clock::now();
    std::printf("launches %d %lld\n", launches,
                static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count()));

    std::vector<char> from(footprint, 1), to(footprint, 2);
    long long best = -1;
    for (int round = 0; round < 5; ++round) {
        const auto before = std::chrono::steady_clock::now();
        std::memcpy(to.data(), from.data(), footprint);
        const auto after = std::chrono::steady_clock::now();
        const long long ns = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
        best = best < 0 ? ns : std::min(best, ns);
        from[static_cast<size_t>(round)] = to[footprint - 1];
    }
    std::printf("memcpy %zu %lld\n", footprint, best);
    for (auto region : memory) CHECK(hipFree(region));
    return 0;
}
