// One thread launches a kernel again and again; another, on its own stream, stamps cells with an old and then with a new value
// and reads them back. A window of the first that captures or restores what belongs to the second, its memory or its kernel
// arguments, shows as an old value.
#include "victim.h"

#include <atomic>
#include <thread>

__global__ void churn(unsigned* values) { values[threadIdx.x] += 1; }
__global__ void stamp(unsigned* cells, unsigned value) { cells[threadIdx.x] = value; }

constexpr unsigned cycles = 200;
constexpr unsigned size = 64;

int main() {
    std::atomic<bool> done{false};
    unsigned* values = to_device(std::vector<unsigned>(256, 0));
    unsigned* cells = to_device(std::vector<unsigned>(size, 0));
    unsigned launches = 0;
    std::thread churning([&] {
        hipStream_t stream;
        CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        while (!done) {
            churn<<<1, 256, 0, stream>>>(values);
            CHECK(hipStreamSynchronize(stream));
            ++launches;
        }
        CHECK(hipStreamDestroy(stream));
    });
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    unsigned stale = 0;
    std::vector<unsigned> seen(size);
    for (unsigned cycle = 1; cycle <= cycles; ++cycle) {
        stamp<<<1, size, 0, stream>>>(cells, 2 * cycle);
        CHECK(hipStreamSynchronize(stream));
        stamp<<<1, size, 0, stream>>>(cells, 2 * cycle + 1);
        CHECK(hipMemcpyAsync(seen.data(), cells, size * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
        CHECK(hipStreamSynchronize(stream));
        for (unsigned cell : seen) stale += cell != 2 * cycle + 1;
    }
    done = true;
    churning.join();
    CHECK(hipStreamDestroy(stream));
    std::vector<unsigned> result = to_host(values, 256);
    printf("%u cycles, %u stale\n", cycles, stale);
    EXPECT(stale == 0, "%u stale cells", stale);
    for (unsigned value : result) EXPECT(value == launches, "%u, not %u launches", value, launches);
    CHECK(hipFree(values));
    CHECK(hipFree(cells));
    return 0;
}
