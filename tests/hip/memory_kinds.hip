// Memory of every kind that HIP offers, each written by a kernel and read back; streams with priorities and CU masks.
#include "victim.h"

const int count = 4096;

__global__ void fill(int* values, int first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = first + i;
}

// The compute unit of each work-group: CU_ID, bits 11:8 of the register HW_ID (number 4).
__global__ void units(int* numbers) {
    if (threadIdx.x == 0) numbers[blockIdx.x] = __builtin_amdgcn_s_getreg(3 << 11 | 8 << 6 | 4);
}

static void check(const char* kind, int* values, int first, hipStream_t stream) {
    fill<<<count / 256, 256, 0, stream>>>(values, first);
    CHECK(hipStreamSynchronize(stream));
    std::vector<int> back(count);
    CHECK(hipMemcpy(back.data(), values, count * sizeof(int), hipMemcpyDefault));
    for (int i = 0; i < count; ++i) EXPECT(back[i] == first + i, "%s memory, value %d is %d", kind, i, back[i]);
    printf("%s: right\n", kind);
}

int main() {
    const size_t size = count * sizeof(int);
#if HIP_VERSION_MAJOR >= 6
    // As on an MI300X: the link to the host has atomics. HIP 5 does not know the attribute.
    int atomics = 0;
    CHECK(hipDeviceGetAttribute(&atomics, hipDeviceAttributeHostNativeAtomicSupported, 0));
    EXPECT(atomics == 1, "atomics on host memory: %d", atomics);
#endif
    int* values = nullptr;
    void** place = reinterpret_cast<void**>(&values);
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));

    CHECK(hipExtMallocWithFlags(place, size, hipDeviceMallocFinegrained));
    check("fine-grained", values, 1, stream);
    CHECK(hipFree(values));
    CHECK(hipMallocAsync(place, size, stream));
    check("stream-ordered", values, 2, stream);
    CHECK(hipFreeAsync(values, stream));
    CHECK(hipHostMalloc(place, size, hipHostMallocMapped));
    check("mapped", values, 3, stream);
    CHECK(hipHostFree(values));

    CHECK(hipMallocManaged(place, size));
    check("managed", values, 4, stream);
    EXPECT(values[9] == 13, "the host does not see managed memory");
    CHECK(hipMemAdvise(values, size, hipMemAdviseSetReadMostly, 0));
    CHECK(hipMemPrefetchAsync(values, size, 0, stream));
    int mostly = 0;
    CHECK(hipMemRangeGetAttribute(&mostly, sizeof mostly, hipMemRangeAttributeReadMostly, values, size));
    EXPECT(mostly == 1, "the advice was not kept");
    CHECK(hipFree(values));

    size_t pitch = 0;
    hipError_t pitched = hipMallocPitch(place, &pitch, 100, 50);
#if HIP_VERSION_MAJOR < 6
    // HIP 5 refuses it on devices without images, as gfx942 is.
    EXPECT(pitched == hipErrorInvalidValue, "hipMallocPitch: %s", hipGetErrorString(pitched));
#else
    CHECK(pitched);
    EXPECT(pitch >= 100 && pitch * 50 >= size / 4, "a pitch of %zu", pitch);
    CHECK(hipFree(values));
#endif

    std::vector<int> own(count + 1024);
    int* aligned = reinterpret_cast<int*>((reinterpret_cast<uintptr_t>(own.data()) + 4095) & ~uintptr_t{4095});
    CHECK(hipHostRegister(aligned, size, hipHostRegisterMapped));
    CHECK(hipHostGetDevicePointer(place, aligned, 0));
    check("registered", values, 5, stream);
    CHECK(hipHostUnregister(aligned));

    int least = 0, greatest = 0;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(greatest < least, "priorities from %d to %d", least, greatest);
    CHECK(hipMalloc(place, size));
    for (int priority : {least, greatest}) {
        hipStream_t urgent;
        CHECK(hipStreamCreateWithPriority(&urgent, hipStreamNonBlocking, priority));
        check("a stream with a priority", values, 6 + priority, urgent);
        CHECK(hipStreamDestroy(urgent));
    }
    unsigned mask = 4, answer = 0;
    hipStream_t narrow;
    CHECK(hipExtStreamCreateWithCUMask(&narrow, 1, &mask));
    CHECK(hipExtStreamGetCUMask(narrow, 1, &answer));
    EXPECT(answer == mask, "the mask is %#x", answer);
    check("a stream with a CU mask", values, 9, narrow);
    units<<<count / 64, 64, 0, narrow>>>(values);
    CHECK(hipStreamSynchronize(narrow));
    for (int unit : to_host(values, count / 64)) EXPECT(unit == 2, "a work-group ran on compute unit %d", unit);
    CHECK(hipStreamDestroy(narrow));
    CHECK(hipFree(values));
    CHECK(hipStreamDestroy(stream));
    return 0;
}
