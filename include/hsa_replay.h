/*
 * hsa-replay: what a program and a tool may ask of it.
 *
 * The functions are exported by hsa-replay's libhsa-runtime64.so.1 at the version node HSA_REPLAY_1. They are not in AMD's
 * runtime, so a program does not link with them; it looks them up, and goes on without them where there are none:
 *
 *     #include <dlfcn.h>
 *     #include <hsa_replay.h>
 *
 *     HSA_REPLAY_FUNCTION(hsa_replay_pause);          // the pointer hsa_replay_pause_fn, null without hsa-replay
 *     if (hsa_replay_pause_fn)
 *         hsa_replay_pause_fn();
 *
 * All of them may be called by any thread at any time after hsa_init (or the first HIP call), none of them waits for a
 * kernel, and none calls back. A request holds for the dispatches that the program submits after it, and for no earlier one.
 *
 * A tool is a library that is named by HSA_REPLAY_TOOL or `hsa-replay run --tool`; see hsa_replay_tool_start below.
 *
 * C99 and C++11. Fields and functions are only ever added; HSA_REPLAY_INTERFACE_VERSION changes when one has to go.
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef HSA_REPLAY_H
#define HSA_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HSA_REPLAY_INTERFACE_VERSION 1u

/* What a call has come to. */
typedef enum hsa_replay_status_e {
    HSA_REPLAY_STATUS_SUCCESS = 0,
    /* An argument is null, too long, not UTF-8, or out of range. */
    HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT = 1,
    /* Replay is off in this process, or hsa_init was not called yet: the request is without effect. */
    HSA_REPLAY_STATUS_ERROR_NOT_ARMED = 2,
    /* There is no such allocation, record or range. */
    HSA_REPLAY_STATUS_ERROR_NOT_FOUND = 3,
    /* Memory of this kind is never captured. */
    HSA_REPLAY_STATUS_ERROR_UNSUPPORTED = 4,
    /* The regular expression does not compile. */
    HSA_REPLAY_STATUS_ERROR_INVALID_EXPRESSION = 5,
    /* A failure inside hsa-replay; replay is off from here on. */
    HSA_REPLAY_STATUS_ERROR_INTERNAL = 6
} hsa_replay_status_t;

/* HSA_REPLAY_INTERFACE_VERSION of the library. */
uint32_t hsa_replay_interface_version(void);
/* Version of the build, such as "0.1.0". */
const char *hsa_replay_version(void);
/* A status in words; never null. */
const char *hsa_replay_status_string(hsa_replay_status_t status);
/* 1 while dispatches of this process can be replayed, 0 otherwise. */
uint32_t hsa_replay_is_armed(void);

/* Replays no dispatch until hsa_replay_resume. Calling it twice is the same as once. */
hsa_replay_status_t hsa_replay_pause(void);
hsa_replay_status_t hsa_replay_resume(void);

/* Replays the kernels whose name matches, instead of those that --kernel names; null: those that --kernel names. */
hsa_replay_status_t hsa_replay_select_kernels(const char *expression);

/* Replays with this many passes, 1 to 65535, instead of --passes; 0: as --passes says. */
hsa_replay_status_t hsa_replay_set_passes(uint32_t passes);

/* Names a stretch of code: dispatches submitted until the matching pop carry the name in their record ("range"). Stretches
 * may be nested; they are the process's, not the thread's. A name has at most 1024 bytes. */
hsa_replay_status_t hsa_replay_range_push(const char *name);
hsa_replay_status_t hsa_replay_range_pop(void);

/* Leaves the allocation that holds this address out of snapshots, from the next window on: it is not put back between passes, so
 * a kernel that writes to it does so once a pass, and dispatches that take it are not declined for that. Their records do not
 * call them deterministic. */
hsa_replay_status_t hsa_replay_exclude_memory(const void *address);
/* Takes it in again. Fine-grained memory of an agent, which is left out by itself, is taken in as well: the program answers for
 * it that nobody else writes there while a kernel is replayed. */
hsa_replay_status_t hsa_replay_include_memory(const void *address);

/* Copies the last dispatch record, one line of JSON as in the report, with a zero byte behind it, cut off where `size` bytes do
 * not hold it. `needed`, if it is not null, gets the bytes of the whole text with its zero byte. A record is there before the
 * dispatch's completion signal is told. */
hsa_replay_status_t hsa_replay_last_record(char *text, size_t size, size_t *needed);

#ifdef __cplusplus
#define HSA_REPLAY_FUNCTION(name) auto name##_fn = reinterpret_cast<decltype(&name)>(dlsym(RTLD_DEFAULT, #name))
#else
#define HSA_REPLAY_FUNCTION(name) __typeof__(&name) name##_fn = (__typeof__(&name))dlsym(RTLD_DEFAULT, #name)
#endif

