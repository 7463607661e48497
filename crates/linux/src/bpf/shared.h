/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel side and the user side share: plain memory, mapped by both.
 * src/place/sched_ext/shared.rs mirrors this file field by field; sizes are compared when the
 * program is loaded.
 *
 * Each block says which side writes it. Only `pending` and `unseen` are written by both, and only
 * atomically. Times are CLOCK_MONOTONIC, nanoseconds; keys and virtual times are the policy's;
 * masks have a bit per CPU number.
 */
#ifndef EVENKEEL_SHARED_H
#define EVENKEEL_SHARED_H

#define MAX_CPUS 256
#define CPU_WORDS (MAX_CPUS / 64)
#define MAX_QUEUES 512
#define MAX_KINDS 8
#define MAX_TIERS 16
/* Entries of all tiers of one core together. */
#define MAX_TIER_ENTRIES 512
/* Queues whose threads may be a core's guests. */
#define MAX_GUEST_QUEUES 8
/* Slices in a row. */
#define MAX_BATCH 100
#define MAX_COMMANDS 4096
#define COMM_LEN 16

#define NONE 0xffffffffu
#define NEVER 0xffffffffffffffffull

/* Dispatch queues (DSQs): the policy's are 0 to MAX_QUEUES - 1; those of single CPUs begin here. */
#define CPU_DSQ_BASE 0x10000

/* Fractional bits of a rate: how far a virtual time gets per nanosecond. */
#define RATE_SHIFT 24
/* Fractional bits of a share of a slice. */
#define SHARE_SHIFT 16

enum thread_state { READY, RUNNING, BLOCKED, EXITED };

/* Bits of `pending`: what has happened to a thread since the user side last looked. */
enum pending {
	EV_STARTED = 1 << 0,
	EV_EXITED = 1 << 1,
	/* The thread is gone for good, not only in another class. */
	EV_ENDED = 1 << 2,
	EV_WOKE = 1 << 3,
	EV_BLOCKED = 1 << 4,
	EV_PICKED = 1 << 5,
	EV_SLICE_USED = 1 << 6,
	EV_EXEC = 1 << 7,
	EV_RENICED = 1 << 8,
	EV_AFFINITY = 1 << 9,
};

/* Bits of `globals.wake_mask` and `globals.unseen`: a core finds nothing to run. */
#define EV_CORE_IDLE (1u << 31)
/* The same: the kernel has ended the scheduler. */
#define EV_SCHEDULER_EXIT (1u << 30)

enum rule { RULE_VIRTUAL_TIME, RULE_DEADLINE, RULE_FIXED, RULE_ARRIVAL };
enum start { START_KEEP, START_FLOOR, START_AT };

/* Which arrivals in a queue preempt: none, all but synchronous wake-ups (whose waker is about to
 * wait itself), or all. */
enum preempts { PREEMPTS_NEVER, PREEMPTS_NOT_SYNCHRONOUS, PREEMPTS_ALWAYS };

/* Slot without a thread: directives of threads whose parent has no slot. */
#define TEMPLATE_SLOT 0

/* A thread. The kernel side gives a slot out; the user side gives it back (`globals.slots_freed`)
 * once it has read what became of the thread. */
struct slot {
	/* Kernel side, when the slot is given out; `comm` also at exec. */
	u32 tid;
	u32 process;
	u32 parent_slot; /* of the thread that forked it, or NONE */
	s32 nice; /* -20 to 19; SCHED_IDLE: 20 */
	u64 started_at;
	/* When the kernel made it: tells threads apart that had the same number one after the
	 * other. Also changes at exec by another thread than the first. */
	u64 kernel_start_time;
	char comm[COMM_LEN];
	u32 exec_id;
	u32 restricted; /* its affinity leaves out CPUs of the machine */
	u64 affinity[CPU_WORDS]; /* within the machine */
	u64 allowed[CPU_WORDS]; /* where it may run now */

	/* Both, atomically. */
	u32 pending;

	/* Kernel side: statistics. `sequence` is odd while they are being changed. */
	u32 sequence;
	u32 state;
	s32 cpu; /* where it runs, or ran last */
	u32 queue_id;
	u32 in_grace; /* its slice is over, and it has until the next tick */
	u64 state_since;
	u64 charged_until;
	u64 virtual_time;
	u64 waiting; /* ns */
	u64 blocked; /* ns */
	u64 runs;
	u64 wakes;
	u64 migrations;
	u64 blocked_at;
	u64 woke_at;
	u64 time_on[MAX_KINDS]; /* ns */
	u64 instructions[MAX_KINDS]; /* as of when it last left a CPU, */
	u64 counted_on[MAX_KINDS]; /* and its time on each kind then */

	/* Kernel side: the mechanism's own. */
	u64 key; /* of the rules other than virtual time */
	u64 slice_granted; /* ns, or NEVER: a new slice is due */
	u64 slice_used; /* ns */
	u64 slice_left_share; /* of a carried slice; 0: a whole one is due */
	u64 user_time; /* as of the tick before, or of when it was picked */
	u64 target_expires_at; /* after this, `target_cpu` counts no more */
	s32 target_cpu; /* where it goes next, or NONE */
	u32 partner_slot; /* of the thread that it trades places with, or NONE */
	u32 waits_in_dsq; /* dispatch queue, or NONE */
	u32 queued_weight; /* what it adds to its queue's `weight_waiting` */
	u32 woken;
	s32 claimed_cpu; /* idle CPU that was claimed for it, or NONE */
	u32 applied_queue_generation; /* generations of directives applied so far */
	u32 applied_order_generation;
	u32 resumes_here; /* it has been displaced, and is about to go on where it was */
	u32 woken_synchronously; /* its waker is about to wait */
	u32 batch_position; /* which of the slices in a row it is in, the first being 1 */
	u32 counted_new_in; /* one more than the queue whose `new_arrivals` counts it, or 0 */

