// A runtime that hands every call on to the real one, writes down the calls it is asked for, and fails those it is told to.
// It is compiled with `names.h`, which lists the functions of the release below it:
//   #define NAMES(X) X(0, hsa_init) X(1, hsa_shut_down) ...
//
// TAP_REAL   path of the real runtime
// TAP_LOG    file to which a line is appended for each watched call: THREAD-ID THREAD-NAME CALL and six argument words in
//            hexadecimal. A call that gives something out has a second line with "=" and what it gave before its arguments.
// TAP_WATCH  the calls to write down, between commas; "all" for all of them
// TAP_FAIL   CALL:NTH:STATUS between commas: the calls of that name, counted from 0, that fail with this status and are not
//            handed on. CALL@NAME counts those only that come from threads whose name begins with NAME.
//
// "loader_walk" stands for the loader extension's walk over code objects, which has no exported name, and "handler" for the
// call of an asynchronous handler, by the runtime on its event thread.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "names.h"

typedef uint32_t status;
enum { LOADER = 0x201, WALK_ENTRY = 3, MAX_PLANS = 4096 };

#define TEXT(number, name) [number] = #name,
static const char *const names[] = {NAMES(TEXT)};
enum { COUNT = sizeof names / sizeof *names, WALK = COUNT, HANDLER, ALL };

struct plan {
    int name;
    char thread[16];
    uint64_t nth;
    status result;
};

static void *runtime;
static void *real[COUNT];
static char watched[ALL];
static struct plan plans[MAX_PLANS];
// Calls that each plan has counted.
static uint64_t counts[MAX_PLANS];
static int plan_count, log_file = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local status result;

// Every export: its number on the stack, then the common way.
#define EXPORT(number, name) \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n\tpushq $" #number "\n\tjmp tap_common\n");
NAMES(EXPORT)

// Keeps all registers that may carry an argument, asks `enter` where to go on, and jumps there as if called directly.
__asm__(".text\n"
        "tap_common:\n"
        "\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\tpushq %r9\n\tpushq %rax\n\tpushq %r10\n"
        "\tsubq $128, %rsp\n"
        "\tmovaps %xmm0, (%rsp)\n\tmovaps %xmm1, 16(%rsp)\n\tmovaps %xmm2, 32(%rsp)\n\tmovaps %xmm3, 48(%rsp)\n"
        "\tmovaps %xmm4, 64(%rsp)\n\tmovaps %xmm5, 80(%rsp)\n\tmovaps %xmm6, 96(%rsp)\n\tmovaps %xmm7, 112(%rsp)\n"
        "\tmovq 192(%rsp), %rdi\n"
        "\tleaq 128(%rsp), %rsi\n"
        "\tcall tap_enter\n"
        "\tmovq %rax, %r11\n"
        "\tmovaps (%rsp), %xmm0\n\tmovaps 16(%rsp), %xmm1\n\tmovaps 32(%rsp), %xmm2\n\tmovaps 48(%rsp), %xmm3\n"
        "\tmovaps 64(%rsp), %xmm4\n\tmovaps 80(%rsp), %xmm5\n\tmovaps 96(%rsp), %xmm6\n\tmovaps 112(%rsp), %xmm7\n"
        "\taddq $128, %rsp\n"
        "\tpopq %r10\n\tpopq %rax\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n"
        "\taddq $8, %rsp\n"
        "\tjmp *%r11\n");

static void die(const char *what, const char *which) {
    dprintf(2, "tap: %s %s\n", what, which);
    abort();
}

static int number_of(const char *name) {
    if (!strcmp(name, "loader_walk")) return WALK;
    if (!strcmp(name, "handler")) return HANDLER;
    for (int number = 0; number < COUNT; number++)
        if (!strcmp(names[number], name)) return number;
    die("no such call:", name);
    return -1;
}

static char *setting(const char *variable) {
    const char *value = getenv(variable);
    return value ? strdup(value) : strdup("");
}

