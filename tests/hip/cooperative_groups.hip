// Cooperative groups inside a work-group: the block, tiles of it, and the lanes that are active together.
#include "victim.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

template <unsigned size>
__device__ unsigned sum_of(cg::thread_block_tile<size> tile, unsigned value) {
    for (unsigned distance = size / 2; distance > 0; distance /= 2) value += tile.shfl_down(value, distance);
    return value;
}

// Sums of tiles of 8 and of 32 lanes; the block turned around through group memory; a count of odd values.
__global__ void work(const unsigned* values, unsigned* eights, unsigned* thirties, unsigned* turned, unsigned* odd) {
    __shared__ unsigned shared[128];
    cg::thread_block block = cg::this_thread_block();
    unsigned rank = block.thread_rank(), i = blockIdx.x * block.size() + rank;
    shared[rank] = values[i];
    block.sync();
    turned[i] = shared[block.size() - 1 - rank];
    cg::thread_block_tile<8> eight = cg::tiled_partition<8>(block);
    cg::thread_block_tile<32> thirty = cg::tiled_partition<32>(block);
    unsigned sum = sum_of<8>(eight, values[i]);
    if (eight.thread_rank() == 0) eights[i / 8] = sum;
    sum = sum_of<32>(thirty, values[i]);
    if (thirty.thread_rank() == 0) thirties[i / 32] = sum;
    if (values[i] & 1) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(odd, active.size());
    }
}

int main() {
    const unsigned count = 256;
    std::vector<unsigned> values(count);
    unsigned state = 4;
    for (unsigned& value : values) value = next_random(state) % 1000;
    unsigned* eights = to_device(std::vector<unsigned>(count / 8, 0));
    unsigned* thirties = to_device(std::vector<unsigned>(count / 32, 0));
    unsigned* turned = to_device(std::vector<unsigned>(count, 0));
    unsigned* odd = to_device(std::vector<unsigned>(1, 0));
    work<<<2, 128>>>(to_device(values), eights, thirties, turned, odd);
    CHECK(hipGetLastError());
    std::vector<unsigned> by_eight(count / 8, 0), by_thirty(count / 32, 0), reversed(count);
    unsigned odd_values = 0;
    for (unsigned i = 0; i < count; ++i) {
        by_eight[i / 8] += values[i];
        by_thirty[i / 32] += values[i];
        reversed[i] = values[i / 128 * 128 + 127 - i % 128];
        odd_values += values[i] & 1;
    }
    printf("%u odd values, checksum %08x\n", to_host(odd, 1)[0], checksum(by_thirty));
    EXPECT(to_host(eights, count / 8) == by_eight, "tiles of 8");
    EXPECT(to_host(thirties, count / 32) == by_thirty, "tiles of 32");
    EXPECT(to_host(turned, count) == reversed, "the block turned around");
    EXPECT(to_host(odd, 1)[0] == odd_values, "odd values");
    return 0;
}
