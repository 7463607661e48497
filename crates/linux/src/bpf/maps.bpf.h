/* SPDX-License-Identifier: GPL-2.0-only */
/* Where everything is kept, and how it is found. */
#ifndef EVENKEEL_MAPS_H
#define EVENKEEL_MAPS_H

#include "kernel.bpf.h"
#include "shared.h"

#define SHARED_ARRAY(name_, type_, count_)                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, count_);                                                       \
		__type(key, u32);                                                                  \
		__type(value, type_);                                                              \
	} name_ SEC(".maps")

/* The numbers of slots and of places for free ones are set when the program is loaded. */
SHARED_ARRAY(slots, struct slot, 1);
SHARED_ARRAY(free_slots, u64, 1);
SHARED_ARRAY(queues, struct queue, MAX_QUEUES);
SHARED_ARRAY(cpus, struct cpu_ctx, MAX_CPUS);
SHARED_ARRAY(commands, struct command, MAX_COMMANDS);
SHARED_ARRAY(globals_map, struct globals, 1);
SHARED_ARRAY(exit_info_map, struct exit_info, 1);

/* Indices of slots in which something is pending, in order of when it first was. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* Readable when something is worth waking the user side. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} doorbell SEC(".maps");

/* What the scheduler makes of a thread. */
enum task_class {
	CLASS_POLICY, /* the policy places it, if it has a slot */
	CLASS_KERNEL, /* a thread of the kernel's own */
	CLASS_OWN, /* a thread of the user side */
};

struct task_ctx {
	u32 slot_index; /* or NONE */
	u32 parent_slot; /* or NONE */
	u32 class; /* enum task_class */
	u32 waits_locally; /* it has no slot, and is in the dispatch queue of a CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} threads SEC(".maps");

/*
 * A global function: the verifier checks it once, and not again for each call and each path there.
 * So everything with a loop is one. It takes numbers, since it may not take pointers to map values,
 * and looks up what they stand for.
 */
#define FUNCTION __attribute__((noinline))

static __always_inline struct globals *get_globals(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&globals_map, &first);
}

static __always_inline struct slot *slot_at(u32 slot_index)
{
	return bpf_map_lookup_elem(&slots, &slot_index);
}

static __always_inline struct queue *queue_at(u32 queue_id)
{
	return bpf_map_lookup_elem(&queues, &queue_id);
}

static __always_inline struct cpu_ctx *cpu_ctx_of(s32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* The dispatch queue of a CPU. */
static __always_inline u32 cpu_dsq_id(s32 cpu)
{
	return CPU_DSQ_BASE + (u32)cpu;
}

static __always_inline struct task_ctx *task_ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, NULL, 0);
}

/* A thread's slot, and its index in *slot_index; NULL if the policy does not place it. */
static __always_inline struct slot *slot_of(struct task_struct *p, u32 *slot_index)
{
	struct task_ctx *task_ctx = task_ctx_of(p);

	if (!task_ctx || task_ctx->slot_index == NONE)
		return NULL;
	*slot_index = task_ctx->slot_index;
	return slot_at(task_ctx->slot_index);
}

/*
 * An atomic operation as a full barrier: no memory access moves across it, either way. Its result
 * must be used: else clang up to 19 chooses an instruction that orders nothing on some processors.
 */
#define FULL_BARRIER(atomic)                                                                       \
	({                                                                                         \
		u64 before_it = (atomic);                                                          \
		barrier_var(before_it);                                                            \
	})

static __always_inline bool has_bit(const u64 *mask, s32 cpu)
{
	u32 word = (u32)cpu / 64;

	/* Keeps the number in one register: the verifier bounds that, not copies of it. */
	barrier_var(word);
	return word < CPU_WORDS && mask[word] >> ((u32)cpu % 64) & 1;
}

static __always_inline u64 max_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 min_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* a - b, but not less than 0. */
static __always_inline u64 saturating_sub(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

#endif
