//! Functions of C with their data, as closures.
#![expect(unsafe_code, reason = "functions of C are called with what their caller gave")]

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use crate::error::{Error, check, given};

/// A function of yours with its data. It returns 0 for success.
pub type Function = Option<unsafe extern "C" fn(data: *mut c_void) -> c_int>;
/// Gives back data that is not needed any more: free() is one.
pub type Release = Option<unsafe extern "C" fn(data: *mut c_void)>;

type Run = unsafe extern "C" fn(data: *mut c_void) -> c_int;

/// The data of a function. It goes with the function to any thread, as the header says.
#[derive(Clone, Copy)]
pub struct Data(pub *mut c_void);

// SAFETY: the caller's promise, see above.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

impl Data {
    /// The pointer as it was given. It is a method, so that closures capture all of this and not
    /// its field alone.
    pub const fn pointer(self) -> *mut c_void {
        self.0
    }
}

/// Takes closures of any type.
pub trait Sink {
    /// Takes a closure.
    fn put(self, closure: impl Fn() + Send + Sync + 'static);
}

/// Data that is released when it is dropped, even if its function was never called.
struct Owned {
    data: Data,
    release: Release,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: a function of the caller, with its data, which no other code uses any more.
            unsafe { release(self.data.pointer()) };
        }
    }
}

impl Owned {
    const fn pointer(&self) -> *mut c_void {
        self.data.pointer()
    }
}

/// Puts a function with its data into a sink. If that fails, the data has been released.
#[inline]
pub fn put_owned(
    sink: Result<impl Sink, Error>,
    run: Function,
    data: *mut c_void,
    release: Release,
) -> Result<(), Error> {
    let owned = Owned { data: Data(data), release };
    let (run, sink) = (given(run, "run")?, sink?);
    // SAFETY: a function of the caller, with its data, which has not been released.
    sink.put(move || check(unsafe { run(owned.pointer()) }));
    Ok(())
}

/// Bytes with the greatest alignment of C.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Bytes<const N: usize>([MaybeUninit<u8>; N]);

/// A copy of data, in place (`Copied<Bytes<N>>`), or on the heap if it is large
/// (`Box<Copied<[…]>>`).
#[repr(transparent)]
struct Copied<B: ?Sized>(UnsafeCell<B>);

// SAFETY: as `Data`.
unsafe impl<B: ?Sized> Send for Copied<B> {}
// SAFETY: as `Data`; one thread at a time calls its function.
unsafe impl<B: ?Sized> Sync for Copied<B> {}

impl<B: ?Sized> Copied<B> {
    const fn pointer(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

/// Puts a function with a copy of `size` bytes into a sink.
#[inline]
pub fn put_copy(
    sink: Result<impl Sink, Error>,
    run: Function,
    data: *const c_void,
    size: usize,
) -> Result<(), Error> {
    let (run, sink) = (given(run, "run")?, sink?);
    if size > 0 && data.is_null() {
        return Err(Error::Null("data"));
    }
    // With what precedes it, each size fills a block of the runtime (crates/runtime, arena.rs).
    match size {
        0..=32 => put_in_place::<32>(sink, run, data, size),
        33..=96 => put_in_place::<96>(sink, run, data, size),
        97..=160 => put_in_place::<160>(sink, run, data, size),
        _ => {
            let copy: Box<[Copied<Bytes<16>>]> = (0..size.div_ceil(16))
                .map(|_| Copied(UnsafeCell::new(Bytes([MaybeUninit::uninit(); 16]))))
                .collect();
            // SAFETY: the caller's bytes, and at least as many of ours.
            unsafe { copy[0].pointer().copy_from_nonoverlapping(data, size) };
            // SAFETY: a function of the caller, with the copy of its data.
            sink.put(move || check(unsafe { run(copy[0].pointer()) }));
        }
    }
    Ok(())
}

#[inline]
fn put_in_place<const N: usize>(sink: impl Sink, run: Run, data: *const c_void, size: usize) {
    let mut bytes = Bytes([MaybeUninit::uninit(); N]);
    // SAFETY: the caller's bytes, and at least as many of ours.
    unsafe { bytes.0.as_mut_ptr().cast::<c_void>().copy_from_nonoverlapping(data, size) };
    let copy = Copied(UnsafeCell::new(bytes));
    // SAFETY: a function of the caller, with the copy of its data.
    sink.put(move || check(unsafe { run(copy.pointer()) }));
}
