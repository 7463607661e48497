//! The memory that the kernel side and this process share: `src/bpf/shared.h`, field by field.
//!
//! Everything is atomic and relaxed: either side writes while the other reads. What needs an order
//! says so where it is used.

#![allow(unsafe_code)]
// Fields are explained in shared.h.
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
pub const MAX_HOSTS: usize = 8;
/// Entries of all tiers of a CPU together.
pub const MAX_SERVED: usize = 512;
/// Commands that can be given at a time.
pub const MAX_COMMANDS: usize = 4096;
const COMM: usize = 16;

/// No slot, no CPU, no queue.
pub const NONE: u32 = u32::MAX;
/// Fractional bits of a rate.
pub const RATE_SHIFT: u32 = 24;
/// Slot of nobody: what threads begin with that no thread of ours has forked.
pub const TEMPLATE: u32 = 0;

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
    /// all but who takes turns with whom.
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
    pub parent: Word,
    pub nice: AtomicI32,
    pub started_at: Long,
    pub born: Long,
    pub comm: [AtomicU8; COMM],
    pub exec_id: Word,
    pub restricted: Word,
    pub affinity: Mask,
    pub allowed: Mask,
    pub pending: Word,
    pub sequence: Word,
    pub state: Word,
    pub cpu: Word,
    pub queue: Word,
    pub grace: Word,
    pub since: Long,
    pub accounted_at: Long,
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
    pub granted: Long,
    pub used: Long,
    pub left: Long,
    pub user_time: Long,
    pub target_until: Long,
    pub target: Word,
    pub partner: Word,
    pub waits_in: Word,
    pub weighs: Word,
    pub woken: Word,
    pub claimed: Word,
    pub seen_queue: Word,
    pub seen_order: Word,
    pub interrupted: Word,
    pub synchronous: Word,
    pub slice_number: Word,
    pub fresh_in: Word,
    pub queue_said: Word,
    pub queue_generation: Word,
    pub order_generation: Word,
    pub rule: Word,
    pub start: Word,
    pub weight: Word,
    pub start_at: Long,
    pub key_said: Long,
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
    pub least: Long,
    pub came_at: Long,
    pub coming: [Long; 2],
    pub fresh: Long,
    pub sleeper: Long,
    pub preemption: Long,
    pub preempts: Word,
    pub own_clock: Word,
    pub postpones: Word,
    pub preferred_count: Word,
    pub served: Mask,
    pub served_first: Mask,
    pub preferred: [AtomicU16; MAX_CPUS],
}

/// A CPU.
#[repr(C)]
pub struct Cpu {
    pub running: Word,
    pub last: Word,
    pub running_since: Long,
    pub idles: Long,
    pub switches: Long,
    pub busy: Long,
    pub counted: Long,
    pub first_key: Long,
    pub idle: Word,
    pub local_turn: Word,
    pub first_tid: Word,
    pub interrupts: Word,
    pub interrupted: Word,
    pub claimed: Word,
    pub used: Word,
    pub kind: Word,
    pub sibling: Word,
    pub cluster: Word,
    pub adopt: Word,
    pub tier_count: Word,
    pub host_count: Word,
    pub guest: Word,
    pub behind: Long,
    pub hosts: [AtomicU16; MAX_HOSTS],
    pub tier_end: [AtomicU16; MAX_TIERS],
    pub tier_by_load: [AtomicU8; MAX_TIERS],
    pub served: [AtomicU16; MAX_SERVED],
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
            (&self.sleeper, &from.sleeper),
            (&self.preemption, &from.preemption),
        ];
        longs.iter().for_each(|(to, from)| copy_long(to, from));
        let words = [
            (&self.preempts, &from.preempts),
            (&self.own_clock, &from.own_clock),
            (&self.postpones, &from.postpones),
            (&self.preferred_count, &from.preferred_count),
        ];
        words.iter().for_each(|(to, from)| copy_word(to, from));
        self.served.iter().zip(&from.served).for_each(|(to, from)| copy_long(to, from));
        self.served_first.iter().zip(&from.served_first).for_each(|(to, from)| copy_long(to, from));
        self.preferred
            .iter()
            .zip(&from.preferred)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    }
}

impl Cpu {
    /// What this side has written, and what has been counted, of a CPU of another kernel side.
    pub fn take_over(&self, from: &Self) {
        copy_long(&self.busy, &from.busy);
        copy_long(&self.switches, &from.switches);
        copy_long(&self.behind, &from.behind);
        let words = [
            (&self.used, &from.used),
            (&self.adopt, &from.adopt),
            (&self.tier_count, &from.tier_count),
            (&self.host_count, &from.host_count),
        ];
        words.iter().for_each(|(to, from)| copy_word(to, from));
        self.hosts
            .iter()
            .zip(&from.hosts)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        self.tier_end
            .iter()
            .zip(&from.tier_end)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        self.tier_by_load
            .iter()
            .zip(&from.tier_by_load)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
        self.served
            .iter()
            .zip(&from.served)
            .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    }
}

/// A command.
#[repr(C)]
pub struct Command {
    pub kind: Word,
    pub slot: Word,
    pub other: Word,
    pub done: Word,
}

/// One for all.
#[repr(C)]
pub struct Board {
    pub heartbeat: Long,
    pub freed: Long,
    pub half_tick: Long,
    pub interest: Word,
    pub rings_for: Word,
    pub asleep: Word,
    pub command_count: Word,
    pub weighs_queues: Word,
    pub own_process: Word,
    pub slot_count: Word,
    pub queue_count: Word,
    pub cpu_count: Word,
    pub unseen: Word,
    pub machine: Mask,
    pub taken: Long,
    pub slotless: Long,
    pub dropped: Long,
    pub waiting_locally: Long,
    pub idle: Mask,
}

/// Why the kernel has ended it.
#[repr(C)]
pub struct LastWords {
    pub code: AtomicI64,
    pub kind: Word,
    pub padding: Word,
    pub reason: [AtomicU8; 128],
    pub message: [AtomicU8; 1024],
    pub dump: [AtomicU8; 32768],
}

/// Types that any bytes are a value of, and that may be written from outside at any time: atomics
/// all through.
///
/// # Safety
/// `repr(C)`, nothing but atomic integers and arrays of them.
pub unsafe trait Plain {}
// SAFETY: see above, each.
unsafe impl Plain for Slot {}
// SAFETY: see above.
unsafe impl Plain for Queue {}
// SAFETY: see above.
unsafe impl Plain for Cpu {}
// SAFETY: see above.
unsafe impl Plain for Command {}
// SAFETY: see above.
unsafe impl Plain for Board {}
// SAFETY: see above.
unsafe impl Plain for LastWords {}
// SAFETY: see above. The kernel rounds the size of an array's values up to eight bytes.
unsafe impl Plain for Long {}

/// An array map of the kernel's, mapped.
pub struct Shared<T> {
    start: NonNull<T>,
    count: usize,
    bytes: usize,
}

// SAFETY: the memory is T's, which are atomics all through and so Sync; the mapping lives as long
// as this.
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
        // SAFETY: mapped for so many, page-aligned, until `drop`; T is atomics, so that others may
        // write meanwhile.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and nobody has a reference any more. If it fails, the mapping
        // stays, which harms nobody.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Text up to the first zero byte.
pub fn text(bytes: &[AtomicU8]) -> String {
    let bytes: Vec<u8> =
        bytes.iter().map(|byte| byte.load(Relaxed)).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
