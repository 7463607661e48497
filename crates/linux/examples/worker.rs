//! Programs whose progress can be told, for the tests and benchmarks of whoever places threads.
//!
//! - `worker spin N MS`: N threads that work for MS; prints how many units of work each has done, one a line;
//! - `worker paced MS`: a thread whose unit of work takes a millisecond on any core, like a program that waits for memory: its speedup
//!   factor is 1; prints its units;
//! - `worker barrier N ROUNDS UNITS`: N threads that work for UNITS each and then wait for each other, ROUNDS times; prints
//!   milliseconds;
//! - `worker crowd N MS`: N threads, each at work for 200 us of every 20 ms, for MS;
//! - `worker births N MS`: a thread every MS, N times, each of which works for 30 ms;
//! - `worker mask CPUS MS`: a thread that binds itself to these CPUs, works for MS, and prints the CPUs that it may use then;
//! - `worker forever`: a thread that works until it is killed.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Some 20 us.
fn unit() {
    let mut x = 1_u32;
    for _ in 0..10_000 {
        x = black_box(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    }
}

fn work(time: Duration) -> u64 {
    let began = Instant::now();
    let mut units = 0;
    while began.elapsed() < time {
        unit();
        units += 1;
    }
    units
}

fn spin(threads: usize, time: Duration) {
    let go = Barrier::new(threads);
    let stop = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        let one = || {
            go.wait();
            let mut units = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                unit();
                units += 1;
            }
            units
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
    });
    for units in done {
        println!("{units}");
    }
}

fn paced(time: Duration) {
    let end = Instant::now() + time;
    let mut units = 0_u64;
    let mut next = Instant::now();
    while next < end {
        next = Instant::now() + Duration::from_millis(1);
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        units += 1;
    }
    println!("{units}");
}

fn barrier(threads: usize, rounds: u32, units: u32) {
    let barrier = Barrier::new(threads);
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    (0..units).for_each(|_| unit());
                    barrier.wait();
                }
            });
        }
    });
    println!("{:.1}", began.elapsed().as_secs_f64() * 1e3);
}

fn crowd(threads: usize, time: Duration) {
    let end = Instant::now() + time;
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while Instant::now() < end {
                    work(Duration::from_micros(200));
                    thread::sleep(Duration::from_micros(19_800));
                }
            });
        }
    });
}

fn births(threads: usize, pause: Duration) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(Duration::from_millis(30)));
            thread::sleep(pause);
        }
    });
}

fn mask(cpus: &str, time: Duration) -> Result<(), Box<dyn Error>> {
    let mut set = CpuSet::new();
    for cpu in cpus.split(',') {
        set.set(cpu.parse()?);
    }
    // Placed first, so that what is chosen is not what was given.
    work(time);
    sched_setaffinity(None, &set)?;
    work(time);
    let now = sched_getaffinity(None)?;
    let list: Vec<String> = (0..CpuSet::MAX_CPU).filter(|&cpu| now.is_set(cpu)).map(|cpu| cpu.to_string()).collect();
    println!("{}", list.join(","));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ms = |text: &str| text.parse().map(Duration::from_millis);
    match words[..] {
        ["spin", threads, time] => spin(threads.parse()?, ms(time)?),
        ["paced", time] => paced(ms(time)?),
        ["barrier", threads, rounds, units] => barrier(threads.parse()?, rounds.parse()?, units.parse()?),
        ["crowd", threads, time] => crowd(threads.parse()?, ms(time)?),
        ["births", threads, pause] => births(threads.parse()?, ms(pause)?),
        ["mask", cpus, time] => mask(cpus, ms(time)?)?,
        ["forever"] => drop(work(Duration::MAX)),
        _ => return Err("usage: see the head of worker.rs".into()),
    }
    Ok(())
}
