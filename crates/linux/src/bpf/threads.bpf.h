/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's slot, from its beginning to its end. It is given out when the thread comes to this
 * scheduler, with its parent's directives or those of the template, and left to the user side when
 * the thread goes. Also what others change of a thread meanwhile: its nice value, its affinity.
 */
#ifndef EVENKEEL_THREADS_H
#define EVENKEEL_THREADS_H

#include "events.bpf.h"
#include "queues.bpf.h"
#include "swap.bpf.h"

/* A thread begins. */

SEC("struct_ops.s/init_task")
s32 BPF_PROG(evenkeel_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct globals *globals = get_globals();
	struct task_ctx *task_ctx =
		bpf_task_storage_get(&threads, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!task_ctx || !globals)
		return -12; /* ENOMEM */
	task_ctx->slot_index = NONE;
	task_ctx->parent_slot = NONE;
	task_ctx->waits_locally = 0;
	task_ctx->class = p->flags & PF_KTHREAD			 ? CLASS_KERNEL
			  : (u32)p->tgid == globals->own_process ? CLASS_OWN
								 : CLASS_POLICY;
	if (args->fork) {
		struct task_ctx *parent = task_ctx_of(bpf_get_current_task_btf());

		if (parent)
			task_ctx->parent_slot = parent->slot_index;
	}
	return 0;
}

/* Index of a free slot, or NONE. */
static __always_inline u32 take_slot(struct globals *globals)
{
	int i;

	bpf_for (i, 0, 16) {
		u64 taken = globals->slots_taken;
		u32 index;
		u64 *free_slot;

		/* Atomic for its barrier: the entry is read after it. */
		if (!globals->slot_count || taken >= __sync_fetch_and_add(&globals->slots_freed, 0))
			break;
		index = taken % globals->slot_count;
		free_slot = bpf_map_lookup_elem(&free_slots, &index);
		if (!free_slot)
			break;
		index = *free_slot;
		if (__sync_val_compare_and_swap(&globals->slots_taken, taken, taken + 1) == taken)
			return index;
	}
	__sync_fetch_and_add(&globals->slotless, 1);
	return NONE;
}

/*
 * Reads where a thread may run; true if its affinity has changed. While the kernel has disabled its
 * migration (migrate_disable()) it may run where it is only: that is soon over, and not told to the
 * policy.
 */
static __always_inline bool read_allowed(struct slot *slot, const struct globals *globals,
					 struct task_struct *p)
{
	u64 affinity[CPU_WORDS];
	bool restricted = false, changed = false;
	int i;

	bpf_probe_read_kernel(slot->allowed, sizeof(slot->allowed), p->cpus_ptr);
	bpf_probe_read_kernel(affinity, sizeof(affinity), &p->cpus_mask);
	for (i = 0; i < CPU_WORDS; i++) {
		/* The kernel's mask may be shorter, and what follows it is not a mask. */
		affinity[i] &= globals->machine[i];
		changed |= slot->affinity[i] != affinity[i];
		restricted |= affinity[i] != globals->machine[i];
		slot->affinity[i] = affinity[i];
	}
	slot->restricted = restricted;
	return changed;
}

static __always_inline s32 nice_of(const struct task_struct *p)
{
	return p->policy == SCHED_IDLE ? 20 : p->static_prio - NICE_0_PRIO;
}

static __always_inline void read_name(struct slot *slot, struct task_struct *p)
{
	slot->exec_id = p->self_exec_id;
	bpf_probe_read_kernel(slot->comm, sizeof(slot->comm), p->comm);
}

