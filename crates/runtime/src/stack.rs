//! The stacks of workers, which grow where waits nest. README.md, "Waiting on top of waiting".

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
