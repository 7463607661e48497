/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel side and the user side share: plain memory, mapped by both.
 * src/sched_ext/shared.rs mirrors this file field by field; sizes are compared when the program is
 * loaded.
 *
 * Who writes what is said per block, and nothing is written by both but `pending`, which is only
 * changed atomically. Times are CLOCK_MONOTONIC, nanoseconds; keys and virtual times are the
 * policy's; masks have a bit per CPU number.
 */
#ifndef EVENKEEL_SHARED_H
#define EVENKEEL_SHARED_H

#define MAX_CPUS 256
#define CPU_WORDS (MAX_CPUS / 64)
#define MAX_QUEUES 512
#define MAX_KINDS 8
#define MAX_TIERS 16
/* Entries of all tiers of one core together. */
#define MAX_SERVED 512
/* Queues whose threads may be a core's guests. */
#define MAX_HOSTS 8
/* Slices in a row. */
#define MAX_BATCH 100
#define MAX_COMMANDS 4096
#define COMM 16

#define NONE 0xffffffffu
#define NEVER 0xffffffffffffffffull

/* Dispatch queues: the policy's are 0 to MAX_QUEUES - 1; those of single CPUs follow. */
#define CPU_QUEUES 0x10000

/* How far a virtual time gets per nanosecond is a fixed-point number with so many fractional bits.
 */
#define RATE_SHIFT 24
/* A share of a slice. */
#define WHOLE_SHIFT 16

enum thread_state { READY, RUNNING, BLOCKED, EXITED };

/* Bits of `pending`: what has happened to a thread since the user side last looked. */
enum pending {
	P_STARTED = 1 << 0,
	P_EXITED = 1 << 1,
	/* It is gone for good, not only in another class. */
	P_ENDED = 1 << 2,
	P_WOKE = 1 << 3,
	P_BLOCKED = 1 << 4,
	P_PICKED = 1 << 5,
	P_SLICE_USED = 1 << 6,
	P_EXEC = 1 << 7,
	P_RENICED = 1 << 8,
	P_AFFINITY = 1 << 9,
};

/* Bits of `board.rings_for` and `board.unseen`: a core that finds nothing to run. */
#define R_CORE_IDLE (1u << 31)
/* The same: it is over. */
#define R_OVER (1u << 30)

enum rule { R_VIRTUAL_TIME, R_DEADLINE, R_FIXED, R_ARRIVAL };
enum start { S_KEEP, S_FLOOR, S_AT };

/* Which of those that arrive in a queue preempt: not who was woken synchronously, by one who is
 * about to wait itself; or everybody. */
enum preempts { PRE_NEVER, PRE_NOT_SYNCHRONOUS, PRE_ALWAYS };

/* Slot of nobody: what threads begin with that no thread of ours has forked. */
#define TEMPLATE 0

/* A thread. The kernel side gives a slot out, the user side gives it back (board.freed) once it has
 * read what became of the thread. */
struct slot {
	/* Kernel side, when the slot is given out; `comm` also at exec. */
	u32 tid;
	u32 process;
	u32 parent; /* slot of the thread that forked it, or NONE */
	s32 nice; /* -20 to 19; SCHED_IDLE: 20 */
	u64 started_at;
	u64 born; /* when the kernel made it: of two threads of one number only one has that. Also
		     changes at exec by another thread than the first. */
	char comm[COMM];
	u32 exec_id;
	u32 restricted; /* its affinity leaves out CPUs of the machine */
	u64 affinity[CPU_WORDS]; /* within the machine */
	u64 allowed[CPU_WORDS]; /* where it may run now */

	/* Both, atomically. */
	u32 pending;

	/* Kernel side: statistics. `sequence` is odd while they are being changed. */
	u32 sequence;
	u32 state;
	u32 cpu;
	u32 queue;
	u32 grace; /* its slice is over, and it has until the next tick */
	u64 since;
	u64 accounted_at;
	u64 virtual_time;
	u64 waiting;
	u64 blocked;
	u64 runs;
	u64 wakes;
	u64 migrations;
	u64 blocked_at;
	u64 woke_at;
	u64 time_on[MAX_KINDS];
	u64 instructions[MAX_KINDS]; /* as of when it last left a CPU, */
	u64 counted_on[MAX_KINDS]; /* and its time on each kind then */

	/* Kernel side: the mechanism's own. */
	u64 key; /* of the rules other than virtual time */
	u64 granted; /* slice, time */
	u64 used; /* of it */
	u64 left; /* of a carried slice, share; 0: a new one is due */
	u64 user_time; /* as of the tick before, or of when it was picked */
	u64 target_until; /* after this, `target` counts no more */
	u32 target; /* CPU that it goes to next, or NONE */
	u32 partner; /* slot that it trades places with, or NONE */
	u32 waits_in; /* dispatch queue, or NONE */
	u32 weighs; /* what it adds to that queue's weight */
	u32 woken;
	u32 claimed; /* idle CPU that was claimed for it, or NONE */
	u32 seen_queue; /* generations carried out so far */
	u32 seen_order;
	u32 interrupted; /* it is about to go on where it was */
	u32 synchronous; /* who has woken it is about to wait */
	u32 slice_number; /* which of the slices in a row it is in, the first being 1 */
	u32 fresh_in; /* one more than the queue in whose `fresh` it is counted, or 0 */