	/* User side: directives. A generation is raised after what it covers has been written. */
	u32 directed_queue_id;
	u32 queue_generation;
	u32 order_generation;
	u32 rule;
	u32 start;
	u32 weight;
	u64 start_virtual_time; /* START_AT */
	u64 directed_key;
	u64 step; /* RULE_FIXED: added to the key; RULE_DEADLINE: renewal; per slice used up */
	u64 postpone[3];
	u64 rate[MAX_KINDS]; /* charge / weight, RATE_SHIFT */
	u64 slice[MAX_KINDS]; /* ns */
	u64 divided_to; /* ns; 0: do not divide */
	u32 carry;
	u32 batch; /* slices in a row */
};

/* A queue of the policy. */
struct queue {
	/* Kernel side. */
	u64 floor; /* greatest virtual time of those picked from it, or going on alone */
	u64 weight_waiting;
	u64 key_bound; /* no waiting thread has a lesser key (bound.bpf.h) */
	u64 last_arrival_at;
	u64 arriving[2]; /* least keys of threads that may be on the way to it (bound.bpf.h) */
	u64 new_arrivals; /* waiting threads that have woken or started, and not run since */
	/* User side. */
	u64 sleeper_credit;
	u64 preemption_margin;
	u32 preempts;
	u32 own_clock;
	u32 postpones;
	u32 preferred_count;
	u64 serving_cpus[CPU_WORDS]; /* CPUs that have it in some tier */
	u64 first_tier_cpus[CPU_WORDS]; /* CPUs that have it in their first tier */
	u16 preferred_cpus[MAX_CPUS]; /* in this order */
};

/* A CPU. */
struct cpu_ctx {
	/* Kernel side. */
	u32 running_slot; /* or NONE */
	u32 last_slot; /* the one that it ran last, or NONE */
	u64 running_since;
	u64 idles; /* how often it found nothing to run */
	u64 switches;
	u64 busy; /* ns, with threads that have slots */
	u64 instructions_counted; /* when it last switched */
	u64 scanned_first_key; /* result of least_key (queues.bpf.h) */
	u32 idle;
	u32 local_dsq_turn; /* its own dispatch queue comes before the tiers */
	u32 scanned_tid; /* result of least_key */
	u32 to_displace; /* slot that is to make room for a thread without one, or NONE */
	u32 displaced; /* slot that has, or NONE */
	u32 claimed; /* it has been idle, and is about to look for work */
	/* User side. */
	u32 is_used; /* the policy has it run threads */
	u32 kind;
	s32 sibling; /* CPU, or NONE */
	u32 cluster;
	u32 adopts_queue_id; /* or NONE */
	u32 tier_count;
	u32 guest_queue_count;
	u32 guest_tid; /* kernel side: thread just taken that the core does not adopt, or 0 */
	u64 behind; /* a guest's virtual time is less by more than this */
	u16 guest_queue_ids[MAX_GUEST_QUEUES];
	u16 tier_end[MAX_TIERS]; /* index after its last entry in `tier_queue_ids` */
	u8 tier_by_load[MAX_TIERS]; /* by load instead of by key */
	u16 tier_queue_ids[MAX_TIER_ENTRIES];
};

enum command_kind {
	COMMAND_REQUEUE,
	COMMAND_SWAP,
	COMMAND_MOVE,
	COMMAND_PREEMPT,
	COMMAND_MAKE_QUEUE,
};

struct command {
	u32 kind;
	u32 slot_index;
	u32 operand; /* slot, CPU or queue */
	u32 done; /* kernel side: it could be carried out */
};

/* One for all. */
struct globals {
	/* User side. */
	u64 heartbeat;
	/* Slots given back, ever; the last is free_slots[(slots_freed - 1) % slot_count]. */
	u64 slots_freed;
	u64 half_tick_ns; /* of the kernel's tick */
	u32 event_mask; /* bits of `pending` that the user side is to be told of */
	u32 wake_mask; /* bits of `pending` that are worth waking it */
	u32 asleep; /* cleared by the CPU that wakes it */
	u32 command_count;
	u32 tracks_queue_weights; /* some tier is chosen by load */
	u32 own_process;
	u32 slot_count;
	u32 queue_count;
	u32 cpu_count; /* one more than the greatest CPU number */
	/* Both, atomically: what has happened, in bits of `wake_mask`, since the user side last
	 * began to look. */
	u32 unseen;
	u64 machine[CPU_WORDS]; /* CPUs that the policy knows */
	/* Kernel side. */
	u64 slots_taken; /* slots given out, ever */
	u64 slotless; /* threads that came when no slot was free */
	u64 dropped_events; /* the ring had no room */
	u64 waiting_locally; /* threads in dispatch queues of CPUs, but for those that resume there
			      */
	u64 idle[CPU_WORDS];
};

/* Why the kernel has ended the scheduler. */
struct exit_info {
	s64 code;
	u32 kind; /* 0: it has not ended */
	u32 padding;
	char reason[128];
	char message[1024];
	char dump[32768];
};

#endif
