// The peer of the queue path: ROCr's own intercept queue, with an interceptor that passes every packet on. To be named in
// HSA_TOOLS_LIB. Says at the end how many packets it has passed on.
#define AMD_INTERNAL_BUILD 1
#include <hsa/hsa_api_trace.h>

#include <cstdio>

namespace {

HsaApiTable *api;
uint64_t passed;

void pass_on(const void *packets, uint64_t count, uint64_t, void *, hsa_amd_queue_intercept_packet_writer writer) {
    passed += count;
    writer(packets, count);
}

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_size,
                    uint32_t group_size, hsa_queue_t **queue) {
    const hsa_status_t status = api->amd_ext_->hsa_amd_queue_intercept_create_fn(agent, size, type, callback, data,
                                                                                 private_size, group_size, queue);
    if (status != HSA_STATUS_SUCCESS) return status;
    return api->amd_ext_->hsa_amd_queue_intercept_register_fn(*queue, pass_on, nullptr);
}

}  // namespace

extern "C" bool OnLoad(void *table, uint64_t, uint64_t, const char *const *) {
    api = static_cast<HsaApiTable *>(table);
    api->core_->hsa_queue_create_fn = create;
    return true;
}

extern "C" void OnUnload() {
    std::fprintf(stderr, "intercept: %llu packets\n", static_cast<unsigned long long>(passed));
}
