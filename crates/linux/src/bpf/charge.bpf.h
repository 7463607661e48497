/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time: on which kind of core, how far virtual time gets, what is left of a slice.
 *
 *   virtual time += ran x rate(kind), rate = charge(kind) / weight, by the user side
 *   slice = slice(kind), or of a divided one max(slice(kind) / runnable in its queue, least)
 *   left = share of a carried slice that was not used
 *
 * The kernel is given a slice in chunks: `granted` may be for ever, but who runs is looked at again
 * before long.
 */
#ifndef EVENKEEL_CHARGE_H
#define EVENKEEL_CHARGE_H

#include "events.bpf.h"
#include "maps.bpf.h"

#define CHUNK 20000000ULL
/* No slice of several in a row is longer. */
#define LONG 1000000000ULL
/* More has not been run since it was last brought up to now, a chunk ago at most: a clock that
 * jumped. Also keeps the product below 2^64. */
#define MOST_AT_ONCE (1ULL << 32)

static __always_inline u32 kind_of(const struct cpu *cpu)
{
	return cpu->kind < MAX_KINDS ? cpu->kind : 0;
}

/* Statistics begin, and end, to change. */
static __always_inline void change(struct slot *slot)
{
	IN_ORDER(__sync_fetch_and_add(&slot->sequence, 1));
}

/* Brings a running thread up to now. */
static __always_inline void account(struct slot *slot, struct cpu *cpu, u64 now)
{
	u32 kind = kind_of(cpu) & (MAX_KINDS - 1);
	u64 ran = now - slot->accounted_at;

	if ((s64)ran <= 0)
		return;
	ran = min_of(ran, MOST_AT_ONCE);
	slot->accounted_at = now;
	slot->time_on[kind] += ran;
	cpu->busy += ran;
	slot->virtual_time += ran * slot->rate[kind] >> RATE_SHIFT;
	slot->used += ran;
}

/* How far the virtual time of a thread has got since it was last brought up to now. */
static __always_inline u64 since_accounted(const struct slot *slot, u64 now)
{
	struct cpu *cpu = slot->state == RUNNING ? cpu_at(slot->cpu) : NULL;
	u32 kind = cpu ? kind_of(cpu) & (MAX_KINDS - 1) : 0;

	return cpu ? min_of(less(now, slot->accounted_at), MOST_AT_ONCE) * slot->rate[kind] >>
			       RATE_SHIFT
		   : 0;
}

static __always_inline u64 chunk_of(const struct slot *slot)
{
	u64 left = less(slot->granted, slot->used);

	/* Others may follow: it is our tick that ends it, and where the kernel's is gone then,
	 * somebody has taken it away (rows.bpf.h). */
	return slot->batch > 1 ? min_of(left, LONG) + CHUNK : max_of(min_of(left, CHUNK), 1);
}

/* How long a slice is now. */
static __always_inline u64 slice_of(const struct slot *slot, const struct cpu *cpu)
{
	u64 whole = slot->slice[kind_of(cpu) & (MAX_KINDS - 1)];
	s32 others = slot->divided_to ? scx_bpf_dsq_nr_queued(slot->queue) : 0;

	return others > 0 ? max_of(whole / ((u32)others + 1), slot->divided_to) : whole;
}

/* A thread that gets, or keeps, this CPU gets a slice; returns its first chunk. */
static __always_inline u64 grant(struct slot *slot, const struct cpu *cpu)
{
	u64 whole = slice_of(slot, cpu);

	if (slot->carry && slot->left)
		whole = (whole >> WHOLE_SHIFT) * slot->left;
	slot->granted = max_of(whole, 1);
	slot->used = 0;
	slot->slice_number = 1;
	slot->grace = 0;
	return chunk_of(slot);
}

static __always_inline bool is_used_up(const struct slot *slot)
{
	return slot->used >= slot->granted;
}

/*
 * The kernel looks whether a slice is over at its ticks only. At the first one after its end all
 * slices would be longer than the policy said, by half a tick in the mean: so it ends at the
 * nearest, be that before its end. But none is cut by more than half, of several in a row the mean
 * of them. Whether that is this one, for a thread that has run for so long since it was last
 * brought up to now.
 */
static __always_inline bool is_near_end(const struct slot *slot, u64 ran)
{
	struct board *board = the_board();

	return board && less(slot->granted, slot->used + ran) <=
				min_of(board->half_tick,
				       slot->granted / (2 * max_of(slot->slice_number, 1)));
}

static __always_inline void end_slice(struct task_struct *p, struct slot *slot)
{
	slot->granted = slot->used;
	task_set_slice(p, 0);
}

/*
 * Whether a thread whose slice is over goes on until the next tick: it is in the kernel, where it
 * may have a lock that others would have to wait for as long as it waits itself, and mostly blocks
 * by itself soon. Who is there still then is preempted. It is charged for the time as for any
 * other. The fair class does the same (PREEMPT_LAZY); the kernel preempts threads of this one at
 * once, wherever they are.
 */
static __always_inline bool has_grace(struct slot *slot, bool in_user)
{
	slot->grace = !in_user && !slot->grace;
	return slot->grace;
}

/* Whether the tick that is being handled found a thread outside the kernel: it has been counted as
 * the thread's user time just before. */
static __always_inline bool is_in_user(const struct task_struct *p, struct slot *slot)
{
	u64 before = slot->user_time;

	slot->user_time = p->utime;
	return slot->user_time != before;
}

static __always_inline void use_up(struct slot *slot, u32 at, u64 now)
{
	slot->left = 0;
	slot->used = 0;
	slot->granted = NEVER;
	if (slot->rule == R_DEADLINE)
		slot->key = now + slot->step;
	else if (slot->rule == R_FIXED)
		slot->key += slot->step;
	note(slot, at, P_SLICE_USED);
}

/* What a thread that leaves its CPU keeps of its slice. */
static __always_inline void carry_slice(struct slot *slot, const struct cpu *cpu)
{
	u64 unit = slot->slice[kind_of(cpu) & (MAX_KINDS - 1)] >> WHOLE_SHIFT;

	if (slot->carry && slot->granted != NEVER)
		slot->left =
			min_of(less(slot->granted, slot->used) / max_of(unit, 1), 1 << WHOLE_SHIFT);
}

#endif
