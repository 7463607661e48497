// Programs to record: what threads do together, with work that is the same amount on any core.
//
//   threads compute  PINNED ROUNDS   two threads that only compute
//   threads barrier  PINNED ROUNDS   two threads that meet at a barrier after blocks of different
//   length threads lock     PINNED ROUNDS   two threads that take turns with a mutex that both want
//   most of the time threads pipeline PINNED ROUNDS   three threads with two queues of four items
//   between them threads four     PINNED ROUNDS   four threads that meet at a barrier after equal
//   blocks threads awake                    as many as there are CPUs, below everything else
//   (SCHED_IDLE), that spin until they are killed
//
// PINNED 1: thread i stays on CPU i (modulo the number of CPUs). At its end it prints the CPU time
// that it took, in seconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int pinned, rounds;
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// About `us` microseconds on a fast core; the same number of instructions every time.
static void work(int us) {
    volatile unsigned x = 1;
    for (long i = 0; i < us * 400L; i++) x = x * 1664525u + 1013904223u;
}

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int items;
};
static struct queue queues[2];

static void put(struct queue* q) {
    pthread_mutex_lock(&q->lock);
    while (q->items == 4) pthread_cond_wait(&q->changed, &q->lock);
    q->items++;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static void get(struct queue* q) {
    pthread_mutex_lock(&q->lock);
    while (q->items == 0) pthread_cond_wait(&q->changed, &q->lock);
    q->items--;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static void place(long self) {
    if (!pinned) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(self % sysconf(_SC_NPROCESSORS_ONLN), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void* compute(void* self) {
    place((long)self);
    work(rounds * 1000);
    return 0;
}

static void* at_barrier(void* self) {
    place((long)self);
    for (int i = 0; i < rounds; i++) {
        work((i + (long)self) % 2 ? 1500 : 3000);
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

static void* four_at_barrier(void* self) {
    place((long)self);
    for (int i = 0; i < rounds; i++) {
        work(3000);
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

static void* locking(void* self) {
    place((long)self);
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        work(1000);
        pthread_mutex_unlock(&lock);
        work(600);
    }
    return 0;
}

static void* stage(void* self) {
    long nth = (long)self;
    place(nth);
    for (int i = 0; i < rounds; i++) {
        if (nth > 0) get(&queues[nth - 1]);
        work(nth == 1 ? 2000 : 700);
        if (nth < 2) put(&queues[nth]);
    }
    return 0;
}

static void* awake(void* self) {
    const struct sched_param none = {0};
    if (sched_setscheduler(0, SCHED_IDLE, &none)) return 0;
    place((long)self);
    for (;;) work(1000);
}

int main(int count, char** argument) {
    if (count == 2 && !strcmp(argument[1], "awake")) {
        pinned = 1;
        pthread_t thread;
        for (long cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1; cpu > 0; cpu--)
            pthread_create(&thread, 0, awake, (void*)cpu);
        awake(0);
    }
    if (count != 4) return 2;
    pinned = atoi(argument[2]);
    rounds = atoi(argument[3]);
    int threads = 2;
    void* (*body)(void*) = compute;
    if (!strcmp(argument[1], "barrier"))
        body = at_barrier;
    else if (!strcmp(argument[1], "four"))
        body = four_at_barrier, threads = 4;
    else if (!strcmp(argument[1], "lock"))
        body = locking;
    else if (!strcmp(argument[1], "pipeline"))
        body = stage, threads = 3;
    else if (strcmp(argument[1], "compute"))
        return 2;
    pthread_barrier_init(&barrier, 0, threads);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&queues[i].lock, 0);
        pthread_cond_init(&queues[i].changed, 0);
    }
    pthread_t thread[4];
    for (long i = 0; i < threads; i++) pthread_create(&thread[i], 0, body, (void*)i);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], 0);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld.%06ld\n",
           used.ru_utime.tv_sec + used.ru_stime.tv_sec +
               (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000000,
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) % 1000000);
    return 0;
}
