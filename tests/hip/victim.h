// What the victims share. A victim prints the same on every right run, checks its own results, and ends with 0 only when
// they are right.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        hipError_t status = (call);                                                                  \
        if (status != hipSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status)); \
            exit(2);                                                                                 \
        }                                                                                            \
    } while (0)

// Ends the program with 1 when a result is wrong.
#define EXPECT(condition, ...)                                             \
    do {                                                                   \
        if (!(condition)) {                                                \
            fprintf(stderr, "%s:%d: wrong result: ", __FILE__, __LINE__);  \
            fprintf(stderr, __VA_ARGS__);                                  \
            fputc('\n', stderr);                                           \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

// Device memory with a copy of a host vector.
template <typename T>
T* to_device(const std::vector<T>& host) {
    T* device = nullptr;
    CHECK(hipMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(T)));
    CHECK(hipMemcpy(device, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
    return device;
}

template <typename T>
std::vector<T> to_host(const T* device, size_t count) {
    std::vector<T> host(count);
    CHECK(hipMemcpy(host.data(), device, count * sizeof(T), hipMemcpyDeviceToHost));
    return host;
}

// The same numbers on every machine.
inline unsigned next_random(unsigned& state) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

// One number for a whole result, so that a line of output stands for all of it.
template <typename T>
unsigned checksum(const std::vector<T>& values) {
    unsigned sum = 2166136261u;
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (size_t i = 0; i < values.size() * sizeof(T); ++i) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}
