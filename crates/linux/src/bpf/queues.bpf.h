/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which thread waits where, and which one a CPU takes.
 *
 * A queue of the policy is a dispatch queue (DSQ) ordered by key. A CPU has tiers of queues: within
 * a tier the least key is picked, or the first of the queue with the greatest weight of waiting
 * threads. The CPU's current thread, when its slice has been used up, competes with those that
 * wait.
 *
 * Beside the tiers each CPU has a DSQ of its own, for threads that the tiers would not reach: those
 * of the kernel, or bound to CPUs none of which serves their queue. It has every other turn, so
 * that neither starves the other, and CPUs without other work take from those of other CPUs. A
 * thread that was displaced by one without a slot waits there, too, and goes on first; it could not
 * be sent elsewhere from the kernel's local DSQ.
 */
#ifndef EVENKEEL_QUEUES_H
#define EVENKEEL_QUEUES_H

#include "bound.bpf.h"
#include "charge.bpf.h"
#include "idle.bpf.h"
#include "order.bpf.h"

/* Threads of a queue that are looked at for one that the CPU may run. */
#define MAX_SCAN 32
/*
 * A thread that was last on this CPU, or was woken by it, goes before others whose virtual time is
 * less by no more than this. It comes without another CPU's lock and with warm caches, its own or
 * its waker's. The lead is bounded: a thread that is passed over is soon further behind than this.
 */
#define NEAR_VIRTUAL_TIME 1000000ULL
#define MAX_NEAR_SCAN 4
/* Without a heartbeat of the user side for so long CPUs take from all queues, whatever the
 * policy has them serve. */
#define USER_SIDE_TIMEOUT_NS 1000000000ULL

/* Counts a waiting thread among the new arrivals, those that have woken or started and not run
 * since: of the queue `counted_in` - 1, or of none, 0. */
static __always_inline void count_as_new(struct slot *slot, u32 counted_in)
{
	struct queue *queue = counted_in ? queue_at(counted_in - 1) : NULL;
	u32 before;

	/* Whatever the order in which CPUs come here, each addition is taken back once, from the
	 * same queue. */
	if (queue)
		__sync_fetch_and_add(&queue->new_arrivals, 1);
	if (!counted_in && !slot->counted_new_in)
		return;
	before = __sync_lock_test_and_set(&slot->counted_new_in, counted_in);
	queue = before ? queue_at(before - 1) : NULL;
	if (queue)
		__sync_fetch_and_sub(&queue->new_arrivals, 1);
}

/* The thread no longer waits. */
static __always_inline void end_wait(struct slot *slot)
{
	/* Two CPUs may do this at once, one that takes the thread and one that moves it: the
	 * exchange lets only one of them take the counts back. */
	u32 dsq_id = slot->waits_in_dsq == NONE
			     ? NONE
			     : __sync_lock_test_and_set(&slot->waits_in_dsq, NONE);
	u32 weight;

	count_as_new(slot, 0);
	if (dsq_id == NONE)
		return;
	if (dsq_id >= CPU_DSQ_BASE) {
		struct globals *globals = get_globals();

		if (globals && !slot->resumes_here)
			__sync_fetch_and_sub(&globals->waiting_locally, 1);
	} else if (slot->queued_weight) {
		struct queue *queue = queue_at(dsq_id);

		weight = __sync_lock_test_and_set(&slot->queued_weight, 0);
		if (queue)
			__sync_fetch_and_sub(&queue->weight_waiting, weight);
	}
}

/* The thread is about to wait in a dispatch queue. */
static __always_inline void begin_wait(struct slot *slot, struct globals *globals, u32 dsq_id)
{
	struct queue *queue;

	end_wait(slot);
	slot->waits_in_dsq = dsq_id;
	if (dsq_id >= CPU_DSQ_BASE) {
		if (!slot->resumes_here)
			__sync_fetch_and_add(&globals->waiting_locally, 1);
		return;
	}
	queue = queue_at(dsq_id);
	if (!queue)
		return;
	announce_arrival(queue, key_of(slot));
	/* Which CPUs are idle is read after it. */
	FULL_BARRIER(__sync_lock_test_and_set(&queue->last_arrival_at, bpf_ktime_get_ns()));
	if (slot->woken)
		count_as_new(slot, dsq_id + 1);
	if (globals->tracks_queue_weights) {
		slot->queued_weight = slot->weight;
		__sync_fetch_and_add(&queue->weight_waiting, slot->queued_weight);
	}
}

