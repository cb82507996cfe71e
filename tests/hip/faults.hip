// A kernel that fails in one way, and what the caller is told: "wild", "gone", "illegal" or "trap".
#include "victim.h"

#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__global__ void store(int* to) { *to = 7; }
__global__ void illegal() { asm volatile(".long 0xffffffff"); }
__global__ void trap() { __builtin_trap(); }

int main(int words, char** word) {
    EXPECT(words == 2, "usage: faults wild|gone|illegal|trap");
    std::string what = word[1];
    if (what == "wild") {
        store<<<1, 1>>>(reinterpret_cast<int*>(0x123450000));
    } else if (what == "gone") {
        // Registered memory that is unmapped without anybody being told.
        void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(hipHostRegister(page, 4096, hipHostRegisterMapped));
        int* device = nullptr;
        CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), page, 0));
        EXPECT(syscall(SYS_munmap, page, 4096) == 0, "munmap");
        store<<<1, 1>>>(device);
    } else if (what == "illegal") {
        illegal<<<1, 1>>>();
    } else {
        trap<<<1, 1>>>();
    }
    hipError_t status = hipDeviceSynchronize();
    printf("%s\n", hipGetErrorName(status));
    fflush(stdout);
    _exit(0);
}
