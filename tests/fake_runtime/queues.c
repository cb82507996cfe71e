// An HSA application that uses queues in every way the interface offers. Linked with the runtime by its SONAME; the
// fake device shows what arrived there. Each command prints one line.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint32_t status;
struct queue {
    uint32_t type, features;
    char *base;
    uint64_t doorbell;
    uint32_t size, reserved1;
    uint64_t id;
};
enum { CPU = 1, GPU = 2, PEER = 3 };
enum { POOL_FINE = 12, POOL_VRAM = 21 };

static void *device; // the fake device, opened again by path
static struct queue *queue;
static int called_back;
static struct queue *failed;

static void *find(void *where, const char *name) {
    void *address = dlsym(where, name);
    if (!address) {
        printf("no %s\n", name);
        exit(3);
    }
    return address;
}
#define HSA(result, name, ...) ((result(*)(__VA_ARGS__))find(RTLD_DEFAULT, name))
#define FAKE(result, name) ((result(*)(void))find(device, name))()

static void on_error(status code, struct queue *source, void *data) {
    called_back += code == 0x1009 && data == &queue;
    failed = source;
}

static status create(uint64_t agent) {
    return HSA(status, "hsa_queue_create", uint64_t, uint32_t, uint32_t, void *, void *, uint32_t, uint32_t,
               struct queue **)(agent, 64, 0, (void *)on_error, &queue, 0, 0, &queue);
}

static uint64_t new_signal(int64_t value) {
    uint64_t signal;
    HSA(status, "hsa_signal_create", int64_t, uint32_t, void *, uint64_t *)(value, 0, 0, &signal);
    return signal;
}

static int64_t value_of(uint64_t signal) { return HSA(int64_t, "hsa_signal_load_scacquire", uint64_t)(signal); }

// Writes a barrier-AND packet without dependencies into the next slot, and its header last.
static uint64_t publish(uint64_t completion) {
    uint64_t index = HSA(uint64_t, "hsa_queue_add_write_index_scacq_screl", struct queue *, uint64_t)(queue, 1);
    char *packet = queue->base + (index % queue->size) * 64;
    memset(packet + 4, 0, 60);
    memcpy(packet + 56, &completion, 8);
    __atomic_store_n((uint32_t *)packet, 3 | 1 << 8 | 2 << 9 | 2 << 11, __ATOMIC_RELEASE);
    return index;
}

static const char *stores[] = {"store_relaxed", "store_release", "store_screlease", "silent_store_relaxed",
                               "silent_store_screlease"};
static const char *updates[] = {"add", "subtract", "and", "or", "xor", "exchange", "cas"};
static const char *orders[] = {"acq_rel", "acquire", "relaxed", "release", "scacq_screl", "scacquire", "screlease"};
#define EACH(array) for (size_t i_##array = 0; i_##array < sizeof array / sizeof *array; i_##array++)

// Rings with every call that can write a signal; each time a packet has to complete.
static void ring_in_every_way(void) {
    int rung = 0;
    char name[80];
    EACH(stores) {
        uint64_t done = new_signal(1), index = publish(done);
        snprintf(name, sizeof name, "hsa_signal_%s", stores[i_stores]);
        HSA(void, name, uint64_t, int64_t)(queue->doorbell, (int64_t)index);
        while (value_of(done) != 0) sched_yield();
        rung++;
    }
    EACH(updates) EACH(orders) {
        uint64_t done = new_signal(1), index = publish(done);
        snprintf(name, sizeof name, "hsa_signal_%s_%s", updates[i_updates], orders[i_orders]);
        if (!strcmp(updates[i_updates], "cas"))
            HSA(int64_t, name, uint64_t, int64_t, int64_t)(queue->doorbell, value_of(queue->doorbell), (int64_t)index);
        else
            HSA(int64_t, name, uint64_t, int64_t)(queue->doorbell, (int64_t)index);
        while (value_of(done) != 0) sched_yield();
        rung++;
    }
    printf("rung %d packets %lu\n", rung, FAKE(uint64_t, "fake_packets"));
}

