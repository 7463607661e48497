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
SHARED_ARRAY(cpus, struct cpu, MAX_CPUS);
SHARED_ARRAY(commands, struct command, MAX_COMMANDS);
SHARED_ARRAY(boards, struct board, 1);
SHARED_ARRAY(words, struct last_words, 1);

/* Slots in which something is pending, in order of when it first was. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} notes SEC(".maps");

/* Something that is worth waking the user side. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} bell SEC(".maps");

/* What a thread is to us. */
enum standing {
	PLACED, /* the policy's, if it has a slot */
	KERNEL, /* a thread of the kernel's own */
	OURS, /* of the user side */
};

struct thread {
	u32 slot; /* or NONE */
	u32 parent; /* slot, or NONE */
	u32 standing;
	u32 waits; /* it has no slot, and is in the dispatch queue of a CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/*
 * The verifier looks at a function of its own, one that is not static, once, and not again for each
 * call and each way there. So what has loops is one; it takes numbers and looks up what they stand
 * for.
 */
#define FUNCTION __attribute__((noinline))

static __always_inline struct board *the_board(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&boards, &first);
}

static __always_inline struct slot *slot_at(u32 slot)
{
	return bpf_map_lookup_elem(&slots, &slot);
}

static __always_inline struct queue *queue_at(u32 queue)
{
	return bpf_map_lookup_elem(&queues, &queue);
}

static __always_inline struct cpu *cpu_at(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct thread *thread_of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, NULL, 0);
}

/* The slot of a thread that the policy places; its number in *at. */
static __always_inline struct slot *slot_of(struct task_struct *p, u32 *at)
{
	struct thread *thread = thread_of(p);

	if (!thread || thread->slot == NONE)
		return NULL;
	*at = thread->slot;
	return slot_at(thread->slot);
}

/*
 * An atomic operation for the barrier that it is: what follows it is read, and written, after it.
 * Not so, on some processors, where its result is not used: then clang up to 19 chooses an
 * instruction that orders nothing.
 */
#define IN_ORDER(atomic)                                                                           \
	({                                                                                         \
		u64 before_it = (atomic);                                                          \
		barrier_var(before_it);                                                            \
	})

static __always_inline bool has_bit(const u64 *mask, u32 cpu)
{
	u32 word = cpu / 64;

	/* The verifier is to see the very number that is checked and used. */
	barrier_var(word);
	return word < CPU_WORDS && mask[word] >> (cpu % 64) & 1;
}

static __always_inline u64 max_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 min_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

#endif
