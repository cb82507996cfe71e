// Owns FOOTPRINT MiB of device memory in REGIONS allocations and launches a kernel that writes WRITTEN KiB of it LAUNCHES times,
// beside QUEUES idle streams. Prints nanoseconds in this process, on this machine:
//   launch NS               one launch that is waited for, the best of all
//   memcpy BYTES NS         a memcpy of the same bytes in host memory, the best of five
//   copy BYTES NS           one copy of as many bytes from the device to pinned host memory, the best of five
//   reference NS            with PASSES: a window the reference system makes it, without hsa-replay: pageable buffers, one synchronous copy
//                           for each region, and everything put back between passes; the best of three
//
// usage: footprint FOOTPRINT_MIB REGIONS WRITTEN_KIB LAUNCHES [QUEUES [PASSES]]
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
    if (argc < 5 || argc > 7) {
        std::fprintf(stderr, "usage: footprint FOOTPRINT_MIB REGIONS WRITTEN_KIB LAUNCHES [QUEUES [PASSES]]\n");
        return 2;
    }
    const size_t footprint = std::strtoull(argv[1], nullptr, 10) << 20;
    const size_t regions = std::strtoull(argv[2], nullptr, 10);
    const unsigned words = static_cast<unsigned>(std::strtoull(argv[3], nullptr, 10) << 8);
    const int launches = std::atoi(argv[4]);
    const int queues = argc > 5 ? std::atoi(argv[5]) : 0;
    const int passes = argc > 6 ? std::atoi(argv[6]) : 0;
    // Allocations of programs are seldom odd.
    const size_t size = footprint / regions / 256 * 256;

    std::vector<unsigned *> memory(regions);
    for (auto &region : memory) {
        CHECK(hipMalloc(&region, size));
        CHECK(hipMemset(region, 1, size));
    }
    std::vector<hipStream_t> streams(static_cast<size_t>(queues));
    for (auto &stream : streams) {
        CHECK(hipStreamCreate(&stream));
        CHECK(hipMemsetAsync(memory[0], 1, 4, stream));
    }
    CHECK(hipDeviceSynchronize());

    const auto launch = [&] {
        raise<<<(words + 255) / 256, 256>>>(memory[0], words);
        CHECK(hipDeviceSynchronize());
    };
    const auto ns_since = [](std::chrono::steady_clock::time_point start) {
        const auto time = std::chrono::steady_clock::now() - start;
        return static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    };
    auto start = std::chrono::steady_clock::now();
    long long best = -1;
    for (int i = 0; i < launches; ++i) {
        start = std::chrono::steady_clock::now();
        launch();
        const long long ns = ns_since(start);
        best = best < 0 ? ns : std::min(best, ns);
    }
    std::printf("launch %lld\n", best);

    best = -1;
    for (int window = 0; window < 3 && passes > 0; ++window) {
        start = std::chrono::steady_clock::now();
        std::vector<std::vector<char>> saved(regions);
        for (size_t at = 0; at < regions; ++at) {
            saved[at].resize(size);
            CHECK(hipMemcpy(saved[at].data(), memory[at], size, hipMemcpyDeviceToHost));
        }
        for (int pass = 0; pass < passes; ++pass) {
            launch();
            for (size_t at = 0; at < regions && pass + 1 < passes; ++at)
                CHECK(hipMemcpy(memory[at], saved[at].data(), size, hipMemcpyHostToDevice));
        }
        const long long ns = ns_since(start);
        best = best < 0 ? ns : std::min(best, ns);
    }
    if (passes > 0) std::printf("reference %lld\n", best);

    std::vector<char> from(footprint, 1), to(footprint, 2);
    best = -1;
    for (int round = 0; round < 5; ++round) {
        const auto before = std::chrono::steady_clock::now();
        std::memcpy(to.data(), from.data(), footprint);
        const auto after = std::chrono::steady_clock::now();
        const long long ns = std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count();
        best = best < 0 ? ns : std::min(best, ns);
        from[static_cast<size_t>(round)] = to[footprint - 1];
    }
    std::printf("memcpy %zu %lld\n", footprint, best);

    void *device, *pinned;
    CHECK(hipMalloc(&device, footprint));
    CHECK(hipMemset(device, 1, footprint));
    CHECK(hipHostMalloc(&pinned, footprint, hipHostMallocDefault));
    std::memset(pinned, 0, footprint);
    best = -1;
    for (int round = 0; round < 5; ++round) {
        start = std::chrono::steady_clock::now();
        CHECK(hipMemcpy(pinned, device, footprint, hipMemcpyDeviceToHost));
        const long long ns = ns_since(start);
        best = best < 0 ? ns : std::min(best, ns);
    }
    std::printf("copy %zu %lld\n", footprint, best);
    for (auto region : memory) CHECK(hipFree(region));
    return 0;
}
