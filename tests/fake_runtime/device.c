// A small HSA runtime with one host agent, one GPU agent and a second GPU that has nothing, for tests of an armed shim. Its
// GPU is a thread that takes packets off each queue and completes them without running anything. Layouts are those of hsa.h, amd_hsa_queue.h and
// amd_hsa_signal.h. `fake_*` functions show the tests what arrived; the shim does not know them.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef uint32_t status;
enum { CPU = 1, GPU = 2, PEER = 3, POOL_KERNARG = 11, POOL_FINE = 12, POOL_VRAM = 21 };
enum { SUCCESS = 0, INVALID_ARGUMENT = 0x1001, OUT_OF_RESOURCES = 0x1008 };

struct signal {
    int64_t kind;
    _Atomic int64_t value;
    uint64_t mailbox;
    uint32_t event, reserved1;
    uint64_t start, end;
    void *queue;
    uint32_t reserved2[2];
};

struct queue {
    uint32_t type, features;
    void *base;
    uint64_t doorbell;
    uint32_t size, reserved1;
    uint64_t id;
    uint32_t caps, reserved2[3];
    _Atomic uint64_t write_index; // offset 56
    char between[128 - 64];
    _Atomic uint64_t read_index; // offset 128
    char rest[4096 - 136 - 64];
    // Behind what the ABI fixes.
    void (*callback)(status, struct queue *, void *);
    void *data;
    pthread_t thread;
    _Atomic int stop;
    int profiling, priority, masks;
};
_Static_assert(__builtin_offsetof(struct queue, write_index) == 56, "amd_queue_t.write_dispatch_id");
_Static_assert(__builtin_offsetof(struct queue, read_index) == 128, "amd_queue_t.read_dispatch_id");
_Static_assert(sizeof(struct queue) <= 4096, "one page");

static struct queue *queues[64];
static _Atomic int queue_count, destroyed;
static uint64_t last_dependency, last_completion;
// Called inside the store that rings the last queue, as a tool below the application would run there.
static void (*when_rung)(void);
// Called inside the next free.
static void (*when_freed)(void *, void *);
static void *freed_data;
uint64_t _amdgpu_r_debug[5];

// ---- what the tests ask
struct queue *fake_last_queue(void) { return queue_count ? queues[queue_count - 1] : 0; }
int fake_profiling(void) { return fake_last_queue()->profiling; }
int fake_priority(void) { return fake_last_queue()->priority; }
int fake_masks(void) { return fake_last_queue()->masks; }
int fake_destroyed(void) { return destroyed; }
uint64_t fake_last_dependency(void) { return last_dependency; }
uint64_t fake_last_completion(void) { return last_completion; }
void fake_when_rung(void (*then)(void)) { when_rung = then; }
uint64_t fake_packets(void) { return atomic_load(&fake_last_queue()->read_index); }
void fake_fail(void) {
    struct queue *queue = fake_last_queue();
    if (queue->callback) queue->callback(0x1009, queue, queue->data);
}

// ---- life and system
status hsa_init(void) { return SUCCESS; }
status hsa_shut_down(void) { return SUCCESS; }
status hsa_status_string(status code, const char **text) {
    (void)code;
    *text = "device";
    return SUCCESS;
}
status hsa_system_get_info(uint32_t what, void *value) {
    if (what == 3) *(uint64_t *)value = 1000000000;
    else if (what == 0 || what == 1) *(uint16_t *)value = 1;
    else return INVALID_ARGUMENT;
    return SUCCESS;
}
static status no_code_objects(void) { return SUCCESS; }
status hsa_system_get_major_extension_table(uint16_t extension, uint16_t major, size_t size, void *table) {
    if (extension != 0x201 || major != 1) return INVALID_ARGUMENT;
    for (size_t i = 0; i < size / sizeof(void *); i++) ((void **)table)[i] = (void *)no_code_objects;
    return SUCCESS;
}

