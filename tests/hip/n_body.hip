// Bodies that attract each other, all pairs, positions by tiles in group memory. Square root and division are correctly
// rounded and nothing is contracted, so the host computes the same bits.
#include "victim.h"

#include <cmath>
#include <cstring>

#pragma clang fp contract(off)

constexpr int tile = 64;

struct Pull {
    float x, y, z;
};

__host__ __device__ void attract(Pull& pull, float4 body, float4 other) {
    float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
    float square = dx * dx + dy * dy + dz * dz + 0.01f;
    float scale = other.w / (square * sqrtf(square));
    pull.x += dx * scale;
    pull.y += dy * scale;
    pull.z += dz * scale;
}

__host__ __device__ void move(float4& position, float4& speed, const Pull& pull) {
    const float step = 0.125f;
    speed.x += pull.x * step;
    speed.y += pull.y * step;
    speed.z += pull.z * step;
    position.x += speed.x * step;
    position.y += speed.y * step;
    position.z += speed.z * step;
}

__global__ void advance(const float4* from, float4* to, float4* speeds, int count) {
    __shared__ float4 others[tile];
    int i = blockIdx.x * tile + threadIdx.x;
    float4 body = i < count ? from[i] : make_float4(0, 0, 0, 0);
    Pull pull = {0, 0, 0};
    for (int start = 0; start < count; start += tile) {
        if (start + static_cast<int>(threadIdx.x) < count) others[threadIdx.x] = from[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < tile && start + j < count; ++j) attract(pull, body, others[j]);
        __syncthreads();
    }
    if (i >= count) return;
    move(body, speeds[i], pull);
    to[i] = body;
}

int main() {
    const int count = 150, steps = 3;
    std::vector<float4> bodies(count), speeds(count, make_float4(0, 0, 0, 0));
    unsigned state = 8;
    auto place = [&] { return static_cast<float>(next_random(state) % 4096) / 512.0f - 4.0f; };
    for (float4& body : bodies) {
        body.x = place();
        body.y = place();
        body.z = place();
        body.w = 1.0f + static_cast<float>(next_random(state) % 16) / 8.0f;
    }
    float4* from = to_device(bodies);
    float4* to = to_device(bodies);
    float4* device_speeds = to_device(speeds);
    for (int i = 0; i < steps; ++i) {
        advance<<<(count + tile - 1) / tile, tile>>>(from, to, device_speeds, count);
        std::swap(from, to);
    }
    CHECK(hipGetLastError());
    std::vector<float4> result = to_host(from, count);
    for (int step = 0; step < steps; ++step) {
        std::vector<float4> next = bodies;
        for (int i = 0; i < count; ++i) {
            Pull pull = {0, 0, 0};
            for (const float4& other : bodies) attract(pull, bodies[i], other);
            move(next[i], speeds[i], pull);
        }
        bodies = next;
    }
    printf("first at %a %a %a, checksum %08x\n", result[0].x, result[0].y, result[0].z, checksum(result));
    for (int i = 0; i < count; ++i) EXPECT(memcmp(&result[i], &bodies[i], sizeof(float4)) == 0, "body %d at %a, not %a", i, result[i].x, bodies[i].x);
    return 0;
}
