// Physical memory of the second GPU, mapped so that only the first one may write to it, as collective libraries lay out
// their buffers. Kernels of the first one add to it, by an argument and by a pointer in memory.
#include "victim.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#define HSA(call) EXPECT((call) == HSA_STATUS_SUCCESS, "%s", #call)

const unsigned count = 256;

__global__ void put(unsigned* to, unsigned value) { to[threadIdx.x] = value; }

__global__ void add(unsigned* to, unsigned by) { to[threadIdx.x] += by; }

__global__ void add_by_table(unsigned** table, unsigned by) { table[0][threadIdx.x] += by; }

__global__ void take(unsigned* __restrict__ to, const unsigned* __restrict__ from) { to[threadIdx.x] = from[threadIdx.x]; }

std::vector<hsa_agent_t> agents;
unsigned found = 0;

// The runtime lists GPUs in HIP's order.
hsa_status_t list(hsa_agent_t agent, void*) {
    hsa_device_type_t type;
    HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU && found < agents.size()) agents[found++] = agent;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t coarse(hsa_amd_memory_pool_t pool, void* found) {
    hsa_amd_segment_t segment;
    uint32_t flags = 0;
    HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (flags == HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
    return HSA_STATUS_SUCCESS;
}

int main() {
    int devices = 0;
    CHECK(hipGetDeviceCount(&devices));
    EXPECT(devices == 2, "%d devices", devices);
    const size_t bytes = 2 << 20;
    agents.resize(2);
    HSA(hsa_iterate_agents(list, nullptr));
    EXPECT(found == 2, "%u agents", found);
    hsa_amd_memory_pool_t pool = {};
    HSA(hsa_amd_agent_iterate_memory_pools(agents[1], coarse, &pool));
    hsa_amd_vmem_alloc_handle_t physical;
    HSA(hsa_amd_vmem_handle_create(pool, bytes, MEMORY_TYPE_NONE, 0, &physical));
    void* base = nullptr;
    HSA(hsa_amd_vmem_address_reserve(&base, bytes, 0, 0));
    HSA(hsa_amd_vmem_map(base, bytes, 0, physical, 0));
    hsa_amd_memory_access_desc_t access = {HSA_ACCESS_PERMISSION_RW, agents[0]};
    HSA(hsa_amd_vmem_set_access(base, bytes, &access, 1));

    CHECK(hipSetDevice(0));
    unsigned* far = static_cast<unsigned*>(base);
    put<<<1, count>>>(far, 1);
    add<<<1, count>>>(far, 10);
    unsigned** table = to_device(std::vector<unsigned*>{far});
    add_by_table<<<1, count>>>(table, 100);
    unsigned* near = to_device(std::vector<unsigned>(count, 0));
    take<<<1, count>>>(near, far);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> result = to_host(near, count);
    printf("value %u, checksum %08x\n", result[0], checksum(result));
    for (unsigned i = 0; i < count; ++i) EXPECT(result[i] == 111, "value %u is %u", i, result[i]);
    HSA(hsa_amd_vmem_unmap(base, bytes));
    HSA(hsa_amd_vmem_handle_release(physical));
    HSA(hsa_amd_vmem_address_free(base, bytes));
    return 0;
}
