// SHA-256 of many messages, one a thread: the digests of FIPS 180-4's examples, and of lengths around those of a block.
#include "victim.h"

#include <cstring>
#include <string>

__device__ __host__ inline unsigned turn(unsigned value, int by) { return value >> by | value << (32 - by); }

#define ROUND_CONSTANTS                                                                                                \
    {                                                                                                                  \
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,    \
            0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1,            \
            0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,            \
            0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,            \
            0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1,            \
            0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,            \
            0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee,            \
            0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2                         \
    }

__constant__ unsigned device_constants[64] = ROUND_CONSTANTS;
const unsigned host_constants[64] = ROUND_CONSTANTS;

__device__ __host__ inline void hash(const unsigned char* message, unsigned length, const unsigned* constants, unsigned* digest) {
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned blocks = (length + 8) / 64 + 1;
    for (unsigned block = 0; block < blocks; ++block) {
        unsigned words[64];
        for (unsigned word = 0; word < 16; ++word) {
            words[word] = 0;
            for (unsigned byte = 0; byte < 4; ++byte) {
                unsigned at = block * 64 + word * 4 + byte;
                unsigned value = at < length ? message[at] : at == length ? 0x80 : 0;
                words[word] |= value << (24 - 8 * byte);
            }
        }
        if (block == blocks - 1) words[15] = length * 8;
        for (unsigned t = 16; t < 64; ++t) {
            unsigned a = words[t - 15], b = words[t - 2];
            words[t] = words[t - 16] + words[t - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
        }
        unsigned v[8];
        for (int i = 0; i < 8; ++i) v[i] = state[i];
        for (unsigned t = 0; t < 64; ++t) {
            unsigned first = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[t] + words[t];
            unsigned second = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            for (int i = 7; i > 0; --i) v[i] = v[i - 1];
            v[4] += first;
            v[0] = first + second;
        }
        for (int i = 0; i < 8; ++i) state[i] += v[i];
    }
    for (int i = 0; i < 8; ++i) digest[i] = state[i];
}

__global__ void hash_all(const unsigned char* messages, const unsigned* offsets, unsigned count, unsigned* digests) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) hash(messages + offsets[i], offsets[i + 1] - offsets[i], device_constants, digests + 8 * i);
}

int main() {
    std::vector<std::string> messages = {"abc", "", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"};
    unsigned state = 99;
    for (unsigned length : {1, 3, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 200}) {
        std::string message(length, '\0');
        for (char& byte : message) byte = static_cast<char>(next_random(state));
        messages.push_back(message);
    }
    std::vector<unsigned char> bytes;
    std::vector<unsigned> offsets = {0};
    for (const std::string& message : messages) {
        bytes.insert(bytes.end(), message.begin(), message.end());
        offsets.push_back(static_cast<unsigned>(bytes.size()));
    }
    const unsigned count = static_cast<unsigned>(messages.size());
    unsigned char* device = to_device(bytes);
    unsigned* device_offsets = to_device(offsets);
    unsigned* device_digests = to_device(std::vector<unsigned>(8 * count, 0));
    hash_all<<<(count + 63) / 64, 64>>>(device, device_offsets, count, device_digests);
    CHECK(hipGetLastError());
    std::vector<unsigned> digests = to_host(device_digests, 8 * count);
    const char* known[] = {"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"};
    for (unsigned i = 0; i < count; ++i) {
        char text[65];
        for (int word = 0; word < 8; ++word) snprintf(text + 8 * word, 9, "%08x", digests[8 * i + word]);
        printf("%u bytes: %s\n", offsets[i + 1] - offsets[i], text);
        if (i < 3) EXPECT(strcmp(text, known[i]) == 0, "digest %u is %s", i, text);
        unsigned expected[8];
        hash(bytes.data() + offsets[i], offsets[i + 1] - offsets[i], host_constants, expected);
        EXPECT(memcmp(expected, &digests[8 * i], sizeof expected) == 0, "digest %u is %s", i, text);
    }
    return 0;
}
