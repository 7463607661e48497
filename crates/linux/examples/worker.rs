//! Programs whose progress can be told, for tests and benchmarks of mechanisms that place threads.
//!
//! - `worker spin N MS`: N threads that work for MS; prints how many units of work each has done,
//!   one a line;
//! - `worker halves N MS`: N threads that work for MS and N that sleep meanwhile;
//! - `worker nice LEVELS MS`: as `spin`, a thread for each of these nice levels, as 0,0,5;
//! - `worker paced MS`: a thread whose unit of work takes a millisecond on any core, like a program
//!   that waits for memory: its speedup factor is 1; prints its units;
//! - `worker barrier N ROUNDS UNITS`: N threads that work for UNITS each and then wait for each
//!   other, ROUNDS times; prints milliseconds;
//! - `worker crowd N MS`: N threads, each at work for 200 us of every 20 ms, for MS;
//! - `worker births N MS`: a thread every MS, N times, each of which works for 30 ms;
//! - `worker wakes PAIRS BEGIN MS`: pairs of which one sleeps for 3 ms and then wakes the other,
//!   which works for 1 ms, for BEGIN and MS; prints how long the other took to get a core, in
//!   microseconds: median, 99th percentile and greatest after BEGIN, and 99th percentile before;
//! - `worker crossings PAIRS MS`: the same pairs; prints how many in a hundred of those that were
//!   woken got a core of the other half of the CPUs than the time before: in the lab, of the other
//!   kind;
//! - `worker naps N MS`: N threads that work for 4 ms and sleep for 1 ms in turn, for MS;
//! - `worker pipes PAIRS MS`: pairs of threads that send a byte back and forth through pipes;
//!   prints round trips;
//! - `worker forks MS`: starts one short process after another, four at a time; prints how many;
//! - `worker mask CPUS MS`: a thread that binds itself to these CPUs, works for MS, and prints the
//!   CPUs that it may use then;
//! - `worker capacity CPUS MS`: a thread bound to each of these CPUs, all at work for MS; prints
//!   the units of work per second of all together;
//! - `worker many N MS [PID]`: N threads that work from when they begin; once all have been made,
//!   for MS: prints the least and the median of their progress meanwhile, and what process PID (no
//!   PID: no process) took of one CPU, in percent. Its first thread is to be a real-time one, for
//!   it measures;
//! - `worker forever`: a thread that works until it is killed;
//! - `worker thread PROGRAM …`: executes a program, by another thread than its first;
//! - `worker ext …`: any of these, in SCHED_EXT;
//! - `worker after MS …`: any of these, after so long: its scheduler then knows the program by its
//!   name.

#![deny(clippy::undocumented_unsafe_blocks)]

use std::env;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Steps of a unit that follow on each other without a branch, and how many such blocks make a
/// unit.
///
/// An emulator translates block by block. With short blocks the speed of this program changed by a
/// factor of two from one second to the next in the VM lab, with these by a quarter at most
/// (docs/labs/virtual-machines.md).
const STEPS: u32 = 16;
const BLOCKS: u32 = 600;

/// Some 20 us.
fn unit() {
    let mut x = 1_u32;
    for _ in 0..BLOCKS {
        for _ in 0..STEPS {
            // Marsaglia, Xorshift RNGs, J. Statistical Software 8 (2003), section 4: nothing that a
            // compiler could do several steps of at once.
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
        }
        x = black_box(x);
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

fn nice(levels: &[i32], time: Duration) -> Result<(), Box<dyn Error>> {
    let go = Barrier::new(levels.len());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let one = |level: i32| -> Result<u64, rustix::io::Errno> {
            // Of the calling thread only, on Linux.
            let is_set = setpriority_process(None, level);
            go.wait();
            is_set?;
            let mut units = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                unit();
                units += 1;
            }
            Ok(units)
        };
        let threads: Vec<_> = levels.iter().map(|&level| scope.spawn(move || one(level))).collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            println!("{}", thread.join().map_err(|_| "a thread panicked")??);
        }
        Ok(())
    })
}

/// Wakes its waiter, with the time at which it did.
#[derive(Default)]
struct Bell {
    rung: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        if let Ok(mut rung) = self.rung.lock() {
            // A sleeper that has been woken and still waits for a core has waited since then.
            rung.get_or_insert_with(Instant::now);
        }
        self.changed.notify_one();
    }

    /// Waits until it is rung: how long ago that was, if it had not been before.
    fn wait(&self) -> Option<Option<Duration>> {
        let rung = self.rung.lock().ok()?;
        let slept = rung.is_none();
        let mut rung = self.changed.wait_while(rung, |rung| rung.is_none()).ok()?;
        let at = rung.take()?;
        Some(slept.then(|| at.elapsed()))
    }
}