// ---- agents and pools
status hsa_iterate_agents(status (*callback)(uint64_t, void *), void *data) {
    status result = callback(CPU, data);
    if (!result) result = callback(GPU, data);
    return result ? result : callback(PEER, data);
}
status hsa_agent_get_info(uint64_t agent, uint32_t what, void *value) {
    if (what == 0) strcpy(value, agent == CPU ? "cpu" : "gfx942");
    else if (what == 16) *(uint32_t *)value = (uint32_t)agent - 1;
    else if (what == 17) *(uint32_t *)value = agent != CPU;
    else return INVALID_ARGUMENT;
    return SUCCESS;
}
status hsa_amd_agent_iterate_memory_pools(uint64_t agent, status (*callback)(uint64_t, void *), void *data) {
    if (agent == GPU) return callback(POOL_VRAM, data);
    if (agent == PEER) return SUCCESS;
    status result = callback(POOL_KERNARG, data);
    return result ? result : callback(POOL_FINE, data);
}
status hsa_amd_memory_pool_get_info(uint64_t pool, uint32_t what, void *value) {
    if (what == 0) *(uint32_t *)value = 0;
    else if (what == 1) *(uint32_t *)value = pool == POOL_KERNARG ? 3 : pool == POOL_FINE ? 2 : 4;
    else return INVALID_ARGUMENT;
    return SUCCESS;
}
status hsa_agent_iterate_regions(uint64_t agent, status (*callback)(uint64_t, void *), void *data) {
    (void)agent, (void)callback, (void)data;
    return SUCCESS;
}

