/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's place in its queue: the least key goes first, equal keys first come, first served.
 *
 *   virtual time   key = virtual time, which grows by ran x charge / weight (charge.bpf.h)
 *   deadline       key = due at; once a slice has been used up, now + renewal. Postponed for other
 * CPUs than the one that it sticks to. fixed          key = a number of the policy's, + step per
 * slice used up arrival        key = 0
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
	case R_VIRTUAL_TIME:
		return slot->virtual_time;
	case R_ARRIVAL:
		return 0;
	default:
		return slot->key;
	}
}

/*
 * It is picked, or goes on because nobody else waits: whoever comes beside one that has run alone
 * for long is not to have all that time before it.
 */
static __always_inline void raise_floor(const struct slot *slot)
{
	struct queue *queue = queue_at(slot->queue);

	if (queue)
		queue->floor = max_of(queue->floor, slot->virtual_time);
}

/* It belongs to another queue from now on. */
static __always_inline void join(struct slot *slot, u32 to)
{
	struct queue *before = queue_at(slot->queue), *after = queue_at(to);

	if (before && after && before != after && before->own_clock && after->own_clock) {
		s64 ahead = slot->virtual_time - before->floor;
		s64 target = after->floor + ahead;

		slot->virtual_time = target > 0 ? target : 0;
	}
	slot->queue = to;
}

/* A CPU has picked it from its queue. */
static __always_inline void adopt(struct slot *slot, const struct cpu *cpu)
{
	if (cpu->adopt != NONE && cpu->adopt != slot->queue)
		join(slot, cpu->adopt);
}

/* Whether the policy has said something of it that has not been taken up yet. */
static __always_inline bool is_said_anew(const struct slot *slot)
{
	return slot->queue_generation != slot->seen_queue ||
	       slot->order_generation != slot->seen_order;
}

/* Takes up what the policy has said of it since. */
static __always_inline void take_up(struct slot *slot)
{
	if (slot->queue_generation != slot->seen_queue) {
		/* Atomic for its barrier: what the generation covers is read after it. */
		slot->seen_queue = __sync_fetch_and_add(&slot->queue_generation, 0);
		if (slot->queue_said != slot->queue)
			join(slot, slot->queue_said);
	}
	if (slot->order_generation != slot->seen_order) {
		u32 generation = __sync_fetch_and_add(&slot->order_generation, 0);

		slot->key = slot->key_said;
		if (slot->start == S_AT) {
			slot->virtual_time = slot->start_at;
		} else if (slot->start == S_FLOOR) {
			struct queue *queue = queue_at(slot->queue);

			if (queue)
				slot->virtual_time = queue->floor;
		}
		slot->seen_order = generation;
	}
}

/* It has become ready: one that has slept is brought forward. */
static __always_inline void enter_clock(struct slot *slot)
{
	struct queue *queue = queue_at(slot->queue);

	if (queue && slot->woken && slot->rule == R_VIRTUAL_TIME)
		slot->virtual_time = max_of(slot->virtual_time, less(queue->floor, queue->sleeper));
}

#endif