/// A sleeper has been woken.
struct WokenUp {
    /// When it was, from the beginning.
    at: Duration,
    /// How long it took to get a core.
    latency: Duration,
    cpu: usize,
}

/// By pair, in order.
fn wake_ups(pairs: usize, time: Duration) -> Vec<Vec<WokenUp>> {
    let begin = Instant::now();
    let end = begin + time;
    let bells: Vec<Bell> = (0..pairs).map(|_| Bell::default()).collect();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiter = |bell: &Bell| {
            let mut seen = Vec::new();
            while let Some(woken) = bell.wait() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                if let Some(latency) = woken {
                    seen.push(WokenUp {
                        at: begin.elapsed().saturating_sub(latency),
                        latency,
                        cpu: sched_getcpu(),
                    });
                }
                work(Duration::from_millis(1));
            }
            seen
        };
        let waiters: Vec<_> = bells.iter().map(|bell| scope.spawn(move || waiter(bell))).collect();
        let ringer = |bell: &Bell| {
            while Instant::now() < end {
                thread::sleep(Duration::from_millis(3));
                bell.ring();
            }
        };
        let ringers: Vec<_> = bells.iter().map(|bell| scope.spawn(move || ringer(bell))).collect();
        ringers.into_iter().for_each(|ringer| drop(ringer.join()));
        over.store(true, Ordering::Relaxed);
        bells.iter().for_each(Bell::ring);
        waiters.into_iter().filter_map(|waiter| waiter.join().ok()).collect()
    })
}

fn wakes(pairs: usize, beginning: Duration, time: Duration) {
    let all = wake_ups(pairs, beginning + time).into_iter().flatten();
    let (early, late): (Vec<_>, Vec<_>) = all.partition(|woken| woken.at < beginning);
    let ranks = |woken: Vec<WokenUp>, of_hundred: &[usize]| -> Vec<String> {
        let mut all: Vec<_> = woken.into_iter().map(|woken| woken.latency).collect();
        all.sort_unstable();
        let rank = |part: &usize| {
            all.get((all.len().max(1) - 1) * part / 100).map_or(0, Duration::as_micros)
        };
        of_hundred.iter().map(|part| rank(part).to_string()).collect()
    };
    println!("{} {}", ranks(late, &[50, 99, 100]).join(" "), ranks(early, &[99]).join(" "));
}

fn crossings(pairs: usize, time: Duration) {
    let half = thread::available_parallelism().map_or(1, |cpus| cpus.get().div_ceil(2));
    let (mut all, mut crossed) = (0, 0);
    for (before, after) in
        wake_ups(pairs, time).iter().flat_map(|seen| seen.iter().zip(seen.iter().skip(1)))
    {
        all += 1;
        crossed += usize::from((before.cpu < half) != (after.cpu < half));
    }
    println!("{}", 100 * crossed / all.max(1));
}

fn pipes(pairs: usize, time: Duration) {
    let end = Instant::now() + time;
    let trips: u64 = thread::scope(|scope| {
        let one = || -> std::io::Result<u64> {
            let ((mut here, mut out), (mut there, mut back)) = (std::io::pipe()?, std::io::pipe()?);
            let echo = scope.spawn(move || {
                let mut byte = [0];
                while there.read_exact(&mut byte).is_ok() && out.write_all(&byte).is_ok() {}
            });
            let mut trips = 0;
            while Instant::now() < end {
                back.write_all(&[1])?;
                here.read_exact(&mut [0])?;
                trips += 1;
            }
            drop(back);
            drop(echo.join());
            Ok(trips)
        };
        let pairs: Vec<_> = (0..pairs).map(|_| scope.spawn(one)).collect();
        pairs.into_iter().filter_map(|pair| pair.join().ok()?.ok()).sum()
    });
    println!("{trips}");
}

fn forks(time: Duration) -> Result<(), Box<dyn Error>> {
    const AT_A_TIME: usize = 4;
    let end = Instant::now() + time;
    let own = env::current_exe()?;
    let mut count = 0;
    while Instant::now() < end {
        let children: Vec<_> = (0..AT_A_TIME)
            .map(|_| Command::new(&own).arg("nothing").spawn())
            .collect::<Result<_, _>>()?;
        for mut child in children {
            child.wait()?;
            count += 1;
        }
    }
    println!("{count}");
    Ok(())
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
    let list: Vec<String> =
        (0..CpuSet::MAX_CPU).filter(|&cpu| now.is_set(cpu)).map(|cpu| cpu.to_string()).collect();
    println!("{}", list.join(","));
    Ok(())
}

