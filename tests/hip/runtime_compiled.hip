// A kernel that is compiled while the program runs (hiprtc), with a macro and an expression of its own, and loaded as a module.
#include "victim.h"

#include <hip/hiprtc.h>

#include <string>

#define CHECK_RTC(call)                                                                                   \
    do {                                                                                                  \
        hiprtcResult status = (call);                                                                     \
        if (status != HIPRTC_SUCCESS) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hiprtcGetErrorString(status));   \
            exit(2);                                                                                      \
        }                                                                                                 \
    } while (0)

const char* source = R"(
template <typename T>
__global__ void scale(T* values, T by, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = values[i] * by + OFFSET;
}
)";

int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    hiprtcProgram program;
    CHECK_RTC(hiprtcCreateProgram(&program, source, "scale.hip", 0, nullptr, nullptr));
    CHECK_RTC(hiprtcAddNameExpression(program, "scale<float>"));
    std::string target = std::string("--offload-arch=") + properties.gcnArchName;
    const char* options[] = {target.c_str(), "-DOFFSET=3"};
    hiprtcResult compiled = hiprtcCompileProgram(program, 2, options);
    size_t size = 0;
    CHECK_RTC(hiprtcGetProgramLogSize(program, &size));
    if (compiled != HIPRTC_SUCCESS) {
        std::string log(size, '\0');
        CHECK_RTC(hiprtcGetProgramLog(program, &log[0]));
        fprintf(stderr, "%s\n", log.c_str());
        CHECK_RTC(compiled);
    }
    const char* name = nullptr;
    CHECK_RTC(hiprtcGetLoweredName(program, "scale<float>", &name));
    CHECK_RTC(hiprtcGetCodeSize(program, &size));
    std::vector<char> code(size);
    CHECK_RTC(hiprtcGetCode(program, code.data()));
    hipModule_t module;
    hipFunction_t function;
    CHECK(hipModuleLoadData(&module, code.data()));
    CHECK(hipModuleGetFunction(&function, module, name));
    printf("compiled %s\n", name);
    CHECK_RTC(hiprtcDestroyProgram(&program));

    unsigned count = 200;
    std::vector<float> values(count);
    for (unsigned i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    float* device = to_device(values);
    float by = 2.5f;
    void* arguments[] = {&device, &by, &count};
    CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
    std::vector<float> result = to_host(device, count);
    printf("last %g\n", result.back());
    for (unsigned i = 0; i < count; ++i) EXPECT(result[i] == values[i] * 2.5f + 3, "value %u is %g", i, result[i]);
    CHECK(hipModuleUnload(module));
    CHECK(hipFree(device));
    return 0;
}