/*
 * Tools.
 *
 * A tool exports hsa_replay_tool_start, which is called once, when replay starts in the process. It fills in its callbacks;
 * null ones are left out. They are called on threads of hsa-replay's, one for each agent: for one agent one at a time, for
 * several agents at once. Never on a thread of the program or of the runtime. A callback may call HSA, but must not wait
 * for work on the agent that is being replayed: the window waits for the callback. It must not throw; a tool that crashes takes
 * the program with it.
 *
 * For each dispatch that would be replayed: configure; then for each pass pass_enter, pass_exit, and between two passes
 * replay_continue; then finish. A dispatch that configure leaves out, or that cannot be replayed after all, has finish alone.
 * When the process exits, or shuts the runtime down, a running callback is waited for, at most for the time of a window, and none is called after that:
 * a dispatch that is being replayed then has no finish. Static objects of the tool's are destroyed later.
 */

/* A value of the tool's. What configure sets is given to the callbacks of each pass as a copy of their own: pass_exit and
 * replay_continue see what pass_enter of the same pass wrote, the next pass does not. */
typedef union hsa_replay_user_data_u {
    uint64_t value;
    void *ptr;
} hsa_replay_user_data_t;

/* A dispatch. Texts are valid during the callback. `size` is that of the structure in the library: fields beyond it are not
 * there. */
typedef struct hsa_replay_dispatch_s {
    uint64_t size;
    uint64_t id;           /* number of its record */
    const char *kernel;    /* demangled signature */
    const char *symbol;    /* mangled name without .kd */
    const char *range;     /* open stretches of code, outer first, or null */
    uint64_t agent;        /* hsa_agent_t.handle */
    uint64_t queue_id;     /* hsa_queue_t.id */
    uint64_t launch;       /* ordinal of this kernel's dispatch in the process, from 0 */
    uint32_t grid[3];      /* work-items */
    uint32_t workgroup[3]; /* work-items */
} hsa_replay_dispatch_t;

/* How often a dispatch runs. */
typedef struct hsa_replay_passes_s {
    uint64_t size;
    /* In: what the settings say. Out: 1 to 65535; or HSA_REPLAY_UNTIL_STOPPED, which needs replay_continue; or
     * HSA_REPLAY_LEAVE_OUT. */
    uint32_t passes;
    /* Out, for HSA_REPLAY_UNTIL_STOPPED: the most passes there may be, 1 to 65535. In: 65535. */
    uint32_t bound;
    /* Out: given to the callbacks of each pass. In: zero. */
    hsa_replay_user_data_t user_data;
} hsa_replay_passes_t;

/* Passes until replay_continue says stop, at most `bound`. */
#define HSA_REPLAY_UNTIL_STOPPED 0u
/* The dispatch runs once, unchanged; its record says "declined" for the reason "tool". */
#define HSA_REPLAY_LEAVE_OUT UINT32_MAX

/* A pass. */
typedef struct hsa_replay_pass_s {
    uint64_t size;
    uint32_t pass;         /* from 0 */
    uint32_t passes;       /* how many there will be at most */
    uint64_t start, end;   /* ticks of the agent; 0 in pass_enter, and where the hardware wrote none */
    uint64_t nanoseconds;  /* duration; 0 where it is not known */
} hsa_replay_pass_t;

/* How a window ended. */
typedef enum hsa_replay_outcome_e {
    HSA_REPLAY_OUTCOME_REPLAYED = 0,
    HSA_REPLAY_OUTCOME_DECLINED = 1,
    HSA_REPLAY_OUTCOME_TAINTED = 2,
    HSA_REPLAY_OUTCOME_FAULTED = 3,
    /* The last pass outlasted the window and still runs. */
    HSA_REPLAY_OUTCOME_RUNNING = 4
} hsa_replay_outcome_t;

/* The tool's callbacks. hsa_replay_tool_start finds `size` set and everything else zero, and must not write beyond it. */
typedef struct hsa_replay_tool_s {
    uint64_t size;
    /* The tool sets HSA_REPLAY_INTERFACE_VERSION, so that the library knows what it was built for. */
    uint32_t interface_version;
    uint32_t reserved;
    /* Given to every callback. */
    void *tool_data;
    void (*configure)(const hsa_replay_dispatch_t *dispatch, hsa_replay_passes_t *passes, void *tool_data);
    void (*pass_enter)(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                       hsa_replay_user_data_t *user_data, void *tool_data);
    void (*pass_exit)(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                      hsa_replay_user_data_t *user_data, void *tool_data);
    /* 0: no further pass. Not asked after the last one. */
    int (*replay_continue)(const hsa_replay_dispatch_t *dispatch, const hsa_replay_pass_t *pass,
                           hsa_replay_user_data_t *user_data, void *tool_data);
    /* `record` is the dispatch's record as it stands in the report, one line of JSON. */
    void (*finish)(const hsa_replay_dispatch_t *dispatch, hsa_replay_outcome_t outcome, const char *record,
                   hsa_replay_user_data_t user_data, void *tool_data);
} hsa_replay_tool_t;

/* Exported by the tool. Anything but HSA_REPLAY_STATUS_SUCCESS keeps replay off in this process. */
hsa_replay_status_t hsa_replay_tool_start(uint32_t interface_version, hsa_replay_tool_t *tool);

#ifdef __cplusplus
}
#endif

#endif
