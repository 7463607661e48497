//! Experiment 4: how many of age's assignments agree with the oracle's.
//!
//! A policy wraps the one under test and observes it. The simulator gives it true distances. The
//! inner policy sees the distances of a profile instead, if it has one, or predicts them all equal
//! and reads none.

use std::cmp::Reverse;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_machine::{CoreId, KindId};
use evenkeel_metrics::measures::mean;
use evenkeel_policy::os::combination::ageing::{Job, deal};
use evenkeel_policy::{
    Directive, Directives, Event, Interest, Policy, QueueId, StartError, ThreadId, View,
};
use evenkeel_sim::Profile;

use super::measure::{AGE, AGE_PROFILE, MACHINE, Way, case};
use super::programs::{Class, Program, programs};
use super::table::{CLASS, PROGRAM};
use crate::{Cell, Column, Exhibit, Figure, Runs, Shape, StudyError};

const WAYS: [Way; 2] = [AGE, AGE_PROFILE];

/// Distances that differ by at most this share of the longer one count as equal.
const TOLERANCE: f64 = 0.05;

/// The number of assignments, and how many agree with the oracle's.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    all: u64,
    agree: u64,
    /// The assignments among these to cores of the fastest kind.
    fast: u64,
    fast_agree: u64,
}

impl Tally {
    fn share(self) -> Option<f64> {
        (self.all > 0).then(|| 100.0 * self.agree as f64 / self.all as f64)
    }

    fn fast_share(self) -> Option<f64> {
        (self.fast > 0).then(|| 100.0 * self.fast_agree as f64 / self.fast as f64)
    }
}

/// A policy that is observed.
struct Watched {
    policy: Box<dyn Policy>,
    profile: Option<Arc<Profile>>,
    /// By thread, the queue that it was last assigned to; queues are cores.
    homes: Vec<Option<QueueId>>,
    tally: Arc<Mutex<Tally>>,
}

impl Watched {
    /// Asks the inner policy, which sees the profile's distances if it has a profile.
    fn answer(&mut self, event: Event, view: &View<'_>) -> Directives {
        let mut said = Directives::default();
        let Some(profile) = &self.profile else {
            self.policy.event(event, view, &mut said);
            return said;
        };
        let mut threads = view.threads.to_vec();
        for stats in &mut threads {
            stats.to_milestone = profile.distance(stats.app, stats.index_in_app);
        }
        self.policy.event(event, &View { threads: &threads, ..*view }, &mut said);
        said
    }

    /// Compares the assignments of runnable threads with those of the oracle.
    fn compare(&self, view: &View<'_>) {
        let mut jobs: Vec<(u64, ThreadId)> = view
            .runnable()
            .filter_map(|thread| Some((view.thread(thread).to_milestone?.0.max(1), thread)))
            .collect();
        jobs.sort_by_key(|&(left, thread)| (Reverse(left), thread));
        let mut cores: Vec<CoreId> = view.online().collect();
        cores.sort_by_key(|&core| (view.kind(core), core));
        let capacities: Vec<u32> =
            cores.iter().map(|&core| view.machine.kind_of(core).capacity).collect();
        let dealt: Vec<Job> =
            jobs.iter().map(|&(remaining, _)| Job { remaining, bound: None }).collect();
        let oracle: Vec<Option<KindId>> = deal(&dealt, &capacities)
            .into_iter()
            .map(|place| place.map(|place| view.kind(cores[place])))
            .collect();
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        for (&(left, thread), &meant) in jobs.iter().zip(&oracle) {
            let Some(home) = self.homes.get(thread.index()).copied().flatten() else { continue };
            let kind = Some(view.kind(CoreId(home.0)));
            let as_good =
                |other: u64| left.abs_diff(other) as f64 <= TOLERANCE * left.max(other) as f64;
            let agrees = kind == meant
                || jobs
                    .iter()
                    .zip(&oracle)
                    .any(|(&(other, _), &meant)| kind == meant && as_good(other));
            tally.all += 1;
            tally.agree += u64::from(agrees);
            if kind == Some(KindId(0)) {
                tally.fast += 1;
                tally.fast_agree += u64::from(agrees);
            }
        }
    }
}

