/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who waits where, and whom a CPU takes up.
 *
 * A queue of the policy is a dispatch queue (DSQ) ordered by key. A CPU has tiers of queues: within
 * a tier the least key, or the first of the queue with the greatest weight of waiting threads. Its
 * own thread, when its slice has been used up, competes with those that wait.
 *
 * Beside the tiers each CPU has a DSQ of its own, for threads that the tiers would not reach: of
 * the kernel, or bound to CPUs none of which serves their queue. It has every other turn, so that
 * neither starves the other, and CPUs without other work take from those of other CPUs whom they
 * may. A thread that has made room for one without a slot waits there, too, and goes on first; it
 * could not be sent elsewhere from the kernel's local DSQ.
 */
#ifndef EVENKEEL_QUEUES_H
#define EVENKEEL_QUEUES_H

#include "bound.bpf.h"
#include "charge.bpf.h"
#include "idle.bpf.h"
#include "order.bpf.h"

/* Threads of a queue that are looked at for one that the CPU may run. */
#define LOOK_AT 32
/*
 * A thread that was last on this CPU, or was woken by it, goes before others whose virtual time is
 * less by no more than this: it comes without another CPU's lock and with its caches, or its
 * waker's. Who is passed over is before long too far behind for that.
 */
#define NEAR 1000000ULL
#define LOOK_NEAR 4
/* Without a sign of the user side for so long, CPUs take from all queues, whatever the policy has
 * them serve. */
#define SILENCE 1000000000ULL

/* It is counted among those who wait, have woken or started, and have not run since: in `in`, which
 * is one more than the queue, or nowhere, 0. */
static __always_inline void count_as_fresh(struct slot *slot, u32 in)
{
	struct queue *queue = in ? queue_at(in - 1) : NULL;
	u32 before;

	/* Each that is added is taken back once, from the same queue, whoever comes to that in
	 * whatever order. */
	if (queue)
		__sync_fetch_and_add(&queue->fresh, 1);
	if (!in && !slot->fresh_in)
		return;
	before = __sync_lock_test_and_set(&slot->fresh_in, in);
	queue = before ? queue_at(before - 1) : NULL;
	if (queue)
		__sync_fetch_and_sub(&queue->fresh, 1);
}

/* It no longer waits. */
static __always_inline void leave(struct slot *slot)
{
	/* Two CPUs may come to that at once, one that takes it up and one that moves it: what is
	 * taken back is taken back once. */
	u32 from = slot->waits_in == NONE ? NONE : __sync_lock_test_and_set(&slot->waits_in, NONE);
	u32 weighs;

	count_as_fresh(slot, 0);
	if (from == NONE)
		return;
	if (from >= CPU_QUEUES) {
		struct board *board = the_board();

		if (board && !slot->interrupted)
			__sync_fetch_and_sub(&board->waiting_locally, 1);
	} else if (slot->weighs) {
		struct queue *queue = queue_at(from);

		weighs = __sync_lock_test_and_set(&slot->weighs, 0);
		if (queue)
			__sync_fetch_and_sub(&queue->weight_waiting, weighs);
	}
}

/* What is to be noted of a thread that begins to wait. */
static __always_inline void wait_in(struct slot *slot, struct board *board, u32 where)
{
	struct queue *queue;

	leave(slot);
	slot->waits_in = where;
	if (where >= CPU_QUEUES) {
		if (!slot->interrupted)
			__sync_fetch_and_add(&board->waiting_locally, 1);
		return;
	}
	queue = queue_at(where);
	if (!queue)
		return;
	come(queue, key_of(slot));
	/* Which CPUs are idle is read after it. */
	IN_ORDER(__sync_lock_test_and_set(&queue->came_at, bpf_ktime_get_ns()));
	if (slot->woken)
		count_as_fresh(slot, where + 1);
	if (board->weighs_queues) {
		slot->weighs = slot->weight;
		__sync_fetch_and_add(&queue->weight_waiting, slot->weighs);
	}
}

/* Whether some CPU that serves its queue may run it. */
static __always_inline bool is_reached(const struct slot *slot)
{
	struct queue *queue = queue_at(slot->queue);
	u64 common = 0;
	int i;

	if (!queue)
		return false;
	for (i = 0; i < CPU_WORDS; i++)
		common |= queue->served[i] & slot->allowed[i];
	return common != 0;
}

/* Whether this CPU serves its queue. */
static __always_inline bool is_served_by(const struct slot *slot, u32 at)
{
	struct queue *queue = queue_at(slot->queue);

	return queue && has_bit(queue->served, at);
}

/* Whether a CPU that has a queue in its first tier chooses by key between threads of it and of
 * another. */
