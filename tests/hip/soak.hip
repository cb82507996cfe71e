// Random work on many threads, the same on every run of one seed: kernels, copies, fills, allocations, frees, stream-ordered
// allocations, graphs, events, host functions, streams of several priorities. Each thread owns its memory, so the result does
// not depend on how they interleave.
//
// usage: soak [SEED [THREADS [STEPS]]]
#include "victim.h"

#include <mutex>
#include <thread>

__device__ unsigned launched;

__global__ void mix(unsigned* values, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * 1664525u + by + i;
    if (i == 0) atomicAdd(&launched, 1u);
}

__global__ void combine(unsigned* to, const unsigned* from, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] ^= from[count - 1 - i];
    if (i == 0) atomicAdd(&launched, 1u);
}

constexpr unsigned count = 600;
constexpr size_t bytes = count * sizeof(unsigned);

// HIP 7.2 takes the lock of its streams and that of a memory pool in one order inside hipStreamWaitEvent and in the other inside
// hipMallocAsync: threads that are in both at once may wait for each other for ever, on any runtime.
std::mutex pools;

struct Worker {
    unsigned state;
    hipStream_t stream = nullptr;
    hipStream_t other = nullptr;
    std::vector<unsigned*> memory;
    unsigned launches = 0;
    unsigned called = 0;
    unsigned sum = 0;

    unsigned random(unsigned below) { return next_random(state) % below; }

    unsigned* allocate() {
        unsigned* device = nullptr;
        CHECK(hipMalloc(reinterpret_cast<void**>(&device), bytes));
        CHECK(hipMemsetAsync(device, static_cast<int>(random(256)), bytes, stream));
        return device;
    }

    void launch(unsigned* values, hipStream_t on) {
        mix<<<(count + 127) / 128, 128, 0, on>>>(values, count, random(1000));
        ++launches;
    }

    void wait_for(hipStream_t on, hipEvent_t event) {
        std::lock_guard<std::mutex> alone(pools);
        CHECK(hipStreamWaitEvent(on, event, 0));
    }

    void graph(unsigned* values, unsigned* more) {
        hipGraph_t graph;
        hipGraphExec_t runnable;
        CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
        launch(values, stream);
        combine<<<(count + 127) / 128, 128, 0, stream>>>(values, more, count);
        launch(more, stream);
        CHECK(hipStreamEndCapture(stream, &graph));
        CHECK(hipGraphInstantiate(&runnable, graph, nullptr, nullptr, 0));
        for (int run = 0; run < 2; ++run) CHECK(hipGraphLaunch(runnable, stream));
        launches += 4;
        CHECK(hipStreamSynchronize(stream));
        CHECK(hipGraphExecDestroy(runnable));
        CHECK(hipGraphDestroy(graph));
    }

    void step() {
        unsigned* values = memory[random(static_cast<unsigned>(memory.size()))];
        unsigned* more = memory[random(static_cast<unsigned>(memory.size()))];
        switch (random(10)) {
            case 0: case 1: case 2: launch(values, stream); break;
            case 3:
                if (values != more) CHECK(hipMemcpyAsync(values, more, bytes, hipMemcpyDeviceToDevice, stream));
                break;
            case 4: {
                std::vector<unsigned> host(count);
                for (unsigned& word : host) word = next_random(state);
                CHECK(hipMemcpyAsync(values, host.data(), bytes, hipMemcpyHostToDevice, stream));
                CHECK(hipStreamSynchronize(stream));
                break;
            }
            case 5: memory.push_back(allocate()); break;
            case 6:
                if (memory.size() > 2) {
                    CHECK(hipStreamSynchronize(stream));
                    CHECK(hipFree(memory.back()));
                    memory.pop_back();
                }
                break;
            case 7: {
                hipEvent_t event;
                CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
                CHECK(hipEventRecord(event, stream));
                wait_for(other, event);
                launch(values, other);
                CHECK(hipEventRecord(event, other));
                wait_for(stream, event);
                CHECK(hipStreamSynchronize(stream));
                CHECK(hipEventDestroy(event));
                break;
            }
            case 8:
                if (values != more) graph(values, more);
                break;
            default: {
                unsigned* scratch = nullptr;
                {
                    std::lock_guard<std::mutex> alone(pools);
                    CHECK(hipMallocAsync(reinterpret_cast<void**>(&scratch), bytes, stream));
                }
                CHECK(hipMemcpyAsync(scratch, values, bytes, hipMemcpyDeviceToDevice, stream));
                launch(scratch, stream);
                CHECK(hipMemcpyAsync(values, scratch, bytes, hipMemcpyDeviceToDevice, stream));
                {
                    std::lock_guard<std::mutex> alone(pools);
                    CHECK(hipFreeAsync(scratch, stream));
                }
                CHECK(hipLaunchHostFunc(stream, [](void* data) { ++*static_cast<unsigned*>(data); }, &called));
                CHECK(hipStreamSynchronize(stream));
            }
        }
    }

    void run(unsigned seed, unsigned steps) {
        state = seed;
        int least = 0, greatest = 0;
        CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
        int priority = random(2) ? least : greatest;
        CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
        CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
        for (int buffer = 0; buffer < 3; ++buffer) memory.push_back(allocate());
        for (unsigned at = 0; at < steps; ++at) step();
        CHECK(hipGetLastError());
        CHECK(hipStreamSynchronize(stream));
        for (unsigned* device : memory) {
            std::vector<unsigned> values(count);
            // Not on the legacy stream, which must not meet another thread's capture.
            CHECK(hipMemcpyAsync(values.data(), device, bytes, hipMemcpyDeviceToHost, stream));
            CHECK(hipStreamSynchronize(stream));
            sum = sum * 31 + checksum(values);
            CHECK(hipFree(device));
        }
        CHECK(hipStreamDestroy(other));
        CHECK(hipStreamDestroy(stream));
    }
};

int main(int argc, char** argv) {
    const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
    const unsigned threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 8;
    const unsigned steps = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 6;
    std::vector<Worker> workers(threads);
    std::vector<std::thread> running;
    for (unsigned at = 0; at < threads; ++at)
        running.emplace_back([&, at] { workers[at].run(seed * 1000 + at, steps); });
    for (std::thread& thread : running) thread.join();
    unsigned total = 0, launches = 0, called = 0;
    CHECK(hipMemcpyFromSymbol(&total, HIP_SYMBOL(launched), sizeof total));
    printf("seed %u:", seed);
    for (const Worker& worker : workers) {
        printf(" %08x", worker.sum);
        launches += worker.launches;
        called += worker.called;
    }
    printf(", %u launches, %u host functions\n", launches, called);
    EXPECT(total == launches, "the device counts %u launches, not %u", total, launches);
    return 0;
}
