/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers questions on scenes with the code that decides in the kernel (src/bpf/queues.bpf.h).
 * Questions come on standard input as numbers (scene.rs writes them), and each has a line
 * of answer:
 *
 *   pick CPU     thread, or -1, and the queue that it belongs to from then on
 *   idle THREAD  CPU, or -1
 *   victim THREAD  CPU, or -1
 */
#include "kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/bpf/queues.bpf.h"

#define MAX_SCENE_CPUS 16
#define MAX_SCENE_QUEUES 16

static struct slot slot_array[MAX_TASKS];
static struct queue queue_array[MAX_SCENE_QUEUES];
static struct cpu_ctx cpu_array[MAX_SCENE_CPUS];
static struct task_ctx contexts[MAX_TASKS];
static struct globals the_globals;

static void* bpf_map_lookup_elem(void* map, const void* key) {
    u32 at = *(const u32*)key;

    if (map == (void*)&slots) return at < task_count ? &slot_array[at] : NULL;
    if (map == (void*)&queues) return at < the_globals.queue_count ? &queue_array[at] : NULL;
    if (map == (void*)&cpus) return at < the_globals.cpu_count ? &cpu_array[at] : NULL;
    return map == (void*)&globals_map && at == 0 ? &the_globals : NULL;
}

static void* bpf_task_storage_get(void* map, struct task_struct* p, void* value, u64 flags) {
    return map == (void*)&threads && !value && !flags ? &contexts[p - tasks] : NULL;
}

static bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) {
    bool was = has_bit(the_globals.idle, cpu);

    the_globals.idle[0] &= ~(1ULL << cpu);
    return was;
}

/* The next number; ends the program where the input is none. */
static s64 number(void) {
    s64 value;

    if (scanf("%lld", &value) != 1) {
        fprintf(stderr, "picks: not a scene\n");
        exit(2);
    }
    return value;
}

static u32 number_or_none(void) {
    s64 value = number();

    return value < 0 ? NONE : (u32)value;
}

static void read_cpu(u32 cpu) {
    struct cpu_ctx* cpu_ctx = &cpu_array[cpu];
    u32 entries = 0;

    cpu_ctx->is_used = 1;
    cpu_ctx->sibling = NONE;
    cpu_ctx->to_displace = cpu_ctx->displaced = NONE;
    cpu_ctx->kind = number();
    cpu_ctx->cluster = number();
    if (number()) the_globals.idle[0] |= 1ULL << cpu;
    cpu_ctx->last_slot = number_or_none();
    cpu_ctx->running_slot = number_or_none();
    cpu_ctx->adopts_queue_id = number_or_none();
    cpu_ctx->behind = number();
    cpu_ctx->guest_queue_count = number();
    for (u32 i = 0; i < cpu_ctx->guest_queue_count; i++) cpu_ctx->guest_queue_ids[i] = number();
    cpu_ctx->tier_count = number();
    for (u32 tier = 0; tier < cpu_ctx->tier_count; tier++) {
        u32 count;

        cpu_ctx->tier_by_load[tier] = number();
        count = number();
        for (u32 i = 0; i < count; i++) {
            u32 queue_id = number();

            cpu_ctx->tier_queue_ids[entries++] = queue_id;
            queue_array[queue_id].serving_cpus[0] |= 1ULL << cpu;
            if (tier == 0) queue_array[queue_id].first_tier_cpus[0] |= 1ULL << cpu;
        }
        cpu_ctx->tier_end[tier] = entries;
    }
}

static void read_queue(u32 queue_id) {
    struct queue* queue = &queue_array[queue_id];

    queue->preempts = PREEMPTS_ALWAYS;
    queue->preemption_margin = number();
    queue->preferred_count = number();
    for (u32 i = 0; i < queue->preferred_count; i++) queue->preferred_cpus[i] = number();
}

