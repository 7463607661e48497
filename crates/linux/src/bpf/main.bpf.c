/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evenkeel's mechanism in the kernel: it runs threads as directives say, and knows no policy. This
 * is how a thread gets from its wake-up to a CPU and off it again.
 *
 * 1. Wake-up (select_cpu, runnable; idle.bpf.h). A waking thread first gets what the policy has
 *    directed since (apply_directives). If a CPU idles that serves the thread's queue and that it
 *    may use, that CPU is claimed and the thread goes straight to it. Else it stays beside its
 *    waker, or where it was, and is enqueued there.
 *
 * 2. Enqueue (enqueue; order.bpf.h). A thread with a target, from a swap or a move, is sent there.
 *    A waking thread's virtual time is raised to its queue's floor less the credit for sleepers.
 *    Then the thread waits in its queue, and an idle CPU is kicked, or a running thread is
 *    preempted if its key is greater by more than the queue's margin (section 6).
 *
 * 3. Queues and tiers (queues.bpf.h). A queue of the policy is a dispatch queue ordered by key:
 *    virtual time, deadline, fixed, or arrival. A CPU serves tiers of queues, a later tier only if
 *    the earlier ones have no thread for it. Beside them each CPU has a dispatch queue of its own,
 *    for threads without a slot and for those bound to CPUs none of which serves their queue.
 *
 * 4. Dispatch (dispatch). A CPU takes, in this order: a thread that a kernel thread has displaced
 *    here, its own dispatch queue every other turn, a guest that is far enough behind, the tiers,
 *    and then the dispatch queues of other CPUs. Its current thread competes with its key as if it
 *    waited. Of a queue no more than MAX_SCAN threads are looked at.
 *
 * 5. Charging (running, stopping, tick; charge.bpf.h). Virtual time grows by ran x rate(kind),
 *    where user space has computed the rate from charge and weight. A picked thread raises its
 *    queue's floor and, in a queue that the CPU adopts into another, changes to that. Instructions
 *    are counted by a program of their own (counters.bpf.h).
 *
 * 6. Slices and preemption (tick, preempt_for; batch.bpf.h). A slice is the policy's for the kind
 *    of core, may be divided among the runnable, and what is left of it may be carried over. It
 *    ends at the tick that is nearest to its end; inside the kernel a thread has grace until the
 *    next tick. A slice in a batch is followed by another as long as no new arrival waits.
 *
 * 7. Targets (swap.bpf.h). Commands of user space requeue, move or swap threads, or preempt a CPU.
 *    A running thread gets its destination as target and is preempted, so that section 2 sends it.
 *    A target expires after TARGET_TIMEOUT_NS.
 *
 * 8. What user space is told (events.bpf.h, threads.bpf.h). A thread of the policy has a slot, in
 *    memory that both sides map: statistics and pending event bits from here, directives from
 *    there. A ring lists slots with pending events, at most once each; a second ring, the doorbell,
 *    wakes user space for events that are worth it.
 *
 * 9. What user space tells. It writes directives into slots, queues and CPUs at any time, and
 *    raises a generation once they are complete; they are applied when the thread next wakes, is
 *    enqueued, ticks or is dispatched over. Commands are run by evenkeel_run_commands, in the
 *    caller's context.
 *
 * 10. User space is late or dies. Nothing here waits for it: the last directives hold, and new
 *     threads start with their parent's or the template's. After USER_SIDE_TIMEOUT_NS without a
 *     heartbeat CPUs take from all queues, so that a queue that no CPU serves does not starve. If
 *     it dies the kernel detaches the scheduler, and its watchdog does the same if a thread could
 *     not run for timeout_ms; all threads are then the fair class's again.
 *
 * shared.h has what both sides share, maps.bpf.h where it is kept, and kernel.bpf.h the kernel as
 * far as it is known here, with shims for what moved between versions.
 */
#include "batch.bpf.h"
#include "charge.bpf.h"
#include "counters.bpf.h"
#include "events.bpf.h"
#include "idle.bpf.h"
#include "maps.bpf.h"
#include "order.bpf.h"
#include "queues.bpf.h"
#include "swap.bpf.h"
#include "threads.bpf.h"

char _license[] SEC("license") = "GPL";

/* A thread wakes, or is forked: which CPU. */

