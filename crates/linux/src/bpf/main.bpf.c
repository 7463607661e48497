/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evenkeel's mechanism in the kernel: it runs threads as directives say, and knows no policy.
 *
 *   shared.h        what this side and the user side share
 *   kernel.bpf.h    the kernel as far as it is known here, and shims for what moved between
 * versions maps.bpf.h      where everything is kept events.bpf.h    what the user side is told
 *   order.bpf.h     keys, clocks, assignments
 *   charge.bpf.h    time, virtual time, slices
 *   counters.bpf.h  instructions retired
 *   idle.bpf.h      which idle CPU
 *   queues.bpf.h    who waits where, whom a CPU takes up
 *   rows.bpf.h      slices in a row
 *   swap.bpf.h      threads that are sent somewhere
 *   threads.bpf.h   slots, from the beginning of a thread to its end
 *   this file       the kernel's other callbacks: a thread wakes, is taken up, runs, leaves; CPUs
 * idle; the scheduler begins and ends
 *
 * Nothing here waits for the user side. Threads that it has not spoken of yet have their parent's
 * directives, or those of the template; the last directives hold.
 */
#include "charge.bpf.h"
#include "counters.bpf.h"
#include "events.bpf.h"
#include "idle.bpf.h"
#include "maps.bpf.h"
#include "order.bpf.h"
#include "queues.bpf.h"
#include "rows.bpf.h"
#include "swap.bpf.h"
#include "threads.bpf.h"

char _license[] SEC("license") = "GPL";

/* A thread wakes, or is forked: which CPU. */

/*
 * Where a thread that is to wait is put down. It waits in the same queue whichever CPU that is, but
 * the CPU's run queue is locked: by the waker now, to whom its own costs least, and later by
 * whoever takes the thread up. So the waker's own, if it serves the queue first: else a fast CPU
 * would have to wait for the lock of a slow one.
 */
static __always_inline s32 beside_waker(const struct slot *slot, s32 previous)
{
	struct queue *queue = queue_at(slot->queue);
	u32 here = bpf_get_smp_processor_id();

	return queue && has_bit(queue->served_first, here) && has_bit(slot->allowed, here)
		       ? (s32)here
		       : previous;
}

SEC("struct_ops/select_cpu")
s32 BPF_PROG(evenkeel_select_cpu, struct task_struct *p, s32 previous, u64 wake_flags)
{
	u32 at, cpu;
	struct slot *slot = slot_of(p, &at);

	if (!slot) {
		bool idle = false;
		s32 found = scx_bpf_select_cpu_dfl(p, previous, wake_flags, &idle);

		if (idle)
			dsq_insert(p, LOCAL, CHUNK, 0);
		return found;
	}
	take_up(slot);
	slot->synchronous = (wake_flags & WAKE(SYNC)) != 0;
	cpu = claim_for(at, previous);
	if (cpu == NONE)
		return beside_waker(slot, previous);
	slot->claimed = cpu;
	return cpu;
}

SEC("struct_ops/runnable")
void BPF_PROG(evenkeel_runnable, struct task_struct *p, u64 enq_flags)
{
	u64 now = bpf_ktime_get_ns();
	u32 at;
	struct slot *slot = slot_of(p, &at);

	if (!slot || slot->state != BLOCKED)
		return;
	change(slot);
	slot->blocked += less(now, slot->since);
	slot->since = now;
	slot->state = READY;
	slot->woke_at = now;
	slot->wakes++;
	slot->woken = 1;
	change(slot);
	note(slot, at, P_WOKE);
}

/* One without a slot does not wait at a CPU any more. */
static __always_inline void waits_no_more(struct thread *thread)
{
	struct board *board = the_board();

	if (board && thread && thread->waits && __sync_lock_test_and_set(&thread->waits, 0))
		__sync_fetch_and_sub(&board->waiting_locally, 1);
}

/* A thread that no queue of the policy would do for waits at its CPU. */
static __always_inline void wait_locally(struct task_struct *p, struct thread *thread,
					 struct slot *slot, u64 enq_flags)
{
	struct board *board = the_board();
	u32 cpu = scx_bpf_task_cpu(p);

	if (board && slot)
		wait_in(slot, board, CPU_QUEUES + cpu);
	else if (board && !__sync_lock_test_and_set(&thread->waits, 1))
		__sync_fetch_and_add(&board->waiting_locally, 1);
	dsq_insert_vtime(p, CPU_QUEUES + cpu, CHUNK, slot ? key_of(slot) : 0, enq_flags);
	if (claim(cpu))
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
}

/*
 * Whether a thread has just made room for one that has no slot, and is to go on after it: it has
 * something left of its slice, or nobody waits for its turn. Whoever has made room is shown to the
 * user side as running there, or it would take the core for idle, which it is on itself.
 */