/* True if some CPU that serves the thread's queue may run it. */
static __always_inline bool is_served_where_allowed(const struct slot *slot)
{
	struct queue *queue = queue_at(slot->queue_id);
	u64 common = 0;
	int i;

	if (!queue)
		return false;
	for (i = 0; i < CPU_WORDS; i++)
		common |= queue->serving_cpus[i] & slot->allowed[i];
	return common != 0;
}

/* True if this CPU serves the thread's queue. */
static __always_inline bool is_served_by(const struct slot *slot, s32 cpu)
{
	struct queue *queue = queue_at(slot->queue_id);

	return queue && has_bit(queue->serving_cpus, cpu);
}

/* True if a CPU that has a queue in its first tier chooses by key between threads of that queue and
 * of another. */
static __always_inline bool ranks_by_key(const struct cpu_ctx *cpu_ctx, s32 cpu, u32 queue_id,
					 u32 other_queue_id)
{
	struct queue *queue;

	if (queue_id == other_queue_id)
		return true;
	queue = queue_at(other_queue_id);
	return queue && has_bit(queue->first_tier_cpus, cpu) && !cpu_ctx->tier_by_load[0];
}

/* Preempts, for a thread that has just begun to wait, the running thread with the greatest key, if
 * that is greater by more than the queue's margin. */
