//! What a slowed CPU is worth: the work that a thread gets done on it, with the thief and without.
//!
//! The two alternate in short slices, and a *window* is a few slices of each: whatever slows both
//! alike (a falling clock, a busy host) cancels in the window's ratio. In a window the victim has
//! [`WORK`] of CPU time of either sort: with less, the ratio would say more of the host's own
//! unrest than of the thief. On a CPU that is very slow that would take seconds a window: it has
//! less there ([`LONGEST`]), and half as much where a window only shows the way ([`Length`]).
//!
//! The victim is real-time as well, below the thief, so that the ordinary load of a machine does
//! not reach it. After each slice it sleeps, which keeps both together under the real-time throttle
//! and leaves something to everyone else.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::mpsc;
use std::thread;

use evenkeel_machine::Nanos;

use super::LabError;
use super::control::Control;
use super::limits::Budget;
use super::slow::Slow;
use super::thief::Thief;
use crate::lab::realtime::{become_fifo, now, pin_to};

/// What a victim works in a window without the thief, and about what it works with it, at most.
const WORK: Nanos = Nanos::from_millis(100);
/// Slowed time in a window, at most. Ours: ten windows of a calibration are to take five seconds at
/// any ratio.
const LONGEST: Nanos = Nanos::from_millis(300);
/// Slices of either sort in a window.
const SLICES: u64 = 8;
/// Turns of the thief that are not counted at the start of a slice.
const FIRST_TURNS: u64 = 3;

/// What one window came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Speed without the thief, in work per nanosecond of no particular unit.
    pub unslowed: f64,
    /// Speed with it.
    pub slowed: f64,
}

impl Window {
    /// How much slower.
    pub fn ratio(&self) -> f64 {
        self.unslowed / self.slowed
    }
}

/// How long a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As a measurement takes it.
    Whole,
    /// Half of that: it shows the way to a share that is measured afterwards.
    Short,
}

/// Slowed time in a whole window of a CPU that is this many times slower.
pub fn window_time(ratio: f64) -> Nanos {
    Nanos((WORK.0 as f64 * ratio) as u64).min(LONGEST)
}

/// Measures the CPUs of all thieves at the same time, as they will be used, in as many windows each
/// of a length. `shares` are for [`Thief::take`], none 0; `asked` are about what they come to.
/// Afterwards no thief takes anything.
///
/// # Errors
/// The victims cannot be made; `control` has it end.
pub fn measure(
    thieves: &[Thief],
    asked: &[Slow],
    shares: &[f64],
    (windows, length): (usize, Length),
    budget: &Budget,
    control: &Control,
) -> Result<Vec<Vec<Window>>, LabError> {
    let together = Barrier::new(thieves.len());
    let (tell, told) = mpsc::channel();
    let windows = thread::scope(|scope| {
        // No victim may wait at the barrier for one that is not there: they start when all are
        // ready. Where that fails, the channels that they wait for are dropped.
        let (mut starts, mut victims) = (Vec::new(), Vec::new());
        for ((thief, slow), &share) in thieves.iter().zip(asked).zip(shares) {
            let (start, started) = mpsc::channel();
            let (tell, together) = (tell.clone(), &together);
            let life = move || {
                let ready =
                    pin_to(thief.cpu()).map_err(|error| LabError::Pin { cpu: thief.cpu(), error });
                let ready = ready.and_then(|()| {
                    become_fifo(budget.victim_priority()).map_err(LabError::real_time)
                });
                if tell.send(ready).is_err() || started.recv().is_err() {
                    return Vec::new();
                }
                let victim = Victim { thief, together, budget, control };
                let one = |_| {
                    let window = victim.window(slow.ratio, share, length);
                    // Windows are counted once, and not for each CPU.
                    if thief.cpu() == thieves[0].cpu() {
                        control.count_window();
                    }
                    window
                };
                (0..windows).map(one).collect()
            };
            let name = format!("lab-victim-{}", thief.cpu().0);
            victims.push(
                thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, life)
                    .map_err(LabError::Thread)?,
            );
            starts.push(start);
        }
        for _ in &victims {
            told.recv().unwrap_or(Err(LabError::Panicked))?;
        }
        for start in starts {
            start.send(()).map_err(|_| LabError::Panicked)?;
        }
        victims
            .into_iter()
            .map(|victim| victim.join().map_err(|_| LabError::Panicked))
            .collect::<Result<_, _>>()
    })?;
    if control.is_ending() { Err(LabError::Interrupted) } else { Ok(windows) }
}

/// Work done, and the time that it took.
#[derive(Default)]
struct Done {
    pieces: u64,
    time: Nanos,
}

impl Done {
    /// Works for as long as `more` says, given the time and the thief's turns. Both are looked up
    /// in slices of either sort, whether asked for or not: that is part of the work.
    fn add(&mut self, thief: &Thief, more: impl Fn(Nanos, u64) -> bool) {
        let began = now();
        let mut time = began;
        while more(time, thief.turns()) {
            work();
            self.pieces += 1;
            time = now();
        }
        self.time += time.saturating_sub(began);
    }

    fn speed(&self) -> f64 {
        self.pieces as f64 / self.time.0.max(1) as f64
    }
}

/// What measures on one CPU.
struct Victim<'a> {
    thief: &'a Thief,
    together: &'a Barrier,
    budget: &'a Budget,
    control: &'a Control,
}

impl Victim<'_> {
    /// One window. When it is to end, nothing is done but to meet the others: none may wait for one
    /// that has gone.
    fn window(&self, ratio: f64, share: f64, length: Length) -> Window {
        let Self { thief, together, budget, control } = *self;
        let (mut unslowed, mut slowed) = (Done::default(), Done::default());
        let whole = window_time(ratio);
        let slowed_time = if length == Length::Short { Nanos(whole.0 / 2) } else { whole };
        let unslowed_time = Nanos((slowed_time.0 as f64 / ratio) as u64);
        // Whole turns, so that no slice has a part of a turn more than another.
        let turns = (slowed_time.0 / SLICES).div_ceil(thief.period().0);
        for _ in 0..SLICES {
            together.wait();
            if control.is_ending() {
                continue;
            }
            let began = now();
            let until = began + Nanos(unslowed_time.0 / SLICES);
            unslowed.add(thief, |time, _| time < until && !control.is_ending());
            let first = thief.turns() + FIRST_TURNS;
            thief.take(share);
            // Waits on the CPU and not off it: it is from this thread that the thief takes.
            Done::default().add(thief, |_, taken| taken < first && !control.is_ending());
            slowed.add(thief, |_, taken| taken < first + turns && !control.is_ending());
            thief.take(0.0);
            thread::sleep(budget.pause_after(now().saturating_sub(began)));
        }
        Window { unslowed: unslowed.speed(), slowed: slowed.speed() }
    }
}

/// Some 200 ns of arithmetic, each step waiting for the one before: its speed is the clock's, and a
/// neighbour's cache misses or a sibling's use of other units hardly show. The steps are those of
/// Knuth's MMIX generator.
fn work() {
    const STEPS: u32 = 150;
    let mut value = black_box(1_u64);
    for _ in 0..STEPS {
        value =
            value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(value);
}
