//! Total work of an application, and a machine's best possible speedup: closed forms that runs are
//! compared with.

use std::collections::BTreeMap;

use evenkeel_machine::{Nanos, Work};

use crate::ids::ChannelId;
use crate::model::{Application, Repeat, Step};

/// Speedup over one little core of work that spreads itself perfectly over `big` and `little`
/// cores: `big x ratio + little`, with `ratio` the speed of one big core over one little (the
/// maturity study's ideal, JPDC 2019).
pub fn ideal_speedup(ratio: f64, big: u32, little: u32) -> f64 {
    f64::from(big) * ratio + f64::from(little)
}

impl Application {
    /// Lets every thread run on all cores, at its start and in every step of its program.
    pub fn unbind(&mut self) {
        fn lift(steps: &mut [Step]) {
            for step in steps {
                match step {
                    Step::SetAffinity(cores) => *cores = None,
                    Step::Loop { body, .. } => lift(body),
                    _ => {}
                }
            }
        }
        for thread in self.threads.iter_mut().chain(&mut self.templates) {
            thread.affinity = None;
        }
        for program in &mut self.programs {
            lift(&mut program.steps);
        }
    }

    /// The work of one execution of this application, by phase: steps, parallel loops and tasks,
    /// without the costs of taking chunks or of creating and taking tasks, and without `Busy`,
    /// which is time and not work. `None` if it cannot be known beforehand: forked threads, or an
    /// endless loop that no queue ends.
    ///
    /// Threads that leave an endless loop when a queue ends are taken to share its items equally.
    pub fn work_by_phase(&self) -> Option<Vec<Work>> {
        let mut tally = Tally {
            app: self,
            work: vec![0; self.phases.len()],
            sent: vec![0; self.channels.len()],
        };
        let mut waiting = Vec::new();
        let mut loops = vec![0_u64; self.loops.len()];
        let mut graphs = vec![0_u64; self.graphs.len()];
        for thread in &self.threads {
            let steps = &self.programs.get(thread.program.index())?.steps;
            tally.pass(steps, 1, &mut waiting)?;
            let mut met = Met::default();
            met.pass(steps, 1);
            met.loops.into_iter().for_each(|(id, times)| loops[id] = loops[id].max(times));
            met.graphs.into_iter().for_each(|(id, times)| graphs[id] = graphs[id].max(times));
        }
        for (parallel, times) in self.loops.iter().zip(loops) {
            tally.work[parallel.phase.index()] +=
                u128::from(times * parallel.iterations) * u128::from(parallel.work.0);
        }
        for (graph, times) in self.graphs.iter().zip(graphs) {
            for task in &graph.tasks {
                tally.work[task.phase.index()] += u128::from(times) * u128::from(task.work.0);
            }
        }
        tally.drain(waiting)?;
        tally.work.into_iter().map(|work| u64::try_from(work).ok().map(Work)).collect()
    }

    /// Number of runs of each graph, if the application only runs task graphs, one after another,
    /// all threads alike; `None` if it does anything else or starts again.
    pub fn graph_rounds(&self) -> Option<Vec<u64>> {
        let first = self.threads.first()?;
        let alike = self
            .threads
            .iter()
            .all(|thread| thread.program == first.program && thread.delay == Nanos::ZERO);
        let steps = &self.programs.get(first.program.index())?.steps;
        if !alike || self.repeat != Repeat::Once || self.graphs.is_empty() || !only_graphs(steps) {
            return None;
        }
        let mut met = Met::default();
        met.pass(steps, 1);
        Some(
            (0..self.graphs.len())
                .map(|graph| met.graphs.get(&graph).copied().unwrap_or(0))
                .collect(),
        )
    }

    /// The sum of [`Application::work_by_phase`].
    pub fn total_work(&self) -> Option<Work> {
        Some(self.work_by_phase()?.into_iter().sum())
    }
}

fn only_graphs(steps: &[Step]) -> bool {
    steps.iter().all(|step| match step {
        Step::RunTasks(_) => true,
        Step::Loop { times: Some(_), body } => only_graphs(body),
        _ => false,
    })
}

/// Number of times that a thread comes to each shared loop and graph.
#[derive(Default)]
struct Met {
    loops: BTreeMap<usize, u64>,
    graphs: BTreeMap<usize, u64>,
}

impl Met {
    fn pass(&mut self, steps: &[Step], times: u64) {
        for step in steps {
            match step {
                Step::Loop { times: Some(inner), body } => self.pass(body, times * inner),
                Step::ParallelFor(id) => *self.loops.entry(id.index()).or_default() += times,
                Step::RunTasks(id) => *self.graphs.entry(id.index()).or_default() += times,
                _ => {}
            }
        }
    }
}

struct Tally<'a> {
    app: &'a Application,
    work: Vec<u128>,
    sent: Vec<u128>,
}

/// An endless loop that a queue ends.
struct Drain<'a> {
    channel: ChannelId,
    body: &'a [Step],
}

impl<'a> Tally<'a> {
    fn pass(&mut self, steps: &'a [Step], times: u128, waiting: &mut Vec<Drain<'a>>) -> Option<()> {
        for step in steps {
            match step {
                Step::Compute { work, phase } => {
                    *self.work.get_mut(phase.index())? += times * u128::from(work.0)
                }
                Step::Send(channel) => *self.sent.get_mut(channel.index())? += times,
                Step::Loop { times: Some(inner), body } => {
                    self.pass(body, times * u128::from(*inner), waiting)?
                }
                Step::Loop { times: None, body } => {
                    let channel = body.iter().find_map(|step| match step {
                        Step::Receive(channel) => Some(*channel),
                        _ => None,
                    })?;
                    waiting.push(Drain { channel, body });
                }
                Step::Fork(_) => return None,
                _ => {}
            }
        }
        Some(())
    }

    /// Follows items down the pipeline: a queue is counted once no loop that is still waiting can
    /// send to it.
    fn drain(&mut self, mut waiting: Vec<Drain<'a>>) -> Option<()> {
        while !waiting.is_empty() {
            let settled =
                |drain: &Drain| !waiting.iter().any(|other| sends_to(other.body, drain.channel));
            let channel = waiting.iter().find(|drain| settled(drain))?.channel;
            let (ready, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|drain| drain.channel == channel);
            waiting = rest;
            let (items, receivers) = (self.sent[channel.index()], ready.len() as u128);
            let mut part = Tally {
                app: self.app,
                work: vec![0; self.app.phases.len()],
                sent: vec![0; self.app.channels.len()],
            };
            for drain in &ready {
                part.pass(drain.body, items, &mut Vec::new())?;
            }
            self.work.iter_mut().zip(part.work).for_each(|(sum, work)| *sum += work / receivers);
            self.sent.iter_mut().zip(part.sent).for_each(|(sum, sent)| *sum += sent / receivers);
        }
        Some(())
    }
}

fn sends_to(steps: &[Step], channel: ChannelId) -> bool {
    steps.iter().any(|step| match step {
        Step::Send(to) => *to == channel,
        Step::Loop { body, .. } => sends_to(body, channel),
        _ => false,
    })
}