static __always_inline bool is_interrupted(struct task_struct *p, struct slot *slot, u32 at)
{
	struct cpu *cpu = cpu_at(scx_bpf_task_cpu(p));

	if (!cpu || cpu->interrupts != at)
		return false;
	cpu->interrupts = NONE;
	if (slot->state != READY || slot->woken)
		return false;
	cpu->interrupted = at;
	slot->interrupted = slot->granted != NEVER || scx_bpf_dsq_nr_queued(slot->queue) <= 0;
	return slot->interrupted;
}

SEC("struct_ops/enqueue")
void BPF_PROG(evenkeel_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct board *board = the_board();
	struct thread *thread = thread_of(p);
	struct slot *slot;
	u32 at, cpu;

	if (!thread || !board)
		return dsq_insert(p, LOCAL, CHUNK, enq_flags);
	at = thread->slot;
	slot = at == NONE ? NULL : slot_at(at);
	if (!slot) {
		/*
		 * The kernel's work, and ours, is soon done, and who makes room for it goes on
		 * where it was. Where it is not, it has every other turn.
		 */
		if (thread->standing != PLACED && enq_flags & ENQ(WAKEUP)) {
			struct cpu *here = cpu_at(scx_bpf_task_cpu(p));

			if (here)
				here->interrupts = here->running;
			return dsq_insert(p, LOCAL, CHUNK,
					  enq_flags | arrival(scx_bpf_task_cpu(p)));
		}
		return wait_locally(p, thread, NULL, enq_flags);
	}
	take_up(slot);
	if (send(p, slot, at, enq_flags))
		return;
	if (is_interrupted(p, slot, at)) {
		cpu = CPU_QUEUES + scx_bpf_task_cpu(p);
		wait_in(slot, board, cpu);
		return dsq_insert_vtime(p, cpu, chunk_of(slot), 0, enq_flags);
	}
	enter_clock(slot);
	cpu = slot->claimed;
	if (cpu != NONE && cpu == (u32)scx_bpf_task_cpu(p)) {
		leave(slot);
		return dsq_insert(p, LOCAL, CHUNK, enq_flags);
	}
	if (cpu != NONE)
		scx_bpf_kick_cpu(cpu, KICK(IDLE)); /* claimed for nothing */
	slot->claimed = NONE;
	if (!is_reached(slot))
		return wait_locally(p, thread, slot, enq_flags);
	/*
	 * It has not been asked where to: it was woken while its CPU was still taking it off, and
	 * that would take it up again though a better one idles; or it is bound to one CPU.
	 */
	if (enq_flags & ENQ(WAKEUP) && !(enq_flags & ENQ(CPU_SELECTED))) {
		cpu = claim_for(at, slot->cpu);
		if (cpu != NONE) {
			leave(slot);
			slot->claimed = cpu;
			return dsq_insert(p, LOCAL_ON | cpu, CHUNK, enq_flags);
		}
	}
	wait_in(slot, board, slot->queue);
	dsq_insert_vtime(p, slot->queue, CHUNK, key_of(slot), enq_flags);
	cpu = claim_for(at, slot->cpu);
	if (cpu != NONE)
		scx_bpf_kick_cpu(cpu, KICK(IDLE));
	else
		preempt_for(at);
}

/* A CPU needs a thread. */

SEC("struct_ops/dispatch")
void BPF_PROG(evenkeel_dispatch, s32 at, struct task_struct *previous)
{
	struct cpu *cpu = cpu_at(at);
	struct slot *own = NULL, *interrupted;
	u64 now = bpf_ktime_get_ns();
	u32 own_at = NONE, compete = NONE;
	bool local_waits;
	int picked;

	if (!cpu)
		return;
	/* Whoever comes from now on is to be told to kick. */
	if (cpu->claimed)
		IN_ORDER(__sync_fetch_and_and(&cpu->claimed, 0));
	if (previous)
		own = slot_of(previous, &own_at);
	/* The kernel also names one that has just blocked. */
	if (own && own->state != RUNNING)
		own = NULL;
	if (own) {
		change(own);
		account(own, cpu, now);
		change(own);
		take_up(own);
		if (is_used_up(own))
			use_up(own, own_at, now);
		if (own->target == NONE && has_bit(own->allowed, at))
			compete = own_at;
	}
	/* It may be back in its queue: then those of this CPU have every other turn, and no more.
	 */
	interrupted = cpu->interrupted == NONE ? NULL : slot_at(cpu->interrupted);
	if (interrupted && interrupted->interrupted && dsq_move_to_local(CPU_QUEUES + at))
		return;
	local_waits = scx_bpf_dsq_nr_queued(CPU_QUEUES + at) > 0;
	if (local_waits && cpu->local_turn && dsq_move_to_local(CPU_QUEUES + at)) {
		cpu->local_turn = 0;
		return;
	}
	picked = pick_by_tiers(at, compete);
	if (picked != NOBODY)
		cpu->local_turn = local_waits;
	if (picked == TAKEN)
		return;
	if (picked == NOBODY) {
		if (pick_leftovers(at))
			return;
		/* A thread that no tier here has goes back to its queue, if that has other cores.
		 */
		if (own && (compete == NONE || (is_reached(own))))
			return;
	}
	/* Not where it is bound to a CPU that does not serve its queue: its clock runs apart. */
	if (own && is_served_by(own, at))
		raise_floor(own);
	/* As if it had been picked anew: others wait, and it is next. */
	if (own && picked == GOES_ON && own->granted == NEVER) {
		change(own);
		adopt(own, cpu);
		change(own);
	}
	if (previous)
		task_set_slice(previous,
			       own ? (own->granted == NEVER ? grant(own, cpu) : chunk_of(own))
				   : CHUNK);
}

