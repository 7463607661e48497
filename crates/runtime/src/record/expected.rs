//! What the tasks of a recorded graph are expected to cost, for policies that plan it.
//!
//! ```text
//! size(t)     what was said that t costs (RecordedTask::cost); else the mean of what was said of
//!             its name; else any constant
//! w(t, k)     = size(t) / mean size of the name * learnt(name, k)
//! learnt      where the name has run on no worker of kind k: its time on another, by the
//!             capacities of the two; where it has run nowhere: its mean size, taken to be said of
//!             the fastest kind
//! ```
//!
//! Of tasks of which nothing was said and nothing is known each is taken to cost what the others do
//! on average.

use evenkeel_machine::{FULL_CAPACITY, KindId, Nanos, PerKind, Work};
use evenkeel_model::{PhaseId, Task};

use crate::costs::{Costs, Label};
use crate::team::KindOfCore;

/// Size where nothing is said of a name: only ratios count.
const SIZE: Nanos = Nanos(1_000);
/// Costs that differ by more than one part in so many are planned with anew. Less is noise of the
/// moving average.
const CHANGED: f64 = 5.0;

/// What the program said of a recorded task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Note {
    /// Its name.
    pub name: Option<&'static str>,
    /// Its time on the fastest kind.
    pub cost: Option<Nanos>,
}

/// Tasks of one name.
#[derive(Clone, Debug, Default)]
struct Named {
    label: Label,
    /// How many there are.
    tasks: u64,
    /// Mean of what was said, if anything was.
    said: Option<Nanos>,
}

impl Named {
    fn size(&self) -> Nanos {
        self.said.unwrap_or(SIZE)
    }
}

/// Expected costs of the tasks of a recorded graph.
pub struct Expected {
    kinds: Vec<KindOfCore>,
    /// Indexed by phase of the graph.
    names: Vec<Named>,
}

