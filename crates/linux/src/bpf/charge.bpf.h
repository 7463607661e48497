/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time: on which kind of core, how far virtual time gets, what is left of a slice.
 *
 *   virtual time += ran x rate(kind), rate = charge(kind) / weight, by the user side
 *   slice = slice(kind), or of a divided one max(slice(kind) / runnable in its queue, least)
 *   slice_left_share = share of a carried slice that was not used
 *
 * The kernel is given a slice in chunks: `slice_granted` may be for ever, but which thread runs is
 * looked at again before long.
 */
#ifndef EVENKEEL_CHARGE_H
#define EVENKEEL_CHARGE_H

#include "events.bpf.h"
#include "maps.bpf.h"

#define SLICE_CHUNK_NS 20000000ULL
/* Longest slice of several in a row. */
#define MAX_BATCH_NS 1000000000ULL
/* Most that is charged at once. A running thread is charged once a chunk at least, so more means
 * that the clock jumped. Also keeps the product below 2^64. */
#define MAX_CHARGE_NS (1ULL << 32)

static __always_inline u32 kind_of(const struct cpu_ctx *cpu_ctx)
{
	return cpu_ctx->kind < MAX_KINDS ? cpu_ctx->kind : 0;
}

/* Statistics are about to change: the user side reads them again (a sequence lock). */
static __always_inline void begin_stats(struct slot *slot)
{
	FULL_BARRIER(__sync_fetch_and_add(&slot->sequence, 1));
}

/* Statistics have been changed. */
static __always_inline void end_stats(struct slot *slot)
{
	FULL_BARRIER(__sync_fetch_and_add(&slot->sequence, 1));
}

/* Charges a running thread for its time up to now. */
static __always_inline void charge(struct slot *slot, struct cpu_ctx *cpu_ctx, u64 now)
{
	u32 kind = kind_of(cpu_ctx) & (MAX_KINDS - 1);
	u64 ran = now - slot->charged_until;

	if ((s64)ran <= 0)
		return;
	ran = min_of(ran, MAX_CHARGE_NS);
	slot->charged_until = now;
	slot->time_on[kind] += ran;
	cpu_ctx->busy += ran;
	slot->virtual_time += ran * slot->rate[kind] >> RATE_SHIFT;
	slot->slice_used += ran;
}

/* How far the virtual time of a thread has got since it was last charged. */
static __always_inline u64 uncharged_virtual_time(const struct slot *slot, u64 now)
{
	struct cpu_ctx *cpu_ctx = slot->state == RUNNING ? cpu_ctx_of(slot->cpu) : NULL;
	u32 kind = cpu_ctx ? kind_of(cpu_ctx) & (MAX_KINDS - 1) : 0;

	return cpu_ctx ? min_of(saturating_sub(now, slot->charged_until), MAX_CHARGE_NS) *
					 slot->rate[kind] >>
				 RATE_SHIFT
		       : 0;
}

/* What the kernel is given next of a thread's slice. */
static __always_inline u64 next_chunk(const struct slot *slot)
{
	u64 left = saturating_sub(slot->slice_granted, slot->slice_used);

	/* With slices in a row our tick ends them, not the kernel. So the kernel's slice outlasts
	 * ours, and if it is gone at the tick another thread has preempted (batch.bpf.h). */
	return slot->batch > 1 ? min_of(left, MAX_BATCH_NS) + SLICE_CHUNK_NS
			       : max_of(min_of(left, SLICE_CHUNK_NS), 1);
}

/* How long a slice is now. */
static __always_inline u64 slice_of(const struct slot *slot, const struct cpu_ctx *cpu_ctx)
{
	u64 whole = slot->slice[kind_of(cpu_ctx) & (MAX_KINDS - 1)];
	s32 others = slot->divided_to ? scx_bpf_dsq_nr_queued(slot->queue_id) : 0;

	return others > 0 ? max_of(whole / ((u32)others + 1), slot->divided_to) : whole;
}

/* Grants a slice to a thread that gets, or keeps, this CPU; returns its first chunk. */
static __always_inline u64 grant_slice(struct slot *slot, const struct cpu_ctx *cpu_ctx)
{
	u64 whole = slice_of(slot, cpu_ctx);

	if (slot->carry && slot->slice_left_share)
		whole = (whole >> SHARE_SHIFT) * slot->slice_left_share;
	slot->slice_granted = max_of(whole, 1);
	slot->slice_used = 0;
	slot->batch_position = 1;
	slot->in_grace = 0;
	return next_chunk(slot);
}

static __always_inline bool is_slice_used_up(const struct slot *slot)
{
	return slot->slice_used >= slot->slice_granted;
}

/*
 * True if a slice ends at this tick, for a thread that has run for `ran` since it was last charged.
 * The kernel looks at slices at its ticks only; ended at the first tick after its end, a slice
 * would be half a tick too long in the mean. So it ends at the nearest tick, but is not cut by more
 * than half, of several in a row by half of their mean.
 */
static __always_inline bool is_slice_ending(const struct slot *slot, u64 ran)
{
	struct globals *globals = get_globals();

	return globals &&
	       saturating_sub(slot->slice_granted, slot->slice_used + ran) <=
		       min_of(globals->half_tick_ns,
			      slot->slice_granted / (2 * max_of(slot->batch_position, 1)));
}

/* Ends what is left of a slice, here and in the kernel. */
static __always_inline void expire_slice(struct task_struct *p, struct slot *slot)
{
	slot->slice_granted = slot->slice_used;
	task_set_slice(p, 0);
}

/*
 * True if a thread whose slice is over goes on until the next tick, and is preempted only then. It
 * does while it is in the kernel, where it may hold a lock that others would wait for, and mostly
 * blocks soon by itself; the time is charged. The fair class does the same (PREEMPT_LAZY), but the
 * kernel preempts threads of this class at once, wherever they are.
 */
static __always_inline bool grant_grace(struct slot *slot, bool in_user)
{
	slot->in_grace = !in_user && !slot->in_grace;
	return slot->in_grace;
}

/* True if the tick that is being handled found the thread in user mode: the kernel has just counted
 * it as user time. */
static __always_inline bool is_in_user(const struct task_struct *p, struct slot *slot)
{
	u64 before = slot->user_time;

	slot->user_time = p->utime;
	return slot->user_time != before;
}

/* A slice has been used up: a new one is due, and the key is stepped. */
static __always_inline void end_slice(struct slot *slot, u32 slot_index, u64 now)
{
	slot->slice_left_share = 0;
	slot->slice_used = 0;
	slot->slice_granted = NEVER;
	if (slot->rule == RULE_DEADLINE)
		slot->key = now + slot->step;
	else if (slot->rule == RULE_FIXED)
		slot->key += slot->step;
	post_event(slot, slot_index, EV_SLICE_USED);
}

/* Keeps what a thread that leaves its CPU has not used of its slice. */
static __always_inline void carry_slice(struct slot *slot, const struct cpu_ctx *cpu_ctx)
{
	u64 unit = slot->slice[kind_of(cpu_ctx) & (MAX_KINDS - 1)] >> SHARE_SHIFT;

	if (slot->carry && slot->slice_granted != NEVER)
		slot->slice_left_share = min_of(
			saturating_sub(slot->slice_granted, slot->slice_used) / max_of(unit, 1),
			1 << SHARE_SHIFT);
}

#endif
