// Counts in group memory, added to global counts with integer atomics.
#include "victim.h"

constexpr unsigned bins = 32;

__global__ void histogram(unsigned* counts, const unsigned char* input, unsigned size) {
    __shared__ unsigned local[bins];
    if (threadIdx.x < bins) local[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
        atomicAdd(&local[input[i] % bins], 1u);
    __syncthreads();
    if (threadIdx.x < bins) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}

int main() {
    const unsigned size = 5001;
    std::vector<unsigned char> input(size);
    std::vector<unsigned> expected(bins, 0);
    unsigned state = 7;
    for (unsigned char& byte : input) {
        byte = static_cast<unsigned char>(next_random(state));
        ++expected[byte % bins];
    }
    unsigned char* device_input = to_device(input);
    unsigned* device_counts = to_device(std::vector<unsigned>(bins, 0));
    histogram<<<4, 128>>>(device_counts, device_input, size);
    CHECK(hipGetLastError());
    std::vector<unsigned> counts = to_host(device_counts, bins);
    for (unsigned bin = 0; bin < bins; ++bin) printf("%u%c", counts[bin], bin + 1 < bins ? ' ' : '\n');
    EXPECT(counts == expected, "counts differ from the host's");
    CHECK(hipFree(device_input));
    CHECK(hipFree(device_counts));
    return 0;
}