static __always_inline bool compares(const struct cpu *cpu, u32 at, u32 which, u32 other)
{
	struct queue *queue;

	if (which == other)
		return true;
	queue = queue_at(other);
	return queue && has_bit(queue->served_first, at) && !cpu->tier_by_load[0];
}

/* The running thread whose key is greatest, and greater by more than the queue's margin, of those
 * that would not be picked before it, makes room. */
FUNCTION int preempt_for(u32 at)
{
	struct slot *slot = slot_at(at);
	struct board *board = the_board();
	struct queue *queue;
	u64 least, greatest = 0, now = bpf_ktime_get_ns();
	u32 victim = NONE;
	int i;

	if (!slot || !board)
		return 0;
	queue = queue_at(slot->queue);
	if (!queue || queue->preempts == PRE_NEVER ||
	    (queue->preempts == PRE_NOT_SYNCHRONOUS && slot->woken && slot->synchronous))
		return 0;
	least = key_of(slot) + queue->preemption;
	bpf_for (i, 0, MAX_CPUS) {
		struct cpu *cpu;
		struct slot *other;
		u64 key;

		if (i >= board->cpu_count)
			break;
		if (!has_bit(queue->served_first, i) || !has_bit(slot->allowed, i))
			continue;
		cpu = cpu_at(i);
		if (!cpu || cpu->running == NONE)
			continue;
		other = slot_at(cpu->running);
		if (!other || other->target != NONE || !compares(cpu, i, slot->queue, other->queue))
			continue;
		key = key_of(other);
		if (other->rule == R_VIRTUAL_TIME)
			key += less(now, other->accounted_at) *
				       other->rate[kind_of(cpu) & (MAX_KINDS - 1)] >>
			       RATE_SHIFT;
		if (key > least && key > greatest) {
			greatest = key;
			victim = i;
		}
	}
	if (victim != NONE)
		scx_bpf_kick_cpu(victim, KICK(PREEMPT));
	return 0;
}

/* By how much later than it is a thread's deadline is seen by this CPU: it sticks to another,
 * having been taken off it, and nobody has run there since. */
static __always_inline u64 postponed(struct task_struct *p, u32 at, const struct cpu *cpu)
{
	u32 number;
	struct slot *slot = slot_of(p, &number);
	struct cpu *before;

	if (!slot || slot->rule != R_DEADLINE || slot->woken)
		return 0;
	before = cpu_at(slot->cpu);
	if (!before || before->last != number)
		return 0;
	return slot->postpone[slot->cpu == at ? 0 : before->cluster == cpu->cluster ? 1 : 2];
}

/*
 * The least key in a queue of those whom this CPU may run, or NEVER; whose it is in `first_tid`,
 * and the least of all in `first_key`. Where so many who may not run here come first that nobody
 * else has been looked at, it is no less than what is returned, and `first_tid` is 0.
 */
