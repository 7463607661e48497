//! Where threads run: thread n of a team on the n-th CPU of the set-up.
//!
//! A thread is bound when it comes to a region, and keeps its place between regions. What it starts
//! meanwhile must not inherit that: before it starts a thread or a program its mask is given back
//! ([`release`]), and what asks for the mask is told the one from before. A program that sets masks
//! itself knows better: all threads are given theirs back, for good.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use crate::layout::{MAX_CPUS, Note};
use crate::process;
use crate::sys::{self, Mask};

thread_local! {
    /// The mask from before, where this thread is bound.
    static BEFORE: Cell<Option<Mask>> = const { Cell::new(None) };
    /// The CPU that it is bound to, by place in the set-up, and one more; zero where it is not.
    static BOUND: Cell<u32> = const { Cell::new(0) };
}

static GIVEN_UP: AtomicBool = AtomicBool::new(false);
/// Threads that are bound, by place; zero where none is.
static THREADS: [AtomicI32; MAX_CPUS] = [const { AtomicI32::new(0) }; MAX_CPUS];
/// The mask that the first of them had.
static ORIGINAL: [AtomicU64; sys::MASK_WORDS] = [const { AtomicU64::new(0) }; sys::MASK_WORDS];

/// Kind of core that is not known.
pub const NO_KIND: u8 = u8::MAX;

/// Puts this thread where thread `n` belongs.
#[inline]
pub fn put(n: u32) {
    if BOUND.get() != n + 1 && process::setup().places != 0 && !GIVEN_UP.load(Ordering::Relaxed) {
        bind(n);
    }
}

/// The kind of core that this thread, the n-th of its team, is on.
pub fn kind(n: u32) -> u8 {
    if BOUND.get() == n + 1 && !GIVEN_UP.load(Ordering::Relaxed) {
        return process::setup().cpu[n as usize].kind as u8;
    }
    seen()
}

#[cold]
fn bind(n: u32) {
    let setup = process::setup();
    if n >= setup.cpus {
        return;
    }
    let before = BEFORE.get().or_else(|| sys::affinity(0));
    let number = setup.cpu[n as usize].number as usize;
    let mut mask = [0; sys::MASK_WORDS];
    mask[number / 64] = 1 << (number % 64);
    let Some(before) = before else { return };
    if before[number / 64] & mask[number / 64] == 0 || !sys::set_affinity(0, &mask) {
        return;
    }
    for (word, of) in ORIGINAL.iter().zip(before) {
        word.fetch_or(of, Ordering::Relaxed);
    }
    BEFORE.set(Some(before));
    BOUND.set(n + 1);
    THREADS[n as usize].store(sys::thread_id(), Ordering::Relaxed);
}

/// The kind of the CPUs in this thread's own mask, where they are all of one.
fn seen() -> u8 {
    let Some(mask) = sys::affinity(0) else { return NO_KIND };
    let setup = process::setup();
    let mut kind = NO_KIND;
    for cpu in &setup.cpu[..setup.cpus as usize] {
        let number = cpu.number as usize;
        if mask[number / 64] >> (number % 64) & 1 == 0 {
            continue;
        }
        if kind != NO_KIND && kind != cpu.kind as u8 {
            return NO_KIND;
        }
        kind = cpu.kind as u8;
    }
    kind
}

/// Gives this thread its mask back, until it comes to a region again.
pub extern "C" fn release() {
    if BOUND.get() == 0 {
        return;
    }
    BOUND.set(0);
    if let Some(before) = BEFORE.take() {
        sys::set_affinity(0, &before);
    }
}

/// The mask that this thread had, where it is bound.
pub fn before(thread: c_int) -> Option<Mask> {
    let is_own = thread == 0 || thread == sys::thread_id();
    let is_bound = is_own && BOUND.get() != 0 && !GIVEN_UP.load(Ordering::Relaxed);
    if is_bound { BEFORE.get() } else { None }
}

/// Gives all threads their masks back for good: something else places them.
#[cold]
pub fn give_up() {
    if GIVEN_UP.swap(true, Ordering::Relaxed) || !process::is_on() {
        return;
    }
    process::note(Note::OwnAffinity);
    // An instance at work keeps the shares that it has; the next one is the runtime's.
    process::end();
    let mask: Mask = std::array::from_fn(|word| ORIGINAL[word].load(Ordering::Relaxed));
    for thread in &THREADS {
        let thread = thread.swap(0, Ordering::Relaxed);
        if thread != 0 {
            sys::set_affinity(thread, &mask);
        }
    }
}
