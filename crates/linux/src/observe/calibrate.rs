//! How fast each CPU is, measured: a short spin on each in turn.
//!
//! One thread goes round the CPUs several times and spins on each for a window of time. What counts
//! is the work done per time on the clock, not per time on the CPU: a core of which something else
//! takes a share is that much slower for every program. The speed of a CPU is the median of its
//! rounds, so that a passing disturbance of one round does not count; what stays is told as spread.
//!
//! The spin is four chains of integer arithmetic that fit into registers. Programs that wait for
//! memory differ less between kinds of core, those with long vectors may differ more: the figure is
//! the speed of this spin, and a first guess for others.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Rounds over all CPUs. Odd, so that the median is one of them; enough for several disturbed ones.
const ROUNDS: u32 = 15;
/// What a calibration takes at most, beside its warm-ups, unless the shortest windows take more.
const BUDGET: Duration = Duration::from_secs(10);
/// Shortest and longest window. The longest is many periods of any timer, the shortest still a few
/// scheduler ticks.
const SHORTEST_WINDOW: Duration = Duration::from_millis(20);
const LONGEST_WINDOW: Duration = Duration::from_millis(100);
/// Before each window the CPU spins unmeasured for one `WARM_UP`th of it: clocks that follow the
/// load need time to rise.
const WARM_UP: u32 = 4;
/// Steps of the spin between two looks at the clock: some tens of microseconds.
const STEPS: u32 = 16_384;
/// A CPU whose middle rounds are further apart than this share of the median was disturbed.
const DISTURBED: f64 = 0.05;
/// A CPU that the spin had for less than this share of the time was shared with something else.
const SHARED: f64 = 0.95;

/// What was measured, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Times that each CPU had its turn.
    pub rounds: u32,
    /// How long a turn was.
    pub window: Duration,
    /// CPUs in the order asked for.
    pub cpus: Vec<SpinSpeed>,
}

/// How fast a CPU was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpinSpeed {
    /// CPU, as the operating system counts.
    pub cpu: u32,
    /// Steps of the spin per microsecond of time on the clock: the median of the rounds.
    pub speed: f64,
    /// Interquartile range of the rounds, as a share of the median.
    pub spread: f64,
    /// Share of the time that the spin had the CPU: the median of the rounds.
    pub share: f64,
}

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The thread could not be put there.
    #[error("CPU {cpu}: a thread cannot be pinned there")]
    Pin {
        /// Which.
        cpu: u32,
        /// Why.
        source: std::io::Error,
    },
    /// No thread.
    #[error("no thread can be started")]
    Thread(#[source] std::io::Error),
    /// The thread ended by a panic.
    #[error("the measuring thread ended early")]
    Ended,
}

/// Measures these CPUs, each once. Takes 2 s for one CPU, 12 s for 7 to 33, 0.4 s more for each
/// beyond. The affinity of the calling thread stays as it is.
///
/// # Errors
/// A CPU that this process may not use or that is offline, or one of 1024 and more, which the
/// system call's wrapper cannot name.
pub fn calibrate(cpus: &[u32]) -> Result<Calibration, CalibrateError> {
    let turns = u32::try_from(cpus.len()).unwrap_or(u32::MAX).saturating_mul(ROUNDS).max(1);
    let window = (BUDGET / turns).clamp(SHORTEST_WINDOW, LONGEST_WINDOW);
    let thread = std::thread::Builder::new().name("evenkeel-spin".to_owned());
    let cpus = cpus.to_vec();
    let thread = thread.spawn(move || measure(&cpus, window)).map_err(CalibrateError::Thread)?;
    let cpus = thread.join().map_err(|_| CalibrateError::Ended)??;
    Ok(Calibration { rounds: ROUNDS, window, cpus })
}

impl Calibration {
    /// The greatest spread of any CPU: what speeds must be apart by to be of different kinds.
    ///
    /// It is wider than what chance parts the medians of equal CPUs by: 0.68 of it is twice the
    /// standard error of the difference of two medians of 15 rounds.
    pub fn greatest_spread(&self) -> f64 {
        self.cpus.iter().map(|cpu| cpu.spread).fold(0.0, f64::max)
    }

    /// What casts doubt on the figures, a line each; empty: nothing.
    pub fn warnings(&self) -> Vec<String> {
        let list = |holds: fn(&SpinSpeed) -> bool| {
            let cpus: Vec<u32> =
                self.cpus.iter().filter(|cpu| holds(cpu)).map(|cpu| cpu.cpu).collect();
            (!cpus.is_empty()).then(|| evenkeel_machine::name_cpus(cpus))
        };
        let mut warnings = Vec::new();
        if let Some(cpus) = list(|cpu| cpu.spread > DISTURBED) {
            let percent = self.greatest_spread() * 1e2;
            warnings.push(format!(
                "the machine was busy: speeds of {cpus} scattered by up to {percent:.0} %; repeat \
                 it when it is quiet"
            ));
        }
        if let Some(cpus) = list(|cpu| cpu.share < SHARED) {
            warnings.push(format!(
                "something else ran on {cpus} meanwhile: measured is what it left, not what the \
                 hardware can do"
            ));
        }
        warnings
    }
}