// All calls on the indices agree with each other and leave the hardware's alone.
static void indices(void) {
    uint64_t before = FAKE(uint64_t, "fake_packets"), start = 0;
    int right = 1;
    char name[80];
    const char *loads[] = {"acquire", "relaxed", "scacquire"}, *sets[] = {"relaxed", "release", "screlease"};
    start = HSA(uint64_t, "hsa_queue_load_write_index_relaxed", struct queue *)(queue);
    uint64_t expected = start;
    EACH(orders) {
        snprintf(name, sizeof name, "hsa_queue_add_write_index_%s", orders[i_orders]);
        right &= HSA(uint64_t, name, struct queue *, uint64_t)(queue, 2) == expected;
        expected += 2;
        snprintf(name, sizeof name, "hsa_queue_cas_write_index_%s", orders[i_orders]);
        right &= HSA(uint64_t, name, struct queue *, uint64_t, uint64_t)(queue, expected, expected + 1) == expected;
        right &= HSA(uint64_t, name, struct queue *, uint64_t, uint64_t)(queue, expected, 99) == expected + 1;
        expected += 1;
    }
    EACH(loads) {
        snprintf(name, sizeof name, "hsa_queue_load_write_index_%s", loads[i_loads]);
        right &= HSA(uint64_t, name, struct queue *)(queue) == expected;
    }
    EACH(sets) {
        snprintf(name, sizeof name, "hsa_queue_store_write_index_%s", sets[i_sets]);
        HSA(void, name, struct queue *, uint64_t)(queue, start + i_sets);
        right &= HSA(uint64_t, "hsa_queue_load_write_index_scacquire", struct queue *)(queue) == start + i_sets;
        snprintf(name, sizeof name, "hsa_queue_store_read_index_%s", sets[i_sets]);
        uint64_t read = HSA(uint64_t, "hsa_queue_load_read_index_scacquire", struct queue *)(queue);
        HSA(void, name, struct queue *, uint64_t)(queue, 12345);
        right &= HSA(uint64_t, "hsa_queue_load_read_index_relaxed", struct queue *)(queue) == read;
        right &= HSA(uint64_t, "hsa_queue_load_read_index_acquire", struct queue *)(queue) == read;
    }
    HSA(void, "hsa_queue_store_write_index_screlease", struct queue *, uint64_t)(queue, start);
    right &= FAKE(uint64_t, "fake_packets") == before;
    printf("indices %s\n", right ? "right" : "wrong");
}

static void properties(void) {
    uint64_t agent = 0, id = 0;
    uint32_t mask = 5, back = 0;
    status info = HSA(status, "hsa_amd_queue_get_info", struct queue *, uint32_t, void *)(queue, 0, &agent);
    status doorbell = HSA(status, "hsa_amd_queue_get_info", struct queue *, uint32_t, void *)(queue, 1, &id);
    status newer = HSA(status, "hsa_amd_queue_get_info", struct queue *, uint32_t, void *)(queue, 77, &id);
    HSA(status, "hsa_amd_queue_set_priority", struct queue *, uint32_t)(queue, 2);
    HSA(status, "hsa_amd_queue_cu_set_mask", struct queue *, uint32_t, uint32_t *)(queue, 32, &mask);
    HSA(status, "hsa_amd_queue_cu_get_mask", struct queue *, uint32_t, uint32_t *)(queue, 32, &back);
    int before = FAKE(int, "fake_profiling");
    HSA(status, "hsa_amd_profiling_set_profiler_enabled", struct queue *, int)(queue, 0);
    printf("info %#x agent %lu doorbell %#x newer %#x priority %d mask %d %u profiling %d %d\n", info, agent, doorbell,
           newer, FAKE(int, "fake_priority"), FAKE(int, "fake_masks"), back, before, FAKE(int, "fake_profiling"));
}

static void memory(void) {
    void *address = 0, *range = 0;
    uint64_t gpu = GPU, handle = 0;
    int descriptor = 0;
    struct { uint32_t permission; uint64_t agent; } access = {3, GPU};
    status allocate = HSA(status, "hsa_amd_memory_pool_allocate", uint64_t, size_t, uint32_t, void **)(21, 8192, 0, &address);
    status allow = HSA(status, "hsa_amd_agents_allow_access", uint32_t, uint64_t *, void *, void *)(1, &gpu, 0, address);
    status release = HSA(status, "hsa_amd_memory_pool_free", void *)(address);
    HSA(status, "hsa_amd_vmem_address_reserve", void **, size_t, uint64_t, uint64_t)(&range, 8192, 0, 0);
    HSA(status, "hsa_amd_vmem_handle_create", uint64_t, size_t, uint32_t, uint64_t, uint64_t *)(21, 8192, 0, 0, &handle);
    status map = HSA(status, "hsa_amd_vmem_map", void *, size_t, size_t, uint64_t, uint64_t)(range, 8192, 0, handle, 0);
    status open = HSA(status, "hsa_amd_vmem_set_access", void *, size_t, void *, size_t)(range, 8192, &access, 1);
    status share = HSA(status, "hsa_amd_vmem_export_shareable_handle", int *, uint64_t, uint64_t)(&descriptor, handle, 0);
    uint64_t again = 0;
    status retain = HSA(status, "hsa_amd_vmem_retain_alloc_handle", uint64_t *, void *)(&again, range);
    status drop = HSA(status, "hsa_amd_vmem_handle_release", uint64_t)(again);
    status unmap = HSA(status, "hsa_amd_vmem_unmap", void *, size_t)(range, 8192);
    status bad = HSA(status, "hsa_amd_vmem_map", void *, size_t, size_t, uint64_t, uint64_t)(range, 8192, 0, 1, 0);
    printf("memory %#x %#x %#x %#x %#x %#x %#x %#x %#x %#x %d\n", allocate, allow, release, map, open, share, retain, drop,
           unmap, bad, descriptor);
}

