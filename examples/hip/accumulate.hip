// A program to look at under replay: one kernel updates its buffer in place and counts its launches in a __device__
// variable, one counts with atomics, one stores what the clock says.
//
// Run five times from identical inputs, the program must still end with the result of one run; the report says what
// each kernel wrote, and that the last one is not deterministic.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        hipError_t status = (call);                                                                                    \
        if (status != hipSuccess) {                                                                                    \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status));             \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

__device__ int launches;

__global__ void add_in_place(float *values, float amount, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += amount;
    if (i == 0) launches += 1;
}

__global__ void histogram(const float *values, unsigned *bins, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&bins[static_cast<int>(values[i]) % 16], 1u);
}

__global__ void stamp(long long *stamps) { stamps[blockIdx.x] = wall_clock64(); }

int main() {
    const int count = 1000;
    std::vector<float> values(count);
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i % 40);

    float *device_values;
    unsigned *device_bins;
    long long *device_stamps;
    CHECK(hipMalloc(&device_values, count * sizeof(float)));
    CHECK(hipMalloc(&device_bins, 16 * sizeof(unsigned)));
    CHECK(hipMalloc(&device_stamps, 4 * sizeof(long long)));
    CHECK(hipMemcpy(device_values, values.data(), count * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemset(device_bins, 0, 16 * sizeof(unsigned)));

    for (int step = 0; step < 3; ++step) add_in_place<<<(count + 255) / 256, 256>>>(device_values, 2.0f, count);
    histogram<<<(count + 255) / 256, 256>>>(device_values, device_bins, count);
    stamp<<<4, 1>>>(device_stamps);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());

    std::vector<unsigned> bins(16);
    int launched = 0;
    CHECK(hipMemcpy(values.data(), device_values, count * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(bins.data(), device_bins, 16 * sizeof(unsigned), hipMemcpyDeviceToHost));
    CHECK(hipMemcpyFromSymbol(&launched, HIP_SYMBOL(launches), sizeof launched));

    double sum = 0;
    for (float value : values) sum += value;
    std::printf("launches %d, sum %.0f, first %.0f, bins", launched, sum, values[0]);
    for (unsigned bin : bins) std::printf(" %u", bin);
    std::printf("\n");

    // 1000 values of i % 40, each raised by 2 three times.
    const bool right = launched == 3 && sum == 19500.0 + 6000.0;
    std::printf("%s\n", right ? "right" : "WRONG");
    CHECK(hipFree(device_values));
    CHECK(hipFree(device_bins));
    CHECK(hipFree(device_stamps));
    return right ? 0 : 1;
}
