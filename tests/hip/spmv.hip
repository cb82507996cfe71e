// A sparse matrix in compressed rows times a vector, with a thread a row and with a wave a row. All numbers are small
// integers, so every order of addition gives the same.
#include "victim.h"

__global__ void by_threads(const unsigned* rows, const unsigned* columns, const double* values, const double* x, double* y, unsigned count) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    double sum = 0;
    for (unsigned i = rows[row]; i < rows[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

__global__ void by_waves(const unsigned* rows, const unsigned* columns, const float* values, const float* x, float* y, unsigned count) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
    if (row >= count) return;
    float sum = 0;
    for (unsigned i = rows[row] + lane; i < rows[row + 1]; i += warpSize) sum += values[i] * x[columns[i]];
    for (int distance = warpSize / 2; distance > 0; distance /= 2) sum += __shfl_down(sum, distance);
    if (lane == 0) y[row] = sum;
}

int main() {
    const unsigned count = 120;
    std::vector<unsigned> rows = {0}, columns;
    std::vector<double> values, x(count), expected(count, 0);
    unsigned state = 31;
    for (double& value : x) value = static_cast<int>(next_random(state) % 64) - 32;
    for (unsigned row = 0; row < count; ++row) {
        // From empty rows to one that is longer than a wave.
        unsigned length = row == 50 ? 100 : next_random(state) % 12;
        for (unsigned i = 0; i < length; ++i) {
            columns.push_back(next_random(state) % count);
            values.push_back(static_cast<int>(next_random(state) % 128) - 64);
            expected[row] += values.back() * x[columns.back()];
        }
        rows.push_back(static_cast<unsigned>(columns.size()));
    }
    unsigned* device_rows = to_device(rows);
    unsigned* device_columns = to_device(columns);
    double* y = to_device(std::vector<double>(count, -1));
    by_threads<<<2, 64>>>(device_rows, device_columns, to_device(values), to_device(x), y, count);
    CHECK(hipGetLastError());
    std::vector<double> result = to_host(y, count);
    std::vector<float> small_values(values.begin(), values.end()), small_x(x.begin(), x.end());
    float* small_y = to_device(std::vector<float>(count, -1));
    by_waves<<<count / 4, 256>>>(device_rows, device_columns, to_device(small_values), to_device(small_x), small_y, count);
    CHECK(hipGetLastError());
    std::vector<float> small_result = to_host(small_y, count);
    printf("%zu numbers, row 50 is %g, checksum %08x\n", values.size(), result[50], checksum(result));
    for (unsigned row = 0; row < count; ++row) {
        EXPECT(result[row] == expected[row], "row %u is %g, not %g", row, result[row], expected[row]);
        EXPECT(small_result[row] == static_cast<float>(expected[row]), "row %u is %g, not %g", row, small_result[row], expected[row]);
    }
    return 0;
}
