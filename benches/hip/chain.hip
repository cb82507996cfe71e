// A chain of dependent kernels: each waits for the one before, which is on the other of two streams.
//
// usage: chain LINKS    prints `chain LINKS NANOSECONDS`, the median of seven chains, and fails if the order was broken
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        hipError_t status = (call);                                                      \
        if (status != hipSuccess) {                                                      \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status));          \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

__global__ void link(unsigned *value, unsigned step) {
    *value = *value == step ? step + 1 : ~0u;
}

int main(int argc, char **argv) {
    const unsigned links = argc == 2 ? static_cast<unsigned>(std::atoi(argv[1])) : 100;
    unsigned *value;
    CHECK(hipMalloc(&value, sizeof *value));
    hipStream_t streams[2];
    hipEvent_t events[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(hipStreamCreate(&streams[i]));
        CHECK(hipEventCreateWithFlags(&events[i], hipEventDisableTiming));
    }
    std::vector<long long> times;
    for (int round = 0; round < 8; ++round) {
        CHECK(hipMemset(value, 0, sizeof *value));
        CHECK(hipDeviceSynchronize());
        const auto start = std::chrono::steady_clock::now();
        for (unsigned i = 0; i < links; ++i) {
            if (i > 0) CHECK(hipStreamWaitEvent(streams[i % 2], events[(i + 1) % 2], 0));
            link<<<1, 1, 0, streams[i % 2]>>>(value, i);
            CHECK(hipEventRecord(events[i % 2], streams[i % 2]));
        }
        CHECK(hipDeviceSynchronize());
        const auto time = std::chrono::steady_clock::now() - start;
        unsigned end = 0;
        CHECK(hipMemcpy(&end, value, sizeof end, hipMemcpyDeviceToHost));
        if (end != links) {
            std::fprintf(stderr, "chain: %u of %u links in order\n", end, links);
            return 1;
        }
        // The first one loads the kernel.
        if (round > 0) times.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
    }
    std::sort(times.begin(), times.end());
    std::printf("chain %u %lld\n", links, times[times.size() / 2]);
    return 0;
}
