// A kernel that asks the host for services beside one that does not.
#include <hip/hip_runtime.h>

__global__ void quiet(int* out) { *out = 1; }
__global__ void speak(int value) { printf("%d\n", value); }
