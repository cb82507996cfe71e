/* A tool that, while a pass is about to run, has the runtime copy memory on its event thread, and waits for that inside the
 * window: a copy that waited for the window's end there would never be done. */
#include <hsa_replay.h>
#include <stdio.h>
#include <unistd.h>

typedef struct { uint64_t handle; } signal_t;
/* The runtime's own; the tool is not linked with it. */
extern int hsa_signal_create(int64_t value, uint32_t count, const void *consumers, signal_t *signal);
extern int hsa_amd_signal_async_handler(signal_t signal, int condition, int64_t value, int (*handler)(int64_t, void *), void *data);
extern void hsa_signal_store_screlease(signal_t signal, int64_t value);
extern int hsa_memory_copy(void *to, const void *from, size_t size);

static volatile int copied;

static int copy(int64_t value, void *data) {
    static char from[4] = "abc", to[4];
    (void)value, (void)data;
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
