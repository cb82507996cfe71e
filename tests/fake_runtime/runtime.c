// A small HSA runtime for tests of the shim: functions under real names, some with signatures that are hard to forward.
// FAKE_NAME is a string that tells several of them apart.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "fake.h"

#ifndef FAKE_NAME
#define FAKE_NAME "fake"
#endif

// Like ROCr's: zero at first, filled by hsa_init, referred to by symbol.
uint64_t _amdgpu_r_debug[5];
static int initialised;

uint32_t hsa_init(void) {
    initialised++;
    _amdgpu_r_debug[0] = 10;
    _amdgpu_r_debug[2] = 0x1234;
    return 0;
}

uint32_t hsa_shut_down(void) {
    initialised--;
    return 0;
}

uint32_t hsa_executable_freeze(uint64_t executable, const char *options) {
    (void)options;
    _amdgpu_r_debug[1] = executable;
    return 0;
}

uint32_t hsa_executable_destroy(uint64_t executable) {
    (void)executable;
    _amdgpu_r_debug[1] = 0;
    return 0;
}

uint32_t hsa_status_string(uint32_t status, const char **text) {
    (void)status;
    *text = FAKE_NAME;
    return 0;
}

// How often hsa_init was called.
uint64_t hsa_system_get_info(void) { return initialised; }

// The real structure, whatever the client's own references bind to.
uint64_t *hsa_signal_group_create(void) { return _amdgpu_r_debug; }

int64_t hsa_agent_get_info(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h,
                           int64_t i) {
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h + 100000000 * i;
}

double hsa_memory_copy(double a, double b, double c, double d, double e, double f, double g, double h, double i) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

struct mixed hsa_wavefront_get_info(struct mixed value, float scale) {
    value.real *= scale;
    value.integer += 1;
    return value;
}

struct large hsa_cache_get_info(struct large value, int64_t step) {
    for (int i = 0; i < 6; i++) value.words[i] += step * i;
    return value;
}

double hsa_isa_from_name(int count, ...) {
    va_list list;
    va_start(list, count);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += i % 2 ? va_arg(list, double) : (double)va_arg(list, int64_t);
    va_end(list);
    return sum;
}

int64_t hsa_signal_load_relaxed(uint64_t signal) { return (int64_t)signal + 1; }

#ifdef FAKE_CALLS_ITSELF_WHEN_LOADED
// A constructor that makes an HSA call by symbol: with the shim in the global scope it comes back to the shim, which is
// loading this very library.
static uint32_t early_status;
__attribute__((constructor)) static void early(void) { early_status = hsa_init(); }
uint32_t hsa_amd_spm_acquire(void) { return early_status; }
#endif
