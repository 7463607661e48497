//! What a lab tells the programs that it runs: how much slower each CPU really is.
//!
//! `EVENKEEL_LAB=1=3.004,2=2.01`: CPU 1 is 3.004 times slower as measured, CPU 2 2.01 times; others
//! are not slowed. A program that watches threads needs it beside the machine file, because on a
//! slowed CPU of the lab a thread does not run slowly: it runs at full speed, and is preempted for
//! the rest of the time. The kernel counts that rest as waiting.

use std::fmt;

use evenkeel_machine::Nanos;

use super::LabError;
use super::slow::{Slow, parse_slow};
use crate::observe::watch::Cpu;

/// The variable.
pub const LAB_VARIABLE: &str = "EVENKEEL_LAB";

/// By how much each CPU is slower, in the lab that this process runs in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stolen(Vec<Slow>);

impl Stolen {
    /// As the environment says; nothing is stolen where it says nothing.
    ///
    /// # Errors
    /// A variable that is not of the form.
    pub fn from_env() -> Result<Self, LabError> {
        match std::env::var_os(LAB_VARIABLE) {
            Some(text) => Self::parse(&text.to_string_lossy()),
            None => Ok(Self::default()),
        }
    }

    /// As the variable's content says; an empty one says nothing.
    ///
    /// # Errors
    /// It is not of the form.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        if text.is_empty() { Ok(Self::default()) } else { parse_slow(&[text]).map(Self) }
    }

    /// From measured ratios. One that is below 1 is of a CPU that is hardly slowed, on a machine
    /// that is not quiet: nothing is stolen.
    pub(super) fn new(mut measured: Vec<Slow>) -> Self {
        measured.iter_mut().for_each(|slow| slow.ratio = slow.ratio.max(1.0));
        measured.sort_by_key(|slow| slow.cpu);
        Self(measured)
    }

    /// True if no CPU is slowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPUs that are slowed, ascending, with their measured ratios.
    pub fn iter(&self) -> impl Iterator<Item = Slow> + '_ {
        self.0.iter().copied()
    }

    /// How many times slower a CPU is; 1 where it is not slowed.
    pub fn ratio(&self, cpu: Cpu) -> f64 {
        self.0.binary_search_by_key(&cpu, |slow| slow.cpu).map_or(1.0, |index| self.0[index].ratio)
    }

    /// The share of a CPU's time that is taken away, 0 to less than 1.
    pub fn share(&self, cpu: Cpu) -> f64 {
        1.0 - 1.0 / self.ratio(cpu)
    }

    /// How long a thread would have to be on this CPU, thief and all, to run for `run`: what a
    /// really slow core would have counted as its running time.
    pub fn slow_time(&self, cpu: Cpu, run: Nanos) -> Nanos {
        Nanos((run.0 as f64 * self.ratio(cpu)).round() as u64)
    }
}

impl fmt::Display for Stolen {
    /// As the variable has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, slow) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", slow.cpu.0, (slow.ratio * 1e4).round() / 1e4)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_variable_says_how_much_is_stolen_where() {
        let stolen = Stolen::parse("1=4,5=2.5").unwrap();
        assert_eq!(
            (stolen.ratio(Cpu(1)), stolen.ratio(Cpu(5)), stolen.ratio(Cpu(0))),
            (4.0, 2.5, 1.0)
        );
        assert_eq!((stolen.share(Cpu(1)), stolen.share(Cpu(2))), (0.75, 0.0));
        assert_eq!(stolen.slow_time(Cpu(1), Nanos(1_000)), Nanos(4_000));
        assert_eq!(Stolen::parse("").unwrap(), Stolen::default());
        assert!(Stolen::parse("1").is_err());
    }

    #[test]
    fn what_was_measured_to_be_faster_than_unslowed_can_be_read_back() {
        let stolen = Stolen::new(vec![Slow { cpu: Cpu(2), ratio: 0.997 }]);
        assert_eq!(Stolen::parse(&stolen.to_string()).unwrap(), stolen);
        assert_eq!(stolen.share(Cpu(2)), 0.0);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(ratios in prop::collection::btree_map(0_u32..1024, 10_000_u32..1_000_000, 0..9)) {
            let measured = ratios.into_iter().map(|(cpu, ratio)| Slow { cpu: Cpu(cpu), ratio: f64::from(ratio) / 1e4 });
            let stolen = Stolen::new(measured.collect());
            prop_assert_eq!(Stolen::parse(&stolen.to_string()).unwrap(), stolen);
        }
    }
}
