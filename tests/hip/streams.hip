// Two streams that hand a buffer to each other with events, beside a third one with work of its own.
#include "victim.h"

__global__ void add(int* values, int count, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

__global__ void twice(int* values, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 2;
}

int main() {
    const int count = 500, rounds = 4;
    hipStream_t first, second, third;
    CHECK(hipStreamCreate(&first));
    CHECK(hipStreamCreate(&second));
    CHECK(hipStreamCreateWithFlags(&third, hipStreamNonBlocking));
    hipEvent_t added, doubled;
    CHECK(hipEventCreateWithFlags(&added, hipEventDisableTiming));
    CHECK(hipEventCreateWithFlags(&doubled, hipEventDisableTiming));
    int* shared = to_device(std::vector<int>(count, 1));
    int* own = to_device(std::vector<int>(count, 0));
    CHECK(hipDeviceSynchronize());
    int expected = 1;
    for (int round = 0; round < rounds; ++round) {
        add<<<2, 256, 0, first>>>(shared, count, round + 1);
        CHECK(hipEventRecord(added, first));
        CHECK(hipStreamWaitEvent(second, added, 0));
        twice<<<2, 256, 0, second>>>(shared, count);
        CHECK(hipEventRecord(doubled, second));
        CHECK(hipStreamWaitEvent(first, doubled, 0));
        add<<<2, 256, 0, third>>>(own, count, 5);
        expected = (expected + round + 1) * 2;
    }
    CHECK(hipGetLastError());
    std::vector<int> result(count), independent(count);
    CHECK(hipMemcpyAsync(result.data(), shared, count * sizeof(int), hipMemcpyDeviceToHost, first));
    CHECK(hipMemcpyAsync(independent.data(), own, count * sizeof(int), hipMemcpyDeviceToHost, third));
    CHECK(hipStreamSynchronize(first));
    CHECK(hipStreamSynchronize(third));
    printf("shared %d, own %d\n", result[0], independent[0]);
    for (int i = 0; i < count; ++i) {
        EXPECT(result[i] == expected, "shared[%d] is %d, not %d", i, result[i], expected);
        EXPECT(independent[i] == 5 * rounds, "own[%d] is %d", i, independent[i]);
    }
    CHECK(hipEventDestroy(added));
    CHECK(hipEventDestroy(doubled));
    CHECK(hipStreamDestroy(first));
    CHECK(hipStreamDestroy(second));
    CHECK(hipStreamDestroy(third));
    CHECK(hipFree(shared));
    CHECK(hipFree(own));
    return 0;
}
