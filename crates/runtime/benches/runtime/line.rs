//! How long a cache line takes from one CPU to another. Where a virtual machine's CPUs are is its
//! host's affair: now they share a cache, now they do not, and whatever is shared out in small
//! pieces is other in one case than in the other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::cases::WORKERS;
use super::system::pin_to;

/// To and fro in a window.
const TRIPS: u32 = 100;
/// The fastest of so many counts: in the others a thread was preempted.
const WINDOWS: u32 = 400;

/// From the first to the last of the workers' CPUs, ns.
pub fn travel() -> f64 {
    let line = crossbeam_utils::CachePadded::new(AtomicU32::new(0));
    let line = &*line;
    // The thread that has it waits until it is even, or odd, and passes it on.
    let wait = |turn: u32| while line.load(Ordering::Acquire) != turn {};
    let pass = |turn: u32| line.store(turn + 1, Ordering::Release);
    std::thread::scope(|scope| {
        // A thread that cannot be where it is to be says so before the other waits for it.
        [0, WORKERS - 1]
            .into_iter()
            .for_each(|cpu| scope.spawn(move || pin_to(cpu)).join().unwrap());
        scope.spawn(move || {
            pin_to(WORKERS - 1);
            for trip in 0..TRIPS * WINDOWS {
                wait(2 * trip + 1);
                pass(2 * trip + 1);
            }
        });
        // A thread of its own, too: this one is not to be kept where it is.
        let first = scope.spawn(move || {
            pin_to(0);
            let mut best = f64::INFINITY;
            for window in 0..WINDOWS {
                let began = Instant::now();
                for trip in window * TRIPS..(window + 1) * TRIPS {
                    pass(2 * trip);
                    wait(2 * trip + 2);
                }
                best = best.min(began.elapsed().as_nanos() as f64 / f64::from(2 * TRIPS));
            }
            best
        });
        first.join().unwrap()
    })
}
