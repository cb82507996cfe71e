/*
 * A tool for hsa-replay: repeats each dispatch until its time has settled, and says what it found.
 *
 *     cc -shared -fPIC -I include -o until_stable.so examples/tool/until_stable.c
 *     hsa-replay run --tool ./until_stable.so -- ./program
 *
 * A dispatch is repeated until the shortest time did not get better for three passes, at most fifty times.
 */
#include <hsa_replay.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 50
#define PATIENCE 3

struct window {
    uint64_t best;
    int since_best;
    uint32_t passes;
};

static void configure(const hsa_replay_dispatch_t *dispatch, hsa_replay_passes_t *passes, void *tool_data) {
    (void)dispatch, (void)tool_data;
    struct window *window = calloc(1, sizeof *window);
    passes->passes = window ? HSA_REPLAY_UNTIL_STOPPED : HSA_REPLAY_LEAVE_OUT;
    passes->bound = MOST;
    passes->user_data.ptr = window;
}

static void pass_exit(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                      hsa_replay_user_data_t *user_data, void *tool_data) {
    (void)dispatch, (void)tool_data;
    struct window *window = user_data->ptr;
    window->passes = pass->pass + 1;
    if (window->best == 0 || pass->nanoseconds < window->best) {
        window->best = pass->nanoseconds;
        window->since_best = 0;
    } else {
        window->since_best++;
    }
}

static int replay_continue(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                           hsa_replay_user_data_t *user_data, void *tool_data) {
    (void)dispatch, (void)pass, (void)tool_data;
    const struct window *window = user_data->ptr;
    return window->since_best < PATIENCE;
}

static void finish(const hsa_replay_dispatch_t *dispatch, hsa_replay_outcome_t outcome, const char *record,
                   hsa_replay_user_data_t user_data, void *tool_data) {
    (void)record, (void)tool_data;
    struct window *window = user_data.ptr;
    if (window && outcome == HSA_REPLAY_OUTCOME_REPLAYED)
        fprintf(stderr, "until_stable: %s: %llu ns, the best of %u passes\n", dispatch->kernel,
                (unsigned long long)window->best, window->passes);
    if (outcome != HSA_REPLAY_OUTCOME_RUNNING)
        free(window);
}

hsa_replay_status_t hsa_replay_tool_start(uint32_t interface_version, hsa_replay_tool_t *tool) {
    if (interface_version != HSA_REPLAY_INTERFACE_VERSION || tool->size < sizeof *tool)
        return HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT;
    tool->interface_version = HSA_REPLAY_INTERFACE_VERSION;
    tool->configure = configure;
    tool->pass_exit = pass_exit;
    tool->replay_continue = replay_continue;
    tool->finish = finish;
    return HSA_REPLAY_STATUS_SUCCESS;
}
