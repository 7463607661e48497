// What comes before the loops of a generated program.
#include <limits.h>
#include <omp.h>
#include <stdio.h>

typedef unsigned long long u64;

// Iterations, the sum of their values' hashes, and the last value.
struct result {
    u64 count, sum, last;
};

static int owner[100000];

static u64 hash(u64 x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ull;
    return x ^ x >> 29;
}

static void tell(int id, const char* schedule, struct result is, struct result serial,
                 u64 strangers) {
    int all = is.count == serial.count && is.sum == serial.sum && !strangers;
    if (all && is.last == serial.last)
        printf("%d right\n", id);
    else if (all)
        printf("%d %s: all iterations, and the last value is lost\n", id, schedule);
    else
        printf(
            "%d %s: %llu iterations of %llu, sum %llx for %llx, last %llx for %llx, "
            "%llu by another thread than before\n",
            id, schedule, is.count, serial.count, is.sum, serial.sum, is.last, serial.last,
            strangers);
}