SEC("struct_ops/enable")
void BPF_PROG(evenkeel_enable, struct task_struct *p)
{
	struct task_ctx *task_ctx = task_ctx_of(p);
	struct globals *globals = get_globals();
	struct slot *slot, *source;
	struct queue *queue;
	u64 now = bpf_ktime_get_ns();
	u32 slot_index;
	int i;

	if (!task_ctx || !globals || task_ctx->class != CLASS_POLICY ||
	    task_ctx->slot_index != NONE)
		return;
	slot_index = take_slot(globals);
	slot = slot_at(slot_index);
	source = slot_at(task_ctx->parent_slot);
	if (!source || source->state == EXITED)
		source = slot_at(TEMPLATE_SLOT);
	if (!slot || !source)
		return;
	slot->tid = p->pid;
	slot->process = p->tgid;
	slot->parent_slot = task_ctx->parent_slot;
	slot->nice = nice_of(p);
	slot->started_at = now;
	slot->kernel_start_time = p->start_time;
	read_name(slot, p);
	read_allowed(slot, globals, p);
	slot->state = BLOCKED;
	slot->cpu = 0;
	slot->state_since = slot->charged_until = now;
	slot->waiting = slot->blocked = slot->runs = slot->wakes = slot->migrations = 0;
	slot->blocked_at = slot->woke_at = 0;
	for (i = 0; i < MAX_KINDS; i++) {
		slot->time_on[i] = slot->instructions[i] = slot->counted_on[i] = 0;
		slot->rate[i] = source->rate[i];
		slot->slice[i] = source->slice[i];
	}
	slot->queue_id = source->queue_id;
	queue = queue_at(slot->queue_id);
	slot->virtual_time = task_ctx->parent_slot == NONE && queue
				     ? queue->floor
				     : source->virtual_time + uncharged_virtual_time(source, now);
	slot->key = source->key;
	slot->rule = source->rule;
	slot->start = START_KEEP;
	slot->weight = source->weight;
	slot->step = source->step;
	for (i = 0; i < 3; i++)
		slot->postpone[i] = source->postpone[i];
	slot->divided_to = source->divided_to;
	slot->carry = source->carry;
	slot->batch = source->batch;
	slot->slice_granted = NEVER;
	slot->slice_used = slot->slice_left_share = 0;
	count_as_new(slot, 0);
	slot->waits_in_dsq = slot->claimed_cpu = NONE;
	slot->queued_weight = slot->woken = slot->resumes_here = slot->woken_synchronously = 0;
	clear_target(slot);
	slot->directed_queue_id = slot->queue_id;
	slot->queue_generation = slot->applied_queue_generation = 0;
	slot->order_generation = slot->applied_order_generation = 0;
	task_ctx->slot_index = slot_index;
	post_event(slot, slot_index, EV_STARTED);
}

/* A thread ends. */

/* A thread leaves this scheduler; its slot is the user side's to give back. */
static __always_inline void release(struct task_ctx *task_ctx, struct slot *slot, u32 bits)
{
	u32 slot_index = task_ctx->slot_index;

	end_wait(slot);
	give_up_target(slot, slot_index);
	slot->state = EXITED;
	slot->state_since = bpf_ktime_get_ns();
	task_ctx->slot_index = NONE;
	post_event(slot, slot_index, bits);
}

SEC("struct_ops/disable")
void BPF_PROG(evenkeel_disable, struct task_struct *p)
{
	struct task_ctx *task_ctx = task_ctx_of(p);
	struct slot *slot =
		task_ctx && task_ctx->slot_index != NONE ? slot_at(task_ctx->slot_index) : NULL;

	if (slot)
		release(task_ctx, slot, EV_EXITED);
}

/* Others change a thread. */

SEC("struct_ops/set_weight")
void BPF_PROG(evenkeel_set_weight, struct task_struct *p, u32 weight)
{
	u32 slot_index;
	struct slot *slot = slot_of(p, &slot_index);

	if (!slot || slot->nice == nice_of(p))
		return;
	slot->nice = nice_of(p);
	post_event(slot, slot_index, EV_RENICED);
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(evenkeel_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	struct globals *globals = get_globals();
	u32 slot_index;
	struct slot *slot = slot_of(p, &slot_index);

	if (!slot || !globals)
		return;
	if (read_allowed(slot, globals, p))
		post_event(slot, slot_index, EV_AFFINITY);
}

#endif
