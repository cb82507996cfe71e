// A radix-2 transform in group memory, in float and in double, one transform a group; the factors come from a table of the
// host's, nothing is contracted, so the host computes the same bits. The inverse leads back to the signal.
#include "victim.h"

#include <cmath>

#pragma clang fp contract(off)

constexpr int size = 128, bits = 7, rows = 3;

template <typename T>
struct Complex {
    T re, im;
};

// One butterfly of stage `stage`, the `i`-th of size / 2.
template <typename T>
__host__ __device__ void butterfly(Complex<T>* values, const Complex<T>* factors, int stage, int i, bool inverse) {
    int half = 1 << stage;
    int low = (i >> stage << (stage + 1)) + (i & (half - 1)), high = low + half;
    Complex<T> factor = factors[(i & (half - 1)) << (bits - 1 - stage)];
    if (inverse) factor.im = -factor.im;
    Complex<T> a = values[low], b = values[high];
    Complex<T> turned = {b.re * factor.re - b.im * factor.im, b.re * factor.im + b.im * factor.re};
    values[low] = {a.re + turned.re, a.im + turned.im};
    values[high] = {a.re - turned.re, a.im - turned.im};
}

__host__ __device__ inline int reversed(int index) {
    int result = 0;
    for (int bit = 0; bit < bits; ++bit) result |= (index >> bit & 1) << (bits - 1 - bit);
    return result;
}

template <typename T>
__global__ void transform(Complex<T>* signals, const Complex<T>* factors, bool inverse) {
    __shared__ Complex<T> values[size];
    Complex<T>* signal = signals + blockIdx.x * size;
    for (int i = threadIdx.x; i < size; i += blockDim.x) values[reversed(i)] = signal[i];
    __syncthreads();
    for (int stage = 0; stage < bits; ++stage) {
        butterfly(values, factors, stage, threadIdx.x, inverse);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < size; i += blockDim.x) signal[i] = values[i];
}

template <typename T>
void run(const char* name, double tolerance) {
    std::vector<Complex<T>> factors(size / 2), signal(rows * size);
    for (int i = 0; i < size / 2; ++i) {
        double angle = -2.0 * M_PI * i / size;
        factors[i] = {static_cast<T>(cos(angle)), static_cast<T>(sin(angle))};
    }
    unsigned state = 17;
    for (Complex<T>& value : signal) value = {static_cast<T>(next_random(state) % 2000) / 1000 - 1, static_cast<T>(next_random(state) % 2000) / 1000 - 1};
    Complex<T>* device = to_device(signal);
    Complex<T>* device_factors = to_device(factors);
    transform<T><<<rows, size / 2>>>(device, device_factors, false);
    CHECK(hipGetLastError());
    std::vector<Complex<T>> result = to_host(device, signal.size());
    for (int row = 0; row < rows; ++row) {
        std::vector<Complex<T>> values(size);
        for (int i = 0; i < size; ++i) values[reversed(i)] = signal[row * size + i];
        for (int stage = 0; stage < bits; ++stage)
            for (int i = 0; i < size / 2; ++i) butterfly(values.data(), factors.data(), stage, i, false);
        for (int i = 0; i < size; ++i) {
            Complex<T> found = result[row * size + i];
            EXPECT(found.re == values[i].re && found.im == values[i].im, "%s, row %d, line %d: %a + %ai, not %a + %ai", name, row, i, static_cast<double>(found.re), static_cast<double>(found.im), static_cast<double>(values[i].re), static_cast<double>(values[i].im));
        }
    }
    printf("%s: checksum %08x\n", name, checksum(result));
    // One line of the spectrum by its definition: the butterflies are those of a Fourier transform.
    double re = 0, im = 0;
    for (int i = 0; i < size; ++i) {
        double angle = -2.0 * M_PI * 5 * i / size;
        re += signal[i].re * cos(angle) - signal[i].im * sin(angle);
        im += signal[i].re * sin(angle) + signal[i].im * cos(angle);
    }
    EXPECT(std::fabs(re - result[5].re) < tolerance && std::fabs(im - result[5].im) < tolerance, "%s, line 5 by definition", name);
    transform<T><<<rows, size / 2>>>(device, device_factors, true);
    CHECK(hipGetLastError());
    std::vector<Complex<T>> back = to_host(device, signal.size());
    for (size_t i = 0; i < signal.size(); ++i)
        EXPECT(std::fabs(back[i].re / size - signal[i].re) < tolerance && std::fabs(back[i].im / size - signal[i].im) < tolerance, "%s, value %zu after the way back", name, i);
}

int main() {
    run<float>("float", 1e-4);
    run<double>("double", 1e-12);
    return 0;
}
