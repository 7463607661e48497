/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nobody who waits in a queue has a lesser key than its `least`: so who looks for guests mostly
 * need not lock it. Whoever comes lowers that, if need be, before the kernel puts it there; who
 * looks raises it, to the key of the first, or of one who may still be on the way: who came in this
 * period or the one before. For each of the two the queue has the least key of those who came in
 * it, and which it is, in one word: so that neither is written without the other.
 */
#ifndef EVENKEEL_BOUND_H
#define EVENKEEL_BOUND_H

#include "maps.bpf.h"

#define PERIOD_SHIFT                                                                               \
	26 /* 67 ms: we take it that being on the way, and looking, do not take longer together */
#define KEY_SHIFT 16 /* rounded down, so that the bound is too low, if anything */
#define COMING(period, key) ((u64)(period) << 48 | (key) >> KEY_SHIFT)
#define PERIOD_OF(coming) ((u16)((coming) >> 48))
#define KEY_OF(coming) ((coming) << KEY_SHIFT)

static __always_inline void lower_bound(struct queue *queue, u64 key)
{
	u64 least = queue->least;

	/* Others come, too: then the lowest bound holds for all. */
	if (key < least && __sync_val_compare_and_swap(&queue->least, least, key) != least)
		__sync_fetch_and_and(&queue->least, 0);
}

static __always_inline void come(struct queue *queue, u64 key)
{
	u16 period = bpf_ktime_get_ns() >> PERIOD_SHIFT;
	u64 *coming = &queue->coming[period & 1], before = *coming;

	if (PERIOD_OF(before) != period || KEY_OF(before) > key) {
		if (__sync_val_compare_and_swap(coming, before, COMING(period, key)) != before)
			__sync_lock_test_and_set(
				coming, COMING(period, 0)); /* several come: it may be any key */
	}
	lower_bound(queue, key);
}

/* The least key of those who may be on the way. */
static __always_inline u64 least_coming(const struct queue *queue)
{
	u16 period = bpf_ktime_get_ns() >> PERIOD_SHIFT;
	u64 now = queue->coming[period & 1], before = queue->coming[~period & 1];

	return min_of(PERIOD_OF(now) == period ? KEY_OF(now) : NEVER,
		      PERIOD_OF(before) == (u16)(period - 1) ? KEY_OF(before) : NEVER);
}

static __always_inline void raise_bound(struct queue *queue, u64 before, u64 first)
{
	u64 least = min_of(first, least_coming(queue));

	if (least <= before || __sync_val_compare_and_swap(&queue->least, before, least) != before)
		return;
	/* Whoever has come meanwhile has seen the bound as it was: so it is lowered for them. */
	lower_bound(queue, least_coming(queue));
}

#endif