FUNCTION u64 least_key(u32 at, u32 which)
{
	struct queue *queue = queue_at(which);
	struct cpu *cpu = cpu_at(at);
	struct bpf_iter_scx_dsq it;
	u64 least = NEVER, last = NEVER;
	int i;

	if (!queue || !cpu)
		return NEVER;
	cpu->first_key = NEVER;
	cpu->first_tid = 0;
	bpf_iter_scx_dsq_new(&it, which, 0);
	bpf_for (i, 0, LOOK_AT) {
		struct task_struct *p = bpf_iter_scx_dsq_next(&it);
		u64 key;

		last = p ? p->scx.dsq_vtime : NEVER;
		if (last >= least)
			break;
		cpu->first_key = min_of(cpu->first_key, last);
		if (!bpf_cpumask_test_cpu(at, p->cpus_ptr))
			continue;
		key = last + (queue->postpones ? postponed(p, at, cpu) : 0);
		if (key < least) {
			least = key;
			cpu->first_tid = p->pid;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return cpu->first_tid ? least : last;
}

/*
 * Takes from a queue the thread `tid`, or where that is 0 the first whom this CPU may run, or one
 * who is near (see above). None whose key is over `limit`, as far as keys have been looked at: if
 * all of those may not run here, the kernel looks on; with a limit of 0 `tid` or nobody.
 */
FUNCTION bool take(u32 at, u32 which, s32 tid, u64 limit)
{
	struct bpf_iter_scx_dsq it;
	bool found = false, taken = false;
	u64 near = 0, last = NEVER;
	int i;

	bpf_iter_scx_dsq_new(&it, which, 0);
	bpf_for (i, 0, LOOK_AT) {
		struct task_struct *p = bpf_iter_scx_dsq_next(&it);

		last = p ? p->scx.dsq_vtime : NEVER;
		if (!p || (found && (i >= LOOK_NEAR || last > near)))
			break;
		if ((tid && p->pid != tid) || !bpf_cpumask_test_cpu(at, p->cpus_ptr))
			continue;
		if (!tid && !found) {
			u32 number;
			struct slot *slot;

			if (last > limit) {
				last = NEVER;
				break;
			}
			found = true;
			near = last + NEAR;
			if ((u32)scx_bpf_task_cpu(p) != at) {
				slot = slot_of(p, &number);
				if (!slot || slot->rule != R_VIRTUAL_TIME)
					break;
			}
		}
		if (tid || (u32)scx_bpf_task_cpu(p) == at) {
			taken = scx_bpf_dsq_move(&it, p, LOCAL, 0);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	if (!tid && !found)
		found = last != NEVER && last <= limit;
	return taken || ((found || (tid && limit)) && dsq_move_to_local(which));
}

/* Queue of an entry of a CPU's tiers, or NONE. */
static __always_inline u32 served_at(const struct cpu *cpu, u32 entry)
{
	barrier_var(entry);
	return entry < MAX_SERVED ? cpu->served[entry] : NONE;
}

enum pick { NOBODY, GOES_ON, TAKEN };

/* The queue of a tier that was chosen has nobody whom this CPU may run, which is known of few
 * before they are asked for: whoever else waits, queue by queue. */
FUNCTION bool take_another(u32 at, u32 from, u32 to, u64 limit)
{
	struct cpu *cpu = cpu_at(at);
	int i;

	if (!cpu)
		return false;
	bpf_for (i, 0, MAX_SERVED) {
		u32 which;

		if (from + i >= to)
			break;
		which = served_at(cpu, from + i);
		if (queue_at(which) && scx_bpf_dsq_nr_queued(which) > 0 &&
		    take(at, which, 0, limit))
			return true;
	}
	return false;
}

/* The least key of a tier's queues, `own` being the thread that the CPU has. Who has waited goes
 * first where keys are equal. */
FUNCTION int pick_least_key(u32 at, u32 from, u32 to, u32 own_at)
{
	struct cpu *cpu = cpu_at(at);
	struct slot *own = own_at == NONE ? NULL : slot_at(own_at);
	u64 least = NEVER, limit = NEVER, own_key = own ? key_of(own) : NEVER;
	u32 best = NONE, own_queue = own ? own->queue : NONE;
	bool compare = to - from > 1;
	s32 tid = 0;
	int i;

	if (!cpu)
		return NOBODY;
	bpf_for (i, 0, MAX_SERVED) {
		struct queue *queue;
		u64 key;
		u32 which;

		if (from + i >= to)
			break;
		which = served_at(cpu, from + i);
		queue = queue_at(which);
		if (!queue)
			continue;
		if (which == own_queue)
			limit = own_key;
		if (scx_bpf_dsq_nr_queued(which) <= 0)
			continue;
		if (!compare && !queue->postpones) {
			best = which;
			break;
		}
		key = least_key(at, which);
		if (key < least) {
			best = which;
			least = key;
			tid = queue->postpones ? cpu->first_tid : 0;
		}
	}
	if (best != NONE && (least == NEVER || least <= limit) &&
	    (take(at, best, tid, limit) || (compare && take_another(at, from, to, limit))))
		return TAKEN;
	return limit == NEVER ? NOBODY : GOES_ON;
}

/* The first of the queue with the greatest weight of waiting threads. */
FUNCTION int pick_most_loaded(u32 at, u32 from, u32 to, u32 own_at)
{
	struct cpu *cpu = cpu_at(at);
	struct slot *own = own_at == NONE ? NULL : slot_at(own_at);
	struct queue *queue;
	u64 greatest = 0;
	u32 best = NONE;
	bool own_here = false;
	int i;

	if (!cpu)
		return NOBODY;
	bpf_for (i, 0, MAX_SERVED) {
		u64 weight;
		u32 which;

		if (from + i >= to)
			break;
		which = served_at(cpu, from + i);
		queue = queue_at(which);
		if (!queue)
			continue;
		weight = queue->weight_waiting;
		if (own && own->queue == which) {
			own_here = true;
			weight += own->weight;
		} else if (scx_bpf_dsq_nr_queued(which) <= 0) {
			continue;
		}
		if (weight > greatest) {
			greatest = weight;
			best = which;
		}
	}
	if (best == NONE)
		return NOBODY;
	if (take(at, best, 0, own_here && own->queue == best ? key_of(own) : NEVER))
		return TAKEN;
	if (take_another(at, from, to, own_here ? key_of(own) : NEVER))
		return TAKEN;
	return own_here ? GOES_ON : NOBODY;
}

/*
 * Takes up the first of the queues that this CPU is host to, if it is far enough behind whoever
 * would run here otherwise. Where a guest's turn is over, one of the CPU's own is next.
 */
FUNCTION bool take_guest(u32 at, u32 own_at)
{
	struct cpu *cpu = cpu_at(at);
	struct slot *own = own_at == NONE ? NULL : slot_at(own_at);
	u64 least = NEVER, limit = NEVER;
	u32 best = NONE, own_queue;
	s32 tid = 0;
	int i;

	if (!cpu || !cpu->tier_count)
		return false;
	own_queue = cpu->served[0];
	if (own && own->queue != own_queue)
		return false;
	if (own)
		limit = key_of(own);
	else if (scx_bpf_dsq_nr_queued(own_queue) <= 0)
		return false;
	bpf_for (i, 0, MAX_HOSTS) {
		u32 which = cpu->hosts[i & (MAX_HOSTS - 1)];
		struct queue *queue = queue_at(which);
		u64 key, bound;

		if (i >= cpu->host_count)
			break;
		if (!queue || scx_bpf_dsq_nr_queued(which) <= 0)
			continue;
		/* Who would run here otherwise; if nobody, the tiers have the queue's turn. */
		if (limit == NEVER)
			limit = least_key(at, own_queue);
		if (limit == NEVER)
			return false;
		bound = queue->least;
		if (bound >= less(limit, cpu->behind))
			continue;
		key = least_key(at, which);
		raise_bound(queue, bound, cpu->first_key);
		if (key < least && cpu->first_tid) {
			least = key;
			best = which;
			tid = cpu->first_tid;
		}
	}
	if (best == NONE)
		return false;
	if (own)
		limit = min_of(limit, least_key(at, own_queue));
	if (least >= less(limit, cpu->behind))
		return false;
	cpu->guest = tid;
	return take(at, best, tid, 0);
}

FUNCTION int pick_by_tiers(u32 at, u32 own_at)
{
	struct cpu *cpu = cpu_at(at);
	u32 from = 0;
	int i;

	if (!cpu)
		return NOBODY;
	if (cpu->host_count && take_guest(at, own_at))
		return TAKEN;
	bpf_for (i, 0, MAX_TIERS) {
		int picked;
		u32 to;

		if (i >= cpu->tier_count)
			break;
		to = cpu->tier_end[i];
		picked = cpu->tier_by_load[i] ? pick_most_loaded(at, from, to, own_at)
					      : pick_least_key(at, from, to, own_at);
		if (picked != NOBODY)
			return picked;
		from = to;
	}
	return NOBODY;
}

/* Queues that are looked at before it is taken for granted that somebody waits. */
#define FEW 8
/*
 * Who came so short a time ago may have looked for an idle CPU before this one was, and may not be
 * there to be seen yet: the kernel puts it into its queue when our callback has returned.
 */
#define JUST_NOW 20000ULL

/* Whether anybody waits whom this CPU might take up. */
FUNCTION bool is_wanted(u32 at)
{
	struct cpu *cpu = cpu_at(at);
	u64 now = bpf_ktime_get_ns();
	u32 last;
	int i;

	if (!cpu)
		return true;
	last = cpu->tier_count ? cpu->tier_count - 1 : 0;
	barrier_var(last);
	if (last >= MAX_TIERS || cpu->tier_end[last] > FEW ||
	    scx_bpf_dsq_nr_queued(CPU_QUEUES + at) > 0 || scx_bpf_dsq_nr_queued(LOCAL_ON | at) > 0)
		return true;
	bpf_for (i, 0, FEW) {
		u32 which = served_at(cpu, i);
		struct queue *queue = queue_at(which);

		if (i >= cpu->tier_end[last])
			break;
		if (scx_bpf_dsq_nr_queued(which) > 0 ||
		    (queue && less(now, queue->came_at) < JUST_NOW))
			return true;
	}
	return false;
}

/* The rest, so that nothing that could run waits beside an idle CPU. */
FUNCTION bool pick_leftovers(u32 at)
{
	struct board *board = the_board();
	int i;

	if (!board)
		return false;
	if (dsq_move_to_local(CPU_QUEUES + at))
		return true;
	if (board->waiting_locally) {
		bpf_for (i, 0, MAX_CPUS) {
			if (i >= board->cpu_count)
				break;
			if (scx_bpf_dsq_nr_queued(CPU_QUEUES + i) > 0 &&
			    dsq_move_to_local(CPU_QUEUES + i))
				return true;
		}
	}
	if (bpf_ktime_get_ns() - board->heartbeat > SILENCE) {
		bpf_for (i, 0, MAX_QUEUES) {
			if (i >= board->queue_count)
				break;
			if (scx_bpf_dsq_nr_queued(i) > 0 && dsq_move_to_local(i))
				return true;
		}
	}
	return false;
}

#endif
