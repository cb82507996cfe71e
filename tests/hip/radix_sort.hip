// Radix sort of keys with values, four bits a round: counts by group, their prefix sums, and a stable scatter.
#include "victim.h"

#include <algorithm>
#include <numeric>

constexpr unsigned group = 64, digits = 16;

__global__ void count_digits(const unsigned* keys, unsigned count, unsigned shift, unsigned* counts) {
    __shared__ unsigned local[digits];
    if (threadIdx.x < digits) local[threadIdx.x] = 0;
    __syncthreads();
    unsigned i = blockIdx.x * group + threadIdx.x;
    if (i < count) atomicAdd(&local[keys[i] >> shift & (digits - 1)], 1u);
    __syncthreads();
    // All groups' counts of a digit lie side by side, so that one sum over everything gives every place.
    if (threadIdx.x < digits) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

__global__ void sum_counts(unsigned* counts, unsigned count) {
    __shared__ unsigned carried;
    if (threadIdx.x == 0) carried = 0;
    for (unsigned start = 0; start < count; start += warpSize) {
        unsigned i = start + threadIdx.x;
        unsigned value = i < count ? counts[i] : 0, sum = value;
        for (int distance = 1; distance < warpSize; distance *= 2) {
            unsigned other = __shfl_up(sum, distance);
            if (static_cast<int>(threadIdx.x) >= distance) sum += other;
        }
        __syncthreads();
        unsigned before = carried;
        if (i < count) counts[i] = before + sum - value;
        __syncthreads();
        if (static_cast<int>(threadIdx.x) == warpSize - 1) carried = before + sum;
    }
}

__global__ void scatter(const unsigned* keys, const unsigned* values, unsigned count, unsigned shift, const unsigned* places, unsigned* to_keys, unsigned* to_values) {
    unsigned i = blockIdx.x * group + threadIdx.x;
    bool present = i < count;
    unsigned key = present ? keys[i] : 0;
    unsigned digit = key >> shift & (digits - 1);
    // Lanes with the same digit, found bit by bit.
    unsigned long long same = __ballot(present);
    for (unsigned bit = 1; bit < digits; bit *= 2) {
        unsigned long long set = __ballot(digit & bit);
        same &= digit & bit ? set : ~set;
    }
    if (!present) return;
    unsigned rank = __popcll(same & ((1ull << threadIdx.x) - 1));
    unsigned place = places[digit * gridDim.x + blockIdx.x] + rank;
    to_keys[place] = key;
    to_values[place] = values[i];
}

int main() {
    const unsigned count = 1500, groups = (count + group - 1) / group;
    std::vector<unsigned> keys(count), values(count);
    unsigned state = 77;
    for (unsigned i = 0; i < count; ++i) {
        // Some keys are equal: their values must keep their order.
        keys[i] = i % 7 == 0 ? 0xabcdef01u : next_random(state) * 2654435761u;
        values[i] = i;
    }
    unsigned* from_keys = to_device(keys);
    unsigned* from_values = to_device(values);
    unsigned* to_keys = to_device(keys);
    unsigned* to_values = to_device(values);
    unsigned* counts = to_device(std::vector<unsigned>(digits * groups, 0));
    for (unsigned shift = 0; shift < 32; shift += 4) {
        count_digits<<<groups, group>>>(from_keys, count, shift, counts);
        sum_counts<<<1, 64>>>(counts, digits * groups);
        scatter<<<groups, group>>>(from_keys, from_values, count, shift, counts, to_keys, to_values);
        std::swap(from_keys, to_keys);
        std::swap(from_values, to_values);
    }
    CHECK(hipGetLastError());
    std::vector<unsigned> sorted = to_host(from_keys, count), order = to_host(from_values, count);
    printf("smallest %08x, largest %08x, checksums %08x %08x\n", sorted[0], sorted.back(), checksum(sorted), checksum(order));
    std::stable_sort(values.begin(), values.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
    EXPECT(order == values, "the values are not in the order of their keys");
    for (unsigned i = 0; i < count; ++i) EXPECT(sorted[i] == keys[values[i]], "key %u is %08x", i, sorted[i]);
    return 0;
}