static void start(void) {
    const char *path = getenv("TAP_REAL");
    runtime = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : 0;
    if (!runtime) die("no real runtime:", path ? dlerror() : "TAP_REAL is not set");
    char *rest, *word;
    for (word = strtok_r(setting("TAP_WATCH"), ",", &rest); word; word = strtok_r(0, ",", &rest)) {
        if (!strcmp(word, "all")) memset(watched, 1, sizeof watched);
        else watched[number_of(word)] = 1;
    }
    for (word = strtok_r(setting("TAP_FAIL"), ",", &rest); word; word = strtok_r(0, ",", &rest)) {
        char name[128];
        struct plan plan = {0};
        unsigned long nth;
        if (plan_count == MAX_PLANS || sscanf(word, "%127[^:]:%lu:%x", name, &nth, &plan.result) != 3) die("bad TAP_FAIL:", word);
        char *thread = strchr(name, '@');
        if (thread) {
            *thread = 0;
            strncpy(plan.thread, thread + 1, sizeof plan.thread - 1);
        }
        plan.name = number_of(name);
        plan.nth = nth;
        plans[plan_count++] = plan;
    }
    path = getenv("TAP_LOG");
    if (path && (log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) < 0) die("cannot write", path);
}

static void thread_name(char name[17]) {
    memset(name, 0, 17);
    prctl(PR_GET_NAME, name);
    for (char *at = name; *at; at++)
        if (*at == ' ') *at = '_';
}

// Writes a line. The lock keeps the lines in the order of the calls.
static void note(int number, const uint64_t arguments[6], const uint64_t *given) {
    if (log_file < 0 || !watched[number]) return;
    char name[17], line[512];
    thread_name(name);
    const char *call = number == WALK ? "loader_walk" : number == HANDLER ? "handler" : names[number];
    int length = snprintf(line, sizeof line, "%ld %s %s", syscall(SYS_gettid), name, call);
    if (given) length += snprintf(line + length, sizeof line - (size_t)length, " = %lx", *given);
    for (int at = 0; at < 6; at++) length += snprintf(line + length, sizeof line - (size_t)length, " %lx", arguments[at]);
    line[length++] = '\n';
    if (write(log_file, line, (size_t)length) != length) die("cannot write", "a line of the log");
}

// Whether this call is to fail; `result` then says how.
static int fails(int number) {
    char name[17];
    int failed = 0;
    if (!plan_count) return 0;
    thread_name(name);
    for (int at = 0; at < plan_count; at++) {
        struct plan *plan = &plans[at];
        if (plan->name != number || strncmp(name, plan->thread, strlen(plan->thread))) continue;
        if (counts[at]++ == plan->nth) {
            result = plan->result;
            failed = 1;
        }
    }
    return failed;
}

static status failed(void) { return result; }

static void *real_of(int number) {
    void *address = __atomic_load_n(&real[number], __ATOMIC_ACQUIRE);
    if (!address) {
        address = dlsym(runtime, names[number]);
        if (!address) die("the real runtime lacks", names[number]);
        __atomic_store_n(&real[number], address, __ATOMIC_RELEASE);
    }
    return address;
}
#define REAL(name, ...) ((status(*)(__VA_ARGS__))real_of(number_of(name)))

static void gave(const char *name, status code, uint64_t what, uint64_t first) {
    uint64_t arguments[6] = {first, code};
    pthread_mutex_lock(&lock);
    if (!code) note(number_of(name), arguments, &what);
    pthread_mutex_unlock(&lock);
}

static status signal_create(int64_t value, uint32_t count, const void *consumers, uint64_t *place) {
    status code = REAL("hsa_signal_create", int64_t, uint32_t, const void *, uint64_t *)(value, count, consumers, place);
    gave("hsa_signal_create", code, code ? 0 : *place, 0);
    return code;
}

static status amd_signal_create(int64_t value, uint32_t count, const void *consumers, uint64_t flags, uint64_t *place) {
    status code = REAL("hsa_amd_signal_create", int64_t, uint32_t, const void *, uint64_t, uint64_t *)(value, count, consumers, flags, place);
    gave("hsa_amd_signal_create", code, code ? 0 : *place, 0);
    return code;
}

