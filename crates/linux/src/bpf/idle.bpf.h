/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which idle CPU a thread gets: the first by its queue's preference that serves the queue and that
 * the thread may use.
 *
 * Of one kind those come first whose sibling (SMT) idles, too. Among them the CPU where the thread
 * was last comes first: its caches are warm, and a thread that sleeps and wakes stays where it is.
 */
#ifndef EVENKEEL_IDLE_H
#define EVENKEEL_IDLE_H

#include "maps.bpf.h"

/* Claims an idle CPU, which is going to look for work: until then it is `claimed`, and need not be
 * kicked again. */
static __always_inline bool claim_idle_cpu(s32 cpu)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);

	if (!cpu_ctx || !scx_bpf_test_and_clear_cpu_idle(cpu))
		return false;
	cpu_ctx->claimed = 1;
	return true;
}

/* True if the CPU's sibling idles, or it has none. */
static __always_inline bool is_core_idle(const struct cpu_ctx *cpu_ctx,
					 const struct globals *globals)
{
	return cpu_ctx->sibling == NONE || has_bit(globals->idle, cpu_ctx->sibling);
}

/* Claims an idle CPU for a thread. Returns it, the caller's to use from now on, or NONE. */
FUNCTION s32 claim_idle_cpu_for(u32 slot_index, s32 previous)
{
	struct slot *slot = slot_at(slot_index);
	struct globals *globals = get_globals();
	struct queue *queue;
	struct cpu_ctx *last;
	u64 candidates[CPU_WORDS], any = 0;
	s32 second = NONE;
	u32 second_kind = 0;
	int i;

	if (!slot || !globals)
		return NONE;
	queue = queue_at(slot->queue_id);
	if (!queue)
		return NONE;
	for (i = 0; i < CPU_WORDS; i++) {
		candidates[i] = globals->idle[i] & queue->serving_cpus[i] & slot->allowed[i];
		any |= candidates[i];
	}
	if (!any)
		return NONE;
	last = has_bit(candidates, previous) ? cpu_ctx_of(previous) : NULL;
	if (last && !is_core_idle(last, globals))
		last = NULL;
	if (last && !queue->preferred_count && claim_idle_cpu(previous))
		return previous;
	bpf_for (i, 0, MAX_CPUS) {
		s32 cpu = i;
		struct cpu_ctx *cpu_ctx;

		if (i >= (queue->preferred_count ? queue->preferred_count : globals->cpu_count))
			break;
		if (queue->preferred_count)
			cpu = queue->preferred_cpus[i];
		if (!has_bit(candidates, cpu))
			continue;
		cpu_ctx = cpu_ctx_of(cpu);
		if (!cpu_ctx)
			continue;
		if (second != NONE && cpu_ctx->kind != second_kind)
			break;
		if (!is_core_idle(cpu_ctx, globals)) {
			if (second == NONE || cpu == previous) {
				second = cpu;
				second_kind = cpu_ctx->kind;
			}
			continue;
		}
		if (last && last->kind == cpu_ctx->kind && claim_idle_cpu(previous))
			return previous;
		if (claim_idle_cpu(cpu))
			return cpu;
	}
	if (second != NONE && claim_idle_cpu(second))
		return second;
	/*
	 * The candidates cannot be claimed. Either they have been claimed for another thread and
	 * have yet to look for work, or they are just going idle and may have looked before this
	 * thread could be seen. A kick that finds them busy has no effect.
	 */
	bpf_for (i, 0, MAX_CPUS) {
		struct cpu_ctx *cpu_ctx;

		if (i >= globals->cpu_count)
			break;
		if (!has_bit(candidates, i))
			continue;
		if (claim_idle_cpu(i))
			return i;
		cpu_ctx = cpu_ctx_of(i);
		/* Atomic for its barrier: read after the thread has been put where it waits. */
		if (cpu_ctx && !__sync_fetch_and_add(&cpu_ctx->claimed, 0))
			scx_bpf_kick_cpu(i, KICK(IDLE));
	}
	return NONE;
}

#endif
