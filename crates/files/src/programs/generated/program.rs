//! Builds a program from a row.
//!
//! The main thread retires the first half of the serial part, forks the workers, joins them, and
//! retires the other half. All else is shared by the threads that work, in proportion to their
//! lengths; lock acquisitions fall evenly along a thread's work.
//!
//! Threads meet at barriers after equal parts of their work, the last time at its end. All working
//! threads meet; where not all workers run at once, the threads of each group do. Where the entries
//! do not divide evenly, some threads meet once more.

use super::lengths::{apportion, draw};
use super::row::{Main, Manner, Row};
use super::steps::{Locks, Share};
use crate::programs::build::{Builder, Context, compute};
use evenkeel_model::SplitMix64;
use evenkeel_model::{Application, PhaseId, SemaphoreId, Step, ThreadSpec};
use evenkeel_model::{Phase, Scaling};

/// The threads that work in the parallel part: the main thread first, if it works.
struct Crew {
    /// The length of each member's work, relative to the others.
    lengths: Vec<f64>,
    /// Members that meet at the same barrier; a member belongs to one set.
    sets: Vec<std::ops::Range<usize>>,
    /// True if the first member is the main thread.
    main_works: bool,
}

impl Crew {
    fn new(row: &Row, manner: &Manner, random: &mut SplitMix64) -> Self {
        if row.one_group() {
            let lengths = draw(row.threads, manner.symmetry, random);
            let sets = std::iter::once(0..lengths.len()).collect();
            return Self { lengths, sets, main_works: true };
        }
        let groups = row.worker_groups();
        let means = draw(groups.len() as u32, manner.symmetry, random);
        let main_works = manner.main == Main::Works;
        let mut lengths = Vec::with_capacity(row.threads as usize);
        for (group, mean) in groups.iter().zip(means) {
            let own = draw(group.len() as u32, manner.symmetry, random);
            lengths.extend(own.into_iter().map(|length| length * mean));
        }
        if main_works {
            let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
            lengths.insert(0, mean);
        }
        let sets = if manner.at_once < row.workers() {
            groups.into_iter().map(|group| group.start as usize..group.end as usize).collect()
        } else {
            std::iter::once(0..lengths.len()).collect()
        };
        Self { lengths, sets, main_works }
    }

    /// Deals out the work, locks and barriers of the parallel part.
    fn shares(&self, builder: &mut Builder, ctx: &Context, work: u64, row: &Row) -> Vec<Share> {
        let locks = if row.locks == 0 { 0 } else { ctx.scaled(row.locks) };
        let parts = apportion(work, &self.lengths).into_iter().zip(apportion(locks, &self.lengths));
        let mut shares: Vec<_> = (0..)
            .zip(parts)
            .map(|(place, (work, locks))| Share {
                place,
                work,
                locks,
                meetings: 0,
                barrier: None,
                last: None,
            })
            .collect();
        let sizes: Vec<f64> = self.sets.iter().map(|set| set.len() as f64).collect();
        for (set, entries) in self.sets.iter().zip(apportion(row.barriers, &sizes)) {
            let (all, some) = (entries / set.len() as u64, (entries % set.len() as u64) as u32);
            let members = &mut shares[set.clone()];
            if all > 0 {
                let barrier = Some(builder.barrier(set.len() as u32));
                members
                    .iter_mut()
                    .for_each(|share| (share.meetings, share.barrier) = (ctx.scaled(all), barrier));
            }
            if some > 0 {
                let last = Some(builder.barrier(some));
                members.iter_mut().take(some as usize).for_each(|share| share.last = last);
            }
        }
        shares
    }
}

/// Makes the program. The row is valid: at least one thread and one group, no more groups than
/// threads.
pub(super) fn make(name: &str, row: &Row, manner: &Manner, ctx: &Context) -> Application {
    let mut random = SplitMix64::named(ctx.seed.take(), name);
    let crew = Crew::new(row, manner, &mut random);
    let mut builder = Builder::new(name);
    let phase = builder.phase(Phase::new(name, Scaling::Capacity));
    let instructions = ctx.scaled(row.instructions);
    let serial = (instructions as f64 * manner.serial).round() as u64;
    let shares = crew.shares(&mut builder, ctx, instructions - serial, row);
    let locks =
        Locks(builder.locks(if row.locks == 0 { 0 } else { Locks::count(shares.len() as u32) }));

    let slots = (manner.at_once < row.workers()).then(|| {
        builder.app().semaphores.push(manner.at_once);
        SemaphoreId(0)
    });
    let workers = &shares[usize::from(crew.main_works)..];
    let mut main = Vec::new();
    compute(&mut main, serial / 2, phase);
    add_workers(&mut builder, row, workers, (phase, locks), slots);
    for template in 0..workers.len() as u32 {
        main.extend(slots.map(Step::SemaphoreWait));
        main.push(Step::Fork(template));
    }
    if crew.main_works {
        main.extend(shares[0].steps(phase, locks));
    }
    main.push(Step::JoinAll);
    compute(&mut main, serial - serial / 2, phase);
    let program = builder.program(main);
    builder.thread("main", 0, program);
    builder.finish()
}

fn add_workers(
    builder: &mut Builder,
    row: &Row,
    shares: &[Share],
    (phase, locks): (PhaseId, Locks),
    slots: Option<SemaphoreId>,
) {
    for (index, workers) in row.worker_groups().into_iter().enumerate() {
        let group = if row.one_group() { 0 } else { index as u32 + 1 };
        for (place, worker) in workers.enumerate() {
            let mut steps = shares[worker as usize].steps(phase, locks);
            steps.extend(slots.map(Step::SemaphorePost));
            let program = builder.program(steps);
            let name = format!("group{group}.{place}");
            builder.app().templates.push(ThreadSpec { group, ..ThreadSpec::new(name, program) });
        }
    }
}
