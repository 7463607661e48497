//! The stacks of workers, which grow where waits nest. README.md, "Waiting on top of waiting".

/// Bytes of a worker's stack, and of each that is added. Who waits does other work meanwhile, on the same stack: so more than the customary 2 MiB.
pub const BYTES: usize = 8 << 20;
/// What is to be left of it where other work begins.
const LEFT: usize = BYTES / 2;

/// Calls `f` with as much stack as any task has: on this one if enough is left, else on one more.
#[inline]
pub fn with_enough<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(LEFT, BYTES, f)
}
