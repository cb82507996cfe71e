// Packets that no device can execute, each on a queue of its own: the status that the queue's callback is given. Then a queue
// whose ring is full, which goes on once its packets are done.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define CHECK(call)                                                                 \
    do {                                                                            \
        hsa_status_t status = (call);                                               \
        if (status != HSA_STATUS_SUCCESS) {                                         \
            fprintf(stderr, "line %d: %s: status %#x\n", __LINE__, #call, status);  \
            exit(2);                                                                \
        }                                                                           \
    } while (0)

static hsa_agent_t gpu;
static std::atomic<unsigned> told{0};

static hsa_status_t agent(hsa_agent_t agent, void*) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) gpu = agent;
    return HSA_STATUS_SUCCESS;
}

static void failed(hsa_status_t status, hsa_queue_t*, void*) { told = static_cast<unsigned>(status); }

static hsa_queue_t* queue(unsigned size) {
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, failed, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    return queue;
}

static void publish(hsa_queue_t* queue, const void* packet, uint16_t header) {
    uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {}
    char* slot = static_cast<char*>(queue->base_address) + index % queue->size * 64;
    memcpy(slot + 2, static_cast<const char*>(packet) + 2, 62);
    __atomic_store_n(reinterpret_cast<uint16_t*>(slot), header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, index);
}

static void wrong(const char* what, hsa_kernel_dispatch_packet_t packet, uint16_t header) {
    told = 0;
    hsa_queue_t* own = queue(64);
    publish(own, &packet, header);
    for (timespec pause = {0, 1000000}; told == 0;) nanosleep(&pause, nullptr);
    printf("%s: %#x\n", what, told.load());
    CHECK(hsa_queue_destroy(own));
}

int main(int, char**) {
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(agent, nullptr));
    const uint16_t dispatch = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    hsa_kernel_dispatch_packet_t good;
    memset(&good, 0, sizeof good);
    good.setup = 1;
    good.workgroup_size_x = good.workgroup_size_y = good.workgroup_size_z = 1;
    good.grid_size_x = good.grid_size_y = good.grid_size_z = 1;
    hsa_kernel_dispatch_packet_t packet = good;
    wrong("a packet of no known type", packet, 99);
    packet.setup = 0;
    wrong("no dimensions", packet, dispatch);
    packet = good;
    packet.workgroup_size_x = 0;
    wrong("an empty work-group", packet, dispatch);
    packet = good;
    packet.workgroup_size_x = packet.workgroup_size_y = 65535;
    packet.setup = 3;
    packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = UINT32_MAX;
    wrong("an absurd grid", packet, dispatch);
    packet = good;
    packet.grid_size_x = 0;
    wrong("an empty grid", packet, dispatch);
    wrong("no kernel", good, dispatch);
    packet = good;
    packet.kernel_object = 0x123450000;
    wrong("a kernel that is nowhere", packet, dispatch);

    hsa_queue_t* small = queue(64);
    hsa_signal_t done;
    CHECK(hsa_signal_create(1000, 0, nullptr, &done));
    hsa_barrier_and_packet_t barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.completion_signal = done;
    for (int i = 0; i < 1000; ++i) publish(small, &barrier, HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER);
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    printf("a thousand packets went through a ring of 64\n");
    CHECK(hsa_queue_destroy(small));
    CHECK(hsa_shut_down());
    return 0;
}
