/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that are sent somewhere, and the user side's commands.
 *
 * A running thread that is to go to another CPU gets that CPU as its target, and its own CPU is
 * told to reschedule. So it comes to be enqueued, and goes to the head of its target's local queue,
 * preempting who runs there.
 *
 * A swap begins on one side only, on the slower core: its thread b leaves and preempts a, which as
 * it is enqueued goes where b came from. The other core has work until that very moment. Where b
 * finds that a no longer runs there, neither goes anywhere; once b is on its way, a goes whatever
 * happens. Nobody waits for long: a target is forgotten after some time.
 */
#ifndef EVENKEEL_SWAP_H
#define EVENKEEL_SWAP_H

#include "order.bpf.h"
#include "queues.bpf.h"

#define TARGET_HOLDS 50000000ULL

static __always_inline void forget_target(struct slot *slot)
{
	slot->target = NONE;
	slot->partner = NONE;
}

/* A thread with a target will not come to it: nor will its partner. */
static __always_inline void give_up_target(struct slot *slot, u32 at)
{
	struct slot *partner = slot->partner == NONE ? NULL : slot_at(slot->partner);

	if (partner && partner->partner == at)
		forget_target(partner);
	forget_target(slot);
}

/* How a thread comes to a CPU: it preempts who runs there, but for those without a slot, who are
 * soon done: next after them. */
static __always_inline u64 arrival(u32 target)
{
	struct cpu *cpu = cpu_at(target);

	return cpu && cpu->running == NONE && !cpu->idle ? ENQ(HEAD) : ENQ(PREEMPT);
}

/* Sends a thread that has a target there; whether it could. */
static __always_inline bool send(struct task_struct *p, struct slot *slot, u32 at, u64 enq_flags)
{
	u32 target = slot->target, partner_at = slot->partner;

	if (target == NONE)
		return false;
	if (bpf_ktime_get_ns() > slot->target_until || !has_bit(slot->allowed, target) ||
	    !cpu_at(target))
		goto stay;
	if (partner_at != NONE) {
		struct slot *partner = slot_at(partner_at);
		struct cpu *cpu = cpu_at(target);

		if (!partner || !cpu || cpu->running != partner_at || partner->partner != at)
			goto stay;
		partner->partner = NONE;
		slot->partner = NONE;
	}
	leave(slot);
	dsq_insert(p, LOCAL_ON | target, CHUNK, enq_flags | arrival(target));
	return true;
stay:
	give_up_target(slot, at);
	return false;
}

static __always_inline void aim(struct slot *slot, u32 target, u32 partner)
{
	slot->target_until = bpf_ktime_get_ns() + TARGET_HOLDS;
	slot->partner = partner;
	slot->target = target;
}

/* A thread that waits is moved within the queues: to `target`'s local one, or, without a target, to
 * where it belongs by now. */
static __always_inline bool move_waiting(struct slot *slot, u32 target)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u32 from = slot->waits_in;
	bool moved = false;

	if (from == NONE)
		return false;
	p = bpf_task_from_pid(slot->tid);
	if (!p)
		return false;
	bpf_rcu_read_lock();
	if (!bpf_iter_scx_dsq_new(&it, from, 0)) {
		struct board *board = the_board();
		struct queue *queue;

		if (target != NONE) {
			/* It may have been bound meanwhile, and then the kernel would end the
			 * scheduler; whoever is bound later is taken out of its queue, and not
			 * moved. */
			moved = bpf_cpumask_test_cpu(target, p->cpus_ptr) &&
				scx_bpf_dsq_move(&it, p, LOCAL_ON | target, arrival(target));
			if (moved && slot->interrupted) {
				leave(slot);
				slot->interrupted = 0;
			}
		} else if (board && from < CPU_QUEUES) {
			take_up(slot);
			enter_clock(slot);
			queue = queue_at(slot->queue);
			if (queue)
				come(queue, key_of(slot)); /* before it is there to be seen */
			scx_bpf_dsq_move_set_vtime(&it, key_of(slot));
			moved = scx_bpf_dsq_move_vtime(&it, p, slot->queue, 0);
			if (moved) {
				wait_in(slot, board, slot->queue);
				/* It may have been taken up by now, and does not wait any more. */
				if (slot->state != READY)
					leave(slot);
			}
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	bpf_rcu_read_unlock();
	bpf_task_release(p);
	return moved;
}

static __always_inline bool requeue(u32 at)
{
	struct slot *slot = slot_at(at);
	u32 cpu;

	if (!slot || !move_waiting(slot, NONE))
		return false;
	cpu = claim_for(at, slot->cpu);
	if (cpu != NONE)
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
	else
		preempt_for(at);
	return true;
}

static __always_inline bool move(u32 at, u32 target)
{
	struct slot *slot = slot_at(at);

	if (!slot || !has_bit(slot->allowed, target))
		return false;
	if (slot->state == READY)
		return move_waiting(slot, target);
	if (slot->state != RUNNING || slot->cpu == target)
		return false;
	aim(slot, target, NONE);
	scx_bpf_kick_cpu(slot->cpu, KICK(PREEMPT));
	return true;
}

static __always_inline bool swap(u32 a_at, u32 b_at)
{
	struct slot *a = slot_at(a_at), *b = slot_at(b_at);
	struct cpu *cpu_a, *cpu_b;
	u32 on_a, on_b;

	if (!a || !b)
		return false;
	on_a = a->cpu;
	on_b = b->cpu;
	cpu_a = cpu_at(on_a);
	cpu_b = cpu_at(on_b);
	if (!cpu_a || !cpu_b || on_a == on_b || !has_bit(a->allowed, on_b) ||
	    !has_bit(b->allowed, on_a))
		return false;
	/* Who has made room for one without a slot waits, and goes at once. */
	if (a->state == READY || b->state == READY) {
		bool moved = move(a_at, on_b);

		return move(b_at, on_a) && moved;
	}
	if (a->state != RUNNING || b->state != RUNNING)
		return false;
	aim(a, on_b, b_at);
	aim(b, on_a, a_at);
	/* Kinds are ranked, 0 the fastest. */
	scx_bpf_kick_cpu(cpu_a->kind > cpu_b->kind ? on_a : on_b, KICK(PREEMPT));
	return true;
}

/* One command. */
FUNCTION bool obey(u32 at)
{
	struct command *command = bpf_map_lookup_elem(&commands, &at);

	if (!command)
		return false;
	switch (command->kind) {
	case C_REQUEUE:
		return requeue(command->slot);
	case C_SWAP:
		return swap(command->slot, command->other);
	case C_MOVE:
		return command->other < MAX_CPUS && move(command->slot, command->other);
	case C_PREEMPT:
		if (command->other >= MAX_CPUS)
			return false;
		scx_bpf_kick_cpu(command->other, KICK(PREEMPT));
		return true;
	case C_MAKE_QUEUE:
		return command->other < MAX_QUEUES && !scx_bpf_create_dsq(command->other, -1);
	}
	return false;
}

#endif
