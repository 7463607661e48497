//! The stacks of workers, which grow where waits nest. README.md, "Waiting on top of waiting".

/// Bytes of a worker's stack, and of each that is added. Who waits does other work meanwhile, on
/// the same stack: so more than the customary 2 MiB.
pub const BYTES: usize = 8 << 20;
/// What is to be left of it where other work begins.
const LEFT: usize = BYTES / 2;

/// Whether what is left of this one is too little for other work, as far as the system tells.
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