fn capacity(cpus: &str, time: Duration) -> Result<(), Box<dyn Error>> {
    let cpus = cpus.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let units = thread::scope(|scope| {
        let one = |cpu: usize| -> Result<f64, rustix::io::Errno> {
            let mut set = CpuSet::new();
            set.set(cpu);
            sched_setaffinity(None, &set)?;
            let began = Instant::now();
            let units = work(time);
            Ok(units as f64 / began.elapsed().as_secs_f64())
        };
        let threads: Vec<_> = cpus.iter().map(|&cpu| scope.spawn(move || one(cpu))).collect();
        threads
            .into_iter()
            .map(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??))
            .sum::<Result<f64, Box<dyn Error>>>()
    })?;
    println!("{units:.0}");
    Ok(())
}

/// CPU time of a process, as exact as the kernel knows it.
fn cpu_time(process: &str) -> Result<Duration, Box<dyn Error>> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{process}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        nanos += text.split_whitespace().next().ok_or("an empty schedstat")?.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}

fn many(threads: usize, time: Duration, process: Option<&str>) -> Result<(), Box<dyn Error>> {
    let stop = AtomicBool::new(false);
    let progress: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let read = || progress.iter().map(|units| units.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let spent = || process.map_or(Ok(Duration::ZERO), cpu_time);
    let one = |units: &AtomicU64| {
        while !stop.load(Ordering::Relaxed) {
            unit();
            units.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (before, after, cpu, wall) = thread::scope(|scope| {
        for units in &progress {
            scope.spawn(|| one(units));
        }
        let measured = spent().and_then(|cpu| {
            let (began, before) = (Instant::now(), read());
            thread::sleep(time);
            let cpu = spent()?.saturating_sub(cpu);
            Ok((before, read(), cpu, began.elapsed()))
        });
        stop.store(true, Ordering::Relaxed);
        measured
    })?;
    let mut units: Vec<u64> =
        after.iter().zip(&before).map(|(after, before)| after - before).collect();
    units.sort_unstable();
    let (least, median) = (units.first().ok_or("no threads")?, units[units.len() / 2]);
    println!("{least} {median} {:.2}", 100.0 * cpu.as_secs_f64() / wall.as_secs_f64());
    Ok(())
}

fn naps(threads: usize, time: Duration) {
    let until = Instant::now() + time;
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while Instant::now() < until {
                    work(Duration::from_millis(4));
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
    });
}

/// Of this thread and all that it starts from now on.
#[allow(unsafe_code)]
fn ask_for_sched_ext() -> std::io::Result<()> {
    // include/uapi/linux/sched.h.
    const SCHED_EXT: i32 = 7;
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param, which the kernel only reads.
    match unsafe { libc::sched_setscheduler(0, SCHED_EXT, &raw const priority) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    carry_out(&words)
}

fn carry_out(words: &[&str]) -> Result<(), Box<dyn Error>> {
    let ms = |text: &str| text.parse().map(Duration::from_millis);
    match words[..] {
        ["after", pause, ref then @ ..] => {
            thread::sleep(ms(pause)?);
            carry_out(then)?;
        }
        ["ext", ref then @ ..] => {
            ask_for_sched_ext()?;
            carry_out(then)?;
        }
        ["thread", program, ref arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            // It comes back only if it cannot be executed.
            return Err(thread::spawn(move || command.exec())
                .join()
                .map_err(|_| "the thread has panicked")?
                .into());
        }
        ["spin", threads, time] => spin(threads.parse()?, ms(time)?),
        ["halves", threads, time] => {
            let time = ms(time)?;
            thread::scope(|scope| {
                for _ in 0..threads.parse()? {
                    scope.spawn(move || thread::sleep(time));
                    scope.spawn(move || work(time));
                }
                Ok::<(), std::num::ParseIntError>(())
            })?;
        }
        ["nice", levels, time] => {
            nice(&levels.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?, ms(time)?)?;
        }
        ["wakes", pairs, beginning, time] => wakes(pairs.parse()?, ms(beginning)?, ms(time)?),
        ["crossings", pairs, time] => crossings(pairs.parse()?, ms(time)?),
        ["naps", threads, time] => naps(threads.parse()?, ms(time)?),
        ["pipes", pairs, time] => pipes(pairs.parse()?, ms(time)?),
        ["forks", time] => forks(ms(time)?)?,
        ["nothing"] => {}
        ["paced", time] => paced(ms(time)?),
        ["barrier", threads, rounds, units] => {
            barrier(threads.parse()?, rounds.parse()?, units.parse()?)
        }
        ["crowd", threads, time] => crowd(threads.parse()?, ms(time)?),
        ["births", threads, pause] => births(threads.parse()?, ms(pause)?),
        ["mask", cpus, time] => mask(cpus, ms(time)?)?,
        ["capacity", cpus, time] => capacity(cpus, ms(time)?)?,
        ["many", threads, time] => many(threads.parse()?, ms(time)?, None)?,
        ["many", threads, time, process] => many(threads.parse()?, ms(time)?, Some(process))?,
        ["forever"] => drop(work(Duration::MAX)),
        _ => return Err("usage: see the head of worker.rs".into()),
    }
    Ok(())
}
