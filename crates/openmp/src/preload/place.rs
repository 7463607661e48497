//! Where threads run: thread n of a team on the n-th CPU of the set-up.
//!
//! A thread is bound when it comes to a region with something to divide. The thread that forks is
//! given its mask back when the region ends, so that serial work, and what it starts, is where it
//! would be without us. The others do nothing between regions, and are given theirs back after some
//! regions with nothing to divide.
//!
//! One process of a user places its threads at a time: two would put theirs on the same cores. A
//! program that sets masks itself knows better, and is left alone from then on.

use std::cell::Cell;
use std::os::fd::IntoRawFd as _;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::layout::Note;
use crate::process;
use crate::sys::{self, Mask};

/// Where this thread is bound.
#[derive(Clone, Copy)]
struct Bound {
    /// Its place in the set-up.
    place: u32,
    /// The mask from before.
    before: Mask,
}

thread_local! {
    static BOUND: Cell<Option<Bound>> = const { Cell::new(None) };
    /// Regions with nothing to divide that this thread has come to since.
    static IDLE: Cell<u32> = const { Cell::new(0) };
}

/// Whether threads are placed.
static PLACES: AtomicBool = AtomicBool::new(false);
/// The file that says so to other processes; below zero where none is held.
static HELD: AtomicI32 = AtomicI32::new(-1);
/// Whether the program sets masks.
static SETS: AtomicBool = AtomicBool::new(false);

/// File beside the library: held by the process that places its threads.
const LOCK: &str = "lock";
/// Variables with which a user places threads.
const PLACED_BY: [&str; 5] =
    ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET"];
/// Regions with nothing to divide, after which a thread gets its mask back. Ours.
const MOST_IDLE: u32 = 64;

/// Kind of core that is not known.
pub const NO_KIND: u8 = u8::MAX;

/// At the first region: whether threads are to be placed.
pub fn begin() {
    let wanted = process::setup().places != 0
        && !SETS.load(Ordering::Relaxed)
        && !PLACED_BY.into_iter().any(process::is_set);
    if !wanted {
        return;
    }
    match process::file(LOCK) {
        Some(lock) if lock.try_lock().is_ok() => {
            // Held to the end of the process.
            HELD.store(lock.into_raw_fd(), Ordering::Relaxed);
            PLACES.store(true, Ordering::Relaxed);
        }
        _ => process::note(Note::Elsewhere),
    }
}

/// In a child of fork: it has no team, and must not hold the lock for longer than its parent lives.
pub fn in_child() {
    leave();
    let held = HELD.swap(-1, Ordering::Relaxed);
    if held >= 0 {
        sys::close(held);
    }
}

/// Whether threads are placed.
pub fn places() -> bool {
    PLACES.load(Ordering::Relaxed)
}

/// Puts this thread where thread `n` belongs.
#[inline]
pub fn put(n: u32) {
    if places() && BOUND.get().is_none_or(|bound| bound.place != n) {
        bind(n);
    }
    IDLE.set(0);
}

#[cold]
fn bind(n: u32) {
    let setup = process::setup();
    if n >= setup.cpus {
        return;
    }
    let before = BOUND.get().map(|bound| bound.before).or_else(|| sys::affinity(0));
    let Some(before) = before else { return };
    let mask = mask_of(n);
    let is_allowed = before.iter().zip(mask).all(|(before, word)| before & word == word);
    if is_allowed && sys::set_affinity(0, &mask) {
        BOUND.set(Some(Bound { place: n, before }));
    }
}

fn mask_of(place: u32) -> Mask {
    let number = process::setup().cpu[place as usize].number as usize;
    let mut mask = [0; sys::MASK_WORDS];
    mask[number / 64] = 1 << (number % 64);
    mask
}

/// This thread comes to a region with nothing to divide.
#[inline]
pub fn put_nowhere() {
    if BOUND.get().is_some() {
        IDLE.set(IDLE.get() + 1);
        if IDLE.get() > MOST_IDLE {
            leave();
        }
    }
}

/// Gives this thread its mask back.
pub fn leave() {
    let Some(bound) = BOUND.take() else { return };
    // Where the program sets masks it may have set this one.
    let is_ours = !SETS.load(Ordering::Relaxed) || sys::affinity(0) == Some(mask_of(bound.place));
    if is_ours {
        sys::set_affinity(0, &bound.before);
    }
}

/// The kind of core that this thread, the n-th of its team, is on; where it is not bound, that of
/// the CPUs in its mask, if they are all of one.
pub fn kind(n: u32) -> u8 {
    let setup = process::setup();
    if BOUND.get().is_some_and(|bound| bound.place == n) {
        return setup.cpu[n as usize].kind as u8;
    }
    let Some(mask) = sys::affinity(0) else { return NO_KIND };
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

/// The program sets a mask. Before its first region that says where its threads are; after it, an
/// instance at work keeps the shares that it has, and the next one is the runtime's.
pub fn give_up() {
    SETS.store(true, Ordering::Relaxed);
    if process::is_on() {
        process::note(Note::OwnAffinity);
        process::end();
    }
}
