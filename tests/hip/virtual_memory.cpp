// The HSA runtime started and stopped several times; each time, memory by reservation, handle and mapping holds what is
// copied to it, and memory exported as a descriptor outlives its handle and is another process's memory too.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

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

const size_t size = 2 << 20;

// By a copy engine: the runtime would take memory that it does not know for the host's, and copy by itself.
static void copy(void* to, hsa_agent_t owner, const void* from, hsa_agent_t source) {
    hsa_signal_t done;
    CHECK(hsa_signal_create(1, 0, nullptr, &done));
    CHECK(hsa_amd_memory_async_copy(to, owner, from, source, size, 0, nullptr, done));
    hsa_signal_value_t end = hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    if (end != 0) {
        fprintf(stderr, "a copy ended with %ld\n", static_cast<long>(end));
        exit(1);
    }
    CHECK(hsa_signal_destroy(done));
}

static void fill(char* bytes, int value) { memset(bytes, value, size); }

static void expect(const char* bytes, int value, const char* where) {
    for (size_t i = 0; i < size; ++i) {
        if (bytes[i] != value) {
            fprintf(stderr, "%s, byte %zu is %d and not %d\n", where, i, bytes[i], value);
            exit(1);
        }
    }
}

// Reserved addresses for device memory, and host memory to copy from and to.
struct Place {
    void* at = nullptr;
    char* staging = nullptr;

    Place() {
        CHECK(hsa_amd_vmem_address_reserve(&at, size, 0, 0));
        CHECK(hsa_amd_memory_pool_allocate(host, size, 0, reinterpret_cast<void**>(&staging)));
        CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, staging));
    }
    ~Place() {
        CHECK(hsa_amd_vmem_address_free(at, size));
        CHECK(hsa_amd_memory_pool_free(staging));
    }
    void map(hsa_amd_vmem_alloc_handle_t handle) {
        CHECK(hsa_amd_vmem_map(at, size, 0, handle, 0));
        hsa_amd_memory_access_desc_t access = {HSA_ACCESS_PERMISSION_RW, gpu};
        CHECK(hsa_amd_vmem_set_access(at, size, &access, 1));
    }
    void unmap(hsa_amd_vmem_alloc_handle_t handle) {
        CHECK(hsa_amd_vmem_unmap(at, size));
        CHECK(hsa_amd_vmem_handle_release(handle));
    }
    void up(int value) {
        fill(staging, value);
        copy(at, gpu, staging, cpu);
    }
    void down(int value, const char* where) {
        fill(staging, 0);
        copy(staging, cpu, at, gpu);
        expect(staging, value, where);
    }
};

// The other process: sees what the first one wrote, and writes something else.
static void other_process(int descriptor) {
    Place place;
    hsa_amd_vmem_alloc_handle_t handle;
    CHECK(hsa_amd_vmem_import_shareable_handle(descriptor, &handle));
    place.map(handle);
    place.down(40, "in the other process");
    place.up(50);
    place.unmap(handle);
}

static void virtual_memory(char* program) {
    Place place;
    hsa_amd_vmem_alloc_handle_t handle;
    CHECK(hsa_amd_vmem_handle_create(vram, size, MEMORY_TYPE_NONE, 0, &handle));
    place.map(handle);
    place.up(40);
    int descriptor = -1;
    CHECK(hsa_amd_vmem_export_shareable_handle(&descriptor, handle, 0));
    place.unmap(handle);

    fcntl(descriptor, F_SETFD, 0);
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", descriptor);
        execl("/proc/self/exe", program, "child", number, nullptr);
        _exit(9);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the other process ended with %#x\n", status);
        exit(1);
    }
    CHECK(hsa_amd_vmem_import_shareable_handle(descriptor, &handle));
    close(descriptor);
    place.map(handle);
    place.down(50, "after the other process");
    place.unmap(handle);
}

int main(int words, char** word) {
    bool child = words == 3 && strcmp(word[1], "child") == 0;
    for (int round = 0; round < (child ? 1 : 3); ++round) {
        CHECK(hsa_init());
        CHECK(hsa_iterate_agents(agent, nullptr));
        CHECK(hsa_amd_agent_iterate_memory_pools(gpu, pool, &vram));
        CHECK(hsa_amd_agent_iterate_memory_pools(cpu, pool, &host));
        if (child)
            other_process(atoi(word[2]));
        else
            virtual_memory(word[0]);
        CHECK(hsa_shut_down());
    }
    if (!child) printf("three rounds\n");
    return 0;
}
