//! Makes quotas fine: the host's kernel checks a quota only at its ticks, every 4 ms where
//! `CONFIG_HZ` is 250, and when a thread switches. So a thread with 1 ms of every 5 would run for a
//! tick's 4 ms, and then stand still for 16 to 20: the share is right, and the pause is four or
//! five times as long as asked. Here a thread wakes every half millisecond on each CPU of the lab
//! and sleeps again, which makes the kernel check.
//!
//! These real-time threads also measure when this host ran none of them: a virtual machine is
//! paused, or the host below it is busy. A guest sees its clock jump then, and takes its scheduler
//! for stalled.
//!
//! Source: Linux's kernel/sched/fair.c: `update_curr` charges a cgroup's runtime, and only where
//! that is called can its thread be throttled. See docs/decisions/0020-vm-beat.md.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use evenkeel_linux::realtime::{now, since_boot, sleep_until, start};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::Nanos;
use rustix::thread::CpuSet;

/// The time between two wake-ups.
const BEAT: Nanos = Nanos::from_micros(500);
/// Any priority above that of normal threads is enough.
const PRIORITY: i32 = 1;

/// Threads that wake and sleep until this is dropped.
pub struct Metronome {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// Longest time between two beats of a CPU, ns.
    longest: AtomicU64,
}

impl Metronome {
    /// Starts a thread on each of these CPUs, except on CPU numbers beyond the range of the system
    /// call's wrapper.
    ///
    /// # Errors
    /// No permission for real-time threads, or for one of the CPUs; other threads keep a CPU for
    /// themselves.
    pub fn begin(cpus: &[u32]) -> io::Result<Self> {
        let mut metronome = Self { shared: Arc::default(), threads: Vec::new() };
        for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU as u32) {
            let shared = Arc::clone(&metronome.shared);
            metronome.threads.push(start(
                format!("vm-beat-{cpu}"),
                Cpu(cpu),
                PRIORITY,
                move || beat(&shared),
            )?);
        }
        Ok(metronome)
    }

    /// Stops the threads. Returns the longest time that one of the CPUs ran none of them: between
    /// two beats, less the interval between beats.
    pub fn end(mut self) -> Nanos {
        // Waiting for the threads includes a pause that has just ended.
        self.join();
        Nanos(self.shared.longest.load(Ordering::Relaxed)).saturating_sub(BEAT)
    }

    fn join(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn beat(shared: &Shared) {
    let (mut next, mut last) = (now(), since_boot());
    while !shared.is_over.load(Ordering::Relaxed) {
        // Missed beats are not made up for.
        next = now().max(next + BEAT);
        sleep_until(next);
        let came = since_boot();
        shared.longest.fetch_max(came.0.saturating_sub(last.0), Ordering::Relaxed);
        last = came;
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use evenkeel_linux::here::allowed_cpus;

    /// True if `wanted` threads beat before long: a thread that has been joined is visible for a
    /// moment yet.
    fn come_to(wanted: usize) -> bool {
        let is_one = |task: &fs::DirEntry| {
            fs::read_to_string(task.path().join("comm")).is_ok_and(|it| it.starts_with("vm-beat"))
        };
        let count = || fs::read_dir("/proc/self/task").unwrap().flatten().filter(is_one).count();
        let tries = std::iter::repeat_with(|| {
            thread::sleep(Duration::from_millis(5));
            count()
        });
        count() == wanted || tries.take(200).any(|found| found == wanted)
    }

    /// One test, since it counts the threads of this process.
    #[test]
    fn it_beats_on_each_cpu_until_it_goes_and_notices_who_keeps_it_off() {
        let cpus = allowed_cpus().unwrap();
        match Metronome::begin(&cpus) {
            Ok(metronome) => {
                assert!(come_to(cpus.len()));
                let busy = Duration::from_millis(200);
                let spin = move || {
                    let began = Instant::now();
                    while began.elapsed() < busy {}
                };
                start("vm-test".to_owned(), Cpu(cpus[0]), PRIORITY + 1, spin)
                    .unwrap()
                    .join()
                    .unwrap();
                let pause = metronome.end();
                assert!(pause >= Nanos::from_millis(150), "{pause:?}");
            }
            Err(error) => println!("skipped: no real-time threads: {error}"),
        }
        assert!(come_to(0));
        assert!(Metronome::begin(&[cpus[0], 1_000]).is_err());
        assert!(come_to(0));
    }
}
