// A captured graph of kernels, a copy and a fill, launched three times.
#include "victim.h"

__global__ void add(int* values, int count, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

__global__ void combine(int* into, const int* from, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) into[i] = 3 * into[i] + from[i];
}

int main() {
    const int count = 256;
    int* values = to_device(std::vector<int>(count, 1));
    int* copy = to_device(std::vector<int>(count, 0));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    add<<<1, count, 0, stream>>>(values, count, 2);
    CHECK(hipMemcpyAsync(copy, values, count * sizeof(int), hipMemcpyDeviceToDevice, stream));
    add<<<1, count, 0, stream>>>(copy, count, 1);
    combine<<<1, count, 0, stream>>>(values, copy, count);
    CHECK(hipMemsetAsync(copy, 0, count * sizeof(int), stream));
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    int expected = 1;
    for (int launch = 0; launch < 3; ++launch) {
        CHECK(hipGraphLaunch(executable, stream));
        expected = 4 * (expected + 2) + 1;
    }
    CHECK(hipStreamSynchronize(stream));
    std::vector<int> result = to_host(values, count);
    std::vector<int> cleared = to_host(copy, count);
    printf("values %d, copy %d\n", result[0], cleared[0]);
    for (int i = 0; i < count; ++i) {
        EXPECT(result[i] == expected, "values[%d] is %d, not %d", i, result[i], expected);
        EXPECT(cleared[i] == 0, "copy[%d] is %d", i, cleared[i]);
    }
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipFree(values));
    CHECK(hipFree(copy));
    return 0;
}
