// Lanes that read each other and vote, also in widths below a wave's and while some lanes are off; compared with a model of
// a wave on the host.
#include "victim.h"

#include <functional>

constexpr int lanes = 64, results = 16;

__global__ void exchange(const int* values, const double* wide, long long* out) {
    int lane = threadIdx.x, value = values[lane];
    long long* mine = out + lane * results;
    mine[0] = __shfl(value, 5);
    mine[1] = __shfl(value, (lane * 7) % lanes);
    mine[2] = __shfl(value, 3, 16);
    mine[3] = __shfl_up(value, 3);
    mine[4] = __shfl_up(value, 2, 8);
    mine[5] = __shfl_down(value, 9);
    mine[6] = __shfl_down(value, 1, 4);
    mine[7] = __shfl_xor(value, 21);
    mine[8] = static_cast<long long>(__shfl_xor(wide[lane], 1) * 4);
    mine[9] = static_cast<long long>(__ballot(value > 0));
    mine[10] = __any(value == 12345) * 2 + __all(value > -1000);
    mine[11] = __ffsll(__ballot(value % 5 == 0));
    mine[12] = __popcll(__ballot(value & 1) & ((1ull << lane) - 1));
    mine[13] = -1;
    mine[14] = -1;
    if (lane % 3 == 1) {
        // Only these lanes vote, and read from one of them.
        mine[13] = static_cast<long long>(__ballot(1));
        mine[14] = __shfl(value, 4);
    }
    mine[15] = __lane_id();
}

int main() {
    std::vector<int> values(lanes);
    std::vector<double> wide(lanes);
    unsigned state = 6;
    for (int lane = 0; lane < lanes; ++lane) {
        values[lane] = static_cast<int>(next_random(state) % 400) - 200;
        wide[lane] = values[lane] * 0.25;
    }
    long long* out = to_device(std::vector<long long>(lanes * results, 0));
    exchange<<<1, lanes>>>(to_device(values), to_device(wide), out);
    CHECK(hipGetLastError());
    std::vector<long long> found = to_host(out, lanes * results);
    auto ballot = [&](const std::function<bool(int)>& vote) {
        unsigned long long mask = 0;
        for (int lane = 0; lane < lanes; ++lane) mask |= static_cast<unsigned long long>(vote(lane)) << lane;
        return mask;
    };
    unsigned long long odd = ballot([&](int lane) { return values[lane] & 1; });
    unsigned long long third = ballot([](int lane) { return lane % 3 == 1; });
    for (int lane = 0; lane < lanes; ++lane) {
        // A source outside of its width leaves a lane its own value.
        auto up = [&](int by, int width) { return lane % width < by ? values[lane] : values[lane - by]; };
        auto down = [&](int by, int width) { return lane % width + by >= width ? values[lane] : values[lane + by]; };
        const long long expected[results] = {
            values[5],
            values[lane * 7 % lanes],
            values[lane / 16 * 16 + 3],
            up(3, lanes),
            up(2, 8),
            down(9, lanes),
            down(1, 4),
            values[lane ^ 21],
            values[lane ^ 1],
            static_cast<long long>(ballot([&](int other) { return values[other] > 0; })),
            1,
            __builtin_ffsll(static_cast<long long>(ballot([&](int other) { return values[other] % 5 == 0; }))),
            __builtin_popcountll(odd & ((1ull << lane) - 1)),
            lane % 3 == 1 ? static_cast<long long>(third) : -1,
            lane % 3 == 1 ? values[4] : -1,
            lane,
        };
        for (int i = 0; i < results; ++i) EXPECT(found[lane * results + i] == expected[i], "lane %d, result %d: %lld, not %lld", lane, i, found[lane * results + i], expected[i]);
    }
    printf("checksum %08x\n", checksum(found));
    return 0;
}
