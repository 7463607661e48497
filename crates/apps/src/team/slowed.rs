//! Simulates a core that is slow all the time on a machine without one: a thread waits after each
//! block that it has done there.

use std::hint::spin_loop;
use std::str::FromStr;
use std::time::Instant;

use rustix::thread::sched_getcpu;

use super::Team;

/// A CPU, and how many times longer than elsewhere a block takes there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// The operating system's number of the CPU.
    pub cpu: u32,
    ratio: f64,
}

/// The error for a text that is no [`Slow`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' found, expected CPU=RATIO, a CPU's number and 1 or more, as 1=3")]
pub struct SlowError {
    found: String,
}

impl FromStr for Slow {
    type Err = SlowError;

    fn from_str(text: &str) -> Result<Self, SlowError> {
        let read = || {
            let (cpu, ratio) = text.split_once('=')?;
            let (cpu, ratio) = (cpu.trim().parse().ok()?, ratio.trim().parse().ok()?);
            Some(Self { cpu, ratio }).filter(|_| (1.0..=1_000.0).contains(&ratio))
        };
        read().ok_or_else(|| SlowError { found: text.to_owned() })
    }
}

impl Slow {
    /// Does the work, and then waits if it was done on the slow CPU.
    fn call(self, work: impl FnOnce()) {
        let since = Instant::now();
        work();
        if sched_getcpu() == self.cpu as usize {
            let end = since.elapsed().mul_f64(self.ratio);
            while since.elapsed() < end {
                spin_loop();
            }
        }
    }
}

/// A team with one slow core. Code between phases is not slowed: it runs on the fast cores, if
/// those go through the app.
pub struct Slowed<'a, T> {
    /// The team.
    pub team: &'a T,
    /// The slow core, if any.
    pub slow: Option<Slow>,
}

impl<T: Team> Team for Slowed<'_, T> {
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        match self.slow {
            None => self.team.each(blocks, body),
            Some(slow) => self.team.each(blocks, |block| slow.call(|| body(block))),
        }
    }

    fn tickets(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        match self.slow {
            None => self.team.tickets(blocks, body),
            Some(slow) => self.team.tickets(blocks, |block| slow.call(|| body(block))),
        }
    }

    fn once(&self, body: impl FnOnce()) {
        self.team.once(body);
    }

    fn agree(&self, decide: impl FnOnce() -> f64) -> f64 {
        self.team.agree(decide)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Serial, on_cpus};
    use super::*;

    #[test]
    fn a_slow_core_is_a_cpu_and_a_ratio() {
        assert_eq!("1=3".parse(), Ok(Slow { cpu: 1, ratio: 3.0 }));
        for text in ["", "1", "=3", "1=", "1=0.5", "1=nan", "1=inf", "-1=2", "a=2", "1=2,2=3"] {
            assert_eq!(text.parse::<Slow>(), Err(SlowError { found: text.to_owned() }), "{text}");
        }
    }

    #[test]
    fn blocks_take_longer_there_and_nowhere_else() {
        let here = evenkeel_runtime::Pool::new().unwrap().places()[0].cpu.unwrap();
        let spent = |cpu| {
            let team = Slowed { team: &Serial, slow: Some(Slow { cpu, ratio: 10.0 }) };
            let since = Instant::now();
            team.each(10, |_| {
                let since = Instant::now();
                while since.elapsed().as_micros() < 500 {}
            });
            since.elapsed().as_secs_f64()
        };
        let (there, elsewhere) = on_cpus(&[here], || (spent(here), spent(here + 1))).unwrap();
        assert!(there >= 0.05, "ten times ten blocks of half a millisecond: {there}");
        assert!(elsewhere < there, "{elsewhere} {there}");
    }
}
