// A large allocation of which a kernel changes one word in each page, beside one that nobody touches.
#include "victim.h"

__global__ void touch(unsigned* values, unsigned stride, unsigned pages) {
    unsigned page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page < pages) values[page * stride + page % stride] += page + 1;
}

int main() {
    const size_t bytes = size_t{48} << 20;
    const unsigned stride = 1024;
    const unsigned pages = bytes / 4096;
    unsigned* values = nullptr;
    unsigned* other = nullptr;
    CHECK(hipMalloc(reinterpret_cast<void**>(&values), bytes));
    CHECK(hipMalloc(reinterpret_cast<void**>(&other), bytes));
    CHECK(hipMemset(values, 0, bytes));
    CHECK(hipMemset(other, 0x5a, bytes));
    touch<<<(pages + 255) / 256, 256>>>(values, stride, pages);
    CHECK(hipGetLastError());
    std::vector<unsigned> result = to_host(values, bytes / sizeof(unsigned));
    unsigned changed = 0;
    for (size_t i = 0; i < result.size(); ++i) {
        unsigned page = static_cast<unsigned>(i / stride);
        unsigned expected = i % stride == page % stride ? page + 1 : 0;
        EXPECT(result[i] == expected, "word %zu is %u", i, result[i]);
        changed += result[i] != 0;
    }
    printf("%u words changed, checksum %08x\n", changed, checksum(result));
    std::vector<unsigned> untouched = to_host(other, bytes / sizeof(unsigned));
    for (unsigned word : untouched) EXPECT(word == 0x5a5a5a5au, "the other allocation has changed: %x", word);
    CHECK(hipFree(values));
    CHECK(hipFree(other));
    return 0;
}