impl Expected {
    /// Expectations of tasks with these notes, and the tasks of the graph: each with its size, and
    /// its name as a phase.
    pub fn new(notes: &[Note], kinds: &[KindOfCore], costs: &Costs) -> (Self, Vec<Task>) {
        let mut names: Vec<(Option<&'static str>, Named, u64, u64)> = Vec::new();
        let mut phase_of = Vec::with_capacity(notes.len());
        for note in notes {
            let place =
                names.iter().position(|(name, ..)| *name == note.name).unwrap_or_else(|| {
                    let label = note.name.map_or_else(Label::default, |name| costs.label(name));
                    names.push((note.name, Named { label, ..Named::default() }, 0, 0));
                    names.len() - 1
                });
            let (_, named, said, sum) = &mut names[place];
            named.tasks += 1;
            *said += u64::from(note.cost.is_some());
            *sum = sum.saturating_add(note.cost.unwrap_or_default().0);
            phase_of.push(place);
        }
        let mean = |(_, named, said, sum): (_, Named, u64, u64)| {
            let said = sum.checked_div(said).map(|mean| Nanos(mean.max(1)));
            Named { said, ..named }
        };
        let names: Vec<Named> = names.into_iter().map(mean).collect();
        let task = |(note, &phase): (&Note, &usize)| Task {
            work: Work(note.cost.unwrap_or_else(|| names[phase].size()).0.max(1)),
            phase: PhaseId(phase as u32),
        };
        let tasks = notes.iter().zip(&phase_of).map(task).collect();
        (Self { kinds: kinds.to_vec(), names }, tasks)
    }

    /// The name that is a phase of the graph.
    pub fn label(&self, phase: PhaseId) -> Label {
        self.names[phase.index()].label
    }

    /// The time of a task of mean size, given the time of this one.
    pub fn of_mean_size(&self, task: &Task, time: Nanos) -> Nanos {
        let size = self.names[task.phase.index()].size();
        Nanos((time.0 as f64 * size.0 as f64 / task.work.0 as f64).round() as u64)
    }

    /// Indexed by phase: nanoseconds for a unit of work on each kind, as far as is known now.
    pub fn unit_costs(&self, costs: &Costs) -> Vec<PerKind<f64>> {
        let on_fastest: Vec<_> =
            self.names.iter().map(|named| self.on_fastest(named, costs)).collect();
        let known = || {
            self.names
                .iter()
                .zip(&on_fastest)
                .filter_map(|(named, &time)| Some((named.tasks as f64, time?)))
        };
        let (tasks, time) = known()
            .fold((0.0, 0.0), |(tasks, sum), (count, time)| (tasks + count, sum + count * time));
        let mean = if tasks > 0.0 { time / tasks } else { SIZE.0 as f64 };
        let unit_cost = |(named, on_fastest): (&Named, Option<f64>)| {
            let mut unit_cost = PerKind::all(1.0);
            for kind in &self.kinds {
                let learnt = costs.of(named.label, kind.id).map(|time| time.0 as f64);
                let time = learnt.unwrap_or_else(|| on_fastest.unwrap_or(mean) * slowness(kind));
                unit_cost[kind.id] = time / named.size().0 as f64;
            }
            unit_cost
        };
        self.names.iter().zip(on_fastest).map(unit_cost).collect()
    }

    /// Time of a task of mean size at full capacity: as learnt on the fastest kind that it has run
    /// on, else as said.
    fn on_fastest(&self, named: &Named, costs: &Costs) -> Option<f64> {
        let learnt =
            |kind: &KindOfCore| Some(costs.of(named.label, kind.id)?.0 as f64 / slowness(kind));
        self.kinds.iter().find_map(learnt).or_else(|| named.said.map(|size| size.0 as f64))
    }
}

fn slowness(kind: &KindOfCore) -> f64 {
    f64::from(FULL_CAPACITY) / f64::from(kind.capacity.max(1))
}

/// True if costs differ by so much that a plan made with the old ones is to be made anew.
pub fn have_changed(
    old: &[PerKind<f64>],
    new: &[PerKind<f64>],
    kinds: impl Iterator<Item = KindId> + Clone,
) -> bool {
    let differs = |(old, new): (&PerKind<f64>, &PerKind<f64>)| {
        kinds.clone().any(|kind| (old[kind] - new[kind]).abs() * CHANGED > old[kind])
    };
    old.iter().zip(new).any(differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> Vec<KindOfCore> {
        let kind =
            |id, capacity| KindOfCore { id: KindId(id), name: format!("kind {id}"), capacity };
        vec![kind(0, 1024), kind(1, 256)]
    }

    fn cost(expected: &Expected, task: &Task, costs: &Costs) -> [f64; 2] {
        [0, 1].map(|kind| {
            expected.unit_costs(costs)[task.phase.index()][KindId(kind)] * task.work.0 as f64
        })
    }

    #[test]
    fn what_is_said_counts_until_something_is_learnt_and_its_ratios_after_that() {
        let costs = Costs::default();
        let note = |cost| Note { name: Some("step"), cost };
        let (expected, tasks) = Expected::new(
            &[note(Some(Nanos(1_000))), note(Some(Nanos(3_000))), note(None)],
            &kinds(),
            &costs,
        );
        let of = |task: usize| cost(&expected, &tasks[task], &costs);
        assert_eq!(
            [of(0), of(1), of(2)],
            [[1_000.0, 4_000.0], [3_000.0, 12_000.0], [2_000.0, 8_000.0]]
        );
        // One of three times the size of the first took 9 us on the fast kind: 3 us the first.
        let label = costs.label("step");
        costs.learn(label, KindId(0), expected.of_mean_size(&tasks[1], Nanos(9_000)));
        assert_eq!([of(0), of(2)], [[3_000.0, 12_000.0], [6_000.0, 24_000.0]]);
        costs.learn(label, KindId(1), expected.of_mean_size(&tasks[2], Nanos(7_000)));
        assert_eq!(of(2), [6_000.0, 7_000.0]);
    }

    #[test]
    fn of_what_nothing_is_known_is_taken_to_cost_what_others_do() {
        let costs = Costs::default();
        let notes = [Note { name: Some("known"), cost: Some(Nanos(500)) }, Note::default()];
        let (expected, tasks) = Expected::new(&notes, &kinds(), &costs);
        assert_eq!(cost(&expected, &tasks[1], &costs), [500.0, 2_000.0]);
    }

    #[test]
    fn small_changes_of_a_cost_are_none() {
        let (one, ids) = ([PerKind::all(1.0)], [KindId(0), KindId(1)]);
        let changed = |unit_cost| have_changed(&one, &[PerKind::all(unit_cost)], ids.into_iter());
        assert_eq!([0.7, 0.9, 1.1, 1.3].map(changed), [true, false, false, true]);
    }
}
