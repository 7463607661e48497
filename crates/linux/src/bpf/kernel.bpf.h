/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel as far as this scheduler knows it. Types name only the fields that are used: the
 * loader finds them in the running kernel's BTF (CO-RE), so that no vmlinux.h of some architecture
 * or version is needed.
 *
 * Interfaces that moved have a shim here with the version that moved them, and the version after
 * which it can go.
 */
#ifndef EVENKEEL_KERNEL_H
#define EVENKEEL_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef s16 __s16;
typedef s8 __s8;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1 << 0, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
#define BPF_F_CURRENT_CPU 0xffffffffULL

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct cpumask {
	unsigned long bits[1];
} KERNEL_TYPE;
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

struct sched_ext_entity {
	u64 dsq_vtime;
	u64 slice;
	u32 weight;
} KERNEL_TYPE;

struct task_struct {
	int pid;
	int tgid;
	u32 flags;
	u32 __state;
	u32 self_exec_id;
	u64 start_time;
	int static_prio;
	u64 utime;
	u32 policy;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr; /* cpus_mask, or a CPU that it must not leave now */
	struct cpumask cpus_mask;
	char comm[16];
	struct sched_ext_entity scx;
} KERNEL_TYPE;

struct scx_init_task_args {
	bool fork;
} KERNEL_TYPE;

struct scx_exit_task_args;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	const char *msg;
	char *dump;
} KERNEL_TYPE;

/* Members are matched by name: those that the user side sets come first here, where it finds them
 * (see load.rs). */
struct sched_ext_ops {
	u64 flags;
	u64 hotplug_seq;
	u32 timeout_ms;
	u32 exit_dump_len;
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	char name[128];
};

#define PF_KTHREAD 0x00200000
#define TASK_DEAD 0x80
#define SCHED_IDLE 5
#define NICE_0_PRIO 120

/* Values that the kernel may renumber are taken from its BTF when the program is loaded. */
enum scx_enq_flags {
	SCX_ENQ_WAKEUP = 1,
	SCX_ENQ_HEAD = 16,
	SCX_ENQ_CPU_SELECTED = 1024,
	SCX_ENQ_PREEMPT = 1ULL << 32
};
enum scx_wake_flags { SCX_WAKE_SYNC = 16 };
enum scx_deq_flags { SCX_DEQ_SLEEP = 1 };
enum scx_kick_flags { SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2 };
enum scx_dsq_id_flags {
	SCX_DSQ_LOCAL = 0x8000000000000002ULL,
	SCX_DSQ_LOCAL_ON = 0xC000000000000000ULL
};
#define ENQ(flag) bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_##flag)
#define WAKE(flag) bpf_core_enum_value(enum scx_wake_flags, SCX_WAKE_##flag)
#define DEQ(flag) bpf_core_enum_value(enum scx_deq_flags, SCX_DEQ_##flag)
#define KICK(flag) bpf_core_enum_value(enum scx_kick_flags, SCX_KICK_##flag)
#define LOCAL bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_LOCAL)
#define LOCAL_ON bpf_core_enum_value(enum scx_dsq_id_flags, SCX_DSQ_LOCAL_ON)

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
			   bool *is_idle) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
bool scx_bpf_task_running(const struct task_struct *p) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
		      u64 enq_flags) __ksym;
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

/* 6.19: returns whether it could. To go when 6.18 is no longer supported. */
/* (The loader drops the last ___ and what follows from a name; the kernel's own name ends in
 * ___v2.) */
bool scx_bpf_dsq_insert___v2___returns(struct task_struct *p, u64 dsq_id, u64 slice,
				       u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___plain(struct task_struct *p, u64 dsq_id, u64 slice,
				u64 enq_flags) __ksym __weak;

static __always_inline void dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___returns))
		scx_bpf_dsq_insert___v2___returns(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dsq_insert___plain(p, dsq_id, slice, enq_flags);
}

/* 6.19: arguments in a struct; the old form goes some versions later. To go when 6.18 is no longer
 * supported. */
struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
} KERNEL_TYPE;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p,
				struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
			      u64 enq_flags) __ksym __weak;

static __always_inline void dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice,
					     u64 vtime, u64 enq_flags)
{
	if (bpf_ksym_exists(__scx_bpf_dsq_insert_vtime)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq_id,
			.slice = slice,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};
		__scx_bpf_dsq_insert_vtime(p, &args);
	} else {
		scx_bpf_dsq_insert_vtime(p, dsq_id, slice, vtime, enq_flags);
	}
}

/* 7.1: takes flags. To go when 7.0 is no longer supported. */
bool scx_bpf_dsq_move_to_local___v2___flags(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___plain(u64 dsq_id) __ksym __weak;

static __always_inline bool dsq_move_to_local(u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___flags))
		return scx_bpf_dsq_move_to_local___v2___flags(dsq_id, 0);
	return scx_bpf_dsq_move_to_local___plain(dsq_id);
}

/* 6.19: no direct writes. To go when 6.18 is no longer supported. */
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;

static __always_inline void task_set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

#endif
