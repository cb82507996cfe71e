// The header in C++: a tool of one callback.
#include <hsa_replay.h>

extern "C" hsa_replay_status_t hsa_replay_tool_start(uint32_t, hsa_replay_tool_t *tool) {
    tool->interface_version = HSA_REPLAY_INTERFACE_VERSION;
    tool->configure = [](const hsa_replay_dispatch_t *, hsa_replay_passes_t *passes, void *) { passes->passes = 2; };
    return HSA_REPLAY_STATUS_SUCCESS;
}