	/* User side: directives. A generation is raised after what it covers has been written. */
	u32 queue_said;
	u32 queue_generation;
	u32 order_generation;
	u32 rule;
	u32 start;
	u32 weight;
	u64 start_at; /* virtual time, S_AT */
	u64 key_said;
	u64 step; /* R_FIXED: added to the key, R_DEADLINE: renewal, per slice used up */
	u64 postpone[3];
	u64 rate[MAX_KINDS]; /* charge / weight, RATE_SHIFT */
	u64 slice[MAX_KINDS];
	u64 divided_to; /* 0: do not divide */
	u32 carry;
	u32 batch; /* slices in a row */
};

/* A queue of the policy. */
struct queue {
	/* Kernel side. */
	u64 floor; /* greatest virtual time of those picked from it, or going on alone */
	u64 weight_waiting;
	u64 least; /* nobody who waits has a lesser key */
	u64 came_at; /* when somebody last came to it */
	u64 coming[2]; /* the least key of those who may be on the way to it, see bound.bpf.h */
	u64 fresh; /* how many wait who have woken or started, and not run since */
	/* User side. */
	u64 sleeper;
	u64 preemption; /* margin */
	u32 preempts;
	u32 own_clock;
	u32 postpones;
	u32 preferred_count;
	u64 served[CPU_WORDS]; /* by these in any tier */
	u64 served_first[CPU_WORDS]; /* by these in the first */
	u16 preferred[MAX_CPUS]; /* in this order */
};

/* A CPU. */
struct cpu {
	/* Kernel side. */
	u32 running; /* slot, or NONE */
	u32 last; /* slot that it ran last, or NONE */
	u64 running_since;
	u64 idles; /* how often it found nothing to run */
	u64 switches;
	u64 busy; /* with threads that have slots */
	u64 counted; /* instructions, when it last switched */
	u64 first_key; /* of whom it looks at (see queues.bpf.h) */
	u32 idle;
	u32 local_turn; /* threads of its own dispatch queue come before the tiers */
	u32 first_tid; /* the same */
	u32 interrupts; /* slot of the thread that is to make room for one that has none, or NONE */
	u32 interrupted; /* slot of the one that has, or NONE */
	u32 claimed; /* it has been idle, and is about to look for work */
	/* User side. */
	u32 used; /* the policy has it run threads */
	u32 kind;
	u32 sibling; /* CPU, or NONE */
	u32 cluster;
	u32 adopt; /* queue, or NONE */
	u32 tier_count;
	u32 host_count;
	u32 guest; /* kernel side: thread that it has just taken up and does not adopt, or 0 */
	u64 behind; /* by more than this are guests behind */
	u16 hosts[MAX_HOSTS]; /* queues whose threads may be guests */
	u16 tier_end[MAX_TIERS]; /* index after its last entry in `served` */
	u8 tier_by_load[MAX_TIERS]; /* by load instead of by key */
	u16 served[MAX_SERVED];
};

enum command_kind { C_REQUEUE, C_SWAP, C_MOVE, C_PREEMPT, C_MAKE_QUEUE };

struct command {
	u32 kind;
	u32 slot;
	u32 other; /* slot, CPU or queue */
	u32 done; /* kernel side: it could be carried out */
};

/* One for all. */
struct board {
	/* User side. */
	u64 heartbeat;
	u64 freed; /* how many slots have been given back, ever; the last of them is free[(freed -
		      1) % slots] */
	u64 half_tick; /* of the kernel's, time */
	u32 interest; /* bits of `pending` that the user side wants to be told */
	u32 rings_for; /* bits of `pending` that are worth waking it */
	u32 asleep; /* cleared by who wakes it */
	u32 command_count;
	u32 weighs_queues; /* some tier is chosen by load */
	u32 own_process;
	u32 slot_count;
	u32 queue_count;
	u32 cpu_count; /* one more than the greatest CPU number */
	/* Both, atomically: what has happened, in bits of `rings_for`, since the user side last
	 * began to look. */
	u32 unseen;
	u64 machine[CPU_WORDS]; /* CPUs that the policy knows */
	/* Kernel side. */
	u64 taken; /* how many slots have been given out, ever */
	u64 slotless; /* threads for whom there was none */
	u64 dropped; /* notes that the ring had no room for */
	u64 waiting_locally; /* threads in dispatch queues of CPUs */
	u64 idle[CPU_WORDS];
};

/* Why the kernel has ended it. */
struct last_words {
	s64 code;
	u32 kind; /* 0: it has not ended */
	u32 padding;
	char reason[128];
	char message[1024];
	char dump[32768];
};

#endif
