//! Which CPUs are to be how much slower: `2-3=2,4=4`, checked against the machine.

use std::fs;
use std::path::Path;

use evenkeel_machine::parse_cpus;
use rustix::thread::{CpuSet, sched_getaffinity};

use super::LabError;
use super::limits::Budget;
use crate::observe::watch::Cpu;

/// One CPU to slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// Which.
    pub cpu: Cpu,
    /// How many times slower; at least 1, which leaves it as it is.
    pub ratio: f64,
}

/// Reads what is to be slowed: CPUS=RATIO, several with commas between, several texts one after the
/// other. CPUS is a list as Linux writes it; the ratio is that of all CPUs since the last one.
/// Sorted by CPU.
///
/// # Errors
/// Another form, a ratio below 1, a CPU twice.
pub fn parse_slow(texts: &[impl AsRef<str>]) -> Result<Vec<Slow>, LabError> {
    let mut all: Vec<Slow> = Vec::new();
    for text in texts {
        parse_one(text.as_ref(), &mut all)?;
    }
    all.sort_by_key(|slow| slow.cpu);
    match all.windows(2).find(|pair| pair[0].cpu == pair[1].cpu) {
        Some(pair) => Err(LabError::Twice { cpu: pair[0].cpu }),
        None => Ok(all),
    }
}

fn parse_one(text: &str, into: &mut Vec<Slow>) -> Result<(), LabError> {
    let form = || LabError::Form { text: text.to_owned() };
    let mut cpus = Vec::new();
    for item in text.split(',') {
        let Some((cpu, ratio)) = item.split_once('=') else {
            cpus.push(item);
            continue;
        };
        cpus.push(cpu);
        if cpus.iter().any(|cpu| cpu.trim().is_empty()) {
            return Err(form());
        }
        let list = parse_cpus(&cpus.join(","))
            .map_err(|error| LabError::Cpus { text: text.to_owned(), error })?;
        let ratio = match ratio.trim().parse::<f64>() {
            Ok(ratio) if ratio.is_finite() && ratio >= 1.0 => ratio,
            _ => {
                return Err(LabError::Ratio {
                    text: text.to_owned(),
                    found: ratio.trim().to_owned(),
                });
            }
        };
        into.extend(list.into_iter().map(|cpu| Slow { cpu: Cpu(cpu), ratio }));
        cpus.clear();
    }
    if cpus.is_empty() { Ok(()) } else { Err(form()) }
}

/// The CPUs that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    present: Vec<u32>,
    online: Vec<u32>,
    allowed: Vec<u32>,
}

