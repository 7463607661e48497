//! The memory that the kernel side and this process share: `src/bpf/shared.h`, field by field.
//!
//! Everything is atomic and relaxed: either side writes while the other reads. What needs an order
//! says so where it is used.

#![allow(unsafe_code)]
// Fields are explained in shared.h. Where that has `s32` for a CPU it is a `Word` here: NONE has
// the same bits in both.
#![allow(missing_docs)]

use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// CPUs that there is room for.
pub const MAX_CPUS: usize = 256;
const CPU_WORDS: usize = MAX_CPUS / 64;
/// Queues that a policy may make.
pub const MAX_QUEUES: usize = 512;
const MAX_KINDS: usize = 8;
/// Tiers of a CPU.
pub const MAX_TIERS: usize = 16;
/// Queues whose threads may be a CPU's guests.
pub const MAX_GUEST_QUEUES: usize = 8;
/// Entries of all tiers of a CPU together.
pub const MAX_TIER_ENTRIES: usize = 512;
/// Commands that can be given at a time.
pub const MAX_COMMANDS: usize = 4096;
const COMM_LEN: usize = 16;

/// No slot, no CPU, no queue.
pub const NONE: u32 = u32::MAX;
/// Fractional bits of a rate.
pub const RATE_SHIFT: u32 = 24;
/// Slot without a thread: directives of threads whose parent has no slot.
pub const TEMPLATE_SLOT: u32 = 0;

/// States of a thread.
pub mod state {
    pub const READY: u32 = 0;
    pub const RUNNING: u32 = 1;
    pub const BLOCKED: u32 = 2;
    pub const EXITED: u32 = 3;
}

/// Which of those that arrive in a queue preempt.
pub mod preempts {
    pub const NEVER: u32 = 0;
    pub const NOT_SYNCHRONOUS: u32 = 1;
    pub const ALWAYS: u32 = 2;
}

/// Bits of `pending`.
pub mod pending {
    pub const STARTED: u32 = 1;
    pub const EXITED: u32 = 1 << 1;
    pub const ENDED: u32 = 1 << 2;
    pub const WOKE: u32 = 1 << 3;
    pub const BLOCKED: u32 = 1 << 4;
    pub const PICKED: u32 = 1 << 5;
    pub const SLICE_USED: u32 = 1 << 6;
    pub const EXEC: u32 = 1 << 7;
    pub const RENICED: u32 = 1 << 8;
    pub const AFFINITY: u32 = 1 << 9;
    /// Of `rings_for` and `unseen` only.
    pub const CORE_IDLE: u32 = 1 << 31;
    pub const OVER: u32 = 1 << 30;
    /// What a policy that is quiet must be asked after ([`evenkeel_policy::Policy::quiet_until`]):
    /// all but threads taking turns.
    pub const CHANGES: u32 = STARTED | EXITED | ENDED | WOKE | BLOCKED | EXEC | RENICED | AFFINITY;
}

/// Rules of order.
pub mod rule {
    pub const VIRTUAL_TIME: u32 = 0;
    pub const DEADLINE: u32 = 1;
    pub const FIXED: u32 = 2;
    pub const ARRIVAL: u32 = 3;
}

/// Where a virtual time starts.
pub mod start {
    pub const KEEP: u32 = 0;
    pub const FLOOR: u32 = 1;
    pub const AT: u32 = 2;
}

/// Commands.
pub mod command {
    pub const REQUEUE: u32 = 0;
    pub const SWAP: u32 = 1;
    pub const MOVE: u32 = 2;
    pub const PREEMPT: u32 = 3;
    pub const MAKE_QUEUE: u32 = 4;
}

type Word = AtomicU32;
type Long = AtomicU64;
/// A bit per CPU.
pub type Mask = [Long; CPU_WORDS];

