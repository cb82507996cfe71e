// Four threads with a stream each launch kernels and copy at the same time; each owns its memory, all share a counter.
#include "victim.h"

#include <thread>

__device__ unsigned total;

__global__ void work(unsigned* values, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * 3 + by;
    if (i == 0) atomicAdd(&total, 1u);
}

constexpr unsigned threads = 4;
constexpr unsigned rounds = 6;

void run(unsigned thread, std::vector<unsigned>* result) {
    const unsigned count = 200 + thread;
    hipStream_t stream;
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    std::vector<unsigned> values(count, thread);
    unsigned* device = nullptr;
    CHECK(hipMalloc(reinterpret_cast<void**>(&device), count * sizeof(unsigned)));
    CHECK(hipMemcpyAsync(device, values.data(), count * sizeof(unsigned), hipMemcpyHostToDevice, stream));
    for (unsigned round = 0; round < rounds; ++round) work<<<2, 128, 0, stream>>>(device, count, round);
    CHECK(hipGetLastError());
    CHECK(hipMemcpyAsync(values.data(), device, count * sizeof(unsigned), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipFree(device));
    CHECK(hipStreamDestroy(stream));
    *result = values;
}

int main() {
    std::vector<unsigned> results[threads];
    std::vector<std::thread> running;
    CHECK(hipSetDevice(0));
    for (unsigned thread = 0; thread < threads; ++thread) running.emplace_back(run, thread, &results[thread]);
    for (std::thread& thread : running) thread.join();
    unsigned launches = 0;
    CHECK(hipMemcpyFromSymbol(&launches, HIP_SYMBOL(total), sizeof launches));
    printf("%u launches, checksums", launches);
    for (const std::vector<unsigned>& result : results) printf(" %08x", checksum(result));
    putchar('\n');
    for (unsigned thread = 0; thread < threads; ++thread) {
        unsigned expected = thread;
        for (unsigned round = 0; round < rounds; ++round) expected = expected * 3 + round;
        for (unsigned value : results[thread]) EXPECT(value == expected, "thread %u: %u, not %u", thread, value, expected);
    }
    EXPECT(launches == threads * rounds, "%u launches", launches);
    return 0;
}
