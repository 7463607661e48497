//! The slow-core lab: makes CPUs of an ordinary machine slow, for real, so that what is for uneven
//! cores can be tried without them.
//!
//! On each CPU to slow sits a *thief*, a real-time thread (`SCHED_FIFO`) that takes the CPU for a
//! share of every period, half a millisecond to four. Whatever else runs there gets the rest: a
//! program sees a CPU that is `ratio` times slower, at every scale well above the period. How much
//! the thief must take is not calculated but measured (`calibrate`).
//!
//! What it is not: the slowed CPU runs at full speed while it runs. Its caches are not slower,
//! memory-bound programs suffer as much as compute-bound ones, and the kernel's own scheduler can
//! see that a real-time thread is there and move ordinary threads away: the lab is for programs
//! that pin their threads, and for `evenkeel run`. Real-time programs above the thief's priority
//! are not slowed. On a core with SMT a thief that spins takes speed from the sibling, too.
//!
//! Threads die with their process: nothing of a lab outlives it but, when it is killed, a small
//! file (`handout`).

mod calibrate;
mod control;
mod error;
mod figures;
mod handout;
mod limits;
mod machine;
pub mod realtime;
mod slow;
mod stolen;
mod thief;
mod victim;

pub use calibrate::{BOUND, Calibrated, LEAST_WINDOWS};
pub use control::Control;
pub use error::LabError;
pub use figures::Figures;
pub use handout::{Handout, MACHINE_VARIABLE};
pub use machine::{Slowed, equal_cores, slowed_machine};
pub use slow::{Cpus, Slow, parse_slow};
pub use stolen::{LAB_VARIABLE, Stolen};
pub use victim::Window;

use evenkeel_machine::Nanos;

use limits::Budget;
use thief::Thief;

/// CPUs that can be slow: so while [`Lab::slow_down`] is in force, and as fast as ever when this is
/// dropped.
pub struct Lab {
    budget: Budget,
    asked: Vec<Slow>,
    period: Option<Nanos>,
    thieves: Vec<Thief>,
    calibrated: Vec<Calibrated>,
}

impl Lab {
    /// Thieves for these CPUs, which take nothing yet. A ratio of 1 needs none.
    ///
    /// # Errors
    /// A CPU that cannot be slowed as much, and no leave to slow any.
    pub fn new(slow: &[Slow], cpus: &Cpus) -> Result<Self, LabError> {
        let budget = Budget::of_this_process();
        cpus.check(slow, &budget)?;
        let asked: Vec<Slow> = slow.iter().copied().filter(|slow| slow.ratio > 1.0).collect();
        if budget.share == 0.0 && !asked.is_empty() {
            return Err(LabError::NoBudget { file: budget.file });
        }
        let thief =
            |slow: &Slow| Thief::start(slow.cpu, calibrate::SHORTEST_PERIOD, budget.priority);
        let thieves = asked.iter().map(thief).collect::<Result<_, _>>()?;
        Ok(Self { budget, asked, period: None, thieves, calibrated: Vec::new() })
    }

    /// Has each thief's turns begin so far apart, in place of what its switches cost. The next
    /// calibration shows whether CPUs are steady so.
    pub fn set_period(&mut self, period: Nanos) {
        self.period = Some(period);
    }

    /// Finds out how much the thieves must take, and measures what that comes to. Takes five
    /// seconds or less on a quiet machine, in which the CPUs are mostly taken.
    ///
    /// # Errors
    /// Threads cannot be made; it was told to end.
    pub fn calibrate(&mut self, control: &Control) -> Result<&[Calibrated], LabError> {
        if !self.thieves.is_empty() {
            self.calibrated = calibrate::calibrate(
                &self.thieves,
                &self.asked,
                self.period,
                &self.budget,
                control,
            )?;
        }
        Ok(&self.calibrated)
    }

    /// Goes by what an earlier calibration of the same CPUs found, in place of one. Returns whether
    /// it fits: else nothing is changed.
    pub fn take_up(&mut self, earlier: Vec<Calibrated>) -> bool {
        let is_asked = earlier.iter().map(|cpu| cpu.asked).eq(self.asked.iter().copied());
        let can_be = |cpu: &Calibrated| (0.0..1.0).contains(&cpu.share) && cpu.period > Nanos::ZERO;
        if !is_asked || !earlier.iter().all(can_be) {
            return false;
        }
        self.thieves.iter().zip(&earlier).for_each(|(thief, cpu)| thief.set_period(cpu.period));
        self.calibrated = earlier;
        true
    }

    /// Measures anew, in so many windows that the slowest CPU is slow for this long; of each CPU
    /// its windows, too.
    ///
    /// # Errors
    /// As [`Lab::calibrate`].
    pub fn measure(
        &self,
        time: Nanos,
        control: &Control,
    ) -> Result<(Vec<Calibrated>, Vec<Vec<Window>>), LabError> {
        calibrate::measure_again(
            &self.thieves,
            &self.calibrated,
            self.windows(time),
            &self.budget,
            control,
        )
    }

    /// How many windows [`Lab::measure`] takes for this time.
    pub fn windows(&self, time: Nanos) -> usize {
        let slowest = self.asked.iter().map(|slow| slow.ratio).fold(1.0, f64::max);
        usize::try_from(time.0.div_ceil(victim::window_time(slowest).0)).unwrap_or(usize::MAX)
    }

    /// The CPUs that thieves sit on, with what was asked of each.
    pub fn asked(&self) -> &[Slow] {
        &self.asked
    }

    /// From now on the CPUs are slow.
    pub fn slow_down(&self) {
        for (thief, calibrated) in self.thieves.iter().zip(&self.calibrated) {
            thief.take(calibrated.share);
        }
    }

    /// The CPUs are as fast as ever, until they are slowed again.
    pub fn let_go(&self) {
        self.thieves.iter().for_each(|thief| thief.take(0.0));
    }

    /// What each slowed CPU came to.
    pub fn slowed(&self) -> Vec<Slowed> {
        self.calibrated
            .iter()
            .map(|cpu| Slowed { asked: cpu.asked, measured: cpu.ratio.median })
            .collect()
    }

    /// What is told to the programs in the lab.
    pub fn stolen(&self) -> Stolen {
        Stolen::new(
            self.slowed()
                .iter()
                .map(|slowed| Slow { ratio: slowed.measured, ..slowed.asked })
                .collect(),
        )
    }
}