/// A thread.
#[repr(C)]
pub struct Slot {
    pub tid: AtomicI32,
    pub process: AtomicI32,
    pub parent_slot: Word,
    pub nice: AtomicI32,
    pub started_at: Long,
    pub kernel_start_time: Long,
    pub comm: [AtomicU8; COMM_LEN],
    pub exec_id: Word,
    pub restricted: Word,
    pub affinity: Mask,
    pub allowed: Mask,
    pub pending: Word,
    pub sequence: Word,
    pub state: Word,
    pub cpu: Word,
    pub queue_id: Word,
    pub in_grace: Word,
    pub state_since: Long,
    pub charged_until: Long,
    pub virtual_time: Long,
    pub waiting: Long,
    pub blocked: Long,
    pub runs: Long,
    pub wakes: Long,
    pub migrations: Long,
    pub blocked_at: Long,
    pub woke_at: Long,
    pub time_on: [Long; MAX_KINDS],
    pub instructions: [Long; MAX_KINDS],
    pub counted_on: [Long; MAX_KINDS],
    pub key: Long,
    pub slice_granted: Long,
    pub slice_used: Long,
    pub slice_left_share: Long,
    pub user_time: Long,
    pub target_expires_at: Long,
    pub target_cpu: Word,
    pub partner_slot: Word,
    pub waits_in_dsq: Word,
    pub queued_weight: Word,
    pub woken: Word,
    pub claimed_cpu: Word,
    pub applied_queue_generation: Word,
    pub applied_order_generation: Word,
    pub resumes_here: Word,
    pub woken_synchronously: Word,
    pub batch_position: Word,
    pub counted_new_in: Word,
    pub directed_queue_id: Word,
    pub queue_generation: Word,
    pub order_generation: Word,
    pub rule: Word,
    pub start: Word,
    pub weight: Word,
    pub start_virtual_time: Long,
    pub directed_key: Long,
    pub step: Long,
    pub postpone: [Long; 3],
    pub rate: [Long; MAX_KINDS],
    pub slice: [Long; MAX_KINDS],
    pub divided_to: Long,
    pub carry: Word,
    pub batch: Word,
}

/// A queue of the policy.
#[repr(C)]
pub struct Queue {
    pub floor: Long,
    pub weight_waiting: Long,
    pub key_bound: Long,
    pub last_arrival_at: Long,
    pub arriving: [Long; 2],
    pub new_arrivals: Long,
    pub sleeper_credit: Long,
    pub preemption_margin: Long,
    pub preempts: Word,
    pub own_clock: Word,
    pub postpones: Word,
    pub preferred_count: Word,
    pub serving_cpus: Mask,
    pub first_tier_cpus: Mask,
    pub preferred_cpus: [AtomicU16; MAX_CPUS],
}

/// A CPU.
#[repr(C)]
pub struct CpuCtx {
    pub running_slot: Word,
    pub last_slot: Word,
    pub running_since: Long,
    pub idles: Long,
    pub switches: Long,
    pub busy: Long,
    pub instructions_counted: Long,
    pub scanned_first_key: Long,
    pub idle: Word,
    pub local_dsq_turn: Word,
    pub scanned_tid: Word,
    pub to_displace: Word,
    pub displaced: Word,
    pub claimed: Word,
    pub is_used: Word,
    pub kind: Word,
    pub sibling: Word,
    pub cluster: Word,
    pub adopts_queue_id: Word,
    pub tier_count: Word,
    pub guest_queue_count: Word,
    pub guest_tid: Word,
    pub behind: Long,
    pub guest_queue_ids: [AtomicU16; MAX_GUEST_QUEUES],
    pub tier_end: [AtomicU16; MAX_TIERS],
    pub tier_by_load: [AtomicU8; MAX_TIERS],
    pub tier_queue_ids: [AtomicU16; MAX_TIER_ENTRIES],
}

fn copy_long(to: &Long, from: &Long) {
    to.store(from.load(Relaxed), Relaxed);
}

fn copy_word(to: &Word, from: &Word) {
    to.store(from.load(Relaxed), Relaxed);
}

impl Queue {
    /// What this side has written, and the clock, of a queue of another kernel side.
    pub fn take_over(&self, from: &Self) {
        let longs = [
            (&self.floor, &from.floor),
            (&self.sleeper_credit, &from.sleeper_credit),
            (&self.preemption_margin, &from.preemption_margin),
        ];
        longs.iter().for_each(|(to, from)| copy_long(to, from));
        let words = [
            (&self.preempts, &from.preempts),
            (&self.own_clock, &from.own_clock),
            (&self.postpones, &from.postpones),
            (&self.preferred_count, &from.preferred_count),
        ];
        words.iter().for_each(|(to, from)| copy_word(to, from));
        self.serving_cpus.iter().zip(&from.serving_cpus).for_each(|(to, from)| copy_long(to, from));
        self.first_tier_cpus
            .iter()
            .zip(&from.first_tier_cpus)
            .for_each(|(to, from)| copy_long(to, from));
        self.preferred_cpus
            .iter()
            .zip(&from.preferred_cpus)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    }
}

