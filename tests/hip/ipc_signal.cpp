// A signal of one process used by another: the other sees its value and sets it, and the first one's wait ends.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        hsa_status_t result = (call);                                                     \
        if (result != HSA_STATUS_SUCCESS) {                                               \
            fprintf(stderr, "line %d: %s: status %#x\n", __LINE__, #call, result);        \
            exit(2);                                                                      \
        }                                                                                 \
    } while (0)

static void other_process(int pipe_end) {
    hsa_amd_ipc_signal_t handle;
    if (read(pipe_end, &handle, sizeof handle) != sizeof handle) exit(1);
    hsa_signal_t signal;
    CHECK(hsa_amd_ipc_signal_attach(&handle, &signal));
    if (hsa_signal_load_scacquire(signal) != 5) exit(1);
    hsa_signal_store_screlease(signal, 7);
    CHECK(hsa_signal_destroy(signal));
}

int main(int words, char** word) {
    CHECK(hsa_init());
    if (words == 3 && strcmp(word[1], "child") == 0) {
        other_process(atoi(word[2]));
        return 0;
    }
    int ends[2];
    if (pipe(ends) != 0) return 1;
    hsa_signal_t signal;
    CHECK(hsa_amd_signal_create(5, 0, nullptr, HSA_AMD_SIGNAL_IPC, &signal));
    hsa_amd_ipc_signal_t handle;
    CHECK(hsa_amd_ipc_signal_create(signal, &handle));
    if (write(ends[1], &handle, sizeof handle) != sizeof handle) return 1;
    pid_t child = fork();
    if (child == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", ends[0]);
        execl("/proc/self/exe", word[0], "child", number, nullptr);
        _exit(9);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the other process ended with %#x\n", status);
        return 1;
    }
    hsa_signal_value_t value = hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_EQ, 7, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    printf("the other process stored %ld\n", static_cast<long>(value));
    CHECK(hsa_signal_destroy(signal));
    CHECK(hsa_shut_down());
    return 0;
}