/*
 * The CPU at which a thread that is to wait is enqueued: the waker's, if it serves the queue first.
 * The thread waits in the same queue whichever CPU that is, but the CPU's run queue is locked, now
 * by the waker and later by the CPU that takes the thread. Its own lock costs the waker least, and
 * a fast CPU does not wait for the lock of a slow one.
 */
static __always_inline s32 cpu_to_wait_at(const struct slot *slot, s32 previous)
{
	struct queue *queue = queue_at(slot->queue_id);
	s32 waker_cpu = bpf_get_smp_processor_id();

	return queue && has_bit(queue->first_tier_cpus, waker_cpu) &&
			       has_bit(slot->allowed, waker_cpu)
		       ? waker_cpu
		       : previous;
}

SEC("struct_ops/select_cpu")
s32 BPF_PROG(evenkeel_select_cpu, struct task_struct *p, s32 previous, u64 wake_flags)
{
	u32 slot_index;
	s32 cpu;
	struct slot *slot = slot_of(p, &slot_index);

	if (!slot) {
		bool idle = false;
		s32 found = scx_bpf_select_cpu_dfl(p, previous, wake_flags, &idle);

		if (idle)
			dsq_insert(p, LOCAL, SLICE_CHUNK_NS, 0);
		return found;
	}
	apply_directives(slot);
	slot->woken_synchronously = (wake_flags & WAKE(SYNC)) != 0;
	cpu = claim_idle_cpu_for(slot_index, previous);
	if (cpu == NONE)
		return cpu_to_wait_at(slot, previous);
	slot->claimed_cpu = cpu;
	return cpu;
}

SEC("struct_ops/runnable")
void BPF_PROG(evenkeel_runnable, struct task_struct *p, u64 enq_flags)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot_index;
	struct slot *slot = slot_of(p, &slot_index);

	if (!slot || slot->state != BLOCKED)
		return;
	begin_stats(slot);
	slot->blocked += saturating_sub(now, slot->state_since);
	slot->state_since = now;
	slot->state = READY;
	slot->woke_at = now;
	slot->wakes++;
	slot->woken = 1;
	end_stats(slot);
	post_event(slot, slot_index, EV_WOKE);
}

/* A thread without a slot no longer waits at a CPU. */
static __always_inline void end_local_wait(struct task_ctx *task_ctx)
{
	struct globals *globals = get_globals();

	if (globals && task_ctx && task_ctx->waits_locally &&
	    __sync_lock_test_and_set(&task_ctx->waits_locally, 0))
		__sync_fetch_and_sub(&globals->waiting_locally, 1);
}

/* A thread that no CPU could take from a queue of the policy waits at its CPU. */
static __always_inline void wait_locally(struct task_struct *p, struct task_ctx *task_ctx,
					 struct slot *slot, u64 enq_flags)
{
	struct globals *globals = get_globals();
	s32 cpu = scx_bpf_task_cpu(p);

	if (globals && slot)
		begin_wait(slot, globals, cpu_dsq_id(cpu));
	else if (globals && !__sync_lock_test_and_set(&task_ctx->waits_locally, 1))
		__sync_fetch_and_add(&globals->waiting_locally, 1);
	dsq_insert_vtime(p, cpu_dsq_id(cpu), SLICE_CHUNK_NS, slot ? key_of(slot) : 0, enq_flags);
	if (claim_idle_cpu(cpu))
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
}

/*
 * True if a thread has just been displaced by one without a slot, and is to go on after it: it has
 * something left of its slice, or no other thread waits for its turn. User space is shown a
 * displaced thread as running: it would else take the core for idle, since it is itself what has
 * displaced the thread.
 */
static __always_inline bool is_displaced(struct task_struct *p, struct slot *slot, u32 slot_index)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(scx_bpf_task_cpu(p));

	if (!cpu_ctx || cpu_ctx->to_displace != slot_index)
		return false;
	cpu_ctx->to_displace = NONE;
	if (slot->state != READY || slot->woken)
		return false;
	cpu_ctx->displaced = slot_index;
	slot->resumes_here =
		slot->slice_granted != NEVER || scx_bpf_dsq_nr_queued(slot->queue_id) <= 0;
	return slot->resumes_here;
}