impl CpuCtx {
    /// What this side has written, and what has been counted, of a CPU of another kernel side.
    pub fn take_over(&self, from: &Self) {
        copy_long(&self.busy, &from.busy);
        copy_long(&self.switches, &from.switches);
        copy_long(&self.behind, &from.behind);
        let words = [
            (&self.is_used, &from.is_used),
            (&self.adopts_queue_id, &from.adopts_queue_id),
            (&self.tier_count, &from.tier_count),
            (&self.guest_queue_count, &from.guest_queue_count),
        ];
        words.iter().for_each(|(to, from)| copy_word(to, from));
        self.guest_queue_ids
            .iter()
            .zip(&from.guest_queue_ids)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        self.tier_end
            .iter()
            .zip(&from.tier_end)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        self.tier_by_load
            .iter()
            .zip(&from.tier_by_load)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        self.tier_queue_ids
            .iter()
            .zip(&from.tier_queue_ids)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    }
}

/// A command.
#[repr(C)]
pub struct Command {
    pub kind: Word,
    pub slot_index: Word,
    pub operand: Word,
    pub done: Word,
}

/// One for all.
#[repr(C)]
pub struct Globals {
    pub heartbeat: Long,
    pub slots_freed: Long,
    pub half_tick_ns: Long,
    pub event_mask: Word,
    pub wake_mask: Word,
    pub asleep: Word,
    pub command_count: Word,
    pub tracks_queue_weights: Word,
    pub own_process: Word,
    pub slot_count: Word,
    pub queue_count: Word,
    pub cpu_count: Word,
    pub unseen: Word,
    pub machine: Mask,
    pub slots_taken: Long,
    pub slotless: Long,
    pub dropped_events: Long,
    pub waiting_locally: Long,
    pub idle: Mask,
}

/// Why the kernel has ended it.
#[repr(C)]
pub struct ExitInfo {
    pub code: AtomicI64,
    pub kind: Word,
    pub padding: Word,
    pub reason: [AtomicU8; 128],
    pub message: [AtomicU8; 1024],
    pub dump: [AtomicU8; 32768],
}

/// Types of which any bytes are a value, and which may be written from outside at any time.
///
/// # Safety
/// `repr(C)`, with no fields but atomic integers and arrays of them.
pub unsafe trait Plain {}
// SAFETY: `repr(C)`, and each field is an atomic integer or an array of them.
unsafe impl Plain for Slot {}
// SAFETY: as for `Slot`.
unsafe impl Plain for Queue {}
// SAFETY: as for `Slot`.
unsafe impl Plain for CpuCtx {}
// SAFETY: as for `Slot`.
unsafe impl Plain for Command {}
// SAFETY: as for `Slot`.
unsafe impl Plain for Globals {}
// SAFETY: as for `Slot`.
unsafe impl Plain for ExitInfo {}
// SAFETY: one atomic integer. The kernel rounds the size of an array's values up to eight bytes,
// which is this one's.
unsafe impl Plain for Long {}

/// An array map of the kernel's, mapped.
pub struct Shared<T> {
    start: NonNull<T>,
    count: usize,
    bytes: usize,
}

// SAFETY: the mapping lives as long as this, and T is `Sync`, so that any thread may use it.
unsafe impl<T: Plain + Sync> Send for Shared<T> {}

impl<T: Plain> Shared<T> {
    /// Maps a map of `count` values, which must be made with BPF_F_MMAPABLE.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn map(map: impl AsFd, count: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let bytes = (count * size_of::<T>()).div_ceil(page) * page;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, map, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, count, bytes })
    }
}

impl<T: Plain> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `map` has mapped `count` values, page-aligned, until `drop`. T is atomics, so
        // that the kernel may write meanwhile.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: `map` has mapped it, and no reference into it outlives this. If it fails, the
        // mapping stays, which does no harm.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Text up to the first zero byte.
pub fn text(bytes: &[AtomicU8]) -> String {
    let bytes: Vec<u8> =
        bytes.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
