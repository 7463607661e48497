/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread's slot: given out when the thread comes to this scheduler, with its parent's directives
 * or those of the template, and left to the user side when it goes; and what others change of a
 * thread meanwhile: its nice value, its affinity.
 */
#ifndef EVENKEEL_THREADS_H
#define EVENKEEL_THREADS_H

#include "events.bpf.h"
#include "queues.bpf.h"
#include "swap.bpf.h"

/* It begins. */

SEC("struct_ops.s/init_task")
s32 BPF_PROG(evenkeel_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct board *board = the_board();
	struct thread *thread =
		bpf_task_storage_get(&threads, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread || !board)
		return -12; /* ENOMEM */
	thread->slot = NONE;
	thread->parent = NONE;
	thread->waits = 0;
	thread->standing = p->flags & PF_KTHREAD		? KERNEL
			   : (u32)p->tgid == board->own_process ? OURS
								: PLACED;
	if (args->fork) {
		struct thread *parent = thread_of(bpf_get_current_task_btf());

		if (parent)
			thread->parent = parent->slot;
	}
	return 0;
}

/* A free slot, or NONE. */
static __always_inline u32 take_slot(struct board *board)
{
	int i;

	bpf_for (i, 0, 16) {
		u64 taken = board->taken;
		u32 place;
		u64 *slot;

		/* Atomic for its barrier: the place is read after it. */
		if (!board->slot_count || taken >= __sync_fetch_and_add(&board->freed, 0))
			break;
		place = taken % board->slot_count;
		slot = bpf_map_lookup_elem(&free_slots, &place);
		if (!slot)
			break;
		place = *slot;
		if (__sync_val_compare_and_swap(&board->taken, taken, taken + 1) == taken)
			return place;
	}
	__sync_fetch_and_add(&board->slotless, 1);
	return NONE;
}

/*
 * Where it may run; whether its affinity is another one than before. While migration is disabled
 * (migrate_disable(), by the kernel on its behalf) it may run where it is only, which is soon over,
 * and no matter of the policy's.
 */
static __always_inline bool read_allowed(struct slot *slot, const struct board *board,
					 struct task_struct *p)
{
	u64 affinity[CPU_WORDS];
	bool restricted = false, changed = false;
	int i;

	bpf_probe_read_kernel(slot->allowed, sizeof(slot->allowed), p->cpus_ptr);
	bpf_probe_read_kernel(affinity, sizeof(affinity), &p->cpus_mask);
	for (i = 0; i < CPU_WORDS; i++) {
		affinity[i] &= board->machine[i]; /* the kernel's mask may be shorter: what follows
						     it is none */
		changed |= slot->affinity[i] != affinity[i];
		restricted |= affinity[i] != board->machine[i];
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
	struct thread *thread = thread_of(p);
	struct board *board = the_board();
	struct slot *slot, *model;
	struct queue *queue;
	u64 now = bpf_ktime_get_ns();
	u32 at;
	int i;

	if (!thread || !board || thread->standing != PLACED || thread->slot != NONE)
		return;
	at = take_slot(board);
	slot = slot_at(at);
	model = slot_at(thread->parent);
	if (!model || model->state == EXITED)
		model = slot_at(TEMPLATE);
	if (!slot || !model)
		return;
	slot->tid = p->pid;
	slot->process = p->tgid;
	slot->parent = thread->parent;
	slot->nice = nice_of(p);
	slot->started_at = now;
	slot->born = p->start_time;
	read_name(slot, p);
	read_allowed(slot, board, p);
	slot->state = BLOCKED;
	slot->cpu = 0;
	slot->since = slot->accounted_at = now;
	slot->waiting = slot->blocked = slot->runs = slot->wakes = slot->migrations = 0;
	slot->blocked_at = slot->woke_at = 0;
	for (i = 0; i < MAX_KINDS; i++) {
		slot->time_on[i] = slot->instructions[i] = slot->counted_on[i] = 0;
		slot->rate[i] = model->rate[i];
		slot->slice[i] = model->slice[i];
	}
	slot->queue = model->queue;
	queue = queue_at(slot->queue);
	slot->virtual_time = thread->parent == NONE && queue
				     ? queue->floor
				     : model->virtual_time + since_accounted(model, now);
	slot->key = model->key;
	slot->rule = model->rule;
	slot->start = S_KEEP;
	slot->weight = model->weight;
	slot->step = model->step;
	for (i = 0; i < 3; i++)
		slot->postpone[i] = model->postpone[i];
	slot->divided_to = model->divided_to;
	slot->carry = model->carry;
	slot->batch = model->batch;
	slot->granted = NEVER;
	slot->used = slot->left = 0;
	count_as_fresh(slot, 0);
	slot->waits_in = slot->claimed = NONE;
	slot->weighs = slot->woken = slot->interrupted = slot->synchronous = 0;
	forget_target(slot);
	slot->queue_said = slot->queue;
	slot->queue_generation = slot->seen_queue = 0;
	slot->order_generation = slot->seen_order = 0;
	thread->slot = at;
	note(slot, at, P_STARTED);
}

/* It ends. */

/* A thread is gone from our hands; its slot is the user side's to give back. */
static __always_inline void release(struct thread *thread, struct slot *slot, u32 bits)
{
	u32 at = thread->slot;

	leave(slot);
	give_up_target(slot, at);
	slot->state = EXITED;
	slot->since = bpf_ktime_get_ns();
	thread->slot = NONE;
	note(slot, at, bits);
}

SEC("struct_ops/disable")
void BPF_PROG(evenkeel_disable, struct task_struct *p)
{
	struct thread *thread = thread_of(p);
	struct slot *slot = thread && thread->slot != NONE ? slot_at(thread->slot) : NULL;

	if (slot)
		release(thread, slot, P_EXITED);
}

/* What others do to it. */

SEC("struct_ops/set_weight")
void BPF_PROG(evenkeel_set_weight, struct task_struct *p, u32 weight)
{
	u32 at;
	struct slot *slot = slot_of(p, &at);

	if (!slot || slot->nice == nice_of(p))
		return;
	slot->nice = nice_of(p);
	note(slot, at, P_RENICED);
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(evenkeel_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	struct board *board = the_board();
	u32 at;
	struct slot *slot = slot_of(p, &at);

	if (!slot || !board)
		return;
	if (read_allowed(slot, board, p))
		note(slot, at, P_AFFINITY);
}

#endif
