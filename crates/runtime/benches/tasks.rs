//! What a task, a join and a loop cost, beside rayon in the same run. Prints a table; medians
//! count.
//!
//! `flock -x /tmp/quiet cargo bench -p evenkeel-runtime --bench tasks [--
//! NAME]`. The cases take turns, so that a noisy neighbour hits all alike.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Instant;

use evenkeel_runtime::{Handle, Pool};

/// How often each case runs.
const ROUNDS: usize = 15;
const TASKS: usize = 1_000_000;
const FIB: u64 = 30;
/// Joins that `fib(FIB)` makes: fib(n + 1) - 1.
const JOINS: usize = 1_346_268;
const OPTIONS: usize = 4_000_000;

struct Case<'a> {
    name: &'static str,
    /// What the time is divided by.
    units: usize,
    run: Box<dyn Fn() + 'a>,
}

fn fib(pool: &Pool, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = pool.join(|| fib(pool, n - 1), || fib(pool, n - 2));
    a + b
}

fn fib_rayon(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib_rayon(n - 1), || fib_rayon(n - 2));
    a + b
}

/// Some twenty nanoseconds of arithmetic.
fn price(i: usize) -> f64 {
    let x = 0.5 + i as f64 * 1e-7;
    (x.ln() + 0.02 * x).exp() / (1.0 + x * x).sqrt()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    let pool = Pool::new().unwrap();
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(pool.workers()).build().unwrap();
    let (pool, rayon) = (&pool, &rayon);
    let handles: Vec<_> = (0..1_000).map(|_| Handle::new()).collect();
    let chains = RefCell::new(pool.record(|g| {
        (0..1_000).for_each(|_| {
            handles.iter().for_each(|it| g.task().updates(it).run(|| _ = black_box(0)))
        });
    }));
    let alone =
        RefCell::new(pool.record(|g| (0..TASKS).for_each(|_| g.task().run(|| _ = black_box(0)))));
    let mut prices = vec![0.0; OPTIONS];
    let slots = prices.as_mut_ptr() as usize;
    let slot = move |i: usize| (slots as *mut f64).wrapping_add(i) as usize;
    let cases = [
        Case {
            name: "independent",
            units: TASKS,
            run: Box::new(|| {
                pool.scope(|s| (0..TASKS).for_each(|i| s.spawn(move || _ = black_box(i))))
            }),
        },
        Case {
            name: "independent, rayon",
            units: TASKS,
            run: Box::new(|| {
                rayon.scope(|s| (0..TASKS).for_each(|i| s.spawn(move |_| _ = black_box(i))))
            }),
        },
        Case {
            name: "chains: 1,000 of 1,000, step by step",
            units: TASKS,
            run: Box::new(|| {
                pool.scope(|s| {
                    (0..1_000).for_each(|_| {
                        handles.iter().for_each(|it| s.task().updates(it).run(|| _ = black_box(0)))
                    });
                });
            }),
        },
        Case {
            name: "chains: 1,000 of 1,000, one by one",
            units: TASKS,
            run: Box::new(|| {
                pool.scope(|s| {
                    handles.iter().for_each(|it| {
                        (0..1_000).for_each(|_| s.task().updates(it).run(|| _ = black_box(0)))
                    });
                });
            }),
        },
        Case {
            name: "chains, recorded, run again",
            units: TASKS,
            run: Box::new(|| chains.borrow_mut().run()),
        },
        Case {
            name: "independent, recorded, run again",
            units: TASKS,
            run: Box::new(|| alone.borrow_mut().run()),
        },
        Case {
            name: "fib(30), per join",
            units: JOINS,
            run: Box::new(|| _ = black_box(pool.run(|| fib(pool, FIB)))),
        },
        Case {
            name: "fib(30), per join, rayon",
            units: JOINS,
            run: Box::new(|| _ = black_box(rayon.install(|| fib_rayon(FIB)))),
        },
        Case {
            name: "loop of 4 M",
            units: OPTIONS,
            run: Box::new(|| pool.for_each(0..OPTIONS, |i| _ = black_box((slot(i), price(i))))),
        },
        Case {
            name: "loop of 4 M, rayon",
            units: OPTIONS,
            run: Box::new(|| {
                use rayon::prelude::*;
                rayon.install(|| {
                    (0..OPTIONS).into_par_iter().for_each(|i| _ = black_box((slot(i), price(i))))
                });
            }),
        },
        Case {
            name: "1,000 loops of 1,000, from inside",
            units: 1_000,
            run: Box::new(|| {
                pool.run(|| {
                    (0..1_000)
                        .for_each(|_| pool.for_each(0..1_000, |i: usize| _ = black_box(price(i))))
                });
            }),
        },
        Case {
            name: "1,000 loops of 1,000, from inside, rayon",
            units: 1_000,
            run: Box::new(|| {
                use rayon::prelude::*;
                rayon.install(|| {
                    (0..1_000).for_each(|_| {
                        (0..1_000).into_par_iter().for_each(|i: usize| _ = black_box(price(i)))
                    });
                });
            }),
        },
        Case {
            name: "1,000 calls from outside",
            units: 1_000,
            run: Box::new(|| (0..1_000).for_each(|i| _ = black_box(pool.run(|| i)))),
        },
        Case {
            name: "1,000 calls from outside, rayon",
            units: 1_000,
            run: Box::new(|| (0..1_000).for_each(|i| _ = black_box(rayon.install(|| i)))),
        },
        Case {
            name: "pool made and dropped",
            units: 10,
            run: Box::new(|| {
                (0..10).for_each(|_| drop(Pool::builder().workers(2).build().unwrap()))
            }),
        },
    ];
    let cases: Vec<_> = cases.into_iter().filter(|case| case.name.contains(&only)).collect();
    let mut times = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for (case, times) in cases.iter().zip(&mut times) {
            let start = Instant::now();
            (case.run)();
            times.push(start.elapsed().as_secs_f64() * 1e9 / case.units as f64);
        }
    }
    for (case, times) in cases.iter().zip(times) {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{:45} {:>10.1} ns  (least {least:.1})", case.name, median(times));
    }
}
