/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that are sent somewhere, and the user side's commands.
 *
 * A running thread that is to go to another CPU gets that CPU as its target, and its own CPU is
 * told to reschedule. So it comes to be enqueued, and goes to the head of its target's local queue,
 * where it preempts.
 *
 * A swap begins on one side only, on the slower core: its thread b leaves and preempts a, which as
 * it is enqueued goes where b came from. The other core has work until that very moment. If a no
 * longer runs there when b comes, neither goes anywhere; once b is on its way, a goes whatever
 * happens. A target expires after TARGET_TIMEOUT_NS, so that no thread waits for long.
 */
#ifndef EVENKEEL_SWAP_H
#define EVENKEEL_SWAP_H

#include "order.bpf.h"
#include "queues.bpf.h"

#define TARGET_TIMEOUT_NS 50000000ULL

static __always_inline void clear_target(struct slot *slot)
{
	slot->target_cpu = NONE;
	slot->partner_slot = NONE;
}

/* A thread will not come to its target, nor will its partner. */
static __always_inline void give_up_target(struct slot *slot, u32 slot_index)
{
	struct slot *partner = slot->partner_slot == NONE ? NULL : slot_at(slot->partner_slot);

	if (partner && partner->partner_slot == slot_index)
		clear_target(partner);
	clear_target(slot);
}

/* How a thread comes to a CPU: it preempts, or is next where a thread without a slot runs, since
 * those are soon done. */
static __always_inline u64 arrival_flags(s32 cpu)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);

	return cpu_ctx && cpu_ctx->running_slot == NONE && !cpu_ctx->idle ? ENQ(HEAD)
									  : ENQ(PREEMPT);
}

/* Sends a thread that has a target there; true if it could. */
static __always_inline bool send_to_target(struct task_struct *p, struct slot *slot, u32 slot_index,
					   u64 enq_flags)
{
	s32 target_cpu = slot->target_cpu;
	u32 partner_slot = slot->partner_slot;

	if (target_cpu == NONE)
		return false;
	if (bpf_ktime_get_ns() > slot->target_expires_at || !has_bit(slot->allowed, target_cpu) ||
	    !cpu_ctx_of(target_cpu))
		goto stay;
	if (partner_slot != NONE) {
		struct slot *partner = slot_at(partner_slot);
		struct cpu_ctx *cpu_ctx = cpu_ctx_of(target_cpu);

		if (!partner || !cpu_ctx || cpu_ctx->running_slot != partner_slot ||
		    partner->partner_slot != slot_index)
			goto stay;
		partner->partner_slot = NONE;
		slot->partner_slot = NONE;
	}
	end_wait(slot);
	dsq_insert(p, LOCAL_ON | (u32)target_cpu, SLICE_CHUNK_NS,
		   enq_flags | arrival_flags(target_cpu));
	return true;
stay:
	give_up_target(slot, slot_index);
	return false;
}

static __always_inline void set_target(struct slot *slot, s32 target_cpu, u32 partner_slot)
{
	slot->target_expires_at = bpf_ktime_get_ns() + TARGET_TIMEOUT_NS;
	slot->partner_slot = partner_slot;
	slot->target_cpu = target_cpu;
}

/* Moves a waiting thread: to the target's local queue, or without a target to the queue where it
 * belongs by now. */
