// The HSA runtime started and stopped several times; each time, memory by reservation, handle and mapping holds what is
// copied to it, and a buffer exported as a descriptor outlives its handle.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                     \
    do {                                                                                \
        hsa_status_t status = (call);                                                   \
        if (status != HSA_STATUS_SUCCESS) {                                             \
            fprintf(stderr, "line %d: %s: status %#x\n", __LINE__, #call, status);      \
            exit(2);                                                                    \
        }                                                                               \
    } while (0)

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t vram, host;

static hsa_status_t agent(hsa_agent_t agent, void*) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    (type == HSA_DEVICE_TYPE_GPU ? gpu : cpu) = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool(hsa_amd_memory_pool_t pool, void* found) {
    hsa_amd_segment_t segment;
    uint32_t flags = 0;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    bool coarse = segment == HSA_AMD_SEGMENT_GLOBAL && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
    if (coarse) *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
    return HSA_STATUS_SUCCESS;
}

static void virtual_memory(int round) {
    const size_t size = 2 << 20;
    void *at = nullptr, *staging = nullptr;
    hsa_amd_vmem_alloc_handle_t handle;
    CHECK(hsa_amd_vmem_address_reserve(&at, size, 0, 0));
    CHECK(hsa_amd_vmem_handle_create(vram, size, MEMORY_TYPE_NONE, 0, &handle));
    CHECK(hsa_amd_vmem_map(at, size, 0, handle, 0));
    hsa_amd_memory_access_desc_t access = {HSA_ACCESS_PERMISSION_RW, gpu};
    CHECK(hsa_amd_vmem_set_access(at, size, &access, 1));
    CHECK(hsa_amd_memory_pool_allocate(host, size, 0, &staging));
    CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, staging));
    memset(staging, 40 + round, size);
    CHECK(hsa_memory_copy(at, staging, size));
    memset(staging, 0, size);

    int descriptor = -1;
    CHECK(hsa_amd_vmem_export_shareable_handle(&descriptor, handle, 0));
    CHECK(hsa_amd_vmem_unmap(at, size));
    CHECK(hsa_amd_vmem_handle_release(handle));
    CHECK(hsa_amd_vmem_import_shareable_handle(descriptor, &handle));
    CHECK(hsa_amd_vmem_map(at, size, 0, handle, 0));
    CHECK(hsa_amd_vmem_set_access(at, size, &access, 1));
    CHECK(hsa_memory_copy(staging, at, size));
    for (size_t i = 0; i < size; ++i) {
        if (static_cast<char*>(staging)[i] != 40 + round) {
            fprintf(stderr, "byte %zu of round %d is %d\n", i, round, static_cast<char*>(staging)[i]);
            exit(1);
        }
    }
    CHECK(hsa_amd_vmem_unmap(at, size));
    CHECK(hsa_amd_vmem_handle_release(handle));
    CHECK(hsa_amd_vmem_address_free(at, size));
    CHECK(hsa_amd_memory_pool_free(staging));
}

int main() {
    for (int round = 0; round < 3; ++round) {
        CHECK(hsa_init());
        CHECK(hsa_iterate_agents(agent, nullptr));
        CHECK(hsa_amd_agent_iterate_memory_pools(gpu, pool, &vram));
        CHECK(hsa_amd_agent_iterate_memory_pools(cpu, pool, &host));
        virtual_memory(round);
        CHECK(hsa_shut_down());
    }
    printf("three rounds\n");
    return 0;
}
