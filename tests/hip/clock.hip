// Stores a clock beside a plain result: no two passes agree, and the program must still see the values of one of them.
#include "victim.h"

constexpr int count = 8;

__global__ void stamp(unsigned* results, unsigned long long* stamps) {
    unsigned long long begin = __builtin_amdgcn_s_memrealtime();
    results[threadIdx.x] += 1;
    stamps[threadIdx.x] = begin;
}

int main() {
    unsigned* results = to_device(std::vector<unsigned>(count, 41));
    unsigned long long* stamps = to_device(std::vector<unsigned long long>(count, 0));
    stamp<<<1, count>>>(results, stamps);
    CHECK(hipGetLastError());
    std::vector<unsigned> result = to_host(results, count);
    std::vector<unsigned long long> stamped = to_host(stamps, count);
    bool all = true;
    for (unsigned long long value : stamped) all = all && value != 0 && value == stamped[0];
    printf("results %u, stamps %s\n", result[0], all ? "of one pass" : "mixed");
    for (int i = 0; i < count; ++i) EXPECT(result[i] == 42, "results[%d] is %u", i, result[i]);
    EXPECT(all, "stamps of several passes");
    CHECK(hipFree(results));
    CHECK(hipFree(stamps));
    return 0;
}
