/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slices in a row.
 *
 * A thread whose slice is over has another one, up to `batch` in all, as long as no new arrival
 * waits for its CPU: none that has woken or started and not run since (`new_arrivals` of queues).
 * Then it competes with all that wait.
 */
#ifndef EVENKEEL_BATCH_H
#define EVENKEEL_BATCH_H

#include "queues.bpf.h"

/*
 * True if a new arrival waits for this CPU, in its first tier or among those that may be its
 * guests, or if any thread has been sent here.
 */
FUNCTION bool has_new_arrivals(s32 cpu)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	int i;

	if (!cpu_ctx || !cpu_ctx->tier_count || cpu_ctx->tier_end[0] > MAX_CHECKED_QUEUES ||
	    scx_bpf_dsq_nr_queued(cpu_dsq_id(cpu)) > 0 ||
	    scx_bpf_dsq_nr_queued(LOCAL_ON | (u32)cpu) > 0)
		return true;
	bpf_for (i, 0, MAX_CHECKED_QUEUES) {
		struct queue *queue =
			i < cpu_ctx->tier_end[0] ? queue_at(tier_queue_id(cpu_ctx, i)) : NULL;
		struct queue *guests =
			i < cpu_ctx->guest_queue_count
				? queue_at(cpu_ctx->guest_queue_ids[i & (MAX_GUEST_QUEUES - 1)])
				: NULL;

		if ((queue && queue->new_arrivals) || (guests && guests->new_arrivals))
			return true;
	}
	return false;
}

/*
 * Grants further slices of a batch after the one that has ended: as many as end by this tick, and
 * one more. True if there were any. None if another thread has preempted, which takes the kernel's
 * slice away, or if the thread is in its grace.
 */
static __always_inline bool continue_batch(const struct task_struct *p, struct slot *slot,
					   const struct cpu_ctx *cpu_ctx)
{
	int i;

	if (slot->batch_position >= slot->batch || slot->in_grace || !p->scx.slice ||
	    slot->target_cpu != NONE || !is_served_by(slot, slot->cpu) ||
	    has_new_arrivals(slot->cpu))
		return false;
	bpf_for (i, 0, MAX_BATCH) {
		if (slot->batch_position >= slot->batch)
			break;
		slot->batch_position++;
		slot->slice_granted += slice_of(slot, cpu_ctx);
		if (is_slice_ending(slot, 0))
			continue;
		if (scx_bpf_dsq_nr_queued(slot->queue_id) <= 0)
			raise_floor(slot);
		return true;
	}
	return false;
}

#endif
