/* A tool that does what TOOL_CHOICE says and tells on standard error what it hears. */
#define _GNU_SOURCE
#include <hsa_replay.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *choice;

/* The name of the calling thread: no thread of the program or the runtime may come here. */
static int on_our_thread(void) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return strncmp(name, "hsa-replay-", 11) == 0;
}

static void configure(const hsa_replay_dispatch_t *dispatch, hsa_replay_passes_t *passes, void *tool_data) {
    fprintf(stderr, "tool: configure %s %s launch %llu grid %u workgroup %u passes %u data %s%s\n", dispatch->kernel,
            dispatch->symbol, (unsigned long long)dispatch->launch, dispatch->grid[0], dispatch->workgroup[0],
            passes->passes, (const char *)tool_data, on_our_thread() ? "" : " on a thread of the program's");
    passes->user_data.value = 100;
    if (strcmp(choice, "leave") == 0)
        passes->passes = HSA_REPLAY_LEAVE_OUT;
    else if (strcmp(choice, "three") == 0)
        passes->passes = 3;
    else if (strcmp(choice, "many") == 0)
        passes->passes = 65536;
    else if (strcmp(choice, "until") == 0)
        passes->passes = HSA_REPLAY_UNTIL_STOPPED;
    else if (strcmp(choice, "bound") == 0)
        passes->passes = HSA_REPLAY_UNTIL_STOPPED, passes->bound = 4;
    else if (strcmp(choice, "unbound") == 0)
        passes->passes = HSA_REPLAY_UNTIL_STOPPED, passes->bound = 0;
}

static void pass_enter(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                       hsa_replay_user_data_t *user_data, void *tool_data) {
    (void)dispatch, (void)tool_data;
    fprintf(stderr, "tool: enter %u of %u data %llu\n", pass->pass, pass->passes, (unsigned long long)user_data->value);
    user_data->value += pass->pass;
    /* The second pass begins when somebody has seen that it is about to. */
    const char *go = getenv("TOOL_WAITS_FOR");
    while (go && pass->pass == 1 && access(go, F_OK) != 0)
        usleep(1000);
}

static void pass_exit(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                      hsa_replay_user_data_t *user_data, void *tool_data) {
    (void)dispatch, (void)tool_data;
    fprintf(stderr, "tool: exit %u data %llu%s\n", pass->pass, (unsigned long long)user_data->value,
            pass->start && pass->end >= pass->start ? "" : " without ticks");
}

static int replay_continue(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                           hsa_replay_user_data_t *user_data, void *tool_data) {
    (void)dispatch, (void)tool_data;
    fprintf(stderr, "tool: continue after %u data %llu\n", pass->pass, (unsigned long long)user_data->value);
    return strcmp(choice, "until") != 0 || pass->pass < 2;
}

static void finish(const hsa_replay_dispatch_t *dispatch, hsa_replay_outcome_t outcome, const char *record,
                   hsa_replay_user_data_t user_data, void *tool_data) {
    (void)dispatch, (void)tool_data;
    fprintf(stderr, "tool: finish %d data %llu record %.31s\n", (int)outcome, (unsigned long long)user_data.value, record);
}

hsa_replay_status_t hsa_replay_tool_start(uint32_t interface_version, hsa_replay_tool_t *tool) {
    choice = getenv("TOOL_CHOICE");
    if (!choice || interface_version != HSA_REPLAY_INTERFACE_VERSION || tool->size != sizeof *tool)
        return HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT;
    if (strcmp(choice, "nothing") != 0)
        tool->finish = finish;
    if (strcmp(choice, "version") != 0)
        tool->interface_version = HSA_REPLAY_INTERFACE_VERSION;
    if (strcmp(choice, "size") == 0)
        tool->size = 8;
    if (strcmp(choice, "finish") == 0 || strcmp(choice, "nothing") == 0)
        return HSA_REPLAY_STATUS_SUCCESS;
    tool->tool_data = (void *)"mine";
    tool->configure = configure;
    tool->pass_enter = pass_enter;
    tool->pass_exit = pass_exit;
    tool->replay_continue = replay_continue;
    return HSA_REPLAY_STATUS_SUCCESS;
}