static void read_thread(u32 at) {
    struct slot* slot = &slot_array[at];
    struct task_struct* p = &tasks[at];

    slot->tid = p->pid = at + 1;
    slot->queue_id = number();
    slot->rule = number();
    slot->key = slot->virtual_time = number();
    slot->weight = number();
    slot->allowed[0] = p->allowed.bits[0] = number();
    slot->cpu = p->cpu = number();
    slot->woken = number();
    for (u32 i = 0; i < 3; i++) slot->postpone[i] = number();
    p->cpus_ptr = &p->allowed;
    slot->target_cpu = slot->claimed_cpu = slot->waits_in_dsq = slot->partner_slot = NONE;
    slot->slice_granted = NEVER;
    slot->charged_until = bpf_ktime_get_ns();
    contexts[at].slot_index = at;
    contexts[at].parent_slot = NONE;
    p->scx.dsq_vtime = key_of(slot);
    p->dsq_id = NOWHERE;
    if (slot->rule == RULE_DEADLINE) queue_array[slot->queue_id].postpones = 1;
    /* A thread that runs, or is about to be asked whether it goes on, waits in no queue. */
    if (number()) {
        p->dsq_id = slot->queue_id;
        begin_wait(slot, &the_globals, slot->queue_id);
    }
}

static int compare(const void* a, const void* b) {
    u32 first = *(const u32*)a, second = *(const u32*)b;
    u64 x = tasks[first].scx.dsq_vtime, y = tasks[second].scx.dsq_vtime;

    return x != y ? (x < y ? -1 : 1) : first < second ? -1 : 1;
}

static void read_scene(void) {
    memset(slot_array, 0, sizeof(slot_array));
    memset(queue_array, 0, sizeof(queue_array));
    memset(cpu_array, 0, sizeof(cpu_array));
    memset(contexts, 0, sizeof(contexts));
    memset(tasks, 0, sizeof(tasks));
    memset(&the_globals, 0, sizeof(the_globals));
    the_globals.heartbeat = bpf_ktime_get_ns();
    the_globals.tracks_queue_weights = 1;
    the_globals.cpu_count = number();
    the_globals.queue_count = number();
    task_count = number();
    for (u32 cpu = 0; cpu < the_globals.cpu_count; cpu++) read_cpu(cpu);
    for (u32 queue_id = 0; queue_id < the_globals.queue_count; queue_id++) read_queue(queue_id);
    for (u32 at = 0; at < task_count; at++) {
        read_thread(at);
        by_key[at] = at;
    }
    qsort(by_key, task_count, sizeof(by_key[0]), compare);
}

/* As evenkeel_dispatch does, and then evenkeel_running. `curr`: the thread whose slice is over. */
static void pick(s32 cpu, u32 curr) {
    struct cpu_ctx* cpu_ctx = cpu_ctx_of(cpu);
    int picked = pick_by_tiers(cpu, curr);
    s32 thread = -1;
    bool is_guest;

    asked_cpu = cpu;
    for (u32 at = 0; picked == PICKED_WAITING && at < task_count; at++)
        if (tasks[at].dsq_id == LOCAL) thread = (s32)at;
    if (picked == PICKED_CURRENT) thread = (s32)curr;
    if (thread < 0) {
        printf("-1 -1\n");
        return;
    }
    is_guest = picked == PICKED_WAITING && cpu_ctx->guest_tid == (u32)tasks[thread].pid;
    if (!is_guest) adopt(&slot_array[thread], cpu_ctx);
    printf("%d %d\n", thread, (s32)slot_array[thread].queue_id);
}

int main(void) {
    char what[8];

    while (scanf("%7s", what) == 1) {
        u32 about = number(), curr = number_or_none();

        read_scene();
        kicked = -1;
        asked_cpu = (s32)about;
        if (!strcmp(what, "pick")) {
            pick((s32)about, curr);
        } else if (!strcmp(what, "idle")) {
            printf("%d\n", claim_idle_cpu_for(about, slot_array[about].cpu));
        } else {
            preempt_for(about);
            printf("%d\n", kicked);
        }
    }
    return 0;
}
