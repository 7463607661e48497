//! How slow the lab's CPUs become, and how steadily; to an ordinary thread, too, which calibration
//! does not measure. Prints a table.
//!
//! `flock -x /tmp/quiet cargo bench -p evenkeel-linux --bench lab`; a number after `--` is the CPU
//! to slow, else it is the last. Asked for: within 2 % of the ratio, spread under 2 %. Spreads are
//! from quartile to quartile. Where the unslowed CPU itself spreads by more, the host is busy, and
//! the table says nothing of the lab.
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use evenkeel_linux::lab::{Control, Cpus, Figures, Lab, Slow};
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::Nanos;
use rustix::thread::{CpuSet, sched_setaffinity};

/// What is asked for.
const RATIOS: [f64; 3] = [2.0, 3.0, 4.0];
/// How long the victim of the lab is slow.
const MEASURED: Nanos = Nanos::from_secs(5);
/// Windows of the ordinary thread, unslowed and slowed in turns.
const ORDINARY: usize = 12;
/// An unslowed window of the ordinary thread; a slowed one is as many times longer as it is slower.
const WINDOW: Duration = Duration::from_millis(100);

fn main() {
    let cpus = Cpus::of_this_process(Path::new("/sys")).unwrap();
    let asked = std::env::args().filter_map(|arg| arg.parse().ok()).next().map(Cpu);
    let cpu = asked.or_else(|| cpus.usable().last().copied()).unwrap();
    println!("CPU {}", cpu.0);
    println!(
        "| asked | measured | spread | p5 to p95 | CPU's own spread | ordinary thread | its spread \
         | taken | period |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for ratio in RATIOS {
        let mut lab = match Lab::new(&[Slow { cpu, ratio }], &cpus) {
            Ok(lab) => lab,
            Err(error) => return println!("not measured: {error}"),
        };
        lab.calibrate(&Control::default()).unwrap();
        let (measured, _) = lab.measure(MEASURED, &Control::default()).unwrap();
        let ordinary = as_an_ordinary_thread_sees(&lab, cpu, ratio);
        let cpu = &measured[0];
        println!(
            "| {ratio} | {:.3} | {:.2} % | {:.3} to {:.3} | {:.2} % | {:.3} | {:.2} % | {:.1} % | \
             {} |",
            cpu.ratio.median,
            cpu.ratio.spread * 100.0,
            cpu.ratio.p5,
            cpu.ratio.p95,
            cpu.unslowed.spread * 100.0,
            ordinary.median,
            ordinary.spread * 100.0,
            cpu.share * 100.0,
            cpu.period,
        );
    }
}

/// Work per time without the thief / with it, of a thread that is not real-time.
fn as_an_ordinary_thread_sees(lab: &Lab, cpu: Cpu, ratio: f64) -> Figures {
    let windows = || {
        let mut set = CpuSet::new();
        set.set(cpu.0 as usize);
        sched_setaffinity(None, &set).unwrap();
        let window = |_| {
            lab.let_go();
            let unslowed = speed(WINDOW);
            lab.slow_down();
            let slowed = speed(WINDOW.mul_f64(ratio));
            lab.let_go();
            unslowed / slowed
        };
        (0..ORDINARY).map(window).collect::<Vec<f64>>()
    };
    Figures::of(std::thread::scope(|scope| scope.spawn(windows).join().unwrap())).unwrap()
}

/// Pieces of work per second.
fn speed(window: Duration) -> f64 {
    const STEPS: u64 = 300;
    let began = Instant::now();
    let mut pieces = 0_u64;
    loop {
        black_box((0..STEPS).fold(black_box(1_u64), |value, step| {
            value.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ step
        }));
        pieces += 1;
        let elapsed = began.elapsed();
        if elapsed >= window {
            return pieces as f64 / elapsed.as_secs_f64();
        }
    }
}
