// Shared by the fake runtime and its client.
#pragma once
#include <stdint.h>

struct mixed { double real; int64_t integer; };
struct large { int64_t words[6]; };
