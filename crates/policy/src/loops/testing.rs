//! A bench for loop policies: workers of kinds that take a time per iteration.

use evenkeel_machine::{KindId, Nanos};

use super::LoopPolicy;

/// Worker, iterations and end of each chunk, in the order in which they were taken.
pub struct Run(Vec<(u32, u64, Nanos)>);

impl Run {
    /// Chunks of a worker.
    pub fn of(&self, worker: u32) -> Vec<u64> {
        self.0.iter().filter(|(by, ..)| *by == worker).map(|&(_, count, _)| count).collect()
    }

    pub fn makespan(&self) -> Nanos {
        self.0.iter().map(|&(_, _, end)| end).max().unwrap_or_default()
    }
}

/// Runs a loop: kinds by worker, nanoseconds per iteration by kind. Who is done first asks first, the lower number of two.
pub fn run(policy: &mut dyn LoopPolicy, iterations: u64, kinds: &[u8], pace: &[u64]) -> Run {
    policy.start(iterations, kinds.len() as u32);
    let mut run = Run(Vec::new());
    let mut coming: Vec<(Nanos, u32, u64, Nanos)> =
        (0..kinds.len() as u32).map(|it| (Nanos(0), it, 0, Nanos(0))).collect();
    while let Some(&first) = coming.iter().min() {
        coming.retain(|it| *it != first);
        let (now, worker, had, time) = first;
        let kind = KindId(kinds[worker as usize]);
        if had > 0 {
            policy.done(worker, kind, had, time);
        }
        if let Some((_, count)) = policy.take(worker, kind) {
            let time = Nanos(count * pace[kind.index()]);
            run.0.push((worker, count, now + time));
            coming.push((now + time, worker, count, time));
        }
    }
    run
}
