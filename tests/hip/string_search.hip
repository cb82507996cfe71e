// Every place of a word in a text, one place a thread: a bit map, their number, and the first.
#include "victim.h"

#include <cstring>
#include <string>

__global__ void search(const char* text, unsigned length, const char* word, unsigned word_length, unsigned* map, unsigned* count, unsigned* first) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + word_length > length) return;
    for (unsigned j = 0; j < word_length; ++j)
        if (text[i + j] != word[j]) return;
    atomicOr(&map[i / 32], 1u << i % 32);
    atomicAdd(count, 1u);
    atomicMin(first, i);
}

int main() {
    std::string text;
    unsigned state = 55;
    for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + next_random(state) % 3);
    const unsigned length = static_cast<unsigned>(text.size());
    char* device = to_device(std::vector<char>(text.begin(), text.end()));
    for (const std::string word : {"a", "abca", "cccccc", "abcabcabcabcabcabc", "d"}) {
        unsigned* map = to_device(std::vector<unsigned>(length / 32 + 1, 0));
        unsigned* count = to_device(std::vector<unsigned>(1, 0));
        unsigned* first = to_device(std::vector<unsigned>(1, ~0u));
        search<<<(length + 127) / 128, 128>>>(device, length, to_device(std::vector<char>(word.begin(), word.end())), static_cast<unsigned>(word.size()), map, count, first);
        CHECK(hipGetLastError());
        std::vector<unsigned> found = to_host(map, length / 32 + 1), expected(length / 32 + 1, 0);
        unsigned places = 0;
        size_t first_place = text.find(word);
        for (size_t at = first_place; at != std::string::npos; at = text.find(word, at + 1), ++places) expected[at / 32] |= 1u << at % 32;
        unsigned number = to_host(count, 1)[0], lowest = to_host(first, 1)[0];
        printf("%s: %u places, the first %d\n", word.c_str(), number, static_cast<int>(lowest));
        EXPECT(number == places && found == expected, "places of %s", word.c_str());
        EXPECT(lowest == static_cast<unsigned>(first_place), "first place of %s", word.c_str());
    }
    return 0;
}