// ---- memory
status hsa_amd_memory_pool_allocate(uint64_t pool, size_t size, uint32_t flags, void **place) {
    (void)pool, (void)flags;
    *place = aligned_alloc(4096, (size + 4095) & ~4095ul);
    return *place ? SUCCESS : OUT_OF_RESOURCES;
}
status hsa_amd_register_deallocation_callback(void *address, void (*callback)(void *, void *), void *data) {
    when_freed = callback;
    freed_data = data;
    return address ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_memory_pool_free(void *address) {
    void (*callback)(void *, void *) = when_freed;
    when_freed = 0;
    if (callback) callback(address, freed_data);
    free(address);
    return SUCCESS;
}
status hsa_memory_allocate(uint64_t region, size_t size, void **place) {
    return hsa_amd_memory_pool_allocate(region, size, 0, place);
}
status hsa_memory_free(void *address) {
    free(address);
    return SUCCESS;
}
status hsa_amd_memory_lock(void *host, size_t size, void *agents, int count, void **place) {
    (void)size, (void)agents, (void)count;
    *place = host;
    return SUCCESS;
}
status hsa_amd_memory_unlock(void *host) { return host ? SUCCESS : INVALID_ARGUMENT; }
status hsa_amd_ipc_memory_create(void *address, size_t size, void *handle) {
    (void)size, (void)handle;
    return address ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_ipc_memory_attach(const void *handle, size_t size, uint32_t count, const uint64_t *agents, void **place) {
    (void)handle, (void)count, (void)agents;
    return hsa_amd_memory_pool_allocate(POOL_VRAM, size, 0, place);
}
status hsa_amd_ipc_memory_detach(void *address) { return hsa_memory_free(address); }
status hsa_amd_interop_map_buffer(uint32_t count, uint64_t *agents, int handle, uint32_t flags, size_t *size, void **place,
                                  size_t *metadata_size, const void **metadata) {
    (void)count, (void)agents, (void)handle, (void)flags, (void)metadata_size, (void)metadata;
    *size = 8192;
    return hsa_amd_memory_pool_allocate(POOL_VRAM, *size, 0, place);
}
status hsa_amd_interop_unmap_buffer(void *address) { return hsa_memory_free(address); }
status hsa_amd_portable_export_dmabuf(const void *address, size_t size, int *descriptor, uint64_t *offset) {
    (void)size, (void)descriptor, (void)offset;
    return address ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_portable_export_dmabuf_v2(const void *address, size_t size, int *descriptor, uint64_t *offset, uint64_t flags) {
    (void)flags;
    return hsa_amd_portable_export_dmabuf(address, size, descriptor, offset);
}
status hsa_amd_svm_attributes_set(void *address, size_t size, void *list, size_t count) {
    (void)size, (void)list, (void)count;
    return address ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_agents_allow_access(uint32_t count, const uint64_t *agents, const uint32_t *flags, const void *address) {
    (void)agents, (void)flags;
    return count && address ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_vmem_address_reserve(void **place, size_t size, uint64_t address, uint64_t flags) {
    (void)flags;
    *place = mmap((void *)address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return SUCCESS;
}
status hsa_amd_vmem_handle_create(uint64_t pool, size_t size, uint32_t type, uint64_t flags, uint64_t *handle) {
    (void)size, (void)type, (void)flags;
    *handle = pool + 1000;
    return SUCCESS;
}
status hsa_amd_vmem_map(void *address, size_t size, size_t offset, uint64_t handle, uint64_t flags) {
    (void)offset, (void)flags;
    return (handle == POOL_VRAM + 1000 || handle == 5000) && mprotect(address, size, PROT_READ | PROT_WRITE) == 0 ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_vmem_import_shareable_handle(int descriptor, uint64_t *handle) {
    (void)descriptor;
    *handle = 5000;
    return SUCCESS;
}
status hsa_amd_vmem_retain_alloc_handle(uint64_t *handle, void *address) {
    *handle = POOL_VRAM + 1000;
    return address ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_vmem_handle_release(uint64_t handle) { return handle == POOL_VRAM + 1000 ? SUCCESS : INVALID_ARGUMENT; }
status hsa_amd_vmem_set_access(void *address, size_t size, const void *list, size_t count) {
    return address && size && list && count ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_vmem_export_shareable_handle(int *descriptor, uint64_t handle, uint64_t flags) {
    (void)flags;
    *descriptor = 5;
    return handle == POOL_VRAM + 1000 ? SUCCESS : INVALID_ARGUMENT;
}
status hsa_amd_vmem_unmap(void *address, size_t size) { return munmap(address, size) == 0 ? SUCCESS : INVALID_ARGUMENT; }

// ---- signals
static struct signal *at(uint64_t handle) { return (struct signal *)handle; }
status hsa_signal_create(int64_t value, uint32_t count, const uint64_t *consumers, uint64_t *place) {
    (void)count, (void)consumers;
    struct signal *signal = aligned_alloc(64, sizeof(struct signal));
    memset(signal, 0, sizeof *signal);
    signal->kind = 1;
    signal->value = value;
    *place = (uint64_t)signal;
    return SUCCESS;
}
status hsa_amd_signal_create(int64_t value, uint32_t count, const uint64_t *consumers, uint64_t flags, uint64_t *place) {
    (void)flags;
    return hsa_signal_create(value, count, consumers, place);
}
status hsa_signal_destroy(uint64_t signal) {
    free(at(signal));
    return SUCCESS;
}
// No event thread here: the handler is never run.
status hsa_amd_signal_async_handler(uint64_t signal, uint32_t condition, int64_t value, void *handler, void *data) {
    (void)signal, (void)condition, (void)value, (void)handler, (void)data;
    return SUCCESS;
}
int64_t hsa_signal_load_scacquire(uint64_t signal) { return at(signal)->value; }
int64_t hsa_signal_load_relaxed(uint64_t signal) { return at(signal)->value; }
// Every write also counts in a word that the host may use as it likes; the GPU looks at its queue when that of the
// doorbell changes.
#define WRITTEN(signal) atomic_fetch_add((_Atomic uint64_t *)&at(signal)->mailbox, 1)
static void written(uint64_t signal) {
    WRITTEN(signal);
    void (*then)(void) = when_rung;
    if (!then || !queue_count || signal != queues[queue_count - 1]->doorbell) return;
    when_rung = 0;
    then();
}
#define STORE(order) void hsa_signal_##order(uint64_t signal, int64_t value) { at(signal)->value = value; written(signal); }
STORE(store_relaxed) STORE(store_release) STORE(store_screlease) STORE(silent_store_relaxed) STORE(silent_store_screlease)
#define UPDATE(name, operation) void hsa_signal_##name(uint64_t signal, int64_t value) { at(signal)->value operation value; WRITTEN(signal); }
#define ORDERS(use, ...) use(acq_rel, __VA_ARGS__) use(acquire, __VA_ARGS__) use(relaxed, __VA_ARGS__) use(release, __VA_ARGS__) \
    use(scacq_screl, __VA_ARGS__) use(scacquire, __VA_ARGS__) use(screlease, __VA_ARGS__)
#define ADD(order, _) UPDATE(add_##order, +=)
#define SUBTRACT(order, _) UPDATE(subtract_##order, -=)
#define AND(order, _) UPDATE(and_##order, &=)
#define OR(order, _) UPDATE(or_##order, |=)
#define XOR(order, _) UPDATE(xor_##order, ^=)
ORDERS(ADD, 0) ORDERS(SUBTRACT, 0) ORDERS(AND, 0) ORDERS(OR, 0) ORDERS(XOR, 0)
#define EXCHANGE(order, _) int64_t hsa_signal_exchange_##order(uint64_t signal, int64_t value) \
    { int64_t former = atomic_exchange(&at(signal)->value, value); WRITTEN(signal); return former; }
#define CAS(order, _) int64_t hsa_signal_cas_##order(uint64_t signal, int64_t expected, int64_t value) \
    { atomic_compare_exchange_strong(&at(signal)->value, &expected, value); WRITTEN(signal); return expected; }
ORDERS(EXCHANGE, 0) ORDERS(CAS, 0)
int64_t hsa_signal_wait_scacquire(uint64_t signal, uint32_t condition, int64_t bound, uint64_t ns, uint32_t hint) {
    (void)condition, (void)hint;
    struct timespec start, now, nap = {0, 20000};
    for (clock_gettime(CLOCK_MONOTONIC, &start);; nanosleep(&nap, 0)) {
        int64_t value = at(signal)->value;
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t passed = (uint64_t)(now.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)start.tv_nsec;
        if (value < bound || passed >= ns) return value;
    }
}

// ---- queues
static void *run(void *argument) {
    struct queue *queue = argument;
    struct timespec nap = {0, 20000};
    uint64_t seen = 0;
    while (!queue->stop) {
        uint64_t rung = atomic_load((_Atomic uint64_t *)&at(queue->doorbell)->mailbox);
        for (; rung != seen;) {
            uint64_t index = queue->read_index;
            char *packet = (char *)queue->base + (index % queue->size) * 64;
            if (index >= queue->write_index || (atomic_load((_Atomic uint16_t *)packet) & 255) == 1) {
                seen = rung;
                break;
            }
            uint64_t completion = *(uint64_t *)(packet + 56);
            atomic_store((_Atomic uint16_t *)packet, 1);
            queue->read_index = index + 1;
            if (completion) at(completion)->value -= 1;
        }
        nanosleep(&nap, 0);
    }
    return 0;
}
static status create(uint64_t agent, uint32_t size, uint32_t type, void (*callback)(status, struct queue *, void *),
                     void *data, struct queue **place) {
    if (agent != GPU || !place) return INVALID_ARGUMENT;
    struct queue *queue = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *queue = (struct queue){.type = type, .features = 1, .size = size, .id = (uint64_t)queue_count + 7, .callback = callback, .data = data};
    queue->base = aligned_alloc(4096, size * 64ul);
    for (uint32_t i = 0; i < size; i++) *(uint16_t *)((char *)queue->base + i * 64ul) = 1;
    hsa_signal_create(-1, 0, 0, &queue->doorbell);
    at(queue->doorbell)->queue = queue;
    queues[queue_count++] = queue;
    pthread_create(&queue->thread, 0, run, queue);
    *place = queue;
    return SUCCESS;
}
status hsa_queue_create(uint64_t agent, uint32_t size, uint32_t type, void (*callback)(status, struct queue *, void *),
                        void *data, uint32_t private_size, uint32_t group_size, struct queue **place) {
    (void)private_size, (void)group_size;
    return create(agent, size, type, callback, data, place);
}
status hsa_queue_destroy(struct queue *queue) {
    for (int i = 0; i < queue_count; i++) {
        if (queues[i] != queue) continue;
        queue->stop = 1;
        pthread_join(queue->thread, 0);
        destroyed++;
        return SUCCESS;
    }
    return 0x1007;
}
status hsa_queue_inactivate(struct queue *queue) { return queue == fake_last_queue() ? SUCCESS : 0x1007; }
status hsa_amd_queue_set_priority(struct queue *queue, uint32_t priority) {
    queue->priority = (int)priority;
    return SUCCESS;
}
status hsa_amd_queue_cu_set_mask(struct queue *queue, uint32_t count, const uint32_t *mask) {
    queue->masks = (int)(count + mask[0]);
    return SUCCESS;
}
status hsa_amd_queue_cu_get_mask(struct queue *queue, uint32_t count, uint32_t *mask) {
    mask[0] = (uint32_t)queue->masks - count;
    return SUCCESS;
}
status hsa_amd_profiling_set_profiler_enabled(struct queue *queue, int enable) {
    queue->profiling = enable;
    return SUCCESS;
}
status hsa_amd_queue_get_info(struct queue *queue, uint32_t what, void *value) {
    *(uint64_t *)value = what == 0 ? GPU : queue->doorbell;
    return SUCCESS;
}
#define LOAD(which, order) uint64_t hsa_queue_load_##which##_index_##order(struct queue *queue) { return queue->which##_index; }
LOAD(read, acquire) LOAD(read, relaxed) LOAD(read, scacquire) LOAD(write, acquire) LOAD(write, relaxed) LOAD(write, scacquire)
#define SET(which, order) void hsa_queue_store_##which##_index_##order(struct queue *queue, uint64_t value) { queue->which##_index = value; }
SET(read, relaxed) SET(read, release) SET(read, screlease) SET(write, relaxed) SET(write, release) SET(write, screlease)
#define INDEX_ADD(order, _) uint64_t hsa_queue_add_write_index_##order(struct queue *queue, uint64_t value) \
    { return atomic_fetch_add(&queue->write_index, value); }
#define INDEX_CAS(order, _) uint64_t hsa_queue_cas_write_index_##order(struct queue *queue, uint64_t expected, uint64_t value) \
    { atomic_compare_exchange_strong(&queue->write_index, &expected, value); return expected; }
ORDERS(INDEX_ADD, 0) ORDERS(INDEX_CAS, 0)
// A way of making queues that the shim does not know.
status hsa_amd_counted_queue_acquire(uint64_t agent, uint32_t type, uint32_t priority, void *callback, void *data,
                                     uint64_t flags, struct queue **place) {
    (void)priority, (void)callback, (void)data, (void)flags;
    return create(agent, 64, type, 0, 0, place);
}

// ---- copies and times
status hsa_amd_pointer_info(const void *address, void *info, void *allocate, uint32_t *count, void **agents) {
    (void)address, (void)allocate, (void)count, (void)agents;
    memset((char *)info + 4, 0, 44);
    return SUCCESS;
}
struct pitched {
    void *base;
    size_t pitch, slice;
};
// Not by way of an exported name, which would lead to the shim.
static status copy(void *to, const void *from, size_t size, uint32_t count, const uint64_t *dependencies, uint64_t completion) {
    last_dependency = count ? dependencies[0] : 0;
    last_completion = completion;
    memcpy(to, from, size);
    at(completion)->value -= 1;
    return SUCCESS;
}
status hsa_amd_memory_async_copy(void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size,
                                 uint32_t count, const uint64_t *dependencies, uint64_t completion) {
    (void)to_agent, (void)from_agent;
    return copy(to, from, size, count, dependencies, completion);
}
status hsa_amd_memory_async_copy_on_engine(void *to, uint64_t to_agent, const void *from, uint64_t from_agent, size_t size,
                                           uint32_t count, const uint64_t *dependencies, uint64_t completion, uint32_t engine,
                                           _Bool forced) {
    (void)to_agent, (void)from_agent;
    if (engine != 2 || !forced) return INVALID_ARGUMENT;
    return copy(to, from, size, count, dependencies, completion);
}
// Of one row.
status hsa_amd_memory_async_copy_rect(const struct pitched *to, const uint32_t *to_offset, const struct pitched *from,
                                      const uint32_t *from_offset, const uint32_t *range, uint64_t agent, uint32_t direction,
                                      uint32_t count, const uint64_t *dependencies, uint64_t completion) {
    (void)agent, (void)direction;
    if (to_offset[0] || from_offset[0] || range[1] != 1 || to->pitch != 64 || from->slice != 64) return INVALID_ARGUMENT;
    return copy(to->base, from->base, range[0], count, dependencies, completion);
}
// Copies in a form that the shim does not know.
status hsa_amd_memory_async_batch_copy(void) { return SUCCESS; }
status hsa_amd_profiling_convert_tick_to_system_domain(uint64_t agent, uint64_t tick, uint64_t *place) {
    (void)agent;
    *place = tick;
    return SUCCESS;
}