SEC("struct_ops/enqueue")
void BPF_PROG(evenkeel_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct globals *globals = get_globals();
	struct task_ctx *task_ctx = task_ctx_of(p);
	struct slot *slot;
	u32 slot_index, dsq_id;
	s32 cpu;

	if (!task_ctx || !globals)
		return dsq_insert(p, LOCAL, SLICE_CHUNK_NS, enq_flags);
	slot_index = task_ctx->slot_index;
	slot = slot_index == NONE ? NULL : slot_at(slot_index);
	if (!slot) {
		/*
		 * Work of the kernel and of user space's own threads is soon done, and the thread
		 * that it displaces goes on where it was. Work that is not soon done has every
		 * other turn.
		 */
		if (task_ctx->class != CLASS_POLICY && enq_flags & ENQ(WAKEUP)) {
			struct cpu_ctx *cpu_ctx = cpu_ctx_of(scx_bpf_task_cpu(p));

			if (cpu_ctx)
				cpu_ctx->to_displace = cpu_ctx->running_slot;
			return dsq_insert(p, LOCAL, SLICE_CHUNK_NS,
					  enq_flags | arrival_flags(scx_bpf_task_cpu(p)));
		}
		return wait_locally(p, task_ctx, NULL, enq_flags);
	}
	apply_directives(slot);
	if (send_to_target(p, slot, slot_index, enq_flags))
		return;
	if (is_displaced(p, slot, slot_index)) {
		dsq_id = cpu_dsq_id(scx_bpf_task_cpu(p));
		begin_wait(slot, globals, dsq_id);
		return dsq_insert_vtime(p, dsq_id, next_chunk(slot), 0, enq_flags);
	}
	clamp_virtual_time(slot);
	cpu = slot->claimed_cpu;
	if (cpu != NONE && cpu == scx_bpf_task_cpu(p)) {
		end_wait(slot);
		return dsq_insert(p, LOCAL, SLICE_CHUNK_NS, enq_flags);
	}
	if (cpu != NONE)
		scx_bpf_kick_cpu(cpu, KICK(IDLE)); /* claimed for nothing */
	slot->claimed_cpu = NONE;
	if (!is_served_where_allowed(slot))
		return wait_locally(p, task_ctx, slot, enq_flags);
	/*
	 * The kernel has not called select_cpu. Either the thread is bound to one CPU, or it was
	 * woken while its CPU was still taking it off; that CPU would take it again though a better
	 * one idles.
	 */
	if (enq_flags & ENQ(WAKEUP) && !(enq_flags & ENQ(CPU_SELECTED))) {
		cpu = claim_idle_cpu_for(slot_index, slot->cpu);
		if (cpu != NONE) {
			end_wait(slot);
			slot->claimed_cpu = cpu;
			return dsq_insert(p, LOCAL_ON | (u32)cpu, SLICE_CHUNK_NS, enq_flags);
		}
	}
	begin_wait(slot, globals, slot->queue_id);
	dsq_insert_vtime(p, slot->queue_id, SLICE_CHUNK_NS, key_of(slot), enq_flags);
	cpu = claim_idle_cpu_for(slot_index, slot->cpu);
	if (cpu != NONE)
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
	else
		preempt_for(slot_index);
}

/* A CPU needs a thread. */

