// Where the ring of a queue lies: prints whether its memory belongs to the GPU or to the host.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                 \
    do {                                                                            \
        hsa_status_t status = (call);                                               \
        if (status != HSA_STATUS_SUCCESS) {                                         \
            fprintf(stderr, "line %d: %s: status %#x\n", __LINE__, #call, status);  \
            exit(2);                                                                \
        }                                                                           \
    } while (0)

static hsa_agent_t gpu;

static hsa_status_t see(hsa_agent_t agent, void*) {
    hsa_device_type_t type;
    CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) gpu = agent;
    return HSA_STATUS_SUCCESS;
}

int main(int, char**) {
    CHECK(hsa_init());
    CHECK(hsa_iterate_agents(see, nullptr));
    hsa_queue_t* queue = nullptr;
    CHECK(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
    hsa_amd_pointer_info_t info = {};
    info.size = sizeof info;
    CHECK(hsa_amd_pointer_info(queue->base_address, &info, nullptr, nullptr, nullptr));
    printf("%s\n", info.agentOwner.handle == gpu.handle ? "GPU" : "host");
    CHECK(hsa_queue_destroy(queue));
    CHECK(hsa_shut_down());
    return 0;
}
