// Prefix sums: by groups with a second level, inclusive and exclusive, and in one pass with decoupled look-back, where each
// group waits for the sums of those before it.
#include "victim.h"

constexpr unsigned group = 128;

// Inclusive sums of a group's values; every thread of the group calls it.
__device__ unsigned scan_group(unsigned value, unsigned* shared) {
    unsigned i = threadIdx.x;
    shared[i] = value;
    __syncthreads();
    for (unsigned distance = 1; distance < group; distance *= 2) {
        unsigned other = i >= distance ? shared[i - distance] : 0;
        __syncthreads();
        shared[i] += other;
        __syncthreads();
    }
    return shared[i];
}

__global__ void scan_groups(const unsigned* values, unsigned count, unsigned* sums, unsigned* totals) {
    __shared__ unsigned shared[group];
    unsigned i = blockIdx.x * group + threadIdx.x;
    unsigned sum = scan_group(i < count ? values[i] : 0, shared);
    if (i < count) sums[i] = sum;
    if (totals != nullptr && threadIdx.x == group - 1) totals[blockIdx.x] = sum;
}

__global__ void add_totals(const unsigned* values, unsigned count, unsigned* inclusive, unsigned* exclusive, const unsigned* totals) {
    unsigned i = blockIdx.x * group + threadIdx.x;
    if (i >= count) return;
    unsigned sum = inclusive[i] + (blockIdx.x > 0 ? totals[blockIdx.x - 1] : 0);
    inclusive[i] = sum;
    exclusive[i] = sum - values[i];
}

// What a group tells those behind it: nothing yet, its own total, or the total up to and with it.
enum : unsigned long long { nothing = 0, own = 1ull << 32, complete = 2ull << 32 };

__global__ void scan_by_look_back(const unsigned* values, unsigned count, unsigned* sums, unsigned* ticket, unsigned long long* told) {
    __shared__ unsigned shared[group];
    __shared__ unsigned mine, before;
    // Groups are numbered as they start, so that nobody waits for one that has not.
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned i = mine * group + threadIdx.x;
    unsigned sum = scan_group(i < count ? values[i] : 0, shared);
    if (threadIdx.x == group - 1) {
        unsigned total = 0;
        if (mine > 0) {
            atomicExch(&told[mine], own | sum);
            for (unsigned other = mine - 1;;) {
                unsigned long long word = atomicAdd(&told[other], 0ull);
                if (word == nothing) continue;
                total += static_cast<unsigned>(word);
                if (word & complete) break;
                --other;
            }
        }
        atomicExch(&told[mine], complete | (total + sum));
        before = total;
    }
    __syncthreads();
    if (i < count) sums[i] = before + sum;
}

int main() {
    const unsigned count = 3000, groups = (count + group - 1) / group;
    std::vector<unsigned> values(count), inclusive(count), exclusive(count);
    unsigned state = 21, sum = 0;
    for (unsigned i = 0; i < count; ++i) {
        values[i] = next_random(state) % 1000;
        exclusive[i] = sum;
        sum += values[i];
        inclusive[i] = sum;
    }
    unsigned* device = to_device(values);
    unsigned* including = to_device(std::vector<unsigned>(count, 0));
    unsigned* excluding = to_device(std::vector<unsigned>(count, 0));
    unsigned* totals = to_device(std::vector<unsigned>(group, 0));
    scan_groups<<<groups, group>>>(device, count, including, totals);
    scan_groups<<<1, group>>>(totals, groups, totals, nullptr);
    add_totals<<<groups, group>>>(device, count, including, excluding, totals);
    CHECK(hipGetLastError());
    EXPECT(to_host(including, count) == inclusive, "inclusive sums");
    EXPECT(to_host(excluding, count) == exclusive, "exclusive sums");

    unsigned* one_pass = to_device(std::vector<unsigned>(count, 0));
    unsigned* ticket = to_device(std::vector<unsigned>(1, 0));
    unsigned long long* told = to_device(std::vector<unsigned long long>(groups, nothing));
    scan_by_look_back<<<groups, group>>>(device, count, one_pass, ticket, told);
    CHECK(hipGetLastError());
    EXPECT(to_host(one_pass, count) == inclusive, "sums by look-back");
    printf("total %u, checksums %08x %08x\n", sum, checksum(inclusive), checksum(exclusive));
    return 0;
}
