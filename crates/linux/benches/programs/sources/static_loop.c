/* A parallel loop with a static schedule and a barrier at its end, again and again: static_loop
 * PHASES ITERATIONS. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Some 16 rounds of a generator by hand: blocks long enough that an emulator's translation does not
 * decide. */
static uint64_t work(uint64_t x) {
#define STEP x ^= x << 13, x ^= x >> 7, x ^= x << 17, x += 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 16; i++) {
        STEP STEP STEP STEP STEP STEP STEP STEP
    }
    return x;
}

int main(int argc, char** argv) {
    long phases = argc > 1 ? atol(argv[1]) : 10, iterations = argc > 2 ? atol(argv[2]) : 1000;
    uint64_t sum = 0;

    for (long phase = 0; phase < phases; phase++) {
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (long i = 0; i < iterations; i++) sum += work((uint64_t)phase * 1000003u + (uint64_t)i);
    }
    printf("%016llx\n", (unsigned long long)sum);
    return 0;
}
