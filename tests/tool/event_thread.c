/* A tool that, while a pass is about to run, has the runtime copy memory on its event thread, and waits for that inside the
 * window: a copy that waited for the window's end there would never be done. EVENT_THREAD_CALL names another call to make
 * there: whatever it is, its first argument is a GPU for images and memory of ours otherwise. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hsa_replay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { uint64_t handle; } signal_t;
/* The runtime's own; the tool is not linked with it. */
extern int hsa_signal_create(int64_t value, uint32_t count, const void *consumers, signal_t *signal);
extern int hsa_amd_signal_async_handler(signal_t signal, int condition, int64_t value, int (*handler)(int64_t, void *), void *data);
extern void hsa_signal_store_screlease(signal_t signal, int64_t value);
extern int hsa_memory_copy(void *to, const void *from, size_t size);

extern int hsa_iterate_agents(int (*see)(uint64_t, void *), void *data);
extern int hsa_agent_get_info(uint64_t agent, int what, void *value);

static volatile int copied;

static int see_agent(uint64_t agent, void *gpu) {
    int device = 0; /* HSA_AGENT_INFO_DEVICE is 17, HSA_DEVICE_TYPE_GPU is 1. */
    if (hsa_agent_get_info(agent, 17, &device) == 0 && device == 1) *(uint64_t *)gpu = agent;
    return 0;
}

static int copy(int64_t value, void *data) {
    static char from[4] = "abc", to[4];
    const char *name = getenv("EVENT_THREAD_CALL");
    (void)value, (void)data;
    if (name) {
        int (*call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) =
            (int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t))dlsym(RTLD_DEFAULT, name);
        uint64_t gpu = 0, ours = (uint64_t)to;
        hsa_iterate_agents(see_agent, &gpu);
        copied = call && call(strstr(name, "image") ? gpu : ours, ours, 1, 0, 0, 0) == 0;
        return 0;
    }
    copied = hsa_memory_copy(to, from, sizeof to) == 0 && to[2] == 'c';
    return 0;
}

static void pass_enter(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                       hsa_replay_user_data_t *user_data, void *tool_data) {
    signal_t signal;
    (void)dispatch, (void)user_data, (void)tool_data;
    if (pass->pass > 0 || hsa_signal_create(1, 0, 0, &signal) != 0)
        return;
    if (hsa_amd_signal_async_handler(signal, 0, 0, copy, 0) == 0)
        hsa_signal_store_screlease(signal, 0);
}

static void pass_exit(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                      hsa_replay_user_data_t *user_data, void *tool_data) {
    (void)dispatch, (void)user_data, (void)tool_data;
    for (int turn = 0; pass->pass == 0 && !copied && turn < 20000; turn++)
        usleep(1000);
    fprintf(stderr, "tool: the event thread %s\n", copied ? "went on" : "waited for the window");
}

hsa_replay_status_t hsa_replay_tool_start(uint32_t interface_version, hsa_replay_tool_t *tool) {
    (void)interface_version;
    tool->interface_version = HSA_REPLAY_INTERFACE_VERSION;
    tool->pass_enter = pass_enter;
    tool->pass_exit = pass_exit;
    return HSA_REPLAY_STATUS_SUCCESS;
}
