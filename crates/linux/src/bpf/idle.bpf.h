/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which idle CPU a thread gets: the first by its queue's preference that serves the queue and that the thread may use, but before one
 * whose sibling (SMT) is busy another of the same kind whose sibling idles, too. A queue without a preference prefers where the thread
 * was last.
 */
#ifndef EVENKEEL_IDLE_H
#define EVENKEEL_IDLE_H

#include "maps.bpf.h"

static __always_inline bool claim(u32 cpu)
{
	return scx_bpf_test_and_clear_cpu_idle(cpu);
}

/* The CPU, which is the caller's to use from now on, or NONE. */
FUNCTION u32 claim_for(u32 at, u32 previous)
{
	struct slot *slot = slot_at(at);
	struct board *board = the_board();
	struct queue *queue;
	u64 fit[CPU_WORDS], any = 0;
	u32 second = NONE, second_kind = 0;
	int i;

	if (!slot || !board)
		return NONE;
	queue = queue_at(slot->queue);
	if (!queue)
		return NONE;
	for (i = 0; i < CPU_WORDS; i++) {
		fit[i] = board->idle[i] & queue->served[i] & slot->allowed[i];
		any |= fit[i];
	}
	if (!any)
		return NONE;
	if (!queue->preferred_count && has_bit(fit, previous) && claim(previous))
		return previous;
	bpf_for(i, 0, MAX_CPUS) {
		u32 cpu = i;
		struct cpu *state;

		if (i >= (queue->preferred_count ? queue->preferred_count : board->cpu_count))
			break;
		if (queue->preferred_count)
			cpu = queue->preferred[i];
		if (!has_bit(fit, cpu))
			continue;
		state = cpu_at(cpu);
		if (!state)
			continue;
		if (second != NONE && state->kind != second_kind)
			break;
		if (state->sibling != NONE && !has_bit(board->idle, state->sibling)) {
			if (second == NONE) {
				second = cpu;
				second_kind = state->kind;
			}
			continue;
		}
		if (claim(cpu))
			return cpu;
	}
	if (second != NONE && claim(second))
		return second;
	/* Somebody else was faster with the best: any will do. */
	bpf_for(i, 0, MAX_CPUS) {
		if (has_bit(fit, i) && claim(i))
			return i;
	}
	return NONE;
}

#endif
