// Kernels whose results are the same in each run wherever memory lies: into an allocation, into a part of a larger one, into a
// variable, and by atomics. PADDING bytes are allocated first, and FACTOR changes what one of the kernels computes.
#include "victim.h"

__device__ unsigned long long total;

__global__ void scale(float* out, const float* in, float factor, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] * factor;
}

__global__ void count_bins(unsigned* bins, const unsigned* values, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    atomicAdd(&bins[values[i] % 16], 1u);
    atomicAdd(&total, 1ull);
}

static unsigned number(const char* name, unsigned otherwise) {
    const char* text = getenv(name);
    return text ? unsigned(strtoul(text, nullptr, 10)) : otherwise;
}

int main() {
    const unsigned count = 1000;
    unsigned padding = number("PADDING", 0);
    float factor = float(number("FACTOR", 2));
    char* pad = nullptr;
    if (padding) CHECK(hipMalloc(reinterpret_cast<void**>(&pad), padding));
    std::vector<float> numbers(count);
    std::vector<unsigned> values(count);
    for (unsigned i = 0; i < count; ++i) {
        numbers[i] = float(i) / 4;
        values[i] = i * 2654435761u >> 20;
    }
    float* in = to_device(numbers);
    float* pool = to_device(std::vector<float>(4 * count, 0));
    unsigned* given = to_device(values);
    unsigned* bins = to_device(std::vector<unsigned>(16, 0));
    for (unsigned launch = 0; launch < 3; ++launch) {
        scale<<<4, 256>>>(pool + launch * count, in, factor + float(launch), count);
        CHECK(hipGetLastError());
        count_bins<<<4, 256>>>(bins, given, count);
        CHECK(hipGetLastError());
    }
    CHECK(hipDeviceSynchronize());
    std::vector<float> scaled = to_host(pool, 4 * count);
    std::vector<unsigned> counted = to_host(bins, 16);
    printf("checksums %08x %08x\n", checksum(scaled), checksum(counted));
    for (unsigned i = 0; i < 3 * count; ++i) {
        EXPECT(scaled[i] == numbers[i % count] * (factor + float(i / count)), "scaled[%u] is %g", i, scaled[i]);
    }
    CHECK(hipFree(in));
    CHECK(hipFree(pool));
    CHECK(hipFree(given));
    CHECK(hipFree(bins));
    if (pad) CHECK(hipFree(pad));
    return 0;
}
