//! Quotas are kept to no finer than the host's kernel looks at them: at its ticks, every 4 ms where `CONFIG_HZ` is 250, and whenever another thread comes.
//! So a thread with 1 ms of every 5 runs for a tick's 4 ms, and then stands still for 16 to 20, while it pays back what it has overdrawn: the share
//! is right, and the core stands still for four or five times as long as asked. On each CPU that the lab uses a thread comes every half millisecond, does
//! nothing, and goes; the kernel looks then.
//!
//! Source: Linux's kernel/sched/fair.c: `update_curr` charges a cgroup's runtime, and only where that is called can its thread be throttled.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_linux::realtime::{become_fifo, now, pin_to, sleep_until};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::Nanos;
use rustix::thread::CpuSet;

/// How often it comes.
const BEAT: Nanos = Nanos::from_micros(500);
/// Above whatever is ordinary is enough.
const PRIORITY: i32 = 1;
/// How long a thread may take until it is on its CPU: others may have that for themselves.
const PATIENCE: Duration = Duration::from_secs(2);

/// Threads that come and go, until this goes.
pub struct Metronome {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Metronome {
    /// On each of these CPUs, but for those of a number that the system call's wrapper does not know.
    ///
    /// # Errors
    /// No leave for real-time threads, or for one of the CPUs; a CPU that others do not let go of.
    pub fn begin(cpus: &[u32]) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut metronome = Self { is_over: Arc::clone(&is_over), threads: Vec::new() };
        let (tell, told) = channel();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU as u32) {
            let (tell, is_over) = (tell.clone(), Arc::clone(&is_over));
            let life = move || {
                let ready = become_fifo(PRIORITY).and_then(|()| pin_to(Cpu(cpu)));
                let is_ready = ready.is_ok();
                if tell.send(ready).is_ok() && is_ready {
                    beat(&is_over);
                }
            };
            metronome.threads.push(thread::Builder::new().name(format!("vm-beat-{cpu}")).spawn(life)?);
        }
        for _ in 0..metronome.threads.len() {
            let Ok(ready) = told.recv_timeout(PATIENCE) else {
                // Nor is it waited for at the end.
                metronome.threads.clear();
                return Err(io::ErrorKind::TimedOut.into());
            };
            ready?;
        }
        Ok(metronome)
    }
}

fn beat(is_over: &AtomicBool) {
    let mut next = now();
    while !is_over.load(Ordering::Relaxed) {
        // Beats that were missed are not made up for.
        next = now().max(next + BEAT);
        sleep_until(next);
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use evenkeel_linux::here::allowed_cpus;

    /// Whether so many beat before long: threads that have been waited for are to be seen for a moment yet.
    fn beat(wanted: usize) -> bool {
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

    #[test]
    fn it_beats_on_each_cpu_until_it_goes_and_on_none_if_one_cannot_be_had() {
        let cpus = allowed_cpus().unwrap();
        match Metronome::begin(&cpus) {
            Ok(metronome) => {
                assert!(beat(cpus.len()));
                drop(metronome);
            }
            Err(error) => println!("skipped: no real-time threads: {error}"),
        }
        assert!(beat(0));
        assert!(Metronome::begin(&[cpus[0], 1_000]).is_err());
        assert!(beat(0));
    }
}
