// HSA without HIP: a dispatch with a completion signal of its own, whose times are asked for afterwards.
//
// usage: dispatch_time CODE_OBJECT
//
// The raw ticks of the signal go to standard error, since no two runs agree on them.
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <fcntl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        hsa_status_t status = (call);                                                                   \
        if (status != HSA_STATUS_SUCCESS) {                                                             \
            fprintf(stderr, "%s:%d: %s: status %#x\n", __FILE__, __LINE__, #call, (unsigned)status);     \
            exit(2);                                                                                    \
        }                                                                                               \
    } while (0)

#define EXPECT(condition, what)                                             \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, what); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

namespace {

struct Machine {
    hsa_agent_t gpu{};
    hsa_agent_t host{};
    hsa_amd_memory_pool_t device{};
    hsa_amd_memory_pool_t kernarg{};
    hsa_amd_memory_pool_t pinned{};
};

hsa_status_t see_agent(hsa_agent_t agent, void* data) {
    Machine* machine = static_cast<Machine*>(data);
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU && machine->gpu.handle == 0) machine->gpu = agent;
    if (type == HSA_DEVICE_TYPE_CPU && machine->host.handle == 0) machine->host = agent;
    return HSA_STATUS_SUCCESS;
}

bool is_global(hsa_amd_memory_pool_t pool, uint32_t* flags) {
    hsa_amd_segment_t segment;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return false;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, flags));
    return true;
}

hsa_status_t see_device_pool(hsa_amd_memory_pool_t pool, void* data) {
    Machine* machine = static_cast<Machine*>(data);
    uint32_t flags = 0;
    if (is_global(pool, &flags) && (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) && !machine->device.handle)
        machine->device = pool;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t see_host_pool(hsa_amd_memory_pool_t pool, void* data) {
    Machine* machine = static_cast<Machine*>(data);
    uint32_t flags = 0;
    if (!is_global(pool, &flags)) return HSA_STATUS_SUCCESS;
    if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
        machine->kernarg = pool;
    else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
        machine->pinned = pool;
    return HSA_STATUS_SUCCESS;
}

void queue_error(hsa_status_t status, hsa_queue_t*, void*) {
    fprintf(stderr, "queue error %#x\n", (unsigned)status);
    exit(2);
}

void* allocate(hsa_amd_memory_pool_t pool, size_t size, hsa_agent_t reader) {
    void* memory = nullptr;
    CHECK(hsa_amd_memory_pool_allocate(pool, size, 0, &memory));
    CHECK(hsa_amd_agents_allow_access(1, &reader, nullptr, memory));
    return memory;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2, "usage: dispatch_time CODE_OBJECT");
    CHECK(hsa_init());
    Machine machine;
    CHECK(hsa_iterate_agents(see_agent, &machine));
    EXPECT(machine.gpu.handle != 0, "there is no GPU");
    CHECK(hsa_amd_agent_iterate_memory_pools(machine.gpu, see_device_pool, &machine));
    CHECK(hsa_amd_agent_iterate_memory_pools(machine.host, see_host_pool, &machine));

    int file = open(argv[1], O_RDONLY);
    EXPECT(file >= 0, "the code object cannot be opened");
    hsa_code_object_reader_t reader;
    CHECK(hsa_code_object_reader_create_from_file(file, &reader));
    hsa_executable_t executable;
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    CHECK(hsa_executable_load_agent_code_object(executable, machine.gpu, reader, nullptr, nullptr));
    CHECK(hsa_executable_freeze(executable, nullptr));
    hsa_executable_symbol_t symbol;
    CHECK(hsa_executable_get_symbol_by_name(executable, "increment.kd", &machine.gpu, &symbol));
    uint64_t kernel_object = 0;
    uint32_t kernarg_size = 0, group_size = 0, private_size = 0;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel_object));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_size));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &group_size));
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &private_size));

    const uint32_t count = 200;
    const size_t bytes = count * sizeof(uint32_t);
    uint32_t* values = static_cast<uint32_t*>(allocate(machine.device, bytes, machine.gpu));
    uint32_t* staging = static_cast<uint32_t*>(allocate(machine.pinned, bytes, machine.gpu));
    for (uint32_t i = 0; i < count; ++i) staging[i] = 7 * i;
    CHECK(hsa_memory_copy(values, staging, bytes));

    // The arguments, then what the compiler may read of the hidden ones: the size of a group in X at 12 bytes behind them.
    EXPECT(kernarg_size >= 12, "the kernel's arguments have another layout");
    unsigned char* kernarg = static_cast<unsigned char*>(allocate(machine.kernarg, kernarg_size, machine.gpu));
    memset(kernarg, 0, kernarg_size);
    memcpy(kernarg, &values, sizeof values);
    memcpy(kernarg + 8, &count, sizeof count);
    const uint16_t group = 64;
    const uint32_t groups = (count + group - 1) / group;
    if (kernarg_size >= 30) {
        memcpy(kernarg + 16, &groups, sizeof groups);
        memcpy(kernarg + 28, &group, sizeof group);
    }

    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(machine.gpu, 64, HSA_QUEUE_TYPE_SINGLE, queue_error, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
    hsa_signal_t signal;
    CHECK(hsa_signal_create(1, 0, nullptr, &signal));

    uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    hsa_kernel_dispatch_packet_t* packet =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address) + index % queue->size;
    memset(reinterpret_cast<char*>(packet) + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = group;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = groups * group;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->group_segment_size = group_size;
    packet->private_segment_size = private_size;
    packet->kernel_object = kernel_object;
    packet->kernarg_address = kernarg;
    packet->completion_signal = signal;
    uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE |
                      1u << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS << 16;
    __atomic_store_n(reinterpret_cast<uint32_t*>(packet), header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    hsa_signal_value_t left =
        hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);

    hsa_amd_profiling_dispatch_time_t times{};
    CHECK(hsa_amd_profiling_get_dispatch_time(machine.gpu, signal, &times));
    const amd_signal_t* raw = reinterpret_cast<const amd_signal_t*>(signal.handle);
    fprintf(stderr, "ticks %llu %llu\n", (unsigned long long)raw->start_ts, (unsigned long long)raw->end_ts);

    CHECK(hsa_memory_copy(staging, values, bytes));
    printf("signal %lld, values[3] %u, times %s\n", (long long)left, staging[3],
           times.start != 0 && times.end > times.start ? "of a dispatch" : "missing");
    EXPECT(left == 0, "the signal is not 0");
    for (uint32_t i = 0; i < count; ++i) EXPECT(staging[i] == 7 * i + 1, "a value");
    EXPECT(times.start != 0 && times.end > times.start, "the dispatch has no times");

    CHECK(hsa_signal_destroy(signal));
    CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_executable_destroy(executable));
    CHECK(hsa_code_object_reader_destroy(reader));
    CHECK(hsa_amd_memory_pool_free(kernarg));
    CHECK(hsa_amd_memory_pool_free(staging));
    CHECK(hsa_amd_memory_pool_free(values));
    CHECK(hsa_shut_down());
    return 0;
}
