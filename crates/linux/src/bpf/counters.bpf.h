/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions that each thread has retired on each kind of core. The user side opens a counter of
 * instructions per CPU, of the PMU of its kind; at every switch the leaving thread gets what has
 * been counted since the last one. Loaded only where there are such counters.
 *
 * A program of its own, since schedulers may not read counters.
 */
#ifndef EVENKEEL_COUNTERS_H
#define EVENKEEL_COUNTERS_H

#include "charge.bpf.h"
#include "maps.bpf.h"

struct bpf_perf_event_value {
	u64 counter;
	u64 enabled;
	u64 running;
};

/* Counters by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, u32);
} instructions SEC(".maps");

SEC("tp_btf/sched_switch")
int BPF_PROG(evenkeel_switch, bool preempt, struct task_struct *previous, struct task_struct *next)
{
	struct bpf_perf_event_value value = {};
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(bpf_get_smp_processor_id());
	struct slot *slot;
	u32 slot_index;

	if (!cpu_ctx ||
	    bpf_perf_event_read_value(&instructions, BPF_F_CURRENT_CPU, &value, sizeof(value)))
		return 0;
	slot = slot_of(previous, &slot_index);
	if (slot && cpu_ctx->instructions_counted) {
		u32 kind = kind_of(cpu_ctx) & (MAX_KINDS - 1);

		slot->instructions[kind] += value.counter - cpu_ctx->instructions_counted;
		slot->counted_on[kind] = slot->time_on[kind];
	}
	cpu_ctx->instructions_counted = value.counter;
	return 0;
}

#endif