impl Policy for Watched {
    fn interest(&self) -> Interest {
        self.policy.interest().and(Interest::DISTANCE)
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.policy.start(view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        for directive in self.answer(event, view).drain() {
            let assigned = match &directive {
                Directive::Assign(thread, queue) => &[(*thread, *queue)][..],
                Directive::AssignAll(threads) => threads,
                _ => &[],
            };
            for &(thread, queue) in assigned {
                if self.homes.len() <= thread.index() {
                    self.homes.resize(thread.index() + 1, None);
                }
                self.homes[thread.index()] = Some(queue);
            }
            say.say(directive);
        }
        if matches!(event, Event::Started(_) | Event::CoreIdle(_) | Event::Timer) {
            self.compare(view);
        }
    }
}

fn watch(runs: &Runs, program: Program, way: Way) -> Result<Tally, StudyError> {
    let mut case =
        case(runs, &program.workload(), &evenkeel_files::machines::preset(MACHINE)?, way)?;
    let tally = Arc::default();
    let mut watched = Watched {
        policy: case.make_policy()?,
        // The inner policy's profile. The observer must see true distances.
        profile: case.config.profile.take(),
        homes: Vec::new(),
        tally: Arc::clone(&tally),
    };
    case.carry_out_under(&mut watched)?;
    let tally = *tally.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(tally)
}

/// Shares by program.
pub(super) fn carry_out(runs: &Runs) -> Result<Vec<Exhibit>, StudyError> {
    let programs = programs(runs.quick);
    let wanted: Vec<(Program, Way)> =
        programs.iter().flat_map(|&program| WAYS.map(|way| (program, way))).collect();
    let tallies = runs.each(&wanted, |&(program, way)| watch(runs, program, way))?;
    let cells = |tally: &Tally| [tally.share().into(), tally.fast_share().into()];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (program, tallies) in programs.iter().zip(tallies.chunks(WAYS.len())) {
        let names = [program.name.into(), program.class.name().into()];
        let decisions = Cell::from(tallies[0].all as f64);
        rows.push(
            names.into_iter().chain(tallies.iter().flat_map(cells)).chain([decisions]).collect(),
        );
    }
    for class in Class::ALL {
        let mut row: Vec<Cell> = vec!["mean".into(), class.name().into()];
        for measured in WAYS {
            let of = |share: fn(Tally) -> Option<f64>| {
                let shares = wanted
                    .iter()
                    .zip(&tallies)
                    .filter(|((program, way), _)| program.class == class && *way == measured);
                Cell::from(mean(shares.filter_map(|(_, tally)| share(*tally))))
            };
            row.extend([of(Tally::share), of(Tally::fast_share)]);
        }
        row.push(Cell::Missing);
        rows.push(row);
    }
    let names = [PROGRAM, CLASS].map(|name| Column::new(name, ""));
    let shares = WAYS.iter().flat_map(|way| {
        [Column::new(way.name, "%"), Column::new(format!("{}, on fast", way.name), "%")]
    });
    let figure = |title: &str, y: fn(&Way) -> String| Figure {
        panels: Some(CLASS.into()),
        ..Figure::new(Shape::Bars, title, PROGRAM, WAYS.iter().map(y), "assignments that agree, %")
    };
    Ok(vec![Exhibit {
        title: "Assignments to the kind of core that the oracle would choose".into(),
        columns: names
            .into_iter()
            .chain(shares)
            .chain([Column::new("assignments of age", "")])
            .collect(),
        rows,
        figures: vec![
            figure("All assignments", |way| way.name.to_owned()),
            figure("Those to the fast core", |way| format!("{}, on fast", way.name)),
        ],
        ..Exhibit::default()
    }])
}
