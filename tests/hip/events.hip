// Events: what was recorded before has happened when they have, times grow along a stream, and an event can be used again.
#include "victim.h"

__global__ void count_up(unsigned* values, unsigned count, unsigned rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned value = values[i];
    for (unsigned round = 0; round < rounds; ++round) value = value * 5 + 1;
    values[i] = value;
}

int main() {
    const unsigned count = 300;
    unsigned* device = to_device(std::vector<unsigned>(count, 1));
    hipStream_t stream;
    CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -1));
    hipEvent_t start, middle, end;
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreateWithFlags(&middle, hipEventBlockingSync));
    CHECK(hipEventCreate(&end));
    unsigned expected = 1;
    for (int use = 0; use < 2; ++use) {
        CHECK(hipEventRecord(start, stream));
        count_up<<<3, 128, 0, stream>>>(device, count, 10);
        CHECK(hipEventRecord(middle, stream));
        count_up<<<3, 128, 0, stream>>>(device, count, 200);
        CHECK(hipEventRecord(end, stream));
        CHECK(hipGetLastError());
        CHECK(hipEventSynchronize(middle));
        EXPECT(hipEventQuery(start) == hipSuccess, "the first event after the second");
        CHECK(hipEventSynchronize(end));
        EXPECT(hipEventQuery(end) == hipSuccess, "the last event after waiting for it");
        float first = -1, second = -1, whole = -1;
        CHECK(hipEventElapsedTime(&first, start, middle));
        CHECK(hipEventElapsedTime(&second, middle, end));
        CHECK(hipEventElapsedTime(&whole, start, end));
        EXPECT(first >= 0 && second >= 0 && whole >= first && whole >= second, "times %g, %g, %g ms", first, second, whole);
        for (int round = 0; round < 210; ++round) expected = expected * 5 + 1;
    }
    std::vector<unsigned> result = to_host(device, count);
    printf("values %u\n", result[0]);
    for (unsigned value : result) EXPECT(value == expected, "%u, not %u", value, expected);
    hipEvent_t never;
    CHECK(hipEventCreateWithFlags(&never, hipEventDisableTiming));
    float time = 0;
    EXPECT(hipEventElapsedTime(&time, never, end) != hipSuccess, "a time of an event without times");
    (void)hipGetLastError();
    for (hipEvent_t event : {start, middle, end, never}) CHECK(hipEventDestroy(event));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipFree(device));
    return 0;
}