SEC("struct_ops/dispatch")
void BPF_PROG(evenkeel_dispatch, s32 cpu, struct task_struct *previous)
{
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	struct slot *curr = NULL, *displaced;
	u64 now = bpf_ktime_get_ns();
	u32 curr_index = NONE, compete = NONE;
	bool local_waits;
	int picked;

	if (!cpu_ctx)
		return;
	/* Threads that arrive from now on kick this CPU. */
	if (cpu_ctx->claimed)
		FULL_BARRIER(__sync_fetch_and_and(&cpu_ctx->claimed, 0));
	if (previous)
		curr = slot_of(previous, &curr_index);
	/* The kernel also passes a thread that has just blocked. */
	if (curr && curr->state != RUNNING)
		curr = NULL;
	if (curr) {
		begin_stats(curr);
		charge(curr, cpu_ctx, now);
		end_stats(curr);
		apply_directives(curr);
		if (is_slice_used_up(curr))
			end_slice(curr, curr_index, now);
		if (curr->target_cpu == NONE && has_bit(curr->allowed, cpu))
			compete = curr_index;
	}
	/* A displaced thread goes on first. If it is back in its queue, the CPU's own dispatch
	 * queue has every other turn and no more. */
	displaced = cpu_ctx->displaced == NONE ? NULL : slot_at(cpu_ctx->displaced);
	if (displaced && displaced->resumes_here && dsq_move_to_local(CPU_DSQ_BASE + cpu))
		return;
	local_waits = scx_bpf_dsq_nr_queued(CPU_DSQ_BASE + cpu) > 0;
	if (local_waits && cpu_ctx->local_dsq_turn && dsq_move_to_local(CPU_DSQ_BASE + cpu)) {
		cpu_ctx->local_dsq_turn = 0;
		return;
	}
	picked = pick_by_tiers(cpu, compete);
	if (picked != PICKED_NONE)
		cpu_ctx->local_dsq_turn = local_waits;
	if (picked == PICKED_WAITING)
		return;
	if (picked == PICKED_NONE) {
		if (pick_remaining(cpu))
			return;
		/* A thread that is in no tier here goes back to its queue, if other CPUs serve it.
		 */
		if (curr && (compete == NONE || is_served_where_allowed(curr)))
			return;
	}
	/* The virtual time of a thread bound to a CPU that does not serve its queue runs apart. */
	if (curr && is_served_by(curr, cpu))
		raise_floor(curr);
	/* Others wait, and the current thread is next: as if it had been picked anew. */
	if (curr && picked == PICKED_CURRENT && curr->slice_granted == NEVER) {
		begin_stats(curr);
		adopt(curr, cpu_ctx);
		end_stats(curr);
	}
	if (previous)
		task_set_slice(previous,
			       curr ? (curr->slice_granted == NEVER ? grant_slice(curr, cpu_ctx)
								    : next_chunk(curr))
				    : SLICE_CHUNK_NS);
}

SEC("struct_ops/running")
void BPF_PROG(evenkeel_running, struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();
	s32 cpu = scx_bpf_task_cpu(p);
	u32 slot_index, from_dsq;
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	struct slot *slot = slot_of(p, &slot_index);
	bool goes_on;

	if (!cpu_ctx)
		return;
	cpu_ctx->idle = 0;
	if (!slot) {
		end_local_wait(task_ctx_of(p));
		cpu_ctx->switches += cpu_ctx->last_slot != NONE;
		cpu_ctx->last_slot = NONE;
		return;
	}
	from_dsq = slot->claimed_cpu != NONE ? slot->queue_id : slot->waits_in_dsq;
	/* A thread of a higher class has run here meanwhile, and the kernel has kept this one's
	 * place: its slice is what it was. */
	goes_on = from_dsq == NONE && slot->cpu == cpu && slot->slice_granted != NEVER &&
		  !slot->woken;
	end_wait(slot);
	slot->claimed_cpu = NONE;
	begin_stats(slot);
	slot->waiting += saturating_sub(now, slot->state_since);
	slot->state_since = slot->charged_until = now;
	slot->state = RUNNING;
	/* Another CPU has taken the displaced thread. */
	if (slot->cpu != cpu)
		slot->resumes_here = 0;
	slot->migrations += slot->runs && slot->cpu != cpu;
	slot->runs += !slot->resumes_here;
	slot->cpu = cpu;
	if (from_dsq == slot->queue_id) {
		raise_floor(slot);
		if (cpu_ctx->guest_tid != (u32)p->pid)
			adopt(slot, cpu_ctx);
	}
	end_stats(slot);
	slot->woken = 0;
	if (slot->target_cpu == cpu)
		clear_target(slot);
	cpu_ctx->to_displace = cpu_ctx->displaced = NONE;
	cpu_ctx->guest_tid = 0;
	cpu_ctx->switches += cpu_ctx->last_slot != slot_index;
	cpu_ctx->last_slot = slot_index;
	cpu_ctx->running_since = now;
	cpu_ctx->running_slot = slot_index;
	slot->user_time = p->utime;
	slot->in_grace = 0;
	if (slot->resumes_here) {
		slot->resumes_here = 0;
		task_set_slice(p, slot->slice_granted == NEVER ? grant_slice(slot, cpu_ctx)
							       : next_chunk(slot));
		return;
	}
	task_set_slice(p, goes_on ? next_chunk(slot) : grant_slice(slot, cpu_ctx));
	post_event(slot, slot_index, EV_PICKED);
}

