/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which idle CPU a thread gets: the first by its queue's preference that serves the queue and that
 * the thread may use, but before one whose sibling (SMT) is busy another of the same kind whose
 * sibling idles, too. Among those of one kind where the thread was last comes first: its caches are
 * warm, and a thread that sleeps and wakes stays where it is.
 */
#ifndef EVENKEEL_IDLE_H
#define EVENKEEL_IDLE_H

#include "maps.bpf.h"

/* Whoever claims a CPU has it look for work: until then it is `claimed`, and need not be told
 * again. */
static __always_inline bool claim(u32 at)
{
	struct cpu *cpu = cpu_at(at);

	if (!cpu || !scx_bpf_test_and_clear_cpu_idle(at))
		return false;
	cpu->claimed = 1;
	return true;
}

/* Whether nobody runs beside it on its core. */
static __always_inline bool is_whole(const struct cpu *cpu, const struct board *board)
{
	return cpu->sibling == NONE || has_bit(board->idle, cpu->sibling);
}

/* The CPU, which is the caller's to use from now on, or NONE. */
FUNCTION u32 claim_for(u32 at, u32 previous)
{
	struct slot *slot = slot_at(at);
	struct board *board = the_board();
	struct queue *queue;
	struct cpu *last;
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
	last = has_bit(fit, previous) ? cpu_at(previous) : NULL;
	if (last && !is_whole(last, board))
		last = NULL;
	if (last && !queue->preferred_count && claim(previous))
		return previous;
	bpf_for (i, 0, MAX_CPUS) {
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
		if (!is_whole(state, board)) {
			if (second == NONE || cpu == previous) {
				second = cpu;
				second_kind = state->kind;
			}
			continue;
		}
		if (last && last->kind == state->kind && claim(previous))
			return previous;
		if (claim(cpu))
			return cpu;
	}
	if (second != NONE && claim(second))
		return second;
	/*
	 * Those that fit cannot be claimed: somebody else was faster, and they have yet to look, or
	 * they are just going idle, and may have looked before this thread was there to be seen. A
	 * kick that finds them busy has no effect.
	 */
	bpf_for (i, 0, MAX_CPUS) {
		struct cpu *state;

		if (i >= board->cpu_count)
			break;
		if (!has_bit(fit, i))
			continue;
		if (claim(i))
			return i;
		state = cpu_at(i);
		/* Atomic for its barrier: read after the thread has been put where it waits. */
		if (state && !__sync_fetch_and_add(&state->claimed, 0))
			scx_bpf_kick_cpu(i, KICK(IDLE));
	}
	return NONE;
}

#endif
