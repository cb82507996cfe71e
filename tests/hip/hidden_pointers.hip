// Host memory that no pointer argument leads to at once: a __managed__ variable, registered memory behind a structure passed by
// value, a packed structure whose pointer lies at an odd offset, and tables of pointers. Each kernel adds once; a second pass would show.
#include "victim.h"

__managed__ int managed = 5;

struct Box {
    int* values;
    int amount;
};

struct __attribute__((packed)) Packed {
    char tag;
    int* values;
    short amount;
};

__global__ void add_managed() { managed += 10; }
__global__ void add_boxed(Box box) { box.values[threadIdx.x] += box.amount; }
__global__ void add_by_table(int* const* table) { table[1][threadIdx.x] += 11; }
__global__ void add_by_chain(int* const* const* tables) { tables[0][1][threadIdx.x] += 13; }
__global__ void add_packed(Packed packed) { packed.values[threadIdx.x] += packed.amount; }

int main() {
    const int count = 64;
    add_managed<<<1, 1>>>();
    CHECK(hipDeviceSynchronize());

    std::vector<int> own(4096, 1);
    CHECK(hipHostRegister(own.data(), own.size() * sizeof(int), hipHostRegisterDefault));
    int* registered = nullptr;
    CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&registered), own.data(), 0));
    add_boxed<<<1, count>>>(Box{registered, 3});
    CHECK(hipDeviceSynchronize());

    int* pinned = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), count * sizeof(int), 0));
    for (int i = 0; i < count; ++i) pinned[i] = i;
    add_packed<<<1, count>>>(Packed{1, pinned, 7});
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());

    // Pointers to it in device memory, one and two steps away, and in pinned memory that is only read.
    int** table = to_device(std::vector<int*>{nullptr, pinned});
    add_by_table<<<1, count>>>(table);
    CHECK(hipDeviceSynchronize());
    int*** tables = to_device(std::vector<int**>{table});
    add_by_chain<<<1, count>>>(tables);
    CHECK(hipDeviceSynchronize());
    int** pinned_table = nullptr;
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned_table), 2 * sizeof *pinned_table, 0));
    pinned_table[1] = pinned;
    add_by_table<<<1, count>>>(pinned_table);
    CHECK(hipDeviceSynchronize());

    printf("managed %d, registered %d, pinned %d\n", managed, own[5], pinned[5]);
    EXPECT(managed == 15, "managed is %d", managed);
    for (int i = 0; i < count; ++i) EXPECT(own[i] == 4 && pinned[i] == i + 42, "%d: %d %d", i, own[i], pinned[i]);
    CHECK(hipHostUnregister(own.data()));
    CHECK(hipFree(table));
    CHECK(hipFree(tables));
    CHECK(hipHostFree(pinned_table));
    CHECK(hipHostFree(pinned));
    return 0;
}
