//! Quotas are kept to no finer than the host's kernel looks at them: at its ticks, every 4 ms where `CONFIG_HZ` is 250, and whenever another thread comes.
//! So a thread with 1 ms of every 5 runs for a tick's 4 ms and more, and then stands still for up to 20, while it pays back what it has overdrawn: the share
//! is right, and the core stands still for four times as long as asked. On each CPU that the lab uses a thread comes every half millisecond, does nothing,
//! and goes; the kernel looks then.
//!
//! Source: Linux's kernel/sched/fair.c, where `update_curr` charges the runtime of a cgroup, and so when its thread is put off the CPU.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use evenkeel_linux::realtime::{become_fifo, now, pin_to, sleep_until};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::Nanos;

/// How often it comes.
const BEAT: Nanos = Nanos::from_micros(500);
/// Above whatever is ordinary is enough.
const PRIORITY: i32 = 1;

/// Threads that come and go, until this goes.
pub struct Metronome {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Metronome {
    /// On each of these CPUs.
    ///
    /// # Errors
    /// No leave for real-time threads, or for one of the CPUs.
    pub fn begin(cpus: &[u32]) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut metronome = Self { is_over: Arc::clone(&is_over), threads: Vec::new() };
        let (tell, told) = channel();
        for &cpu in cpus {
            let (tell, is_over) = (tell.clone(), Arc::clone(&is_over));
            let life = move || {
                let ready = pin_to(Cpu(cpu)).and_then(|()| become_fifo(PRIORITY));
                let is_ready = ready.is_ok();
                let _ = tell.send(ready);
                // Whoever listens waits until nobody is left who could speak.
                drop(tell);
                if is_ready {
                    beat(&is_over);
                }
            };
            metronome.threads.push(thread::Builder::new().name(format!("vm-beat-{cpu}")).spawn(life)?);
        }
        drop(tell);
        told.iter().collect::<io::Result<()>>()?;
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
