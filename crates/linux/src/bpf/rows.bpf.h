/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slices in a row.
 *
 * A thread whose slice is over has another one, up to `batch` in all, as long as nobody waits for
 * its CPU who has woken or started and not run since
 * (`fresh`, counted by the queues). Then it competes with all who wait.
 */
#ifndef EVENKEEL_ROWS_H
#define EVENKEEL_ROWS_H

#include "queues.bpf.h"

/*
 * Whether somebody who has woken or started, and not run since, waits for this CPU: in its first
 * tier, or among those who may be its guests. Or anybody who has been sent here.
 */
FUNCTION bool is_waited_for(u32 at)
{
	struct cpu *cpu = cpu_at(at);
	int i;

	if (!cpu || !cpu->tier_count || cpu->tier_end[0] > FEW ||
	    scx_bpf_dsq_nr_queued(CPU_QUEUES + at) > 0 || scx_bpf_dsq_nr_queued(LOCAL_ON | at) > 0)
		return true;
	bpf_for (i, 0, FEW) {
		struct queue *queue = i < cpu->tier_end[0] ? queue_at(served_at(cpu, i)) : NULL;
		struct queue *guests =
			i < cpu->host_count ? queue_at(cpu->hosts[i & (MAX_HOSTS - 1)]) : NULL;

		if ((queue && queue->fresh) || (guests && guests->fresh))
			return true;
	}
	return false;
}

/*
 * Whether other slices follow the one that has ended, which it then has: as many as end by this
 * tick, and one more. Nobody has taken its CPU away, or the rest of the kernel's slice would be
 * gone; but who is in its grace has none left.
 */
static __always_inline bool has_another_slice(const struct task_struct *p, struct slot *slot,
					      const struct cpu *cpu)
{
	int i;

	if (slot->slice_number >= slot->batch || slot->grace || !p->scx.slice ||
	    slot->target != NONE || !is_served_by(slot, slot->cpu) || is_waited_for(slot->cpu))
		return false;
	bpf_for (i, 0, MAX_BATCH) {
		if (slot->slice_number >= slot->batch)
			break;
		slot->slice_number++;
		slot->granted += slice_of(slot, cpu);
		if (is_near_end(slot, 0))
			continue;
		if (scx_bpf_dsq_nr_queued(slot->queue) <= 0)
			raise_floor(slot);
		return true;
	}
	return false;
}

#endif
