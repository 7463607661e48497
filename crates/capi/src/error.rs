//! Errors, and how they get from their origin to the caller.
#![expect(unsafe_code, reason = "functions have their names for C; texts come as pointers")]

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use runtime::PoolError;

/// The return value if evenkeel itself has failed: evenkeel_error() says why.
pub const EVENKEEL_ERROR: c_int = -2147483647;

/// Why a call from C is not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument is missing.
    #[error("{0}: NULL found")]
    Null(&'static str),
    /// An argument is not text.
    #[error("{0}: no UTF-8 text found")]
    NoText(&'static str),
    /// No such pool.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// No such schedule.
    #[error("{0}")]
    Schedule(String),
    /// A task with dependences, on a thread that may not create it.
    #[error(
        "a task with dependences can be created only by the thread that opened its scope \
         (evenkeel_scope_spawn works anywhere)"
    )]
    Thread,
    /// An argument is NULL because an earlier call failed.
    #[error("{}", earlier())]
    Earlier,
    /// The graph is running already.
    #[error("the graph is being run")]
    Running,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The reason of the last failure of a call of this thread that returned EVENKEEL_ERROR, or NULL in
/// place of a pointer. Valid until the next failure; "" if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

fn earlier() -> String {
    let last = LAST.with_borrow(|last| last.to_string_lossy().into_owned());
    if last.is_empty() { "task: NULL found".into() } else { last }
}

fn remember(message: &str) {
    // The message must not contain the end of a C string.
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    LAST.set(message);
}

/// A function of C has failed. This unwinds as the payload of a panic.
struct Failed {
    code: c_int,
    /// The message of evenkeel on the thread of that function, if evenkeel failed there.
    message: Option<CString>,
}

/// Returns if a function of C returned 0; otherwise unwinds to the call that the function was given
/// to.
#[inline]
pub fn check(code: c_int) {
    if code != 0 {
        fail(code);
    }
}

#[cold]
fn fail(code: c_int) -> ! {
    let message = (code == EVENKEEL_ERROR).then(|| LAST.with_borrow(CString::clone));
    resume_unwind(Box::new(Failed { code, message }))
}

/// The entry from C into Rust: no panic leaves it.
pub fn guard(f: impl FnOnce() -> Result<(), Error>) -> c_int {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            remember(&error.to_string());
            EVENKEEL_ERROR
        }
        Err(payload) => unwound(payload),
    }
}

/// As [`guard`], for calls that make something: NULL if they fail.
pub fn guard_new<T>(f: impl FnOnce() -> Result<T, Error>) -> Option<Box<T>> {
    let mut made = None;
    let code = guard(|| {
        made = Some(Box::new(f()?));
        Ok(())
    });
    made.filter(|_| code == 0)
}

#[cold]
fn unwound(payload: Box<dyn Any + Send>) -> c_int {
    match payload.downcast::<Failed>() {
        Ok(failed) => {
            failed.message.into_iter().for_each(|message| LAST.set(message));
            failed.code
        }
        Err(payload) => {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            remember(text.unwrap_or("a panic without a message"));
            EVENKEEL_ERROR
        }
    }
}

/// An argument that must not be NULL.
#[inline]
pub fn given<T>(argument: Option<T>, name: &'static str) -> Result<T, Error> {
    argument.ok_or(Error::Null(name))
}

/// A text of the caller, for the time of the call.
pub fn text<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str, Error> {
    if pointer.is_null() {
        return Err(Error::Null(name));
    }
    // SAFETY: not null, and so a text that ends with a 0, as the header says.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| Error::NoText(name))
}
