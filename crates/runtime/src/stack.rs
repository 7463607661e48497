//! The stacks of workers, which grow if waits nest.
//!
//! A waiting worker does other work on top of what waits, and may have to wait there again. Nothing
//! bounds how often: what was stolen from a waiter may wait, on the thief's stack, below what was
//! stolen from others. (Leapfrogging, Wagner and Calder, PPoPP 1993, bounds it: a waiter takes from
//! its thief only. For that a scope would have to know all that have anything of it; and a wait for
//! a long task would find nothing to do.)
//!
//! So once half of a worker's 8 MiB are used, what is run on top is run on 8 MiB of its own, which
//! go when it has returned. Any job that a waiter begins has 4 MiB at least. It is rare: of up to a
//! million tasks with a scope of two each on two workers, and of 10,000 on four, no more than five
//! were on top of each other.

/// Bytes of a worker's stack, and of each that is added. A waiting worker does other work on the
/// same stack: so more than the customary 2 MiB.
pub const BYTES: usize = 8 << 20;
/// Bytes that are to be left where other work begins.
const LEFT: usize = BYTES / 2;

/// True if too little is left of this stack for other work, as far as the system says.
#[inline]
pub fn is_short() -> bool {
    stacker::remaining_stack().is_some_and(|left| left < LEFT)
}

/// Calls `f` on one more.
#[cold]
#[inline(never)]
pub fn on_another(f: &dyn Fn()) {
    stacker::grow(BYTES, f);
}
