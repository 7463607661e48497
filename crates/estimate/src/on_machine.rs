//! A model at work on a machine: see [`MachineModel`].

use evenkeel_machine::{MAX_KINDS, Nanos, PerKind};

use crate::metric::Counts;
use crate::model::{Model, Predictor};
use crate::rounds::{Round, Rounds};
use crate::sets::{Counters, EventSet, EventSets};

/// A thread that has run for less on a kind has not been seen on it: its counters go on. Ours.
pub const LEAST_TIME: Nanos = Nanos(10_000_000);

/// A model for the kinds of a machine, with the event sets that a thread is watched by on each.
#[derive(Clone, Debug)]
pub struct MachineModel {
    /// By the kinds' rank on the machine.
    kinds: Vec<Watching>,
}

#[derive(Clone, Debug)]
struct Watching {
    sets: EventSets,
    /// What tells the factor on each kind of the machine from what is seen on this one. `None`: the
    /// model's slowest kind, whose factor is 1.
    predictors: Vec<Option<Predictor>>,
}

/// Why a model says nothing of a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It is for other kinds.
    #[error("the model is for the kinds {model}, and the machine has {machine}")]
    Kinds {
        /// Kinds of the model.
        model: String,
        /// Kinds of the machine.
        machine: String,
    },
    /// It has no predictor for a pair of kinds.
    #[error("the model does not tell the factor of {of} from what is seen on {seen_on}")]
    NoPredictor {
        /// The kind that a thread is on.
        seen_on: String,
        /// The kind whose factor is missing.
        of: String,
    },
    /// Counters do not suffice for one of its metrics.
    #[error("{kind} has too few counters for what the model asks for: {metrics}")]
    Counters {
        /// The kind.
        kind: String,
        /// Metrics that the model asks for there.
        metrics: String,
    },
}

/// What a thread has shown so far: rounds of event sets, for each kind of core.
///
/// A kind's round goes on where it was when the thread returns. Whether another phase has begun
/// meanwhile is told as ever, by the IPC on that kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    rounds: [Rounds; MAX_KINDS],
}

impl Watched {
    /// The set to count now on a kind, an index into the sets of [`MachineModel::sets`].
    #[must_use]
    pub fn set(&self, kind: usize) -> usize {
        self.rounds[kind].set()
    }

    /// Counters of a kind were lost: its round begins anew, and nothing is usual.
    pub fn begin_anew(&mut self, kind: usize) {
        self.rounds[kind].begin_anew();
    }
}

