//! What tasks read and write.
#![expect(unsafe_code, reason = "functions have their names for C")]

use crate::error::guard_new;

/// A resource that tasks read and write; what it stands for is up to you. Several scopes and
/// threads may use it at once. It may be dropped as soon as all tasks that name it have been
/// created.
pub struct Handle(pub(crate) runtime::Handle);

/// Handles for the parts of an array, one per block of elements: parts that share a block conflict.
/// Used as handles otherwise.
pub struct Regions(pub(crate) runtime::Regions);

/// A handle that no task has used.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_handle_new() -> Option<Box<Handle>> {
    guard_new(|| Ok(Handle(runtime::Handle::new())))
}

/// Gives a handle back.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_handle_drop(handle: Option<Box<Handle>>) {
    drop(handle);
}

/// Regions for an array of `len` elements in blocks of `block` (0 counts as 1).
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_regions_new(len: usize, block: usize) -> Option<Box<Regions>> {
    guard_new(|| Ok(Regions(runtime::Regions::new(len, block))))
}

/// Gives regions back.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_regions_drop(regions: Option<Box<Regions>>) {
    drop(regions);
}
