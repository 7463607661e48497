/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel for a test in user space: as much of it as ../../src/bpf/queues.bpf.h needs. Stands in
 * for kernel.bpf.h and libbpf's headers. A dispatch queue is the threads that say they are in it.
 */
#ifndef EVENKEEL_KERNEL_H
#define EVENKEEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define __always_inline inline __attribute__((always_inline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value* name
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))
#define bpf_for(i, begin, end) for (i = (begin); i < (int)(end); i++)

enum {
    BPF_MAP_TYPE_ARRAY,
    BPF_MAP_TYPE_RINGBUF,
    BPF_MAP_TYPE_TASK_STORAGE,
    BPF_F_MMAPABLE,
    BPF_F_NO_PREALLOC,
    BPF_RB_NO_WAKEUP,
    BPF_RB_FORCE_WAKEUP,
};

struct cpumask {
    u64 bits[1];
};

struct bpf_iter_scx_dsq {
    u64 dsq_id;
    u32 next;
};

struct task_struct {
    s32 pid; /* its number + 1 */
    u64 utime;
    const struct cpumask* cpus_ptr;
    struct {
        u64 dsq_vtime;
    } scx;
        /* The test's own. */
    struct cpumask allowed;
    s32 cpu;
    u64 dsq_id;
};

#define LOCAL 0x8000000000000002ULL
#define LOCAL_ON 0xC000000000000000ULL
#define NOWHERE 0xffffffffffffffffULL
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2
#define KICK(flag) SCX_KICK_##flag

#define MAX_TASKS 64
static struct task_struct tasks[MAX_TASKS];
static u32 task_count;
/* Threads by key, of equal ones those first that came first. */
static u32 by_key[MAX_TASKS];
static s32 asked_cpu; /* the CPU that looks for a thread */
static s32 kicked; /* CPU that is to be preempted, or -1 */

static u64 bpf_ktime_get_ns(void) { return 1ULL << 40; }

static bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask* mask) {
    return mask->bits[0] >> cpu & 1;
}

static s32 scx_bpf_task_cpu(const struct task_struct* p) { return p->cpu; }

static s32 scx_bpf_dsq_nr_queued(u64 dsq_id) {
    s32 count = 0;

    for (u32 i = 0; i < task_count; i++) count += tasks[i].dsq_id == dsq_id;
    return count;
}

static int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq* it, u64 dsq_id, u64 flags) {
    it->dsq_id = dsq_id;
    it->next = 0;
    return (int)flags;
}

static struct task_struct* bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq* it) {
    while (it->next < task_count) {
        struct task_struct* p = &tasks[by_key[it->next++]];

        if (p->dsq_id == it->dsq_id) return p;
    }
    return NULL;
}

static void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq* it) { it->next = task_count; }

static bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq* it, struct task_struct* p, u64 dsq_id,
                             u64 flags) {
    if (p->dsq_id != it->dsq_id || flags) return false;
    p->dsq_id = dsq_id;
    return true;
}

static bool dsq_move_to_local(u64 dsq_id) {
    struct bpf_iter_scx_dsq it;
    struct task_struct* p;

    bpf_iter_scx_dsq_new(&it, dsq_id, 0);
    while ((p = bpf_iter_scx_dsq_next(&it)))
        if (bpf_cpumask_test_cpu(asked_cpu, p->cpus_ptr)) return scx_bpf_dsq_move(&it, p, LOCAL, 0);
    return false;
}

static void scx_bpf_kick_cpu(s32 cpu, u64 flags) {
    if (flags & SCX_KICK_PREEMPT) kicked = cpu;
}

static void task_set_slice(struct task_struct* p, u64 slice) {
    (void)p;
    (void)slice;
}

static long bpf_ringbuf_output(void* ring, void* data, u64 size, u64 flags) {
    (void)ring;
    (void)data;
    (void)size;
    (void)flags;
    return 0;
}

/* The test's. */
static void* bpf_map_lookup_elem(void* map, const void* key);
static void* bpf_task_storage_get(void* map, struct task_struct* p, void* value, u64 flags);
static bool scx_bpf_test_and_clear_cpu_idle(s32 cpu);

#endif
