//! Scopes, and tasks without dependences.
#![expect(
    unsafe_code,
    reason = "functions have their names for C, and call functions of C; lifetimes are the \
              caller's affair"
)]

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

use runtime::Spawner;

use crate::closure::{Data, Function, Release, Sink, put_copy, put_owned};
use crate::error::{Error, check, given, guard};
use crate::pool::Pool;
use crate::task::Task;

/// Creates tasks. It lives during evenkeel_scope_run(), and all of its tasks on all threads may use
/// it meanwhile, except as evenkeel_scope_task() says.
pub struct Scope {
    /// The runtime's scope, for the thread that opened it.
    scope: *const runtime::Scope<'static, 'static>,
    spawner: Spawner<'static>,
    /// See [`this_thread`].
    opener: usize,
    /// Tasks that have been created, for reuse by the thread that opened the scope.
    #[expect(clippy::vec_box, reason = "C has pointers to them")]
    spare: RefCell<Vec<Box<Task>>>,
}

// SAFETY: the opener alone uses what is not Sync: `here` checks that.
unsafe impl Send for Scope {}
// SAFETY: as above.
unsafe impl Sync for Scope {}

/// Creates tasks.
pub type Body = Option<unsafe extern "C" fn(scope: *const Scope, data: *mut c_void) -> c_int>;

/// A number that differs from that of every other living thread.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl Scope {
    fn new<'scope>(scope: &'scope runtime::Scope<'scope, '_>) -> Self {
        // SAFETY: this changes lifetimes alone. The header says how long a scope may be used: as
        // long as the call that opens it, which keeps the target alive.
        let spawner = unsafe { transmute::<Spawner<'scope>, Spawner<'static>>(scope.spawner()) };
        let scope = std::ptr::from_ref(scope).cast();
        Self { scope, spawner, opener: this_thread(), spare: RefCell::default() }
    }

    /// The runtime's scope, which creates tasks with dependences, for the thread that opened it.
    ///
    /// # Errors
    /// This is another thread.
    pub(crate) fn here(&self) -> Result<&runtime::Scope<'static, 'static>, Error> {
        if this_thread() == self.opener {
            // SAFETY: lives as long as the call that opens it: see `new`.
            Ok(unsafe { &*self.scope })
        } else {
            Err(Error::Thread)
        }
    }

    /// A task for reuse, if there is one.
    ///
    /// # Errors
    /// This is another thread than that which opened the scope.
    pub(crate) fn spare(&self) -> Result<Option<Box<Task>>, Error> {
        self.here()?;
        Ok(self.spare.borrow_mut().pop())
    }

    /// Keeps a task for reuse. Any thread may call this; only the opener's tasks are kept.
    pub(crate) fn keep(&self, task: Box<Task>) {
        if self.here().is_ok() {
            self.spare.borrow_mut().push(task);
        }
    }
}

struct Independent<'a>(&'a Scope);

impl Sink for Independent<'_> {
    #[inline]
    fn put(self, closure: impl Fn() + Send + Sync + 'static) {
        self.0.spawner.spawn(closure);
    }
}

/// Opens a scope and calls `body` with it, on a worker. Returns when `body` has returned and all
/// tasks created meanwhile have ended. If one of them or `body` fails, tasks that have not begun
/// are left out.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_run(pool: Option<&Pool>, body: Body, data: *mut c_void) -> c_int {
    guard(|| {
        let (pool, body, data) = (given(pool, "pool")?, given(body, "body")?, Data(data));
        // It is outside of the closure, since tasks use it after the closure has returned.
        let mut scope = None;
        pool.pool.scope(|s| {
            let scope: &Scope = scope.insert(Scope::new(s));
            // SAFETY: a function of the caller, with its data.
            check(unsafe { body(scope, data.pointer()) });
        });
        Ok(())
    })
}

/// Creates an independent task, which calls `run` with `data` on any worker, perhaps at once.
/// `release` is called with `data` once: after that, or when the task is left out, or if it cannot
/// be created. NULL: there is nothing to release.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_spawn(
    scope: Option<&Scope>,
    run: Function,
    data: *mut c_void,
    release: Release,
) -> c_int {
    guard(|| put_owned(given(scope, "scope").map(Independent), run, data, release))
}

/// As evenkeel_scope_spawn(), with a copy of the `size` bytes at `data` that the task owns: `run`
/// is called with a pointer to it, aligned to 16 bytes. Copies of up to 32 bytes are nearly free.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_spawn_copy(
    scope: Option<&Scope>,
    run: Function,
    data: *const c_void,
    size: usize,
) -> c_int {
    guard(|| put_copy(given(scope, "scope").map(Independent), run, data, size))
}

/// Leaves out all tasks that have not begun, and those that are created later. This is no error.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_cancel(scope: &Scope) {
    scope.spawner.cancel();
}

/// True if the scope has been cancelled, or one of its tasks has failed: a long task may check this
/// and return early.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_is_cancelled(scope: &Scope) -> bool {
    scope.spawner.is_cancelled()
}