/// One turn on a CPU.
struct Turn {
    speed: f64,
    share: f64,
}

fn measure(cpus: &[u32], window: Duration) -> Result<Vec<SpinSpeed>, CalibrateError> {
    let mut turns: Vec<Vec<Turn>> = cpus.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (&cpu, turns) in cpus.iter().zip(&mut turns) {
            pin(cpu).map_err(|source| CalibrateError::Pin { cpu, source })?;
            spin(window / WARM_UP);
            turns.push(spin(window));
        }
    }
    Ok(cpus.iter().zip(&turns).map(|(&cpu, turns)| summary(cpu, turns)).collect())
}

fn pin(cpu: u32) -> std::io::Result<()> {
    let index = cpu as usize;
    if index >= CpuSet::MAX_CPU {
        return Err(std::io::Error::other(format!(
            "numbers of {} and more cannot be asked for",
            CpuSet::MAX_CPU
        )));
    }
    let mut set = CpuSet::new();
    set.set(index);
    Ok(sched_setaffinity(None, &set)?)
}

/// Spins until `window` has passed on the clock.
fn spin(window: Duration) -> Turn {
    let cpu_time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let (start, cpu_start) = (Instant::now(), cpu_time());
    let mut chunks = 0_u64;
    let mut state = [1_u64, 2, 3, 4];
    let elapsed = loop {
        state = chunk(black_box(state));
        chunks += 1;
        let elapsed = start.elapsed();
        if elapsed >= window {
            break elapsed.as_secs_f64();
        }
    };
    black_box(state);
    Turn {
        speed: chunks as f64 * f64::from(STEPS) / (elapsed * 1e6),
        share: ((cpu_time() - cpu_start) / elapsed).clamp(0.0, 1.0),
    }
}

/// Four chains of multiplication, shift and addition, none of which the compiler can shorten.
#[inline(never)]
fn chunk(mut state: [u64; 4]) -> [u64; 4] {
    for _ in 0..STEPS {
        for value in &mut state {
            *value = (*value ^ (*value >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        }
    }
    state
}

/// Of at least one turn.
fn summary(cpu: u32, turns: &[Turn]) -> SpinSpeed {
    let sorted = |value: fn(&Turn) -> f64| {
        let mut values: Vec<f64> = turns.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let at = |values: &[f64], quarters: usize| values[(values.len() - 1) * quarters / 4];
    let (speeds, shares) = (sorted(|turn| turn.speed), sorted(|turn| turn.share));
    let speed = at(&speeds, 2);
    SpinSpeed {
        cpu,
        speed,
        spread: (at(&speeds, 3) - at(&speeds, 1)) / speed,
        share: at(&shares, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(speeds: &[f64]) -> SpinSpeed {
        summary(0, &speeds.iter().map(|&speed| Turn { speed, share: 1.0 }).collect::<Vec<_>>())
    }

    #[test]
    fn some_disturbed_rounds_change_neither_speed_nor_spread() {
        assert_eq!(of(&[100.0, 100.0, 3.0, 100.0, 100.0]), of(&[100.0; 5]));
    }

    #[test]
    fn a_machine_that_is_busy_all_the_time_is_warned_of() {
        let quiet = Calibration {
            rounds: 5,
            window: LONGEST_WINDOW,
            cpus: vec![of(&[99.0, 100.0, 101.0, 100.0, 100.0])],
        };
        assert_eq!(quiet.warnings(), Vec::<String>::new());
        let busy = of(&[100.0, 60.0, 90.0, 70.0, 80.0]);
        assert_eq!((busy.speed, busy.spread), (80.0, 0.25));
        assert_eq!(quiet.greatest_spread(), 0.0);
        let busy = Calibration { cpus: vec![busy], ..quiet.clone() };
        assert!(busy.warnings()[0].contains("scattered by up to 25 %"), "{:?}", busy.warnings());
        assert_eq!(busy.greatest_spread(), 0.25);
        let shared = SpinSpeed { cpu: 3, share: 0.33, ..quiet.cpus[0] };
        let shared = Calibration { cpus: vec![shared], ..quiet };
        assert!(
            shared.warnings()[0].starts_with("something else ran on CPU 3"),
            "{:?}",
            shared.warnings()
        );
    }

    #[test]
    fn the_cpus_of_this_process_have_speeds() {
        let cpus = crate::observe::here::allowed_cpus().unwrap();
        let calibration = calibrate(&cpus[..1]).unwrap();
        assert_eq!(calibration.cpus[0].cpu, cpus[0]);
        assert!(calibration.cpus[0].speed > 0.0 && calibration.cpus[0].share > 0.0);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_that_names_it() {
        for cpu in [1_023, 60_000] {
            let error = calibrate(&[cpu]).unwrap_err();
            assert_eq!(error.to_string(), format!("CPU {cpu}: a thread cannot be pinned there"));
        }
    }
}
