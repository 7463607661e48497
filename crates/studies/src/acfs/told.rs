//! Factors told from counters, as the study told them for each of its schedulers.

use std::sync::Arc;

use evenkeel_estimate::training::{Method, Plan, train};
use evenkeel_estimate::{Model, Settings, generated};
use evenkeel_machine::Machine;
use evenkeel_metrics::Record;
use evenkeel_model::Application;
use evenkeel_model::character::{Nearness, give_characters};
use evenkeel_sim::Estimator;

use super::table::ByPolicy;
use super::{AMD, asp, unfairness};
use crate::{Case, Exhibit, Runs, StudyError};

/// What an exhibit says of it.
const HOW: &str = "told: phases have characters, those of the generated programs whose factors are \
    nearest, and of these whose speeds are. Counters are read every 200 ms, few at a time, with 2 \
    % of noise. A model of 40 other generated programs tells the factors of hsp, prop-sp and acfs (quickia: Phase-SF, three sets in \
    turn; amd-2b10s: Overall-SF, one set). eqp has the speed last seen on each kind.";

/// Programs to train with.
const PROGRAMS: u64 = 40;
/// Greatest deviation within phases. Ours.
const DEVIATION: f64 = 0.05;
/// Sets of the study's small kind on quickia.
const SETS: usize = 3;

/// The schedulers that go by factors.
const SCHEDULERS: [&str; 4] = ["hsp", "prop-sp", "eqp", "acfs"];

/// What tells factors on a machine.
struct Told {
    machine: Machine,
    model: Arc<Model>,
    seed: u64,
}

impl Told {
    /// With the study's method for the machine.
    ///
    /// # Errors
    /// The machine does not say how its cores are built, so there is nothing to train on.
    fn new(machine: &Machine, runs: &Runs) -> Result<Self, StudyError> {
        let (method, most_sets) = match machine.name.as_str() {
            AMD => (Method::Overall, 1),
            _ => (Method::Phases { deviation: DEVIATION }, SETS),
        };
        let settings = Settings { seed: runs.seed, ..Settings::default() };
        let plan = Plan { method, most_sets, settings, most_metrics: usize::MAX };
        let traces = generated::traces(machine, runs.seed, PROGRAMS);
        let model = Arc::new(train(&traces, &plan)?.model);
        Ok(Self { machine: machine.clone(), model, seed: runs.seed })
    }

    /// Programs of which counters show something.
    fn characterised(&self, apps: &[Application]) -> Vec<Application> {
        self.with_nearness(apps).0
    }

    /// The same, and how near their characters come to what they state.
    fn with_nearness(&self, apps: &[Application]) -> (Vec<Application>, Nearness) {
        let mut apps = apps.to_vec();
        let nearness = give_characters(&mut apps, &self.machine, self.seed).unwrap_or_default();
        (apps, nearness)
    }

    /// What an exhibit with these factors in place of the true ones is called and says.
    fn named(exhibit: Exhibit) -> Exhibit {
        let mut remarks = exhibit.remarks;
        remarks.push(HOW.to_owned());
        let title = format!("{}, factors told from counters", exhibit.title);
        Exhibit { title, remarks, ..exhibit }
    }

    /// A case of programs that are characterised, with the estimator of its scheduler.
    fn tell(&self, mut case: Case) -> Case {
        case.config.estimator = match case.policy.as_str() {
            "eqp" => Estimator::Sampled,
            _ => Estimator::Trained(Arc::clone(&self.model)),
        };
        case
    }
}

/// What chooses a case's estimator.
pub(super) type Tell<'a> = &'a dyn Fn(Case) -> Case;

/// The exhibits of sets of programs with true factors, then those with factors told from counters.
pub(super) fn true_and_told(
    machine: &Machine,
    sets: &[Vec<Application>],
    runs: &Runs,
    measure: impl Fn(&[Vec<Application>], Tell<'_>) -> Result<Vec<Exhibit>, StudyError>,
) -> Result<Vec<Exhibit>, StudyError> {
    let told = Told::new(machine, runs)?;
    let mut exhibits = measure(sets, &|case| case)?;
    let characterised: Vec<_> = sets.iter().map(|set| told.characterised(set)).collect();
    let by_counters = measure(&characterised, &|case| told.tell(case))?;
    exhibits.extend(by_counters.into_iter().map(Told::named));
    Ok(exhibits)
}

/// Unfairness and ASP of mixes, with what the study's estimators tell and with true factors.
pub(super) fn beside_the_oracle(
    machine: &Machine,
    mixes: &[(String, Vec<Application>)],
    which: &str,
    runs: &Runs,
) -> Result<[Exhibit; 2], StudyError> {
    let told = Told::new(machine, runs)?;
    let mut cases = Vec::new();
    let (mut factor, mut speed) = (0.0_f64, 0.0_f64);
    for (_, apps) in mixes {
        let (apps, nearness) = told.with_nearness(apps);
        (factor, speed) = (factor.max(nearness.factor), speed.max(nearness.speed));
        for policy in SCHEDULERS {
            let case = runs.case(machine, apps.clone(), policy);
            cases.extend([told.tell(case.clone()), case]);
        }
    }
    let records = runs.records(&cases)?;
    let of = |title: String, measure: &str, of: fn(&Record) -> f64| {
        let rows = mixes.iter().zip(records.chunks(SCHEDULERS.len() * 2));
        let rows =
            rows.map(|((name, _), records)| (name.clone(), records.iter().map(of).collect()));
        let columns = SCHEDULERS.iter().flat_map(|it| [format!("{it} told"), format!("{it} true")]);
        let table = ByPolicy {
            title,
            measure: measure.into(),
            policies: columns.collect(),
            rows: rows.collect(),
        };
        let mut remarks = differences(&table);
        remarks.push(format!(
            "Characters: factors are at most {:.1} %, speeds on small cores at most {:.0} % off \
             what the programs state.",
            factor * 100.0,
            speed * 100.0
        ));
        Exhibit { remarks, ..table.exhibit() }
    };
    Ok([
        of(
            format!("Unfairness, {which}, told and true factors"),
            "unfairness (greatest slowdown / least)",
            unfairness,
        ),
        of(format!("Aggregate speedup, {which}, told and true factors"), "ASP", asp),
    ])
}

fn differences(table: &ByPolicy) -> Vec<String> {
    let means = table.means();
    let of = |(scheduler, pair): (&&str, &[f64])| {
        let [told, oracle] = pair else { return String::new() };
        format!("{scheduler}: told {:+.1} % against true factors", (told / oracle - 1.0) * 100.0)
    };
    let of_each = SCHEDULERS.iter().zip(means.chunks(2)).map(of);
    std::iter::once(HOW.to_owned()).chain(of_each).collect()
}
