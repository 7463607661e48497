// Checks that no thread waits in a queue with a key below the queue's bound (src/bpf/bound.bpf.h,
// as it is), while threads arrive, scan and take all at once.
//
//   bound ROUNDS    prints what was wrong and ends with 1, or how often the bound was raised and
//   ends with 0
//
// The clock is the test's. It goes on only while no thread has been on the way or has scanned for
// half a period, so that both together take less than one, as the bound requires. The bound is
// checked where all threads meet: in between it may be too high for a moment.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

// In place of the kernel's and of the maps.
#define EVENKEEL_MAPS_H
#include "../../src/bpf/shared.h"

static u64 min_of(u64 a, u64 b) { return a < b ? a : b; }

static _Atomic u64 now = 1ULL << 40;
static _Thread_local u64 seed;

static u64 chance(u64 of) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed >> 33) % of;
}

// Others may go on in the middle: between what has been read and what is done about it.
static void pause_perhaps(void) {
    if (chance(4) == 0) sched_yield();
}

static u64 bpf_ktime_get_ns(void) {
    u64 time = now;

    pause_perhaps();
    return time;
}

#define __sync_val_compare_and_swap(at, before, after) \
    (pause_perhaps(), __sync_val_compare_and_swap(at, before, after))

#include "../../src/bpf/bound.bpf.h"

enum { COME = 4, LOOK = 2, MOST = 64, STEPS = 40 };
#define NOT_ON_THE_WAY ULLONG_MAX
#define UNIT (1ULL << KEY_SHIFT)

static struct queue queue;
// Keys of waiting threads, in no order.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static u64 waiting[MOST];
static int count;
// Since when each is on the way, or looks.
static _Atomic u64 since[COME + LOOK];
static pthread_barrier_t meet;
static long rounds;
static _Atomic u64 clock_of_keys = 1000 * UNIT;
static atomic_long raised, wrong;

// Units of keys pass; now and then a thread is far behind.
static void comes(int me) {
    u64 key = (clock_of_keys += UNIT * chance(3)) - UNIT * chance(chance(8) ? 4 : 900);

    since[me] = now;
    announce_arrival(&queue, key);
    pause_perhaps();
    pthread_mutex_lock(&lock);
    if (count < MOST) waiting[count++] = key;
    pthread_mutex_unlock(&lock);
    since[me] = NOT_ON_THE_WAY;
}

// As take_guest does, but it takes a thread, too.
static void looks(int me) {
    u64 bound = queue.key_bound, first = NEVER;
    int at = 0;

    since[me] = now;
    pthread_mutex_lock(&lock);
    if (count) {
        for (int i = 1; i < count; i++) at = waiting[i] < waiting[at] ? i : at;
        if (chance(2)) {
            waiting[at] = waiting[--count];
            for (int i = 0; i < count; i++) first = min_of(first, waiting[i]);
        } else {
            first = waiting[at];
        }
    }
    pthread_mutex_unlock(&lock);
    raise_bound(&queue, bound, first);
    raised += queue.key_bound > bound;
    since[me] = NOT_ON_THE_WAY;
    u64 time = now, further = time + (1ULL << (PERIOD_SHIFT - 2));
    for (int i = 0; i < COME + LOOK; i++)
        if (since[i] != NOT_ON_THE_WAY && further - since[i] > 1ULL << (PERIOD_SHIFT - 1)) return;
    atomic_compare_exchange_strong(&now, &time, further);
}

static void* thread(void* number) {
    int me = (int)(long)number;

    seed = me + 1;
    for (long round = 0; round < rounds && !wrong; round++) {
        for (int i = 0; i < STEPS; i++) me < COME ? comes(me) : looks(me);
        pthread_barrier_wait(&meet);
        if (me == 0) {
            for (int i = 0; i < count; i++)
                if (waiting[i] < queue.key_bound && !wrong++)
                    printf("round %ld: %llu waits, the bound is %llu\n", round, waiting[i],
                           queue.key_bound);
            // A full queue would let no thread in.
            count = count > MOST / 2 ? 0 : count;
        }
        pthread_barrier_wait(&meet);
    }
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t threads[COME + LOOK];

    rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (int i = 0; i < COME + LOOK; i++) since[i] = NOT_ON_THE_WAY;
    pthread_barrier_init(&meet, NULL, COME + LOOK);
    for (long i = 0; i < COME + LOOK; i++) pthread_create(&threads[i], NULL, thread, (void*)i);
    for (int i = 0; i < COME + LOOK; i++) pthread_join(threads[i], NULL);
    printf("raised %ld times\n", (long)raised);
    return wrong ? 1 : 0;
}
