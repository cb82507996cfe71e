// Calls through pointers: a table of device functions chosen by each lane, and virtual functions of objects that a kernel
// made.
#include "victim.h"

#include <new>

using Operation = int (*)(int, int);

__device__ __attribute__((noinline)) int add(int a, int b) { return a + b; }
__device__ __attribute__((noinline)) int subtract(int a, int b) { return a - b; }
__device__ __attribute__((noinline)) int multiply(int a, int b) { return a * b; }
__device__ __attribute__((noinline)) int largest(int a, int b) { return a > b ? a : b; }

__device__ Operation operations[] = {add, subtract, multiply, largest};

__global__ void apply(const int* a, const int* b, int* results, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) results[i] = operations[(i * 5 + i / 7) % 4](a[i], b[i]);
}

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual int corners() const { return 4; }
};

struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};

struct Triangle : Shape {
    int base, height;
    __device__ Triangle(int base, int height) : base(base), height(height) {}
    __device__ int area() const override { return base * height / 2; }
    __device__ int corners() const override { return 3; }
};

union Room {
    char square[sizeof(Square)];
    char triangle[sizeof(Triangle)];
    long long alignment;
};

__global__ void make(Room* rooms, Shape** shapes, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    if (i % 3 == 0)
        shapes[i] = new (&rooms[i]) Triangle(i, 4);
    else
        shapes[i] = new (&rooms[i]) Square(i);
}

__global__ void measure(Shape* const* shapes, int* results, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) results[i] = shapes[i]->area() * 10 + shapes[i]->corners();
}

int main() {
    const int count = 150;
    std::vector<int> a(count), b(count);
    unsigned state = 12;
    for (int i = 0; i < count; ++i) {
        a[i] = static_cast<int>(next_random(state) % 2000) - 1000;
        b[i] = static_cast<int>(next_random(state) % 2000) - 1000;
    }
    int* results = to_device(std::vector<int>(count, 0));
    apply<<<3, 64>>>(to_device(a), to_device(b), results, count);
    CHECK(hipGetLastError());
    std::vector<int> applied = to_host(results, count);
    for (int i = 0; i < count; ++i) {
        int which = (i * 5 + i / 7) % 4;
        int expected = which == 0 ? a[i] + b[i] : which == 1 ? a[i] - b[i] : which == 2 ? a[i] * b[i] : std::max(a[i], b[i]);
        EXPECT(applied[i] == expected, "operation %d of %d: %d, not %d", which, i, applied[i], expected);
    }
    Room* rooms = to_device(std::vector<Room>(count));
    Shape** shapes = to_device(std::vector<Shape*>(count, nullptr));
    make<<<3, 64>>>(rooms, shapes, count);
    measure<<<3, 64>>>(shapes, results, count);
    CHECK(hipGetLastError());
    std::vector<int> measured = to_host(results, count);
    for (int i = 0; i < count; ++i) {
        int expected = i % 3 == 0 ? i * 4 / 2 * 10 + 3 : i * i * 10 + 4;
        EXPECT(measured[i] == expected, "shape %d: %d, not %d", i, measured[i], expected);
    }
    printf("checksums %08x %08x\n", checksum(applied), checksum(measured));
    return 0;
}
