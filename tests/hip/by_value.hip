// A structure passed by value that holds the only pointer to the memory, in front of other members.
#include "victim.h"

struct Task {
    int factor;
    int* values;
    unsigned char tag;
    short offset;
};

__global__ void apply(Task task, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) task.values[i] = task.values[i] * task.factor + task.offset + task.tag;
}

int main() {
    const int count = 300;
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) values[i] = i - 150;
    int* device = to_device(values);
    apply<<<2, 192>>>(Task{3, device, 7, -20}, count);
    CHECK(hipGetLastError());
    std::vector<int> result = to_host(device, count);
    printf("first %d, last %d, checksum %08x\n", result[0], result.back(), checksum(result));
    for (int i = 0; i < count; ++i) EXPECT(result[i] == values[i] * 3 - 13, "values[%d] is %d", i, result[i]);
    CHECK(hipFree(device));
    return 0;
}
