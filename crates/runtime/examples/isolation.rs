//! What isolating every wait would cost:
//! `cargo run --release -p evenkeel-runtime --example isolation`.

use std::time::Instant;

use evenkeel_runtime::{Pool, PoolError};

const ROUNDS: usize = 21;

fn main() -> Result<(), PoolError> {
    let pool = Pool::builder().workers(2).build()?;
    pool.run(|| {
        let empty = median((0..2_000).map(|_| timed(|| pool.isolate(|| ()))).collect());
        println!("isolate, by itself: {:.0} ns", empty * 1e9);
    });
    compare("a scope of 8 tasks of 5 us", &pool, |pool, isolated| {
        pool.run(|| {
            (0..100).for_each(|_| {
                waiting(pool, isolated, || pool.scope(|s| (0..8).for_each(|_| s.spawn(|| spin(5)))))
            })
        });
    });
    compare("scopes of 3 tasks, five deep", &pool, |pool, isolated| tree(pool, 5, 1, isolated));
    compare("40 tasks with a scope of 2 uneven tasks each", &pool, |pool, isolated| {
        pool.scope(|s| {
            for i in 0..40 {
                s.spawn(move || {
                    waiting(pool, isolated, || {
                        pool.scope(|s| {
                            s.spawn(|| spin(400));
                            s.spawn(move || spin(100 + i % 5 * 150));
                        });
                    });
                });
            }
        });
    });
    Ok(())
}

fn tree(pool: &Pool, depth: u32, number: u64, isolated: bool) {
    if depth == 0 {
        return spin(20 + number % 7 * 20);
    }
    let children = |i| move || tree(pool, depth - 1, number * 3 + i, isolated);
    waiting(pool, isolated, || pool.scope(|s| (0..3).for_each(|i| s.spawn(children(i)))));
}

fn waiting(pool: &Pool, isolated: bool, f: impl FnOnce() + Send) {
    if isolated { pool.isolate(f) } else { f() }
}

fn compare(what: &str, pool: &Pool, f: impl Fn(&Pool, bool)) {
    let rounds: Vec<_> =
        (0..ROUNDS).map(|_| [false, true].map(|isolated| timed(|| f(pool, isolated)))).collect();
    let ratio = median(rounds.iter().map(|[plain, isolated]| isolated / plain).collect());
    println!("{what}: isolated {ratio:.3} of the time (median of {ROUNDS} pairs)");
}

fn timed(f: impl FnOnce()) -> f64 {
    let began = Instant::now();
    f();
    began.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn spin(micros: u64) {
    let began = Instant::now();
    while began.elapsed().as_micros() < u128::from(micros) {
        std::hint::spin_loop();
    }
}