SEC("struct_ops/running")
void BPF_PROG(evenkeel_running, struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();
	u32 at, where = scx_bpf_task_cpu(p), from;
	struct cpu *cpu = cpu_at(where);
	struct slot *slot = slot_of(p, &at);
	bool goes_on;

	if (!cpu)
		return;
	cpu->idle = 0;
	if (!slot) {
		waits_no_more(thread_of(p));
		cpu->switches += cpu->last != NONE;
		cpu->last = NONE;
		return;
	}
	from = slot->claimed != NONE ? slot->queue : slot->waits_in;
	/* A thread of a higher class has been here meanwhile, and the kernel has kept its place for
	 * it: its slice is what it was. */
	goes_on = from == NONE && slot->cpu == where && slot->granted != NEVER && !slot->woken;
	leave(slot);
	slot->claimed = NONE;
	change(slot);
	slot->waiting += less(now, slot->since);
	slot->since = slot->accounted_at = now;
	slot->state = RUNNING;
	/* Another CPU has taken it. */
	if (slot->cpu != where)
		slot->interrupted = 0;
	slot->migrations += slot->runs && slot->cpu != where;
	slot->runs += !slot->interrupted;
	slot->cpu = where;
	if (from == slot->queue) {
		raise_floor(slot);
		if (cpu->guest != (u32)p->pid)
			adopt(slot, cpu);
	}
	change(slot);
	slot->woken = 0;
	if (slot->target == where)
		forget_target(slot);
	cpu->interrupts = cpu->interrupted = NONE;
	cpu->guest = 0;
	cpu->switches += cpu->last != at;
	cpu->last = at;
	cpu->running_since = now;
	cpu->running = at;
	slot->user_time = p->utime;
	slot->grace = 0;
	if (slot->interrupted) {
		slot->interrupted = 0;
		task_set_slice(p, slot->granted == NEVER ? grant(slot, cpu) : chunk_of(slot));
		return;
	}
	task_set_slice(p, goes_on ? chunk_of(slot) : grant(slot, cpu));
	note(slot, at, P_PICKED);
}

SEC("struct_ops/tick")
void BPF_PROG(evenkeel_tick, struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();
	u32 at;
	struct slot *slot = slot_of(p, &at);
	struct cpu *cpu = slot ? cpu_at(slot->cpu) : NULL;
	bool in_user;

	if (!cpu)
		return;
	in_user = is_in_user(p, slot);
	/* At most ticks there is nothing to do: whoever wants to know adds what it has run since it
	 * was last brought up to now. */
	if (p->scx.slice && !is_said_anew(slot) &&
	    !is_near_end(slot, less(now, slot->accounted_at)))
		return;
	change(slot);
	account(slot, cpu, now);
	take_up(slot);
	change(slot);
	if (is_near_end(slot, 0)) {
		if (has_another_slice(p, slot, cpu))
			return task_set_slice(p, chunk_of(slot));
		end_slice(p, slot);
		if (slot->target == NONE && has_grace(slot, in_user))
			return task_set_slice(p, CHUNK);
	}
	/*
	 * Nobody waits: it goes on, and nothing need be rescheduled for that. Whoever has been sent
	 * here to preempt it has taken its slice away, and would wait for ever if it were given
	 * another: often the timer that woke them and this tick are one interrupt.
	 */
	if (p->scx.slice || slot->target != NONE || !is_served_by(slot, slot->cpu) ||
	    is_wanted(slot->cpu))
		return;
	if (is_used_up(slot))
		use_up(slot, at, now);
	raise_floor(slot);
	if (slot->granted != NEVER)
		return task_set_slice(p, chunk_of(slot));
	/*
	 * As if it had gone back to its queue and this CPU had picked it: it may have begun here,
	 * for a queue that others serve first.
	 */
	change(slot);
	adopt(slot, cpu);
	change(slot);
	task_set_slice(p, grant(slot, cpu));
}

