//! A test bench for loop policies: workers on kinds that take a given time per iteration.

use evenkeel_machine::{KindId, Nanos};

use super::LoopPolicy;

/// Chunks in the order in which they were taken.
pub struct Run(Vec<Taken>);

struct Taken {
    by: u32,
    first: u64,
    count: u64,
    end: Nanos,
}

impl Run {
    /// Lengths of a worker's chunks.
    pub fn of(&self, worker: u32) -> Vec<u64> {
        self.chunks_of(worker).into_iter().map(|(_, count)| count).collect()
    }

    /// First iteration and length of a worker's chunks.
    pub fn chunks_of(&self, worker: u32) -> Vec<(u64, u64)> {
        self.0
            .iter()
            .filter(|taken| taken.by == worker)
            .map(|taken| (taken.first, taken.count))
            .collect()
    }

    pub fn makespan(&self) -> Nanos {
        self.0.iter().map(|taken| taken.end).max().unwrap_or_default()
    }
}

/// Runs a loop: kinds by worker, nanoseconds per iteration by kind. Workers ask in the order in
/// which they finish, equal ones by number.
pub fn run(policy: &mut dyn LoopPolicy, iterations: u64, kinds: &[u8], pace: &[u64]) -> Run {
    policy.start(iterations, kinds.len() as u32);
    to_the_end(policy, kinds, pace)
}

/// The same with known speeds of each worker in earlier executions.
pub fn run_again(
    policy: &mut dyn LoopPolicy,
    iterations: u64,
    kinds: &[u8],
    pace: &[u64],
    speeds: &[f64],
) -> Run {
    policy.start_again(iterations, kinds.len() as u32, speeds);
    to_the_end(policy, kinds, pace)
}

fn to_the_end(policy: &mut dyn LoopPolicy, kinds: &[u8], pace: &[u64]) -> Run {
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
        if let Some((first, count)) = policy.take(worker, kind) {
            let time = Nanos(count * pace[kind.index()]);
            run.0.push(Taken { by: worker, first, count, end: now + time });
            coming.push((now + time, worker, count, time));
        }
    }
    run
}