impl MachineModel {
    /// For a machine, or part of one, whose kinds have these names and counters, from the fastest
    /// to the slowest.
    ///
    /// # Errors
    /// See [`ModelError`].
    pub fn new(model: &Model, kinds: &[(&str, Counters)]) -> Result<Self, ModelError> {
        let rank = |name: &str| model.kinds.iter().position(|kind| kind == name);
        let ranks: Option<Vec<usize>> = kinds.iter().map(|(name, _)| rank(name)).collect();
        let ranks = ranks.ok_or_else(|| ModelError::Kinds {
            model: model.kinds.join(", "),
            machine: kinds.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        let slowest = model.kinds.len() - 1;
        let watching = |(&seen_on, (name, counters)): (&usize, &(&str, Counters))| {
            let metrics = model.metrics(seen_on);
            let sets = EventSets::new(&metrics, counters).ok_or_else(|| ModelError::Counters {
                kind: (*name).to_owned(),
                metrics: metrics.iter().map(|it| it.name()).collect::<Vec<_>>().join(", "),
            })?;
            let predictor = |&of: &usize| {
                let found = model.seen_on(seen_on).find(|it| it.of == of).cloned();
                if found.is_none() && of != slowest {
                    let of = model.kinds[of].clone();
                    return Err(ModelError::NoPredictor { seen_on: (*name).to_owned(), of });
                }
                Ok(found)
            };
            let predictors = ranks.iter().map(predictor).collect::<Result<_, _>>()?;
            Ok(Watching { sets, predictors })
        };
        let kinds = ranks.iter().zip(kinds).map(watching).collect::<Result<_, _>>()?;
        Ok(Self { kinds })
    }

    /// The sets that a thread is watched by in turn while it is on a kind.
    #[must_use]
    pub fn sets(&self, kind: usize) -> &EventSets {
        &self.kinds[kind].sets
    }

    /// The set that a thread is to be watched by on a kind now.
    #[must_use]
    pub fn set(&self, thread: &Watched, kind: usize) -> &EventSet {
        self.sets(kind).events(thread.set(kind))
    }

    /// Counts of [`MachineModel::set`] in a period, on one kind alone. After a whole round: the
    /// thread's factor on each kind, relative to the slowest of the machine. Allocates nothing.
    pub fn sample(
        &self,
        thread: &mut Watched,
        kind: usize,
        counts: &Counts,
    ) -> Option<PerKind<f32>> {
        let watching = &self.kinds[kind];
        let Round::Whole(values) = thread.rounds[kind].sample(&watching.sets, counts) else {
            return None;
        };
        let mut factors = PerKind::all(1.0);
        for (factor, predictor) in factors.0.iter_mut().zip(&watching.predictors) {
            // No kind is told to be slower than the slowest.
            *factor = predictor.as_ref().map_or(1.0, |it| it.factor(&values).max(1.0));
        }
        let slowest = factors.0[self.kinds.len() - 1];
        Some(PerKind(factors.0.map(|factor| (factor / slowest).max(1.0) as f32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Event, Metric};
    use crate::regression::{Additive, StepFunction};
    use crate::training::Method;

    fn counters() -> Counters {
        Counters { general: 1, fixed: vec![Event::Instructions, Event::Cycles] }
    }

    /// On the fast kind a miss makes the factor 1.5 in place of 3; on the slow one it is 2.
    fn model() -> Model {
        let predictor = |seen_on, of, base, step: Option<StepFunction>| Predictor {
            seen_on,
            of,
            metrics: step.iter().map(|_| Metric::LlcMisses).collect(),
            regression: Additive::new(base, step.into_iter().collect()).unwrap(),
            accuracy: None,
        };
        let step = StepFunction::new(vec![1.0], vec![0.0, -1.5]);
        Model {
            kinds: ["big", "middle", "little"].map(str::to_owned).to_vec(),
            method: Method::Overall,
            source: "a test".to_owned(),
            programs: Vec::new(),
            predictors: vec![
                predictor(0, 0, 3.0, step),
                predictor(0, 1, 2.0, None),
                predictor(1, 0, 3.0, None),
                predictor(1, 1, 2.0, None),
                predictor(2, 0, 2.0, None),
                predictor(2, 1, 0.5, None),
            ],
        }
    }

    fn counts(misses: u64) -> Counts {
        let mut counts = Counts::default();
        counts.set(Event::Instructions, 1_000_000);
        counts.set(Event::Cycles, 1_000_000);
        counts.set(Event::CacheMisses, misses);
        counts
    }

    #[test]
    fn factors_are_told_from_the_kind_that_a_thread_is_on() {
        let kinds = ["big", "middle", "little"].map(|name| (name, counters()));
        let model = MachineModel::new(&model(), &kinds).unwrap();
        let mut thread = Watched::default();
        let mut told = |kind, misses| {
            let factors = model.sample(&mut thread, kind, &counts(misses)).unwrap();
            [factors.0[0], factors.0[1], factors.0[2]]
        };
        assert_eq!(told(0, 0), [3.0, 2.0, 1.0]);
        assert_eq!(told(0, 5_000), [1.5, 2.0, 1.0]);
        // A factor below 1 would make the slowest kind the faster one.
        assert_eq!(told(2, 0), [2.0, 1.0, 1.0]);
    }

    #[test]
    fn on_a_part_of_the_kinds_factors_are_relative_to_the_slowest_of_it() {
        let kinds = ["big", "middle"].map(|name| (name, counters()));
        let model = MachineModel::new(&model(), &kinds).unwrap();
        let factors = model.sample(&mut Watched::default(), 1, &counts(0)).unwrap();
        assert_eq!(factors.0[..2], [1.5, 1.0]);
    }

    #[test]
    fn a_model_for_other_kinds_or_counters_is_refused() {
        let refused = |kinds: &[(&str, Counters)], model: &Model| {
            MachineModel::new(model, kinds).err().map(|error| error.to_string())
        };
        let other = [("P", counters()), ("E", counters())];
        let expected = "the model is for the kinds big, middle, little, and the machine has P, E";
        assert_eq!(refused(&other, &model()).as_deref(), Some(expected));
        let few = [("big", Counters { general: 2, fixed: Vec::new() }), ("little", counters())];
        let expected = "big has too few counters for what the model asks for: llc-misses";
        assert_eq!(refused(&few, &model()).as_deref(), Some(expected));
        let mut lacking = model();
        lacking.predictors.remove(0);
        let expected = "the model does not tell the factor of big from what is seen on big";
        let kinds = [("big", counters()), ("little", counters())];
        assert_eq!(refused(&kinds, &lacking).as_deref(), Some(expected));
    }
}