// The first argument of its second line is the pool's flags.
static status pool_allocate(uint64_t pool, size_t size, uint32_t flags, void **place) {
    uint32_t pool_flags = 0;
    REAL("hsa_amd_memory_pool_get_info", uint64_t, uint32_t, void *)(pool, 1, &pool_flags);
    status code = REAL("hsa_amd_memory_pool_allocate", uint64_t, size_t, uint32_t, void **)(pool, size, flags, place);
    gave("hsa_amd_memory_pool_allocate", code, code ? 0 : (uint64_t)*place, pool_flags);
    return code;
}

static status queue_create(uint64_t agent, uint32_t size, uint32_t type, void *call, void *data, uint32_t private_bytes, uint32_t group_bytes, void **place) {
    status code = REAL("hsa_queue_create", uint64_t, uint32_t, uint32_t, void *, void *, uint32_t, uint32_t, void **)(agent, size, type, call, data, private_bytes, group_bytes, place);
    gave("hsa_queue_create", code, code ? 0 : (uint64_t)*place, type);
    return code;
}

static status (*real_walk)(uint64_t, void *, void *);

static status walk(uint64_t executable, void *callback, void *data) {
    uint64_t arguments[6] = {executable};
    pthread_mutex_lock(&lock);
    note(WALK, arguments, 0);
    int now = fails(WALK);
    pthread_mutex_unlock(&lock);
    return now ? failed() : real_walk(executable, callback, data);
}

struct handler {
    char (*call)(int64_t, void *);
    void *data;
};

static char handle(int64_t value, void *data) {
    struct handler *handler = data;
    uint64_t arguments[6] = {(uint64_t)value};
    pthread_mutex_lock(&lock);
    note(HANDLER, arguments, 0);
    pthread_mutex_unlock(&lock);
    return handler->call(value, handler->data);
}

// What it allocates is never freed: a handler may be called any number of times.
static status async_handler(uint64_t signal, uint32_t condition, int64_t value, char (*call)(int64_t, void *), void *data) {
    struct handler *handler = malloc(sizeof *handler);
    if (!handler) die("no memory", "for a handler");
    *handler = (struct handler){call, data};
    return REAL("hsa_amd_signal_async_handler", uint64_t, uint32_t, int64_t, char (*)(int64_t, void *), void *)(
        signal, condition, value, call ? handle : 0, call ? handler : data);
}

static status extension_table(uint16_t extension, uint16_t major, size_t size, void *place) {
    status code = REAL("hsa_system_get_major_extension_table", uint16_t, uint16_t, size_t, void *)(extension, major, size, place);
    void **table = place;
    if (!code && extension == LOADER && size > WALK_ENTRY * sizeof *table) {
        real_walk = (status(*)(uint64_t, void *, void *))table[WALK_ENTRY];
        table[WALK_ENTRY] = (void *)walk;
    }
    return code;
}

// Where a call goes on. `saved` holds the registers as `tap_common` pushed them, the last one first.
__attribute__((used, visibility("hidden"))) void *tap_enter(int64_t number, const uint64_t saved[8]) {
    uint64_t arguments[6] = {saved[7], saved[6], saved[5], saved[4], saved[3], saved[2]};
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    note((int)number, arguments, 0);
    int now = fails((int)number);
    pthread_mutex_unlock(&lock);
    if (now) return (void *)failed;
    const char *name = names[number];
    if (!strcmp(name, "hsa_system_get_major_extension_table")) return (void *)extension_table;
    if (watched[HANDLER] && !strcmp(name, "hsa_amd_signal_async_handler")) return (void *)async_handler;
    if (watched[number] && !strcmp(name, "hsa_signal_create")) return (void *)signal_create;
    if (watched[number] && !strcmp(name, "hsa_queue_create")) return (void *)queue_create;
    if (watched[number] && !strcmp(name, "hsa_amd_signal_create")) return (void *)amd_signal_create;
    if (watched[number] && !strcmp(name, "hsa_amd_memory_pool_allocate")) return (void *)pool_allocate;
    return real_of((int)number);
}
