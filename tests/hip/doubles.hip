// Arithmetic in double precision and between all kinds of numbers: the host computes the same bits.
#include "victim.h"

#include <cmath>
#include <cstring>

#pragma clang fp contract(off)

constexpr int results = 20;

__host__ __device__ inline void compute(double a, double b, double* out) {
    out[0] = a + b;
    out[1] = a - b;
    out[2] = a * b;
    out[3] = a / b;
    out[4] = sqrt(fabs(a));
    out[5] = fma(a, b, -a);
    out[6] = floor(a) + ceil(b) * 3;
    out[7] = trunc(a) - rint(b);
    out[8] = fmin(a, b) * 2 + fmax(a, b);
    out[9] = ldexp(a, 5) + ldexp(b, -3);
    out[10] = static_cast<double>(static_cast<float>(a));
    out[11] = static_cast<double>(static_cast<int>(a));
    out[12] = static_cast<double>(static_cast<long long>(a * 1e6));
    out[13] = static_cast<double>(static_cast<unsigned long long>(fabs(b) * 1e15));
    out[14] = static_cast<double>(static_cast<unsigned>(fabs(a)));
    out[15] = copysign(a, b);
    out[16] = a < b ? 1 : a == b ? 2 : 3;
    int exponent = 0;
    out[17] = frexp(a, &exponent);
    out[18] = exponent;
    out[19] = fmod(a, b);
}

__global__ void run(const double* a, const double* b, double* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) compute(a[i], b[i], out + i * results);
}

int main() {
    const int count = 200;
    std::vector<double> a(count), b(count);
    unsigned state = 23;
    for (int i = 0; i < count; ++i) {
        a[i] = (static_cast<double>(next_random(state)) - 8e6) / 37.0;
        b[i] = (static_cast<double>(next_random(state)) - 8e6) / 1.0e5 + 0.001;
    }
    a[0] = 0.0, a[1] = -0.0, a[2] = 1.0, a[3] = 4.9e-324;
    double* out = to_device(std::vector<double>(count * results));
    run<<<2, 128>>>(to_device(a), to_device(b), out, count);
    CHECK(hipGetLastError());
    std::vector<double> found = to_host(out, count * results);
    for (int i = 0; i < count; ++i) {
        double expected[results];
        compute(a[i], b[i], expected);
        for (int which = 0; which < results; ++which) {
            double value = found[i * results + which];
            EXPECT(memcmp(&value, &expected[which], sizeof value) == 0, "number %d, operation %d: %a, not %a", i, which, value, expected[which]);
        }
    }
    printf("checksum %08x\n", checksum(found));
    return 0;
}
