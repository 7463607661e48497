//! The version of the library.
#![expect(unsafe_code, reason = "functions have their names for C")]

use std::ffi::{c_char, c_uint};

/// The binary interface that this header describes. It is raised when a function goes or changes
/// its meaning, not when one is added.
pub const EVENKEEL_ABI: c_uint = 1;

/// The binary interface of the library that is linked: EVENKEEL_ABI of its header.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_abi() -> c_uint {
    EVENKEEL_ABI
}

/// The version of the library that is linked, "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