SEC("struct_ops/tick")
void BPF_PROG(evenkeel_tick, struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot_index;
	struct slot *slot = slot_of(p, &slot_index);
	struct cpu_ctx *cpu_ctx = slot ? cpu_ctx_of(slot->cpu) : NULL;
	bool in_user;

	if (!cpu_ctx)
		return;
	in_user = is_in_user(p, slot);
	/* At most ticks there is nothing to do: readers add what the thread has run since it was
	 * last charged. */
	if (p->scx.slice && !has_new_directives(slot) &&
	    !is_slice_ending(slot, saturating_sub(now, slot->charged_until)))
		return;
	begin_stats(slot);
	charge(slot, cpu_ctx, now);
	apply_directives(slot);
	end_stats(slot);
	if (is_slice_ending(slot, 0)) {
		if (continue_batch(p, slot, cpu_ctx))
			return task_set_slice(p, next_chunk(slot));
		expire_slice(p, slot);
		if (slot->target_cpu == NONE && grant_grace(slot, in_user))
			return task_set_slice(p, SLICE_CHUNK_NS);
	}
	/*
	 * If no thread waits this one goes on without being rescheduled. A thread that was sent
	 * here to preempt it has taken its slice away, and would wait for ever if it were given
	 * another: often the timer that woke that thread and this tick are one interrupt.
	 */
	if (p->scx.slice || slot->target_cpu != NONE || !is_served_by(slot, slot->cpu) ||
	    has_work(slot->cpu))
		return;
	if (is_slice_used_up(slot))
		end_slice(slot, slot_index, now);
	raise_floor(slot);
	if (slot->slice_granted != NEVER)
		return task_set_slice(p, next_chunk(slot));
	/*
	 * As if it had gone back to its queue and this CPU had picked it: it may have started here,
	 * in a queue that other CPUs serve first.
	 */
	begin_stats(slot);
	adopt(slot, cpu_ctx);
	end_stats(slot);
	task_set_slice(p, grant_slice(slot, cpu_ctx));
}

SEC("struct_ops/stopping")
void BPF_PROG(evenkeel_stopping, struct task_struct *p, bool runnable)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot_index;
	struct slot *slot = slot_of(p, &slot_index);
	struct cpu_ctx *cpu_ctx = slot ? cpu_ctx_of(slot->cpu) : NULL;

	if (!cpu_ctx || slot->state != RUNNING)
		return;
	begin_stats(slot);
	charge(slot, cpu_ctx, now);
	slot->state_since = now;
	slot->state = READY;
	end_stats(slot);
	cpu_ctx->running_slot = NONE;
	if (is_slice_used_up(slot)) {
		end_slice(slot, slot_index, now);
		/* A thread of a higher class takes the CPU: the kernel must not keep the place of a
		 * thread whose turn is over. */
		if (runnable)
			task_set_slice(p, 0);
	} else {
		carry_slice(slot, cpu_ctx);
	}
	if (slot->exec_id != p->self_exec_id) {
		slot->tid = p->pid; /* its leader's, whose place it has taken at exec */
		slot->kernel_start_time = p->start_time;
		read_name(slot, p);
		post_event(slot, slot_index, EV_EXEC);
	}
}

SEC("struct_ops/quiescent")
void BPF_PROG(evenkeel_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *task_ctx = task_ctx_of(p);
	struct slot *slot =
		task_ctx && task_ctx->slot_index != NONE ? slot_at(task_ctx->slot_index) : NULL;
	u64 now;

	if (!slot)
		return end_local_wait(task_ctx);
	end_wait(slot);
	if (!(deq_flags & DEQ(SLEEP)))
		return;
	now = bpf_ktime_get_ns();
	begin_stats(slot);
	slot->state = BLOCKED;
	slot->woken_synchronously = 0;
	slot->state_since = slot->blocked_at = now;
	end_stats(slot);
	if (slot->target_cpu != NONE)
		give_up_target(slot, task_ctx->slot_index);
	if (p->__state & TASK_DEAD)
		release(task_ctx, slot, EV_EXITED | EV_ENDED);
	else
		post_event(slot, task_ctx->slot_index, EV_BLOCKED);
}

