//! Long tasks that come to the slow half of a pool's workers, while the fast half has short ones:
//! how long it takes, and on which CPUs the long ones were. For cores of several kinds, of
//! `evenkeel vm`, say: `evenkeel vm --cores 2@40+2@10 --with target/release/examples/long_tasks --
//! long_tasks`.
#![allow(clippy::unwrap_used, reason = "an example ends by panicking")]

use std::sync::{Barrier, Mutex};
use std::time::Instant;

use evenkeel_runtime::Pool;

/// Of a long task; a short one has one of these.
const PARTS: usize = 40;

fn part() {
    let mut x = 1_u64;
    for i in 0..1_000_000 {
        x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i));
    }
}

/// The number of the worker that this is called on.
fn here() -> usize {
    let thread = std::thread::current();
    thread.name().and_then(|name| name.strip_prefix("evenkeel-")).unwrap().parse().unwrap()
}

fn main() -> Result<(), evenkeel_runtime::PoolError> {
    for lends in [false, true] {
        let pool = Pool::builder().lend(lends).build()?;
        let workers = pool.workers();
        let (all, long) = (Barrier::new(workers), Mutex::new(Vec::new()));
        let since = Instant::now();
        pool.scope(|s| {
            for _ in 0..workers {
                s.spawn(|| {
                    all.wait();
                    if here() < workers / 2 {
                        return part();
                    }
                    let mut cpus = Vec::new();
                    for _ in 0..PARTS {
                        cpus.push(rustix::thread::sched_getcpu());
                        part();
                    }
                    cpus.dedup();
                    long.lock().unwrap().push((here(), cpus));
                });
            }
        });
        println!("{} {:.2} s", if lends { "lent" } else { "kept" }, since.elapsed().as_secs_f64());
        let mut long = long.into_inner().unwrap();
        long.sort();
        for (worker, cpus) in long {
            println!("worker {worker} on CPUs {cpus:?}");
        }
    }
    Ok(())
}
