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

/// Where tasks are created. Lives while evenkeel_scope_run() does, and may meanwhile be used by all
/// of its tasks on all threads, except for what is said of evenkeel_scope_task().
pub struct Scope {
    /// Of the thread that opened it.
    scope: *const runtime::Scope<'static, 'static>,
    spawner: Spawner<'static>,
    /// See [`this_thread`].
    opener: usize,
    /// Tasks that have been created, to be used again. The opener's.
    #[expect(clippy::vec_box, reason = "C has pointers to them")]
    spare: RefCell<Vec<Box<Task>>>,
}

// SAFETY: what is not Sync is touched by the opener alone: `here` sees to it.
unsafe impl Send for Scope {}
// SAFETY: as above.
unsafe impl Sync for Scope {}

/// Creates tasks.
pub type Body = Option<unsafe extern "C" fn(scope: *const Scope, data: *mut c_void) -> c_int>;

/// Unlike that of any other thread that lives.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl Scope {
    fn new<'scope>(scope: &'scope runtime::Scope<'scope, '_>) -> Self {
        // SAFETY: lifetimes alone. The header says how long a scope may be used: as long as the
        // call that opens it, which keeps what is pointed to.
        let spawner = unsafe { transmute::<Spawner<'scope>, Spawner<'static>>(scope.spawner()) };
        let scope = std::ptr::from_ref(scope).cast();
        Self { scope, spawner, opener: this_thread(), spare: RefCell::default() }
    }

    /// What creates tasks with dependences, for the thread that opened the scope.
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

    /// A task to be used again, if there is one.
    ///
    /// # Errors
    /// This is another thread than that which opened the scope.
    pub(crate) fn spare(&self) -> Result<Option<Box<Task>>, Error> {
        self.here()?;
        Ok(self.spare.borrow_mut().pop())
    }

    /// Keeps a task to be used again. Any thread may give one back; only the opener's are kept.
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

/// Opens a scope and calls `body` with it, on a worker: returns when that has returned and all
/// tasks created meanwhile have ended. Where one of them fails, or `body` does, tasks that have not
/// begun are left out.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_run(pool: Option<&Pool>, body: Body, data: *mut c_void) -> c_int {
    guard(|| {
        let (pool, body, data) = (given(pool, "pool")?, given(body, "body")?, Data(data));
        // Outside of the closure: tasks use it after that has returned.
        let mut scope = None;
        pool.pool.scope(|s| {
            let scope: &Scope = scope.insert(Scope::new(s));
            // SAFETY: a function of the caller's, with its data.
            check(unsafe { body(scope, data.pointer()) });
        });
        Ok(())
    })
}

/// Creates an independent task: it calls `run` with `data`, on any worker, perhaps at once. Then,
/// or when it is left out, or where it cannot be created, `release` is called with `data`, once;
/// NULL: nothing is to be released.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_spawn(
    scope: Option<&Scope>,
    run: Function,
    data: *mut c_void,
    release: Release,
) -> c_int {
    guard(|| put_owned(given(scope, "scope").map(Independent), run, data, release))
}

/// As evenkeel_scope_spawn(), with a copy of the `size` bytes at `data`, which goes with the task:
/// `run` is called with a pointer to it, aligned to 16 bytes. Up to 32 bytes cost next to nothing.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_spawn_copy(
    scope: Option<&Scope>,
    run: Function,
    data: *const c_void,
    size: usize,
) -> c_int {
    guard(|| put_copy(given(scope, "scope").map(Independent), run, data, size))
}

/// Leaves out all tasks that have not begun, and those that are still to be created. No error comes
/// of it.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_cancel(scope: &Scope) {
    scope.spawner.cancel();
}

/// Whether the scope has been cancelled, or one of its tasks has failed: a long task may look, and
/// return early.
#[unsafe(no_mangle)]
pub extern "C" fn evenkeel_scope_is_cancelled(scope: &Scope) -> bool {
    scope.spawner.is_cancelled()
}
