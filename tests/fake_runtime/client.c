// An HSA application for tests of the shim. Its arguments are commands, carried out in order; each prints one line, or
// several, on standard output.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fake.h"

// Where the functions come from: the library that the program is linked with, or one that `open` or `local` opened.
static void *library;

static void *function(const char *name) {
    void *address = library ? dlsym(library, name) : dlsym(RTLD_DEFAULT, name);
    if (!address) {
        printf("no %s\n", name);
        exit(3);
    }
    return address;
}

#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))function(name))

static int signatures_are_right(void) {
    int right = 1;
    right &= CALL(int64_t, "hsa_agent_get_info", int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                  int64_t)(1, 2, 3, 4, 5, 6, 7, 8, 9) == 987654321;
    right &= CALL(double, "hsa_memory_copy", double, double, double, double, double, double, double, double,
                  double)(1.5, 2, 3, 4, 5, 6, 7, 8, 9.5) == 1.5 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 85.5;
    struct mixed mixed = CALL(struct mixed, "hsa_wavefront_get_info", struct mixed, float)((struct mixed){2.5, 41}, 2);
    right &= mixed.real == 5 && mixed.integer == 42;
    struct large large =
        CALL(struct large, "hsa_cache_get_info", struct large, int64_t)((struct large){{1, 2, 3, 4, 5, 6}}, 10);
    for (int i = 0; i < 6; i++) right &= large.words[i] == i + 1 + 10 * i;
    double sum = CALL(double, "hsa_isa_from_name", int, ...)(12, (int64_t)1, 2.5, (int64_t)3, 4.5, (int64_t)5, 6.5,
                                                             (int64_t)7, 8.5, (int64_t)9, 10.5, (int64_t)11, 12.5);
    right &= sum == 1 + 2.5 + 3 + 4.5 + 5 + 6.5 + 7 + 8.5 + 9 + 10.5 + 11 + 12.5;
    errno = 77;
    right &= CALL(int64_t, "hsa_signal_load_relaxed", uint64_t)(5) == 6;
    right &= errno == 77;
    return right;
}

static const char *verdict(int right) { return right ? "right" : "wrong"; }

static void *signatures_in_thread(void *barrier) {
    pthread_barrier_wait(barrier);
    return (void *)(intptr_t)signatures_are_right();
}

static void from_many_threads(void) {
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, 0, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, signatures_in_thread, &barrier);
    int right = 1;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        right &= (int)(intptr_t)result;
    }
    printf("threads %s\n", verdict(right));
}

static uint32_t status(const char *name) { return CALL(uint32_t, name, void)(); }

static void show_runtime(void) {
    const char *text = "";
    CALL(uint32_t, "hsa_status_string", uint32_t, const char **)(0, &text);
    printf("runtime %s\n", text);
}

static int mapped(const char *part) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;
    while (fgets(line, sizeof line, maps)) found |= strstr(line, part) != 0;
    fclose(maps);
    return found;
}

static void shut_down_at_exit(void) {
    printf("shut down %#x\n", status("hsa_shut_down"));
    printf("late %#x\n", status("hsa_amd_enable_logging"));
}

static void run(const char *command, const char *argument) {
    if (!strcmp(command, "signatures")) {
        printf("signatures %s\n", verdict(signatures_are_right()));
    } else if (!strcmp(command, "threads")) {
        from_many_threads();
    } else if (!strcmp(command, "runtime")) {
        show_runtime();
    } else if (!strcmp(command, "through")) { // does the client reach the shim?
        Dl_info info;
        void *marker = library ? dlsym(library, "hsa_replay_interface_version") : dlsym(RTLD_DEFAULT, "hsa_replay_interface_version");
        printf("through %s\n", marker && dladdr(function("hsa_init"), &info) ? info.dli_fname : "nothing");
    } else if (!strcmp(command, "mapped")) {
        printf("mapped %d\n", mapped(argument));
    } else if (!strcmp(command, "status")) {
        printf("%s %#x\n", argument, status(argument));
    } else if (!strcmp(command, "count")) {
        printf("count %lu\n", CALL(uint64_t, "hsa_system_get_info", void)());
    } else if (!strcmp(command, "local")) {
        library = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
        if (!library) printf("%s\n", dlerror());
    } else if (!strcmp(command, "mapping")) { // opened, but not called through
        if (!dlopen(argument, RTLD_NOW | RTLD_LOCAL)) printf("%s\n", dlerror());
    } else if (!strcmp(command, "debugger")) { // what a debugger finds by symbol, and what the runtime filled
        uint64_t *ours = function("_amdgpu_r_debug");
        uint64_t *filled = CALL(uint64_t *, "hsa_signal_group_create", void)();
        printf("debugger %lu %#lx %#lx, %s\n", ours[0], ours[1], ours[2], ours == filled ? "one structure" : "two structures");
    } else if (!strcmp(command, "freeze")) {
        CALL(uint32_t, "hsa_executable_freeze", uint64_t, const char *)(strtoull(argument, 0, 0), "");
    } else if (!strcmp(command, "fork")) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) return; // the child carries the rest out as well
        int result;
        waitpid(child, &result, 0);
        printf("child %#x\n", result);
    } else if (!strcmp(command, "atexit")) {
        atexit(shut_down_at_exit);
    } else if (!strcmp(command, "vanish")) { // from here on no file can be opened
        if (chroot(argument) != 0 && (unshare(CLONE_NEWUSER) != 0 || chroot(argument) != 0)) perror("chroot");
    } else {
        printf("unknown command %s\n", command);
        exit(2);
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        char *argument = strchr(argv[i], '=');
        if (argument) *argument++ = 0;
        run(argv[i], argument);
        fflush(stdout);
    }
    return 0;
}