/* What happens to CPUs. */

SEC("struct_ops/update_idle")
void BPF_PROG(evenkeel_update_idle, s32 cpu, bool idle)
{
	struct globals *globals = get_globals();
	struct cpu_ctx *cpu_ctx = cpu_ctx_of(cpu);
	u32 word = (u32)cpu / 64;
	u64 bit = 1ULL << ((u32)cpu % 64);

	if (!globals || !cpu_ctx || word >= CPU_WORDS)
		return;
	if (!idle) {
		__sync_fetch_and_and(&globals->idle[word], ~bit);
		cpu_ctx->idle = 0;
		return;
	}
	cpu_ctx->idle = 1;
	/* A thread that arrived since this CPU looked did not see it idle; one that arrives after
	 * this does. */
	FULL_BARRIER(__sync_fetch_and_or(&globals->idle[word], bit));
	if (cpu_ctx->is_used && has_work(cpu))
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
	/* Not after user space's own thread has run there: it would be woken to be told that it has
	 * gone to sleep. */
	if (cpu_ctx->last_slot == NONE)
		return;
	cpu_ctx->idles++;
	if (cpu_ctx->is_used)
		wake_user_side(globals, EV_CORE_IDLE);
}

/* The scheduler begins and ends. */

SEC("struct_ops.s/init")
s32 BPF_PROG(evenkeel_init)
{
	struct globals *globals = get_globals();
	s32 error = 0;
	int i;

	if (!globals)
		return -12; /* ENOMEM */
	bpf_for (i, 0, MAX_CPUS) {
		if (i >= globals->cpu_count || error)
			break;
		error = scx_bpf_create_dsq(CPU_DSQ_BASE + i, -1);
	}
	bpf_for (i, 0, MAX_QUEUES) {
		if (i >= globals->queue_count || error)
			break;
		error = scx_bpf_create_dsq(i, -1);
	}
	return error;
}

SEC("struct_ops/exit")
void BPF_PROG(evenkeel_exit, struct scx_exit_info *info)
{
	u32 first = 0;
	struct exit_info *out = bpf_map_lookup_elem(&exit_info_map, &first);
	struct globals *globals = get_globals();

	if (!out || !globals)
		return;
	bpf_probe_read_kernel_str(out->reason, sizeof(out->reason), info->reason);
	bpf_probe_read_kernel_str(out->message, sizeof(out->message), info->msg);
	bpf_probe_read_kernel_str(out->dump, sizeof(out->dump), info->dump);
	out->code = info->exit_code;
	out->kind = info->kind;
	wake_user_side(globals, EV_SCHEDULER_EXIT);
}

/* Carries out the commands of the user side, which runs this once for all that it has at a time. */
SEC("syscall")
int evenkeel_run_commands(void *context)
{
	struct globals *globals = get_globals();
	int i;

	if (!globals)
		return 0;
	bpf_for (i, 0, MAX_COMMANDS) {
		u32 index = i;
		struct command *command;

		if (index >= globals->command_count)
			break;
		command = bpf_map_lookup_elem(&commands, &index);
		if (command)
			command->done = run_command(index);
	}
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops evenkeel = {
	.select_cpu = (void *)evenkeel_select_cpu,
	.enqueue = (void *)evenkeel_enqueue,
	.dispatch = (void *)evenkeel_dispatch,
	.tick = (void *)evenkeel_tick,
	.runnable = (void *)evenkeel_runnable,
	.running = (void *)evenkeel_running,
	.stopping = (void *)evenkeel_stopping,
	.quiescent = (void *)evenkeel_quiescent,
	.set_weight = (void *)evenkeel_set_weight,
	.set_cpumask = (void *)evenkeel_set_cpumask,
	.update_idle = (void *)evenkeel_update_idle,
	.init_task = (void *)evenkeel_init_task,
	.enable = (void *)evenkeel_enable,
	.disable = (void *)evenkeel_disable,
	.init = (void *)evenkeel_init,
	.exit = (void *)evenkeel_exit,
	.timeout_ms = 20000,
	.exit_dump_len = 32768,
	.name = "evenkeel",
};