SEC("struct_ops/stopping")
void BPF_PROG(evenkeel_stopping, struct task_struct *p, bool runnable)
{
	u64 now = bpf_ktime_get_ns();
	u32 at;
	struct slot *slot = slot_of(p, &at);
	struct cpu *cpu = slot ? cpu_at(slot->cpu) : NULL;

	if (!cpu || slot->state != RUNNING)
		return;
	change(slot);
	account(slot, cpu, now);
	slot->since = now;
	slot->state = READY;
	change(slot);
	cpu->running = NONE;
	if (is_used_up(slot)) {
		use_up(slot, at, now);
		/* For a thread of a higher class: the kernel must not keep its place for one whose
		 * turn is over. */
		if (runnable)
			task_set_slice(p, 0);
	} else {
		carry_slice(slot, cpu);
	}
	if (slot->exec_id != p->self_exec_id) {
		slot->tid = p->pid; /* it has its leader's, whose place it has taken */
		slot->born = p->start_time;
		read_name(slot, p);
		note(slot, at, P_EXEC);
	}
}

SEC("struct_ops/quiescent")
void BPF_PROG(evenkeel_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct thread *thread = thread_of(p);
	struct slot *slot = thread && thread->slot != NONE ? slot_at(thread->slot) : NULL;
	u64 now;

	if (!slot)
		return waits_no_more(thread);
	leave(slot);
	if (!(deq_flags & DEQ(SLEEP)))
		return;
	now = bpf_ktime_get_ns();
	change(slot);
	slot->state = BLOCKED;
	slot->synchronous = 0;
	slot->since = slot->blocked_at = now;
	change(slot);
	if (slot->target != NONE)
		give_up_target(slot, thread->slot);
	if (p->__state & TASK_DEAD)
		release(thread, slot, P_EXITED | P_ENDED);
	else
		note(slot, thread->slot, P_BLOCKED);
}

/* What happens to CPUs. */

SEC("struct_ops/update_idle")
void BPF_PROG(evenkeel_update_idle, s32 at, bool idle)
{
	struct board *board = the_board();
	struct cpu *cpu = cpu_at(at);
	u32 word = (u32)at / 64;
	u64 bit = 1ULL << ((u32)at % 64);

	if (!board || !cpu || word >= CPU_WORDS)
		return;
	if (!idle) {
		__sync_fetch_and_and(&board->idle[word], ~bit);
		cpu->idle = 0;
		return;
	}
	cpu->idle = 1;
	/* Whoever has come since it looked has not seen it idle; whoever comes after this has. */
	IN_ORDER(__sync_fetch_and_or(&board->idle[word], bit));
	if (cpu->used && is_wanted(at))
		scx_bpf_kick_cpu(at, KICK(IDLE));
	/* Not after our own thread has run there: it would be woken to be told that it has gone to
	 * sleep. */
	if (cpu->last == NONE)
		return;
	cpu->idles++;
	if (cpu->used)
		ring(board, R_CORE_IDLE);
}

/* The scheduler begins and ends. */

SEC("struct_ops.s/init")
s32 BPF_PROG(evenkeel_init)
{
	struct board *board = the_board();
	s32 error = 0;
	int i;

	if (!board)
		return -12; /* ENOMEM */
	bpf_for (i, 0, MAX_CPUS) {
		if (i >= board->cpu_count || error)
			break;
		error = scx_bpf_create_dsq(CPU_QUEUES + i, -1);
	}
	bpf_for (i, 0, MAX_QUEUES) {
		if (i >= board->queue_count || error)
			break;
		error = scx_bpf_create_dsq(i, -1);
	}
	return error;
}

SEC("struct_ops/exit")
void BPF_PROG(evenkeel_exit, struct scx_exit_info *info)
{
	u32 first = 0;
	struct last_words *last = bpf_map_lookup_elem(&words, &first);
	struct board *board = the_board();

	if (!last || !board)
		return;
	bpf_probe_read_kernel_str(last->reason, sizeof(last->reason), info->reason);
	bpf_probe_read_kernel_str(last->message, sizeof(last->message), info->msg);
	bpf_probe_read_kernel_str(last->dump, sizeof(last->dump), info->dump);
	last->code = info->exit_code;
	last->kind = info->kind;
	ring(board, R_OVER);
}

/* Commands of the user side: run by it, once for all that it has to say at a time. */
SEC("syscall")
int evenkeel_obey(void *context)
{
	struct board *board = the_board();
	int i;

	if (!board)
		return 0;
	bpf_for (i, 0, MAX_COMMANDS) {
		u32 at = i;
		struct command *command;

		if (at >= board->command_count)
			break;
		command = bpf_map_lookup_elem(&commands, &at);
		if (command)
			command->done = obey(at);
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