// What the engine makes of memory, by what it answers to the wish that it be captured.
static const char *known(void *address) {
    switch (HSA(uint32_t, "hsa_replay_include_memory", void *)((char *)address + 64)) {
    case 0: return "captured";
    case 3: return "unknown";
    case 4: return "left-out";
    default: return "refused";
    }
}

static void *allocate(uint64_t pool, uint32_t flags) {
    void *address = 0;
    HSA(status, "hsa_amd_memory_pool_allocate", uint64_t, size_t, uint32_t, void **)(pool, 8192, flags, &address);
    return address;
}

// One line for each way in which an application comes by memory, shares it or gives it back.
static void heard(void) {
    void *address = allocate(POOL_VRAM, 0), *other = 0;
    uint64_t agent = GPU, peer = PEER, handle = 0, imported = 0, offset = 0;
    size_t size = 0;
    int descriptor = 0;
    char ipc[64];
    printf("pool %s", known(address));
    HSA(status, "hsa_amd_agents_allow_access", uint32_t, uint64_t *, void *, void *)(1, &agent, 0, address);
    printf(" %s", known(address));
    HSA(status, "hsa_amd_memory_pool_free", void *)(address);
    printf(" %s\n", known(address));
    printf("executable %s\n", known(allocate(POOL_VRAM, 4)));
    printf("host %s\n", known(allocate(POOL_FINE, 0)));
    HSA(status, "hsa_memory_allocate", uint64_t, size_t, void **)(POOL_VRAM, 8192, &other);
    printf("region %s", known(other));
    HSA(status, "hsa_memory_free", void *)(other);
    printf(" %s\n", known(other));
    address = allocate(POOL_VRAM, 0);
    HSA(status, "hsa_amd_agents_allow_access", uint32_t, uint64_t *, void *, void *)(1, &peer, 0, address);
    printf("peer %s\n", known(address));
    address = allocate(POOL_VRAM, 0);
    HSA(status, "hsa_amd_ipc_memory_create", void *, size_t, void *)(address, 8192, ipc);
    printf("ipc-create %s\n", known(address));
    address = allocate(POOL_VRAM, 0);
    HSA(status, "hsa_amd_portable_export_dmabuf", void *, size_t, int *, uint64_t *)(address, 8192, &descriptor, &offset);
    printf("dmabuf %s\n", known(address));
    address = allocate(POOL_VRAM, 0);
    HSA(status, "hsa_amd_portable_export_dmabuf_v2", void *, size_t, int *, uint64_t *, uint64_t)
    (address, 8192, &descriptor, &offset, 0);
    printf("dmabuf-v2 %s\n", known(address));
    HSA(status, "hsa_amd_ipc_memory_attach", void *, size_t, uint32_t, uint64_t *, void **)(ipc, 8192, 1, &agent, &other);
    printf("ipc-attach %s", known(other));
    HSA(status, "hsa_amd_ipc_memory_detach", void *)(other);
    printf(" %s\n", known(other));
    HSA(status, "hsa_amd_interop_map_buffer", uint32_t, uint64_t *, int, uint32_t, size_t *, void **, size_t *, void **)
    (1, &agent, 3, 0, &size, &other, 0, 0);
    printf("interop %s", known(other));
    HSA(status, "hsa_amd_interop_unmap_buffer", void *)(other);
    printf(" %s\n", known(other));
    address = aligned_alloc(4096, 8192);
    HSA(status, "hsa_amd_memory_lock", void *, size_t, void *, int, void **)(address, 8192, 0, 0, &other);
    printf("lock %s", known(other));
    HSA(status, "hsa_amd_memory_unlock", void *)(address);
    printf(" %s\n", known(other));
    HSA(status, "hsa_amd_svm_attributes_set", void *, size_t, void *, size_t)(address, 8192, 0, 0);
    printf("svm %s\n", known(address));

    struct { uint32_t permission; uint64_t agent; } opened = {3, GPU}, closed = {0, GPU}, shared = {3, PEER};
    HSA(status, "hsa_amd_vmem_address_reserve", void **, size_t, uint64_t, uint64_t)(&other, 8192, 0, 0);
    HSA(status, "hsa_amd_vmem_handle_create", uint64_t, size_t, uint32_t, uint64_t, uint64_t *)(POOL_VRAM, 8192, 0, 0, &handle);
#define MAP(which) HSA(status, "hsa_amd_vmem_map", void *, size_t, size_t, uint64_t, uint64_t)(other, 8192, 0, which, 0)
#define ACCESS(list) HSA(status, "hsa_amd_vmem_set_access", void *, size_t, void *, size_t)(other, 8192, &list, 1)
#define UNMAP() HSA(status, "hsa_amd_vmem_unmap", void *, size_t)(other, 8192)
    MAP(handle);
    printf("vmem %s", known(other));
    ACCESS(opened);
    printf(" %s", known(other));
    ACCESS(closed);
    printf(" %s", known(other));
    ACCESS(opened);
    ACCESS(shared);
    printf(" %s", known(other));
    UNMAP();
    printf(" %s\n", known(other));
    HSA(status, "hsa_amd_vmem_address_reserve", void **, size_t, uint64_t, uint64_t)(&other, 8192, 0, 0);
    HSA(status, "hsa_amd_vmem_handle_create", uint64_t, size_t, uint32_t, uint64_t, uint64_t *)(POOL_VRAM, 8192, 0, 0, &handle);
    MAP(handle);
    ACCESS(opened);
    printf("vmem-export %s", known(other));
    HSA(status, "hsa_amd_vmem_export_shareable_handle", int *, uint64_t, uint64_t)(&descriptor, handle, 0);
    printf(" %s\n", known(other));
    HSA(status, "hsa_amd_vmem_address_reserve", void **, size_t, uint64_t, uint64_t)(&other, 8192, 0, 0);
    HSA(status, "hsa_amd_vmem_import_shareable_handle", int, uint64_t *)(descriptor, &imported);
    MAP(imported);
    ACCESS(opened);
    printf("vmem-import %s\n", known(other));
}

