/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lower bound of the keys of a queue's waiting threads, `key_bound`, so that a CPU that looks for
 * guests mostly need not lock the queue.
 *
 * An arriving thread lowers the bound, if need be, before the kernel puts it into the queue. A CPU
 * that scans the queue raises it: to the first key, or to the least of those that may still be on
 * the way, since they arrived in this period or the one before. For each of these two periods the
 * queue has the least key and the period's number in one word, so that neither is written without
 * the other.
 */
#ifndef EVENKEEL_BOUND_H
#define EVENKEEL_BOUND_H

#include "maps.bpf.h"

/* 67 ms. Being on the way and scanning must not take longer than this together. */
#define PERIOD_SHIFT 26
/* Keys are rounded down, so that the bound is too low, if anything. */
#define KEY_SHIFT 16
#define PACK_ARRIVING(period, key) ((u64)(period) << 48 | (key) >> KEY_SHIFT)
#define PERIOD_OF(arriving) ((u16)((arriving) >> 48))
#define KEY_OF(arriving) ((arriving) << KEY_SHIFT)

static __always_inline void lower_bound(struct queue *queue, u64 key)
{
	u64 least = queue->key_bound;

	/* Another thread arrives at once: then 0 is a bound for both. */
	if (key < least && __sync_val_compare_and_swap(&queue->key_bound, least, key) != least)
		__sync_fetch_and_and(&queue->key_bound, 0);
}

/* A thread with this key is on the way to the queue. */
static __always_inline void announce_arrival(struct queue *queue, u64 key)
{
	u16 period = bpf_ktime_get_ns() >> PERIOD_SHIFT;
	u64 *arriving = &queue->arriving[period & 1], before = *arriving;

	if (PERIOD_OF(before) != period || KEY_OF(before) > key) {
		/* Several arrive at once: it may be any key. */
		if (__sync_val_compare_and_swap(arriving, before, PACK_ARRIVING(period, key)) !=
		    before)
			__sync_lock_test_and_set(arriving, PACK_ARRIVING(period, 0));
	}
	lower_bound(queue, key);
}

/* The least key of threads that may be on the way. */
static __always_inline u64 least_arriving(const struct queue *queue)
{
	u16 period = bpf_ktime_get_ns() >> PERIOD_SHIFT;
	u64 now = queue->arriving[period & 1], before = queue->arriving[~period & 1];

	return min_of(PERIOD_OF(now) == period ? KEY_OF(now) : NEVER,
		      PERIOD_OF(before) == (u16)(period - 1) ? KEY_OF(before) : NEVER);
}

/* A scan has found `first` to be the least key; `before` is the bound as it was before the scan. */
static __always_inline void raise_bound(struct queue *queue, u64 before, u64 first)
{
	u64 least = min_of(first, least_arriving(queue));

	if (least <= before ||
	    __sync_val_compare_and_swap(&queue->key_bound, before, least) != before)
		return;
	/* Threads that arrived meanwhile saw the lower bound and left it: lower it for them. */
	lower_bound(queue, least_arriving(queue));
}

#endif