static __always_inline bool move_waiting(struct slot *slot, s32 target_cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u32 dsq_id = slot->waits_in_dsq;
	bool moved = false;

	if (dsq_id == NONE)
		return false;
	p = bpf_task_from_pid(slot->tid);
	if (!p)
		return false;
	bpf_rcu_read_lock();
	if (!bpf_iter_scx_dsq_new(&it, dsq_id, 0)) {
		struct globals *globals = get_globals();
		struct queue *queue;

		if (target_cpu != NONE) {
			/* If the thread has been bound elsewhere meanwhile, moving it would have
			 * the kernel end the scheduler. One that is bound after this test is taken
			 * out of its queue, and not moved. */
			moved = bpf_cpumask_test_cpu(target_cpu, p->cpus_ptr) &&
				scx_bpf_dsq_move(&it, p, LOCAL_ON | (u32)target_cpu,
						 arrival_flags(target_cpu));
			if (moved && slot->resumes_here) {
				end_wait(slot);
				slot->resumes_here = 0;
			}
		} else if (globals && dsq_id < CPU_DSQ_BASE) {
			apply_directives(slot);
			clamp_virtual_time(slot);
			queue = queue_at(slot->queue_id);
			/* Before the thread can be seen there. */
			if (queue)
				announce_arrival(queue, key_of(slot));
			scx_bpf_dsq_move_set_vtime(&it, key_of(slot));
			moved = scx_bpf_dsq_move_vtime(&it, p, slot->queue_id, 0);
			if (moved) {
				begin_wait(slot, globals, slot->queue_id);
				/* A CPU may have taken it by now: then it waits no longer. */
				if (slot->state != READY)
					end_wait(slot);
			}
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	bpf_rcu_read_unlock();
	bpf_task_release(p);
	return moved;
}

static __always_inline bool requeue_thread(u32 slot_index)
{
	struct slot *slot = slot_at(slot_index);
	s32 cpu;

	if (!slot || !move_waiting(slot, NONE))
		return false;
	cpu = claim_idle_cpu_for(slot_index, slot->cpu);
	if (cpu != NONE)
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
	else
		preempt_for(slot_index);
	return true;
}

static __always_inline bool move_thread(u32 slot_index, s32 target_cpu)
{
	struct slot *slot = slot_at(slot_index);

	if (!slot || !has_bit(slot->allowed, target_cpu))
		return false;
	if (slot->state == READY)
		return move_waiting(slot, target_cpu);
	if (slot->state != RUNNING || slot->cpu == target_cpu)
		return false;
	set_target(slot, target_cpu, NONE);
	scx_bpf_kick_cpu(slot->cpu, KICK(PREEMPT));
	return true;
}

static __always_inline bool swap_threads(u32 a_index, u32 b_index)
{
	struct slot *a = slot_at(a_index), *b = slot_at(b_index);
	struct cpu_ctx *ctx_a, *ctx_b;
	s32 cpu_a, cpu_b;

	if (!a || !b)
		return false;
	cpu_a = a->cpu;
	cpu_b = b->cpu;
	ctx_a = cpu_ctx_of(cpu_a);
	ctx_b = cpu_ctx_of(cpu_b);
	if (!ctx_a || !ctx_b || cpu_a == cpu_b || !has_bit(a->allowed, cpu_b) ||
	    !has_bit(b->allowed, cpu_a))
		return false;
	/* A thread that was displaced by one without a slot waits, and goes at once. */
	if (a->state == READY || b->state == READY) {
		bool moved = move_thread(a_index, cpu_b);

		return move_thread(b_index, cpu_a) && moved;
	}
	if (a->state != RUNNING || b->state != RUNNING)
		return false;
	set_target(a, cpu_b, b_index);
	set_target(b, cpu_a, a_index);
	/* Kinds are ranked, 0 the fastest. */
	scx_bpf_kick_cpu(ctx_a->kind > ctx_b->kind ? cpu_a : cpu_b, KICK(PREEMPT));
	return true;
}

/* Carries out a command; true if it could. */
FUNCTION bool run_command(u32 command_index)
{
	struct command *command = bpf_map_lookup_elem(&commands, &command_index);

	if (!command)
		return false;
	switch (command->kind) {
	case COMMAND_REQUEUE:
		return requeue_thread(command->slot_index);
	case COMMAND_SWAP:
		return swap_threads(command->slot_index, command->operand);
	case COMMAND_MOVE:
		return command->operand < MAX_CPUS &&
		       move_thread(command->slot_index, command->operand);
	case COMMAND_PREEMPT:
		if (command->operand >= MAX_CPUS)
			return false;
		scx_bpf_kick_cpu(command->operand, KICK(PREEMPT));
		return true;
	case COMMAND_MAKE_QUEUE:
		return command->operand < MAX_QUEUES && !scx_bpf_create_dsq(command->operand, -1);
	}
	return false;
}

#endif