// A copy that has to wait for the host; the application uses its list of dependencies for something else meanwhile.
static void late_copy(const char *form) {
    uint64_t dependency = new_signal(1), done = new_signal(1), list[1] = {dependency};
    static char from[64] = "copied", to[64];
    struct pitched { void *base; size_t pitch, slice; } destination = {to, 64, 64}, source = {from, 64, 64};
    struct { uint32_t x, y, z; } nowhere = {0, 0, 0}, all = {64, 1, 1};
    status result;
    memset(to, 0, sizeof to);
    if (!strcmp(form, "rect"))
        result = HSA(status, "hsa_amd_memory_async_copy_rect", void *, void *, void *, void *, void *, uint64_t, uint32_t, uint32_t,
                     uint64_t *, uint64_t)(&destination, &nowhere, &source, &nowhere, &all, GPU, 0, 1, list, done);
    else if (!strcmp(form, "engine"))
        result = HSA(status, "hsa_amd_memory_async_copy_on_engine", void *, uint64_t, void *, uint64_t, size_t, uint32_t, uint64_t *,
                     uint64_t, uint32_t, _Bool)(to, GPU, from, CPU, sizeof to, 1, list, done, 2, 1);
    else
        result = HSA(status, "hsa_amd_memory_async_copy", void *, uint64_t, void *, uint64_t, size_t, uint32_t, uint64_t *,
                     uint64_t)(to, GPU, from, CPU, sizeof to, 1, list, done);
    int waits = value_of(done) == 1;
    list[0] = 0xdead;
    memset(&destination, 0xff, sizeof destination), memset(&source, 0xff, sizeof source), memset(&all, 0xff, sizeof all);
    HSA(void, "hsa_signal_store_screlease", uint64_t, int64_t)(dependency, 0);
    while (value_of(done) != 0) sched_yield();
    printf("copy %#x %s %s with %s dependency and %s signal\n", result, waits ? "waited" : "went", to,
           FAKE(uint64_t, "fake_last_dependency") == dependency ? "its" : "another",
           FAKE(uint64_t, "fake_last_completion") == done ? "its" : "another");
}

static void *allocated_there;
static const char *freed_there;
static int created_there;

