/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's place in its queue: the least key goes first, equal keys first come, first served.
 *
 *   - virtual time: key = virtual time, which grows by ran x charge / weight (charge.bpf.h)
 *   - deadline: key = due at; once a slice has been used up, now + renewal. It is postponed for
 *     other CPUs than the one that the thread sticks to.
 *   - fixed: key = a number of the policy's, + step per slice used up
 *   - arrival: key = 0
 *
 * A thread that wakes starts no further behind than the floor of its queue (the greatest virtual
 * time of those picked from it, or going on alone) less the queue's credit for sleepers. Between
 * queues with clocks of their own a thread keeps its distance to the floor.
 */
#ifndef EVENKEEL_ORDER_H
#define EVENKEEL_ORDER_H

#include "maps.bpf.h"

static __always_inline u64 key_of(const struct slot *slot)
{
	switch (slot->rule) {
	case RULE_VIRTUAL_TIME:
		return slot->virtual_time;
	case RULE_ARRIVAL:
		return 0;
	default:
		return slot->key;
	}
}

/*
 * The thread is picked, or goes on because no other waits. The floor rises in both cases: else an
 * arrival beside a thread that has run alone for long would be ahead of it by all that time.
 */
static __always_inline void raise_floor(const struct slot *slot)
{
	struct queue *queue = queue_at(slot->queue_id);

	if (queue)
		queue->floor = max_of(queue->floor, slot->virtual_time);
}

/* The thread belongs to another queue from now on. */
static __always_inline void change_queue(struct slot *slot, u32 queue_id)
{
	struct queue *before = queue_at(slot->queue_id), *after = queue_at(queue_id);

	if (before && after && before != after && before->own_clock && after->own_clock) {
		s64 ahead = slot->virtual_time - before->floor;
		s64 target = after->floor + ahead;

		slot->virtual_time = target > 0 ? target : 0;
	}
	slot->queue_id = queue_id;
}

/* A CPU has picked the thread from its queue: it changes to the queue that the CPU adopts into. */
static __always_inline void adopt(struct slot *slot, const struct cpu_ctx *cpu_ctx)
{
	if (cpu_ctx->adopts_queue_id != NONE && cpu_ctx->adopts_queue_id != slot->queue_id)
		change_queue(slot, cpu_ctx->adopts_queue_id);
}

/* True if the policy has written directives for the thread that have not been applied yet. */
static __always_inline bool has_new_directives(const struct slot *slot)
{
	return slot->queue_generation != slot->applied_queue_generation ||
	       slot->order_generation != slot->applied_order_generation;
}

/* Applies what the policy has written for the thread since. */
static __always_inline void apply_directives(struct slot *slot)
{
	if (slot->queue_generation != slot->applied_queue_generation) {
		/* Atomic for its barrier: what the generation covers is read after it. */
		slot->applied_queue_generation = __sync_fetch_and_add(&slot->queue_generation, 0);
		if (slot->directed_queue_id != slot->queue_id)
			change_queue(slot, slot->directed_queue_id);
	}
	if (slot->order_generation != slot->applied_order_generation) {
		u32 generation = __sync_fetch_and_add(&slot->order_generation, 0);

		slot->key = slot->directed_key;
		if (slot->start == START_AT) {
			slot->virtual_time = slot->start_virtual_time;
		} else if (slot->start == START_FLOOR) {
			struct queue *queue = queue_at(slot->queue_id);

			if (queue)
				slot->virtual_time = queue->floor;
		}
		slot->applied_order_generation = generation;
	}
}

/* The thread has become ready: after a sleep its virtual time is brought forward. */
static __always_inline void clamp_virtual_time(struct slot *slot)
{
	struct queue *queue = queue_at(slot->queue_id);

	if (queue && slot->woken && slot->rule == RULE_VIRTUAL_TIME)
		slot->virtual_time = max_of(slot->virtual_time,
					    saturating_sub(queue->floor, queue->sleeper_credit));
}

#endif
