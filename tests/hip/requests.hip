// Asks hsa-replay for things while it runs, with the functions of hsa_replay.h. Nothing is waited for between launches, so each
// request meets packets that were written before it and have not run yet.
#include "../../include/hsa_replay.h"
#include "victim.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

__global__ void add(unsigned* values, unsigned amount) { values[threadIdx.x] += amount; }

static HSA_REPLAY_FUNCTION(hsa_replay_is_armed);
static HSA_REPLAY_FUNCTION(hsa_replay_pause);
static HSA_REPLAY_FUNCTION(hsa_replay_resume);
static HSA_REPLAY_FUNCTION(hsa_replay_select_kernels);
static HSA_REPLAY_FUNCTION(hsa_replay_set_passes);
static HSA_REPLAY_FUNCTION(hsa_replay_range_push);
static HSA_REPLAY_FUNCTION(hsa_replay_range_pop);
static HSA_REPLAY_FUNCTION(hsa_replay_exclude_memory);
static HSA_REPLAY_FUNCTION(hsa_replay_include_memory);
static HSA_REPLAY_FUNCTION(hsa_replay_last_record);
static HSA_REPLAY_FUNCTION(hsa_replay_status_string);

// Makes a request where there is somebody to make it to, and checks the answer.
#define ASK(function, wanted, ...)                                                                  \
    do {                                                                                            \
        if (armed) {                                                                                \
            hsa_replay_status_t status = function##_fn(__VA_ARGS__);                                \
            EXPECT(status == (wanted), #function ": %s", hsa_replay_status_string_fn(status));      \
        }                                                                                           \
    } while (0)

int main() {
    const std::vector<unsigned> zeros(64);
    unsigned* values = to_device(zeros);
    unsigned* left_out = to_device(zeros);
    CHECK(hipDeviceSynchronize());
    const bool armed = hsa_replay_is_armed_fn && hsa_replay_is_armed_fn();

    add<<<1, 64>>>(values, 1);
    ASK(hsa_replay_pause, HSA_REPLAY_STATUS_SUCCESS);
    add<<<1, 64>>>(values, 2);
    ASK(hsa_replay_resume, HSA_REPLAY_STATUS_SUCCESS);
    ASK(hsa_replay_select_kernels, HSA_REPLAY_STATUS_SUCCESS, "^subtract");
    add<<<1, 64>>>(values, 3);
    ASK(hsa_replay_select_kernels, HSA_REPLAY_STATUS_SUCCESS, "^add");
    ASK(hsa_replay_range_push, HSA_REPLAY_STATUS_SUCCESS, "outer");
    ASK(hsa_replay_range_push, HSA_REPLAY_STATUS_SUCCESS, "inner");
    add<<<1, 64>>>(values, 4);
    ASK(hsa_replay_range_pop, HSA_REPLAY_STATUS_SUCCESS);
    ASK(hsa_replay_set_passes, HSA_REPLAY_STATUS_SUCCESS, 5);
    add<<<1, 64>>>(values, 5);
    ASK(hsa_replay_range_pop, HSA_REPLAY_STATUS_SUCCESS);
    ASK(hsa_replay_set_passes, HSA_REPLAY_STATUS_SUCCESS, 0);
    ASK(hsa_replay_select_kernels, HSA_REPLAY_STATUS_SUCCESS, nullptr);
    CHECK(hipDeviceSynchronize());

    // Memory is asked for by the window, so it is waited for.
    ASK(hsa_replay_exclude_memory, HSA_REPLAY_STATUS_SUCCESS, left_out + 63);
    add<<<1, 64>>>(left_out, 8);
    CHECK(hipDeviceSynchronize());
    ASK(hsa_replay_include_memory, HSA_REPLAY_STATUS_SUCCESS, left_out);
    add<<<1, 64>>>(left_out, 8);
    CHECK(hipDeviceSynchronize());

    if (armed) {
        char record[1 << 14];
        size_t needed = 0;
        ASK(hsa_replay_last_record, HSA_REPLAY_STATUS_SUCCESS, record, sizeof record, &needed);
        EXPECT(needed == strlen(record) + 1 && record[0] == '{', "%zu bytes: %s", needed, record);
        EXPECT(strstr(record, "\"kernel\":\"add("), "%s", record);
        char part[8];
        ASK(hsa_replay_last_record, HSA_REPLAY_STATUS_SUCCESS, part, sizeof part, nullptr);
        EXPECT(strncmp(part, record, 7) == 0 && part[7] == 0, "cut off to %s", part);
    }
    ASK(hsa_replay_last_record, HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT, nullptr, 1, nullptr);
    ASK(hsa_replay_range_pop, HSA_REPLAY_STATUS_ERROR_NOT_FOUND);
    ASK(hsa_replay_range_push, HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT, nullptr);
    ASK(hsa_replay_range_push, HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT, std::string(1025, 'x').c_str());
    ASK(hsa_replay_set_passes, HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT, 65536);
    ASK(hsa_replay_select_kernels, HSA_REPLAY_STATUS_ERROR_INVALID_EXPRESSION, "(");
    ASK(hsa_replay_exclude_memory, HSA_REPLAY_STATUS_ERROR_INVALID_ARGUMENT, nullptr);
    ASK(hsa_replay_exclude_memory, HSA_REPLAY_STATUS_ERROR_NOT_FOUND, &zeros);
    void* host = nullptr;
    CHECK(hipHostMalloc(&host, 4096, 0));
    ASK(hsa_replay_include_memory, HSA_REPLAY_STATUS_ERROR_UNSUPPORTED, host);

    const unsigned sum = to_host(values, 64)[9];
    const unsigned left_out_sum = to_host(left_out, 64)[9];
    printf("%u\n", sum);
    fprintf(stderr, "left out: %u\n", left_out_sum);
    EXPECT(sum == 15, "%u", sum);
    return 0;
}