FUNCTION int preempt_for(u32 slot_index)
{
	struct slot *slot = slot_at(slot_index);
	struct globals *globals = get_globals();
	struct queue *queue;
	u64 least, greatest = 0, now = bpf_ktime_get_ns();
	u32 victim = NONE;
	int i;

	if (!slot || !globals)
		return 0;
	queue = queue_at(slot->queue_id);
	if (!queue || queue->preempts == PREEMPTS_NEVER ||
	    (queue->preempts == PREEMPTS_NOT_SYNCHRONOUS && slot->woken &&
	     slot->woken_synchronously))
		return 0;
	least = key_of(slot) + queue->preemption_margin;
	bpf_for (i, 0, MAX_CPUS) {
		struct cpu_ctx *cpu_ctx;
		struct slot *other;
		u64 key;

		if (i >= globals->cpu_count)
			break;
		if (!has_bit(queue->first_tier_cpus, i) || !has_bit(slot->allowed, i))
			continue;
		cpu_ctx = cpu_ctx_of(i);
		if (!cpu_ctx || cpu_ctx->running_slot == NONE)
			continue;
		other = slot_at(cpu_ctx->running_slot);
		if (!other || other->target_cpu != NONE ||
		    !ranks_by_key(cpu_ctx, i, slot->queue_id, other->queue_id))
			continue;
		key = key_of(other);
		if (other->rule == RULE_VIRTUAL_TIME)
			key += saturating_sub(now, other->charged_until) *
				       other->rate[kind_of(cpu_ctx) & (MAX_KINDS - 1)] >>
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

/* By how much later than it is this CPU sees a thread's deadline: the thread sticks to the CPU that
 * it was taken off, as long as no other has run there since. */
static __always_inline u64 postponement(struct task_struct *p, s32 cpu,
					const struct cpu_ctx *cpu_ctx)
{
	u32 slot_index;
	struct slot *slot = slot_of(p, &slot_index);
	struct cpu_ctx *before;

	if (!slot || slot->rule != RULE_DEADLINE || slot->woken)
		return 0;
	before = cpu_ctx_of(slot->cpu);
	if (!before || before->last_slot != slot_index)
		return 0;
	return slot->postpone[slot->cpu == cpu ? 0 : before->cluster == cpu_ctx->cluster ? 1 : 2];
}

/*
 * The least key among a queue's threads that this CPU may run, or NEVER. Leaves the thread's number
 * in `scanned_tid` and the least key of all in `scanned_first_key`. Where the first MAX_SCAN
 * threads may not run here, the result is a lower bound and `scanned_tid` is 0.
 */
FUNCTION u64 least_key(s32 cpu, u32 queue_id)
{
	struct queue *queue = queue_at(queue_id);
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	struct bpf_iter_scx_dsq it;
	u64 least = NEVER, last = NEVER;
	int i;

	if (!queue || !cpu_ctx)
		return NEVER;
	cpu_ctx->scanned_first_key = NEVER;
	cpu_ctx->scanned_tid = 0;
	bpf_iter_scx_dsq_new(&it, queue_id, 0);
	bpf_for (i, 0, MAX_SCAN) {
		struct task_struct *p = bpf_iter_scx_dsq_next(&it);
		u64 key;

		last = p ? p->scx.dsq_vtime : NEVER;
		if (last >= least)
			break;
		cpu_ctx->scanned_first_key = min_of(cpu_ctx->scanned_first_key, last);
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		key = last + (queue->postpones ? postponement(p, cpu, cpu_ctx) : 0);
		if (key < least) {
			least = key;
			cpu_ctx->scanned_tid = p->pid;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return cpu_ctx->scanned_tid ? least : last;
}

/*
 * Takes from a queue the thread `tid`, or if that is 0 the first that this CPU may run, or one that
 * is near (see above). Takes none whose key is over `limit`; with a limit of 0 only `tid`. If all
 * of the first MAX_SCAN may not run here the kernel looks on, and their keys are not looked at.
 */
FUNCTION bool take_from_queue(s32 cpu, u32 queue_id, s32 tid, u64 limit)
{
	struct bpf_iter_scx_dsq it;
	bool found = false, taken = false;
	u64 near = 0, last = NEVER;
	int i;

	bpf_iter_scx_dsq_new(&it, queue_id, 0);
	bpf_for (i, 0, MAX_SCAN) {
		struct task_struct *p = bpf_iter_scx_dsq_next(&it);

		last = p ? p->scx.dsq_vtime : NEVER;
		if (!p || (found && (i >= MAX_NEAR_SCAN || last > near)))
			break;
		if ((tid && p->pid != tid) || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		if (!tid && !found) {
			u32 slot_index;
			struct slot *slot;

			if (last > limit) {
				last = NEVER;
				break;
			}
			found = true;
			near = last + NEAR_VIRTUAL_TIME;
			if (scx_bpf_task_cpu(p) != cpu) {
				slot = slot_of(p, &slot_index);
				if (!slot || slot->rule != RULE_VIRTUAL_TIME)
					break;
			}
		}
		if (tid || scx_bpf_task_cpu(p) == cpu) {
			taken = scx_bpf_dsq_move(&it, p, LOCAL, 0);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	if (!tid && !found)
		found = last != NEVER && last <= limit;
	return taken || ((found || (tid && limit)) && dsq_move_to_local(queue_id));
}

/* Queue of an entry of a CPU's tiers, or NONE. */
static __always_inline u32 tier_queue_id(const struct cpu_ctx *cpu_ctx, u32 entry)
{
	barrier_var(entry);
	return entry < MAX_TIER_ENTRIES ? cpu_ctx->tier_queue_ids[entry] : NONE;
}

/* What a CPU runs next: nothing yet, its current thread, or one that it has taken from a queue. */
enum pick { PICKED_NONE, PICKED_CURRENT, PICKED_WAITING };

/* Takes from the first of a tier's queues that has a thread for this CPU. For when the queue that
 * was chosen had none: which threads may run here is known of few before they are taken. */
FUNCTION bool take_from_any(s32 cpu, u32 begin, u32 end, u64 limit)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	int i;

	if (!cpu_ctx)
		return false;
	bpf_for (i, 0, MAX_TIER_ENTRIES) {
		u32 queue_id;

		if (begin + i >= end)
			break;
		queue_id = tier_queue_id(cpu_ctx, begin + i);
		if (queue_at(queue_id) && scx_bpf_dsq_nr_queued(queue_id) > 0 &&
		    take_from_queue(cpu, queue_id, 0, limit))
			return true;
	}
	return false;
}

/* Picks the least key of a tier's queues and of the CPU's current thread. Of equal keys one that
 * has waited goes first. */
FUNCTION int pick_least_key(s32 cpu, u32 begin, u32 end, u32 curr_index)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	struct slot *curr = curr_index == NONE ? NULL : slot_at(curr_index);
	u64 least = NEVER, limit = NEVER, curr_key = curr ? key_of(curr) : NEVER;
	u32 best = NONE, curr_queue_id = curr ? curr->queue_id : NONE;
	bool compare = end - begin > 1;
	s32 tid = 0;
	int i;

	if (!cpu_ctx)
		return PICKED_NONE;
	bpf_for (i, 0, MAX_TIER_ENTRIES) {
		struct queue *queue;
		u64 key;
		u32 queue_id;

		if (begin + i >= end)
			break;
		queue_id = tier_queue_id(cpu_ctx, begin + i);
		queue = queue_at(queue_id);
		if (!queue)
			continue;
		if (queue_id == curr_queue_id)
			limit = curr_key;
		if (scx_bpf_dsq_nr_queued(queue_id) <= 0)
			continue;
		if (!compare && !queue->postpones) {
			best = queue_id;
			break;
		}
		key = least_key(cpu, queue_id);
		if (key < least) {
			best = queue_id;
			least = key;
			tid = queue->postpones ? cpu_ctx->scanned_tid : 0;
		}
	}
	if (best != NONE && (least == NEVER || least <= limit) &&
	    (take_from_queue(cpu, best, tid, limit) ||
	     (compare && take_from_any(cpu, begin, end, limit))))
		return PICKED_WAITING;
	return limit == NEVER ? PICKED_NONE : PICKED_CURRENT;
}

/* Picks the first of the queue with the greatest weight of waiting threads. */
FUNCTION int pick_most_loaded(s32 cpu, u32 begin, u32 end, u32 curr_index)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	struct slot *curr = curr_index == NONE ? NULL : slot_at(curr_index);
	struct queue *queue;
	u64 greatest = 0, limit = NEVER;
	u32 best = NONE;
	bool curr_competes = false, is_first = true;
	s32 tid = 0;
	int i;

	if (!cpu_ctx)
		return PICKED_NONE;
	bpf_for (i, 0, MAX_TIER_ENTRIES) {
		u64 weight;
		u32 queue_id;

		if (begin + i >= end)
			break;
		queue_id = tier_queue_id(cpu_ctx, begin + i);
		queue = queue_at(queue_id);
		if (!queue)
			continue;
		weight = queue->weight_waiting;
		if (curr && curr->queue_id == queue_id) {
			curr_competes = true;
			weight += curr->weight;
		} else if (scx_bpf_dsq_nr_queued(queue_id) <= 0) {
			continue;
		}
		if (weight > greatest) {
			greatest = weight;
			best = queue_id;
		}
	}
	if (best == NONE)
		return PICKED_NONE;
	queue = queue_at(best);
	if (curr_competes && curr->queue_id == best)
		limit = key_of(curr);
	if (queue && queue->postpones) {
		is_first = least_key(cpu, best) <= limit;
		tid = cpu_ctx->scanned_tid;
	}
	if (is_first && take_from_queue(cpu, best, tid, limit))
		return PICKED_WAITING;
	if (limit != NEVER)
		return PICKED_CURRENT;
	if (take_from_any(cpu, begin, end, curr_competes ? key_of(curr) : NEVER))
		return PICKED_WAITING;
	return curr_competes ? PICKED_CURRENT : PICKED_NONE;
}

/*
 * Takes a guest: the first thread of the queues that this CPU is host to, if it is far enough
 * behind the thread that would run here otherwise. Where a guest's turn is over, one of the CPU's
 * own is next.
 */
FUNCTION bool take_guest(s32 cpu, u32 curr_index)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	struct slot *curr = curr_index == NONE ? NULL : slot_at(curr_index);
	u64 least = NEVER, limit = NEVER;
	u32 best = NONE, own_queue_id;
	s32 tid = 0;
	int i;

	if (!cpu_ctx || !cpu_ctx->tier_count)
		return false;
	own_queue_id = cpu_ctx->tier_queue_ids[0];
	if (curr && curr->queue_id == own_queue_id)
		limit = key_of(curr);
	else if (scx_bpf_dsq_nr_queued(own_queue_id) <= 0)
		return false;
	bpf_for (i, 0, MAX_GUEST_QUEUES) {
		u32 queue_id = cpu_ctx->guest_queue_ids[i & (MAX_GUEST_QUEUES - 1)];
		struct queue *queue = queue_at(queue_id);
		u64 key, bound;

		if (i >= cpu_ctx->guest_queue_count)
			break;
		if (curr && curr->queue_id == queue_id)
			return false;
		if (!queue || scx_bpf_dsq_nr_queued(queue_id) <= 0)
			continue;
		/* The key that would run here otherwise; if there is none, the queue has its turn
		 * in the tiers. */
		if (limit == NEVER)
			limit = least_key(cpu, own_queue_id);
		if (limit == NEVER)
			return false;
		bound = queue->key_bound;
		if (bound >= saturating_sub(limit, cpu_ctx->behind))
			continue;
		key = least_key(cpu, queue_id);
		raise_bound(queue, bound, cpu_ctx->scanned_first_key);
		if (key < least && cpu_ctx->scanned_tid) {
			least = key;
			best = queue_id;
			tid = cpu_ctx->scanned_tid;
		}
	}
	if (best == NONE)
		return false;
	if (curr)
		limit = min_of(limit, least_key(cpu, own_queue_id));
	if (least >= saturating_sub(limit, cpu_ctx->behind))
		return false;
	cpu_ctx->guest_tid = tid;
	return take_from_queue(cpu, best, tid, 0);
}

/* Picks from the first tier that has a thread, guests before all. */
FUNCTION int pick_by_tiers(s32 cpu, u32 curr_index)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	u32 begin = 0;
	int i;

	if (!cpu_ctx)
		return PICKED_NONE;
	if (cpu_ctx->guest_queue_count && take_guest(cpu, curr_index))
		return PICKED_WAITING;
	bpf_for (i, 0, MAX_TIERS) {
		int picked;
		u32 end;

		if (i >= cpu_ctx->tier_count)
			break;
		end = cpu_ctx->tier_end[i];
		picked = cpu_ctx->tier_by_load[i] ? pick_most_loaded(cpu, begin, end, curr_index)
						  : pick_least_key(cpu, begin, end, curr_index);
		if (picked != PICKED_NONE)
			return picked;
		begin = end;
	}
	return PICKED_NONE;
}

/* A CPU with more queues than this is taken to have work without looking. */
#define MAX_CHECKED_QUEUES 8
/*
 * A thread that arrived so short a time ago may have looked for an idle CPU before this one was,
 * and may not be seen in its queue yet: the kernel puts it there when our callback has returned.
 */
#define ARRIVAL_WINDOW_NS 20000ULL

/*
 * True if a thread waits, or may be about to, in this CPU's tiers, its own dispatch queue or its
 * local one; true if unknown. Asked before a thread goes on without a pick, and when the CPU is
 * about to idle.
 */
FUNCTION bool has_work(s32 cpu)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	u64 now = bpf_ktime_get_ns();
	u32 last;
	int i;

	if (!cpu_ctx)
		return true;
	last = cpu_ctx->tier_count ? cpu_ctx->tier_count - 1 : 0;
	barrier_var(last);
	if (last >= MAX_TIERS || cpu_ctx->tier_end[last] > MAX_CHECKED_QUEUES ||
	    scx_bpf_dsq_nr_queued(cpu_dsq_id(cpu)) > 0 ||
	    scx_bpf_dsq_nr_queued(LOCAL_ON | (u32)cpu) > 0)
		return true;
	bpf_for (i, 0, MAX_CHECKED_QUEUES) {
		u32 queue_id = tier_queue_id(cpu_ctx, i);
		struct queue *queue = queue_at(queue_id);

		if (i >= cpu_ctx->tier_end[last])
			break;
		if (scx_bpf_dsq_nr_queued(queue_id) > 0 ||
		    (queue && saturating_sub(now, queue->last_arrival_at) < ARRIVAL_WINDOW_NS))
			return true;
	}
	return false;
}

/* Takes what the tiers have not offered, so that no CPU idles beside a thread that it could run:
 * from its own DSQ, from those of other CPUs, and from all queues when the user side is silent. */
FUNCTION bool pick_remaining(s32 cpu)
{
	struct globals *globals = get_globals();
	int i;

	if (!globals)
		return false;
	if (dsq_move_to_local(cpu_dsq_id(cpu)))
		return true;
	if (globals->waiting_locally) {
		bpf_for (i, 0, MAX_CPUS) {
			if (i >= globals->cpu_count)
				break;
			if (scx_bpf_dsq_nr_queued(CPU_DSQ_BASE + i) > 0 &&
			    dsq_move_to_local(CPU_DSQ_BASE + i))
				return true;
		}
	}
	if (bpf_ktime_get_ns() - globals->heartbeat > USER_SIDE_TIMEOUT_NS) {
		bpf_for (i, 0, MAX_QUEUES) {
			if (i >= globals->queue_count)
				break;
			if (scx_bpf_dsq_nr_queued(i) > 0 && dsq_move_to_local(i))
				return true;
		}
	}
	return false;
}

#endif
