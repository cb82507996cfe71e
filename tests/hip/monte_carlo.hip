// Pi from random points: Philox 4x32-10, a generator by counter, whose numbers are those of the host and of its authors'
// test vectors.
#include "victim.h"

#include <cstring>

struct Block {
    unsigned word[4];
};

__host__ __device__ inline Block philox(Block counter, unsigned key0, unsigned key1) {
    for (int round = 0; round < 10; ++round) {
        unsigned long long a = 0xD2511F53ull * counter.word[0], b = 0xCD9E8D57ull * counter.word[2];
        counter = {{static_cast<unsigned>(b >> 32) ^ counter.word[1] ^ key0, static_cast<unsigned>(b), static_cast<unsigned>(a >> 32) ^ counter.word[3] ^ key1, static_cast<unsigned>(a)}};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

__global__ void known_answers(const Block* counters, const unsigned* keys, Block* results) {
    unsigned i = threadIdx.x;
    results[i] = philox(counters[i], keys[2 * i], keys[2 * i + 1]);
}

__host__ __device__ inline unsigned hits_of(unsigned index) {
    Block block = philox({{index, 0, 0, 0}}, 2024, 7);
    unsigned hits = 0;
    for (int i = 0; i < 4; i += 2) {
        unsigned long long x = block.word[i] >> 1, y = block.word[i + 1] >> 1;
        hits += x * x + y * y < 1ull << 62;
    }
    return hits;
}

__global__ void throw_points(unsigned blocks, unsigned long long* hits) {
    __shared__ unsigned group;
    if (threadIdx.x == 0) group = 0;
    __syncthreads();
    unsigned mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += gridDim.x * blockDim.x) mine += hits_of(i);
    atomicAdd(&group, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(hits, static_cast<unsigned long long>(group));
}

int main() {
    const std::vector<Block> counters = {{{0, 0, 0, 0}}, {{~0u, ~0u, ~0u, ~0u}}, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}};
    const std::vector<unsigned> keys = {0, 0, ~0u, ~0u, 0xa4093822, 0x299f31d0};
    const Block answers[] = {{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}, {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    Block* results = to_device(std::vector<Block>(3));
    known_answers<<<1, 3>>>(to_device(counters), to_device(keys), results);
    CHECK(hipGetLastError());
    std::vector<Block> found = to_host(results, 3);
    EXPECT(memcmp(found.data(), answers, sizeof answers) == 0, "known answers");

    const unsigned blocks = 20000;
    unsigned long long* hits = to_device(std::vector<unsigned long long>(1, 0));
    throw_points<<<8, 128>>>(blocks, hits);
    CHECK(hipGetLastError());
    unsigned long long result = to_host(hits, 1)[0], expected = 0;
    for (unsigned i = 0; i < blocks; ++i) expected += hits_of(i);
    printf("%llu of %u points, pi is about %.4f\n", result, 2 * blocks, 4.0 * static_cast<double>(result) / (2 * blocks));
    EXPECT(result == expected, "%llu hits, not %llu", result, expected);
    return 0;
}