// What an application does inside a callback of the runtime is its own doing like any other.
static void on_free(void *address, void *data) {
    (void)data;
    freed_there = known(address);
    allocated_there = allocate(POOL_VRAM, 0);
    create(GPU);
    created_there = queue != FAKE(struct queue *, "fake_last_queue");
}

static void free_with_callback(void) {
    void *address = allocate(POOL_VRAM, 0);
    HSA(status, "hsa_amd_register_deallocation_callback", void *, void *, void *)(address, (void *)on_free, 0);
    HSA(status, "hsa_amd_memory_pool_free", void *)(address);
    printf("callback %s %s %s\n", freed_there, known(allocated_there), created_there ? "ours" : "real");
}

static uint64_t rung_inside;

static void ring_inside(void) {
    rung_inside = new_signal(1);
    HSA(void, "hsa_signal_store_screlease", uint64_t, int64_t)(queue->doorbell, (int64_t)publish(rung_inside));
}

// Rings the doorbell once more from inside the call that rings the hardware's.
static void ring_in_ring(void) {
    ((void (*)(void (*)(void)))find(device, "fake_when_rung"))(ring_inside);
    uint64_t done = new_signal(1);
    HSA(void, "hsa_signal_store_screlease", uint64_t, int64_t)(queue->doorbell, (int64_t)publish(done));
    while (value_of(done) != 0 || value_of(rung_inside) != 0) sched_yield();
    printf("both rings heard\n");
}

static void run(const char *command) {
    if (!strcmp(command, "init")) {
        printf("init %#x\n", HSA(status, "hsa_init", void)());
    } else if (!strcmp(command, "shutdown")) {
        printf("shutdown %#x\n", HSA(status, "hsa_shut_down", void)());
    } else if (!strcmp(command, "create")) {
        status result = create(GPU);
        struct queue *real = FAKE(struct queue *, "fake_last_queue");
        printf("create %#x %s id %s\n", result, queue == real ? "real" : "ours", queue->id == real->id ? "same" : "other");
    } else if (!strcmp(command, "create-on-cpu")) {
        printf("create-on-cpu %#x\n", create(CPU));
    } else if (!strcmp(command, "ring")) {
        ring_in_every_way();
    } else if (!strcmp(command, "indices")) {
        indices();
    } else if (!strcmp(command, "properties")) {
        properties();
    } else if (!strcmp(command, "memory")) {
        memory();
    } else if (!strcmp(command, "heard")) {
        heard();
    } else if (!strcmp(command, "batch-copy")) {
        printf("batch-copy %#x\n", HSA(status, "hsa_amd_memory_async_batch_copy", void)());
    } else if (!strcmp(command, "late-copy")) {
        late_copy("plain");
    } else if (!strcmp(command, "late-copy-on-engine")) {
        late_copy("engine");
    } else if (!strcmp(command, "late-copy-rect")) {
        late_copy("rect");
    } else if (!strcmp(command, "free-with-callback")) {
        free_with_callback();
    } else if (!strcmp(command, "ring-in-ring")) {
        ring_in_ring();
    } else if (!strcmp(command, "fail")) {
        FAKE(void, "fake_fail");
        FAKE(void, "fake_fail");
        printf("fail called back %d for %s\n", called_back, failed == queue ? "the queue we hold" : "another queue");
    } else if (!strcmp(command, "counted")) {
        struct queue *counted = 0;
        status result = HSA(status, "hsa_amd_counted_queue_acquire", uint64_t, uint32_t, uint32_t, void *, void *, uint64_t,
                            struct queue **)(GPU, 0, 0, 0, 0, 0, &counted);
        printf("counted %#x %s\n", result, counted == FAKE(struct queue *, "fake_last_queue") ? "real" : "ours");
    } else if (!strcmp(command, "sdma")) {
        printf("sdma %#x\n", HSA(status, "hsa_amd_sdma_queue_create", uint64_t)(GPU));
    } else if (!strcmp(command, "inactivate")) {
        printf("inactivate %#x\n", HSA(status, "hsa_queue_inactivate", struct queue *)(queue));
    } else if (!strcmp(command, "destroy")) {
        status result = HSA(status, "hsa_queue_destroy", struct queue *)(queue);
        printf("destroy %#x %d\n", result, FAKE(int, "fake_destroyed"));
    } else if (!strcmp(command, "fork")) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) return;
        int result;
        waitpid(child, &result, 0);
        printf("child %#x\n", result);
        exit(0);
    } else {
        printf("unknown command %s\n", command);
        exit(2);
    }
}

int main(int argc, char **argv) {
    device = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    for (int i = 2; i < argc; i++) {
        run(argv[i]);
        fflush(stdout);
    }
    return 0;
}