impl Cpus {
    /// Those of this machine, as `sysfs` tells (`/sys`, but for tests), and those of them that this
    /// process may use.
    ///
    /// # Errors
    /// The kernel does not say which CPUs the process may use.
    pub fn of_this_process(sysfs: &Path) -> Result<Self, LabError> {
        let set = sched_getaffinity(None).map_err(|error| LabError::Affinity(error.into()))?;
        let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32);
        let allowed: Vec<u32> = allowed.collect();
        let list = |name: &str| {
            let text = fs::read_to_string(sysfs.join("devices/system/cpu").join(name)).ok()?;
            parse_cpus(&text).ok().filter(|cpus| !cpus.is_empty())
        };
        // Where sysfs is not mounted, what may be used is what there is.
        let online = list("online").unwrap_or_else(|| allowed.clone());
        Ok(Self { present: list("present").unwrap_or_else(|| online.clone()), online, allowed })
    }

    /// CPUs that a command of ours may use.
    pub fn usable(&self) -> Vec<Cpu> {
        self.allowed.iter().filter(|cpu| self.online.contains(cpu)).map(|&cpu| Cpu(cpu)).collect()
    }

    /// Checks that each can be slowed as much.
    ///
    /// # Errors
    /// A CPU that is not there, is offline, is not for this process; more than real-time threads
    /// may take.
    pub(super) fn check(&self, slow: &[Slow], budget: &Budget) -> Result<(), LabError> {
        for &Slow { cpu, ratio } in slow {
            if !self.present.contains(&cpu.0) {
                return Err(LabError::NotThere { cpu, present: self.present.clone() });
            }
            if !self.online.contains(&cpu.0) {
                return Err(LabError::Offline { cpu, online: self.online.clone() });
            }
            if !self.allowed.contains(&cpu.0) {
                return Err(LabError::NotAllowed { cpu, allowed: self.allowed.clone() });
            }
            let greatest = budget.greatest_ratio();
            if ratio > greatest && budget.share > 0.0 {
                let (share, file) = (budget.share, budget.file.clone());
                return Err(LabError::TooSlow { cpu, ratio, greatest, share, file });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(pairs: &[(u32, f64)]) -> Vec<Slow> {
        pairs.iter().map(|&(cpu, ratio)| Slow { cpu: Cpu(cpu), ratio }).collect()
    }

    #[test]
    fn lists_of_cpus_have_ratios() {
        for (texts, expected) in [
            (vec!["1=3"], slow(&[(1, 3.0)])),
            (vec!["2-3=2,4=4"], slow(&[(2, 2.0), (3, 2.0), (4, 4.0)])),
            (vec!["0,2,5-6=1.5"], slow(&[(0, 1.5), (2, 1.5), (5, 1.5), (6, 1.5)])),
            (vec!["3=2", "1=1"], slow(&[(1, 1.0), (3, 2.0)])),
        ] {
            assert_eq!(parse_slow(&texts).unwrap(), expected, "{texts:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, said) in [
            ("", "expected CPUS=RATIO"),
            ("1", "expected CPUS=RATIO"),
            ("1=2,3", "expected CPUS=RATIO"),
            ("=3", "expected CPUS=RATIO"),
            (",=3", "expected CPUS=RATIO"),
            ("1=0", "'0' is no ratio"),
            ("1=0.5", "'0.5' is no ratio"),
            ("1=-2", "'-2' is no ratio"),
            ("1=nan", "'nan' is no ratio"),
            ("1=inf", "'inf' is no ratio"),
            ("1=", "'' is no ratio"),
            ("1=2=3", "'2=3' is no ratio"),
            ("a=2", "'a' found, expected CPU numbers"),
            ("3-1=2", "expected a range from the lower"),
            ("1,1=2", "CPU 1 twice"),
            ("1=2,1=3", "CPU 1 is to be slowed twice"),
            ("0-99999999999=2", "expected CPU numbers below"),
        ] {
            let error = parse_slow(&[text]).unwrap_err();
            assert!(error.to_string().contains(said) && error.is_usage(), "{text}: {error}");
        }
    }

    #[test]
    fn a_cpu_must_be_there_online_and_allowed() {
        let cpus = Cpus { present: vec![0, 1, 2, 3], online: vec![0, 1, 3], allowed: vec![0, 1] };
        let budget = Budget {
            share: 0.95,
            file: "/proc/sys/kernel/sched_rt_runtime_us".into(),
            priority: 49,
        };
        let said = |text: &str| match cpus.check(&parse_slow(&[text]).unwrap(), &budget) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said("0-1=20"), "");
        assert_eq!(said("4=2"), "there is no CPU 4 on this machine: it has 0-3");
        assert_eq!(said("2=2"), "CPU 2 is offline; online are 0-1,3");
        assert!(said("3=2").starts_with("CPU 3 is not allowed to this process"), "{}", said("3=2"));
        for ratio in ["20.5", "1000"] {
            assert!(
                said(&format!("1={ratio}")).contains("real-time threads may have 95 % of a CPU"),
                "{ratio}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_met_with_ratios_from_1_on_or_an_error(text in "\\PC*|[0-9,\\-=. ]{0,30}") {
            if let Ok(slow) = parse_slow(&[text]) {
                prop_assert!(slow.iter().all(|slow| slow.ratio >= 1.0 && slow.ratio.is_finite()));
                prop_assert!(slow.is_sorted_by_key(|slow| slow.cpu));
            }
        }
    }
}
