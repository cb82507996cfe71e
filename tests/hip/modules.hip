// A code object loaded, used and unloaded three times: its memory is gone and its addresses are used again.
//
// usage: modules CODE_OBJECT
#include "victim.h"

int main(int argc, char** argv) {
    EXPECT(argc == 2, "usage: modules CODE_OBJECT");
    unsigned count = 150;
    unsigned* device = to_device(std::vector<unsigned>(count, 5));
    for (unsigned load = 1; load <= 3; ++load) {
        hipModule_t module;
        hipFunction_t function;
        CHECK(hipModuleLoad(&module, argv[1]));
        CHECK(hipModuleGetFunction(&function, module, "tally"));
        void* arguments[] = {&device, &count};
        CHECK(hipModuleLaunchKernel(function, 3, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(hipModuleLaunchKernel(function, 3, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(hipDeviceSynchronize());
        hipDeviceptr_t variable = 0;
        size_t bytes = 0;
        CHECK(hipModuleGetGlobal(&variable, &bytes, module, "tallied"));
        unsigned tallied = 0;
        EXPECT(bytes == sizeof tallied, "%zu bytes", bytes);
        CHECK(hipMemcpyDtoH(&tallied, variable, sizeof tallied));
        CHECK(hipModuleUnload(module));
        std::vector<unsigned> result = to_host(device, count);
        printf("load %u: values[0] %u, tallied %u\n", load, result[0], tallied);
        for (unsigned value : result) EXPECT(value == 5 + 2 * load, "a value is %u", value);
        EXPECT(tallied == 2, "tallied %u", tallied);
    }
    CHECK(hipFree(device));
    return 0;
}
