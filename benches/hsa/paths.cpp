// What calls cost that something may stand in the way of: the doorbell of a queue, a queue full of packets, an allocation.
//
// usage: paths CODE_OBJECT PACKETS ALLOCATIONS
//
// Prints nanoseconds: `doorbell MEDIAN` for one store to the doorbell of a queue that has room, and `submission MEDIAN` for that with
// the packet written before it; `signalled MEDIAN` and `submission_signalled MEDIAN` for packets with a completion signal each;
// `crowded MEDIAN` for a doorbell while the hardware's ring is mostly full, so that it has nothing to send; `packet MEAN` from the first
// packet written to the last one completed; `allocation MEDIAN` for one allocation of device memory with its free.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        hsa_status_t status = (call);                                                                \
        if (status != HSA_STATUS_SUCCESS) {                                                          \
            std::fprintf(stderr, "paths: %s: status %#x\n", #call, static_cast<unsigned>(status));    \
            std::exit(1);                                                                            \
        }                                                                                            \
    } while (0)

namespace {

// Packets submitted before the queue is waited for: far fewer than it has room for.
constexpr int BURST = 256;

using Clock = std::chrono::steady_clock;

double ns(Clock::duration time) { return std::chrono::duration<double, std::nano>(time).count(); }

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

hsa_status_t see_agent(hsa_agent_t agent, void *place) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
    *static_cast<hsa_agent_t *>(place) = agent;
    return HSA_STATUS_INFO_BREAK;
}

hsa_status_t see_pool(hsa_amd_memory_pool_t pool, void *place) {
    hsa_amd_segment_t segment;
    uint32_t flags = 0;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (!(flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)) return HSA_STATUS_SUCCESS;
    *static_cast<hsa_amd_memory_pool_t *>(place) = pool;
    return HSA_STATUS_INFO_BREAK;
}

void failed(hsa_status_t status, hsa_queue_t *, void *) {
    std::fprintf(stderr, "paths: queue error %#x\n", static_cast<unsigned>(status));
    std::exit(1);
}

uint64_t load(hsa_agent_t gpu, const char *path) {
    const int file = open(path, O_RDONLY);
    hsa_code_object_reader_t reader;
    CHECK(hsa_code_object_reader_create_from_file(file, &reader));
    hsa_executable_t executable;
    CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    CHECK(hsa_executable_freeze(executable, nullptr));
    hsa_executable_symbol_t symbol;
    CHECK(hsa_executable_get_symbol_by_name(executable, "nothing.kd", &gpu, &symbol));
    uint64_t object = 0;
    CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
    return object;
}

// Writes one dispatch and gives its index.
uint64_t write(hsa_queue_t *queue, uint64_t kernel, hsa_signal_t completion) {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
    }
    auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) + index % queue->size;
    std::memset(reinterpret_cast<char *>(packet) + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
    packet->kernel_object = kernel;
    packet->completion_signal = completion;
    const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;
    const uint32_t setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    __atomic_store_n(reinterpret_cast<uint32_t *>(packet), header | setup << 16, __ATOMIC_RELEASE);
    return index;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: paths CODE_OBJECT PACKETS ALLOCATIONS\n");
        return 2;
    }
    const int packets = std::atoi(argv[2]), allocations = std::atoi(argv[3]);
    CHECK(hsa_init());
    hsa_agent_t gpu{};
    hsa_iterate_agents(see_agent, &gpu);
    hsa_amd_memory_pool_t pool{};
    hsa_amd_agent_iterate_memory_pools(gpu, see_pool, &pool);
    const uint64_t kernel = load(gpu, argv[1]);
    hsa_queue_t *queue = nullptr;
    CHECK(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_MULTI, failed, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    hsa_signal_t done;
    CHECK(hsa_signal_create(1, 0, nullptr, &done));

    std::vector<hsa_signal_t> signals(BURST);
    for (auto &signal : signals) CHECK(hsa_signal_create(1, 0, nullptr, &signal));

    // Medians of the store to the doorbell and of the whole submission; each doorbell sends one packet.
    const auto submission = [&](bool with_signals) {
        std::vector<double> rings, submissions;
        for (int i = 0; i < packets; i += BURST) {
            for (const auto signal : signals) hsa_signal_store_relaxed(signal, 1);
            for (int j = 0; j < BURST; ++j) {
                const bool last = j + 1 == BURST;
                const auto start = Clock::now();
                const uint64_t index = write(queue, kernel, with_signals || last ? signals[j] : hsa_signal_t{0});
                const auto written = Clock::now();
                hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
                const auto rung = Clock::now();
                rings.push_back(ns(rung - written));
                submissions.push_back(ns(rung - start));
            }
            hsa_signal_wait_scacquire(signals.back(), HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
        }
        return std::pair(median(rings), median(submissions));
    };
    submission(false);
    const auto [doorbell, plain] = submission(false);
    const auto [signalled, with_signal] = submission(true);
    std::printf("doorbell %.0f\nsubmission %.0f\n", doorbell, plain);
    std::printf("signalled %.0f\nsubmission_signalled %.0f\n", signalled, with_signal);

    std::vector<double> times;
    for (int i = 0; i < packets; ++i) {
        const bool last = i + 1 == packets;
        const uint64_t index = write(queue, kernel, last ? done : hsa_signal_t{0});
        const auto before = Clock::now();
        hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
        times.push_back(ns(Clock::now() - before));
    }
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    std::printf("crowded %.0f\n", median(times));

    hsa_signal_store_screlease(done, 1);
    const auto start = Clock::now();
    for (int i = 0; i < packets; ++i) {
        const bool last = i + 1 == packets;
        const uint64_t index = write(queue, kernel, last ? done : hsa_signal_t{0});
        // As HIP does: one ring for many packets, where there are many.
        if (last || index % 16 == 15)
            hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    }
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    std::printf("packet %.0f\n", ns(Clock::now() - start) / packets);

    times.clear();
    for (int i = 0; i < allocations; ++i) {
        void *memory = nullptr;
        const auto before = Clock::now();
        CHECK(hsa_amd_memory_pool_allocate(pool, 4096, 0, &memory));
        CHECK(hsa_amd_memory_pool_free(memory));
        times.push_back(ns(Clock::now() - before));
    }
    std::printf("allocation %.0f\n", median(times));
    for (const auto signal : signals) CHECK(hsa_signal_destroy(signal));
    CHECK(hsa_signal_destroy(done));
    CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_shut_down());
    return 0;
}
