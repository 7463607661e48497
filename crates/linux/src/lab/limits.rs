//! How much of a CPU real-time threads may have on this machine, and at which priority.
//!
//! Two limits: the throttle of all real-time threads (`/proc/sys/kernel/sched_rt_runtime_us` of
//! every `sched_rt_period_us`; -1: none), and, with `CONFIG_RT_GROUP_SCHED`, that of the control
//! group (`cpu.rt_runtime_us` of every `cpu.rt_period_us`; 0: no real-time threads at all). Kernels
//! from 6.12 on have a server that gives starved ordinary threads 5 % in place of the throttle: as
//! much as the throttle leaves unless it is changed. Source:
//! Documentation/scheduler/sched-rt-group.rst.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use evenkeel_machine::Nanos;
use rustix::process::{Resource, getrlimit};

/// The thief's priority where any is allowed: below the threads of interrupts, which have 50, above
/// what programs that are slowed have in general.
const PRIORITY: i32 = 49;
/// The greatest ratio where nothing is limited: what is left of a CPU is then of the size of what
/// switching costs.
const GREATEST_RATIO: f64 = 100.0;
/// How much of what is allowed the measurement uses.
const MARGIN: f64 = 0.95;

/// What real-time threads may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Share of each CPU's time, 0 to 1.
    pub share: f64,
    /// The file that says so.
    pub file: PathBuf,
    /// Priority of thieves; victims have one less.
    pub priority: i32,
}

impl Budget {
    /// The greatest ratio that it allows: at that the slowed CPU has left what the budget leaves.
    pub fn greatest_ratio(&self) -> f64 {
        // The rounding of 1 / (1 - 0.95) is not to refuse 20.
        (1.0 / (1.0 - self.share) * (1.0 + 1e-9)).min(GREATEST_RATIO)
    }

    /// This process's.
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"), priority())
    }

    fn below(root: &Path, priority: i32) -> Self {
        let system = root.join("proc/sys/kernel");
        let mut budget = Self { share: 1.0, file: system.join("sched_rt_runtime_us"), priority };
        budget.lower_to(system.join("sched_rt_runtime_us"), &system.join("sched_rt_period_us"));
        if let Some(group) = group(root) {
            budget.lower_to(group.join("cpu.rt_runtime_us"), &group.join("cpu.rt_period_us"));
        }
        budget
    }

    fn lower_to(&mut self, runtime_file: PathBuf, period_file: &Path) {
        let (Some(runtime), Some(period)) = (number(&runtime_file), number(period_file)) else {
            return;
        };
        // A runtime of -1 is no limit.
        let share = runtime / period;
        if (0.0..self.share).contains(&share) {
            (self.share, self.file) = (share, runtime_file);
        }
    }

    /// Of a victim: the thief comes first.
    pub fn victim_priority(&self) -> i32 {
        self.priority - 1
    }

    /// How long nothing real-time may run after it ran for `busy`, so that it stays within the
    /// budget.
    pub fn pause_after(&self, busy: Nanos) -> Duration {
        let share = self.share * MARGIN;
        Duration::from_nanos(busy.0).mul_f64((1.0 - share) / share.max(0.01))
    }
}

/// The highest priority up to [`PRIORITY`] that the limit of the process allows; with
/// `CAP_SYS_NICE` there is none.
fn priority() -> i32 {
    match getrlimit(Resource::Rtprio).current {
        Some(soft @ 2..) => i32::try_from(soft).unwrap_or(PRIORITY).min(PRIORITY),
        _ => PRIORITY,
    }
}

/// The folder of this process's control group, version 1, which alone has a real-time budget.
fn group(root: &Path) -> Option<PathBuf> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let of_cpu = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers
            .split(',')
            .any(|name| name == "cpu")
            .then(|| (controllers.to_owned(), path.to_owned()))
    };
    let (controllers, path) = groups.lines().find_map(of_cpu)?;
    let mounts = [root.join("sys/fs/cgroup").join(controllers), root.join("sys/fs/cgroup/cpu")];
    let folder = mounts.into_iter().find(|folder| folder.is_dir())?;
    Some(folder.join(path.trim_start_matches('/')))
}

fn number(file: &Path) -> Option<f64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these files.
    fn budget(files: &[(&str, &str)]) -> (tempfile::TempDir, Budget) {
        let root = tempfile::tempdir().unwrap();
        for (file, content) in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        let budget = Budget::below(root.path(), PRIORITY);
        (root, budget)
    }

    const RUNTIME: &str = "proc/sys/kernel/sched_rt_runtime_us";
    const PERIOD: (&str, &str) = ("proc/sys/kernel/sched_rt_period_us", "1000000\n");

    #[test]
    fn the_throttle_allows_a_ratio_of_twenty() {
        let (_root, budget) = budget(&[(RUNTIME, "950000\n"), PERIOD]);
        assert_eq!(budget.share, 0.95);
        assert!((20.0..20.001).contains(&budget.greatest_ratio()), "{}", budget.greatest_ratio());
    }

    #[test]
    fn without_a_throttle_our_own_limit_holds() {
        assert_eq!(budget(&[(RUNTIME, "-1\n"), PERIOD]).1.greatest_ratio(), GREATEST_RATIO);
        assert_eq!(budget(&[]).1.greatest_ratio(), GREATEST_RATIO);
        assert_eq!(budget(&[(RUNTIME, "1000000\n"), PERIOD]).1.greatest_ratio(), GREATEST_RATIO);
    }

    #[test]
    fn a_control_group_may_allow_less_or_nothing() {
        let group = [
            (RUNTIME, "950000"),
            PERIOD,
            ("proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/user/b\n0::/c\n"),
            ("sys/fs/cgroup/cpu,cpuacct/user/b/cpu.rt_period_us", "1000000"),
        ];
        let file = "sys/fs/cgroup/cpu,cpuacct/user/b/cpu.rt_runtime_us";
        let (root, half) = budget(&[group.as_slice(), &[(file, "500000")]].concat());
        assert_eq!((half.share, half.greatest_ratio() as u32), (0.5, 2));
        assert_eq!(half.file, root.path().join(file));
        assert_eq!(budget(&[group.as_slice(), &[(file, "0")]].concat()).1.share, 0.0);
    }

    #[test]
    fn pauses_keep_the_measurement_within_the_budget() {
        let (_root, budget) = budget(&[(RUNTIME, "950000\n"), PERIOD]);
        let busy = Nanos::from_millis(40);
        let share =
            busy.as_secs_f64() / (busy.as_secs_f64() + budget.pause_after(busy).as_secs_f64());
        assert!(share < 0.95 && share > 0.85, "{share}");
    }
}
