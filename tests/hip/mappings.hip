// Virtual memory as PyTorch's expandable segments use it: physical handles mapped side by side into one reserved range,
// access set over both, one unmapped and another mapped in its place, one handle at two addresses. Kernels add in place.
#include "victim.h"

__global__ void raise(unsigned* values, unsigned count, unsigned by) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += by;
}

__global__ void raise_both(unsigned* one, unsigned* other, unsigned by) {
    one[threadIdx.x] += by;
    __syncthreads();
    __threadfence();
    other[threadIdx.x + 64] += by;
}

struct Physical {
    hipMemGenericAllocationHandle_t handle;
    explicit Physical(size_t bytes) {
        hipMemAllocationProp prop = {};
        prop.type = hipMemAllocationTypePinned;
        prop.location.type = hipMemLocationTypeDevice;
        prop.location.id = 0;
        CHECK(hipMemCreate(&handle, bytes, &prop, 0));
    }
};

char* at(void* base, size_t offset) { return static_cast<char*>(base) + offset; }

void access(void* base, size_t bytes, hipMemAccessFlags flags) {
    hipMemAccessDesc access = {};
    access.location.type = hipMemLocationTypeDevice;
    access.location.id = 0;
    access.flags = flags;
    CHECK(hipMemSetAccess(base, bytes, &access, 1));
}

void launch(void* base, size_t bytes, unsigned by) {
    unsigned count = static_cast<unsigned>(bytes / sizeof(unsigned));
    raise<<<(count + 255) / 256, 256>>>(static_cast<unsigned*>(base), count, by);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
}

int main() {
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.location.type = hipMemLocationTypeDevice;
    prop.location.id = 0;
    size_t grain = 0;
    CHECK(hipMemGetAllocationGranularity(&grain, &prop, hipMemAllocationGranularityRecommended));
    void* base = nullptr;
    CHECK(hipMemAddressReserve(&base, 4 * grain, 0, nullptr, 0));

    // Two handles become one range.
    Physical first(grain), second(grain), third(grain);
    CHECK(hipMemMap(base, grain, 0, first.handle, 0));
    CHECK(hipMemMap(at(base, grain), grain, 0, second.handle, 0));
    access(base, 2 * grain, hipMemAccessFlagsProtReadWrite);
    CHECK(hipMemset(base, 0, 2 * grain));
    launch(base, 2 * grain, 5);
    unsigned words = static_cast<unsigned>(2 * grain / sizeof(unsigned));
    std::vector<unsigned> both = to_host(static_cast<unsigned*>(base), words);
    for (unsigned i = 0; i < words; ++i) EXPECT(both[i] == 5, "word %u is %u", i, both[i]);

    // The second one goes, another comes in its place: what was in it before is not put into the new one.
    CHECK(hipMemUnmap(at(base, grain), grain));
    CHECK(hipMemMap(at(base, grain), grain, 0, third.handle, 0));
    access(at(base, grain), grain, hipMemAccessFlagsProtReadWrite);
    CHECK(hipMemset(at(base, grain), 0, grain));
    launch(base, 2 * grain, 7);
    both = to_host(static_cast<unsigned*>(base), words);
    EXPECT(both[0] == 12 && both[words - 1] == 7, "%u %u", both[0], both[words - 1]);

    // The first one at a second address.
    CHECK(hipMemMap(at(base, 3 * grain), grain, 0, first.handle, 0));
    access(at(base, 3 * grain), grain, hipMemAccessFlagsProtReadWrite);
    raise_both<<<1, 64>>>(static_cast<unsigned*>(base), reinterpret_cast<unsigned*>(at(base, 3 * grain)), 100);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> alias = to_host(reinterpret_cast<unsigned*>(at(base, 3 * grain)), 192);
    printf("words %u %u %u\n", alias[0], alias[64], alias[128]);
    EXPECT(alias[0] == 112 && alias[64] == 112 && alias[128] == 12, "%u %u %u", alias[0], alias[64], alias[128]);

    for (size_t place : {size_t{0}, size_t{1}, size_t{3}}) CHECK(hipMemUnmap(at(base, place * grain), grain));
    for (auto physical : {first, second, third}) CHECK(hipMemRelease(physical.handle));
    CHECK(hipMemAddressFree(base, 4 * grain));
    return 0;
}
