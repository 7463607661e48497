//! A pool after a fork: in the child it panics at once. Alone in its file: a thread that forks
//! should have no other threads that hold a lock.
#![allow(unsafe_code, reason = "what is tested")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use evenkeel_runtime::Pool;

/// What a child's exit code says went wrong.
const WRONG: i32 = 99;

/// Runs `child` in one, which must end within ten seconds; its exit code.
fn forked(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls what this file says, and ends without what follows in the parent.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: SIGALRM ends the child where it waits for ever.
            unsafe { libc::alarm(10) };
            let code = catch_unwind(AssertUnwindSafe(child)).unwrap_or(WRONG);
            // SAFETY: nothing of the parent's is cleaned up.
            unsafe { libc::_exit(code) }
        }
        id => {
            let mut status = 0;
            // SAFETY: `status` is there to be written to.
            assert_eq!(unsafe { libc::waitpid(id, &raw mut status, 0) }, id);
            assert!(libc::WIFEXITED(status), "the child hung: {status:#x}");
            libc::WEXITSTATUS(status)
        }
    }
}

#[test]
fn a_child_is_told_that_it_has_no_workers_and_may_make_its_own() {
    let pool = Pool::builder().workers(2).build().unwrap();
    let sum = |pool: &Pool| pool.map_reduce(0..1_000_usize, || 0, |a, b| a + b, |a, b| a + b);
    assert_eq!(sum(&pool), 499_500);
    std::panic::set_hook(Box::new(|_| {}));
    let refused = forked(|| {
        let said = |panic: Box<dyn std::any::Any + Send>| {
            panic.downcast::<&str>().map_or(String::new(), |text| text.to_string())
        };
        let of_loop =
            catch_unwind(AssertUnwindSafe(|| sum(&pool))).map_or_else(said, |_| String::new());
        let of_scope = catch_unwind(AssertUnwindSafe(|| pool.scope(|s| s.spawn(|| {}))))
            .map_or_else(said, |()| String::new());
        let told = |text: String| {
            text.contains("made before a fork") && text.contains("make a pool of its own")
        };
        if told(of_loop) && told(of_scope) { 3 } else { WRONG }
    });
    assert_eq!(refused, 3);
    let own = forked(|| {
        if sum(&Pool::builder().workers(2).build().unwrap()) == 499_500 { 4 } else { WRONG }
    });
    assert_eq!(own, 4);
    assert_eq!(sum(&pool), 499_500, "the parent's is as it was");
    // Dropping it in a child says and waits for nothing.
    let mut pool = Some(pool);
    let dropped = forked(|| {
        drop(pool.take());
        5
    });
    assert_eq!(dropped, 5);
}
