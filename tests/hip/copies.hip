// Fills and copies of every direction and several sizes, at odd offsets, with a kernel between them.
#include "victim.h"

__global__ void invert(unsigned char* bytes, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) bytes[i] = static_cast<unsigned char>(~bytes[i]);
}

int main() {
    const size_t size = 70001;
    std::vector<unsigned char> host(size);
    unsigned state = 13;
    for (unsigned char& byte : host) byte = static_cast<unsigned char>(next_random(state));
    std::vector<unsigned char> expected = host;
    unsigned char* first = to_device(host);
    unsigned char* second = nullptr;
    CHECK(hipMalloc(reinterpret_cast<void**>(&second), size));

    CHECK(hipMemset(second, 0xa5, size));
    CHECK(hipMemcpy(second + 3, first + 5, 1000, hipMemcpyDeviceToDevice));
    CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(second + 4096), 0x01020304, 100));
    CHECK(hipMemset(second + 8191, 0x11, 17));
    std::vector<unsigned char> mirror(size, 0xa5);
    std::copy(expected.begin() + 5, expected.begin() + 1005, mirror.begin() + 3);
    for (int i = 0; i < 100; ++i)
        for (int byte = 0; byte < 4; ++byte) mirror[4096 + 4 * i + byte] = static_cast<unsigned char>(4 - byte);
    std::fill(mirror.begin() + 8191, mirror.begin() + 8208, 0x11);
    EXPECT(to_host(second, size) == mirror, "after fills and a copy on the device");

    invert<<<(size + 255) / 256, 256>>>(first, size);
    CHECK(hipGetLastError());
    for (unsigned char& byte : expected) byte = static_cast<unsigned char>(~byte);

    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    unsigned char* pinned = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), size, hipHostMallocDefault));
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpyAsync(pinned, first, size, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    EXPECT(std::equal(expected.begin(), expected.end(), pinned), "a copy to pinned memory");
    for (size_t i = 0; i < size; ++i) pinned[i] = static_cast<unsigned char>(i);
    CHECK(hipMemcpyAsync(second, pinned, size, hipMemcpyHostToDevice, stream));
    CHECK(hipMemcpyAsync(first, second, 40000, hipMemcpyDeviceToDevice, stream));
    CHECK(hipStreamSynchronize(stream));
    for (size_t i = 0; i < size; ++i) {
        if (i < 40000) expected[i] = static_cast<unsigned char>(i);
    }
    EXPECT(to_host(first, size) == expected, "copies in order on a stream");

    // A window of 50 rows of 100 bytes from a pitch of 300 to a pitch of 200.
    std::vector<unsigned char> rows(50 * 200, 0);
    CHECK(hipMemcpy2D(rows.data(), 200, first + 7, 300, 100, 50, hipMemcpyDeviceToHost));
    for (int row = 0; row < 50; ++row)
        for (int column = 0; column < 200; ++column) {
            unsigned char value = column < 100 ? expected[7 + row * 300 + column] : 0;
            EXPECT(rows[row * 200 + column] == value, "row %d, column %d", row, column);
        }
    printf("checksums %08x %08x\n", checksum(expected), checksum(rows));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipHostFree(pinned));
    CHECK(hipFree(first));
    CHECK(hipFree(second));
    return 0;
}
