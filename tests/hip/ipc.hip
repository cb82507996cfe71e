// Memory and an event of one process used by another: the other adds to the memory, and the first sees it. It fills a whole
// allocation and a part of a larger one, since the runtime shares the two in different ways.
#include "victim.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

const int count = 1024;

struct Message {
    hipIpcMemHandle_t memory[2];
    hipIpcEventHandle_t event;
};

__global__ void add(int* values, int amount) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += amount;
}

static void transfer(bool out, int fd, void* bytes, size_t size) {
    ssize_t done = out ? write(fd, bytes, size) : read(fd, bytes, size);
    EXPECT(done == static_cast<ssize_t>(size), "a message of %zu bytes between the processes", size);
}

static int other(int in, int out) {
    Message message;
    transfer(false, in, &message, sizeof message);
    hipEvent_t event;
    CHECK(hipIpcOpenEventHandle(&event, message.event));
    for (hipIpcMemHandle_t& handle : message.memory) {
        int* values = nullptr;
        CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&values), handle, hipIpcMemLazyEnablePeerAccess));
        CHECK(hipStreamWaitEvent(nullptr, event, 0));
        add<<<count / 256, 256>>>(values, 5);
        CHECK(hipDeviceSynchronize());
        EXPECT(to_host(values, count)[7] == 75, "the other process does not see the first one's memory");
        CHECK(hipIpcCloseMemHandle(values));
    }
    char done = 1;
    transfer(true, out, &done, 1);
    return 0;
}

int main(int count_of_words, char** words) {
    if (count_of_words == 3) return other(atoi(words[1]), atoi(words[2]));
    int to[2], from[2];
    EXPECT(pipe(to) == 0 && pipe(from) == 0, "no pipes");
    pid_t child = fork();
    if (child == 0) {
        char in[16], out[16];
        snprintf(in, sizeof in, "%d", to[0]);
        snprintf(out, sizeof out, "%d", from[1]);
        execl("/proc/self/exe", words[0], in, out, nullptr);
        _exit(9);
    }
    close(to[0]);
    close(from[1]);
    std::vector<int> start(count);
    for (int i = 0; i < count; ++i) start[i] = 10 * i;
    int* values[2] = {to_device(start), nullptr};
    CHECK(hipMalloc(reinterpret_cast<void**>(&values[1]), 8 << 20));
    CHECK(hipMemcpy(values[1], start.data(), count * sizeof(int), hipMemcpyHostToDevice));
    hipEvent_t event;
    CHECK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
    Message message;
    memset(&message, 0, sizeof message);
    for (int i = 0; i < 2; ++i) CHECK(hipIpcGetMemHandle(&message.memory[i], values[i]));
    CHECK(hipIpcGetEventHandle(&message.event, event));
    CHECK(hipEventRecord(event, nullptr));
    transfer(true, to[1], &message, sizeof message);
    char done = 0;
    transfer(false, from[0], &done, 1);
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && status == 0, "the other process ended with %#x", status);
    for (int* shared : values) {
        std::vector<int> back = to_host(shared, count);
        for (int i = 0; i < count; ++i) EXPECT(back[i] == 10 * i + 5, "value %d is %d", i, back[i]);
    }
    printf("two processes shared two allocations and an event\n");
    CHECK(hipFree(values[0]));
    CHECK(hipFree(values[1]));
    return 0;
}
