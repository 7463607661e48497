//! The data of the page's plots.

use std::collections::BTreeMap;

use evenkeel_metrics::Record;
use evenkeel_metrics::measures::geometric_mean;
use serde::Serialize;

use super::Meta;
use crate::labels;
use crate::timeline::Timeline;
use crate::verdict::BASELINE;

/// Most stretches in all timelines together, so that a page stays small.
const MOST_STRETCHES_IN_ALL: usize = 100_000;
/// Ticks in the longest run of a page: finer than any screen.
const TICKS: u64 = 1_000_000;

/// All plots' data.
#[derive(Debug, Serialize)]
pub(super) struct Data {
    /// Names of the policies with the knobs that differ, in order of first appearance.
    pub policies: Vec<String>,
    /// Index of the policy that others are compared with.
    pub baseline: usize,
    /// Workloads that ran together, on a machine.
    pub groups: Vec<Workload>,
    /// One for each policy and group that has a run.
    pub points: Vec<Point>,
    /// Kinds of core that any machine has, in order of first appearance.
    pub kinds: Vec<String>,
    /// The timelines.
    pub timelines: Vec<Lanes>,
}

/// What the points at one place of a plot have in common.
#[derive(Debug, Serialize)]
pub(super) struct Workload {
    /// A short name: without the machine if all runs are of one machine.
    pub name: String,
    /// True if a set duration ended every run of it.
    pub timed: bool,
}

/// One policy on one group: the mean over seeds where there are several.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub group: usize,
    pub policy: usize,
    pub runs: usize,
    pub time_s: f64,
    pub energy_j: Option<f64>,
    pub edp_js: Option<f64>,
    pub unfairness: Option<f64>,
    pub asp: Option<f64>,
    pub stp: Option<f64>,
    /// From wake-up to running, microseconds: what 99 % do not exceed, and the greatest.
    pub wake_p99_us: Option<f64>,
    /// Waits for timers, and those that began too late.
    #[serde(skip)]
    pub timer_waits: Option<f64>,
    #[serde(skip)]
    pub missed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_percent: Option<f64>,
    #[serde(skip)]
    pub least_slack_us: Option<f64>,
    pub wake_max_us: Option<f64>,
    /// Half the width of 95 % intervals, by measure; nothing of single runs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub within: BTreeMap<&'static str, f64>,
    /// Busy and idle core-seconds by kind.
    pub kinds: Vec<Option<(f64, f64)>>,
}

/// A timeline.
#[derive(Debug, Serialize)]
pub(super) struct Lanes {
    pub group: usize,
    pub policy: usize,
    pub lanes: Vec<String>,
    pub apps: Vec<String>,
    /// Name, application and number within it, by thread.
    pub threads: Vec<(String, usize, usize)>,
    /// Ticks of this many seconds.
    pub tick_s: f64,
    pub end: u64,
    /// By lane, flat: thread, ticks since the end of the stretch before, length in ticks.
    pub stretches: Vec<Vec<u64>>,
    /// Seconds of a column, if the timeline shows only the thread that ran longest in each column.
    pub column_s: Option<f64>,
}

/// The policies' labels, each once, and by record its policy's place among them.
fn policies(records: &[Record]) -> (Vec<String>, Vec<usize>) {
    let mut policies: Vec<String> = vec![];
    let policy_of = labels::policies(records)
        .into_iter()
        .map(|label| {
            policies.iter().position(|known| *known == label).unwrap_or_else(|| {
                policies.push(label);
                policies.len() - 1
            })
        })
        .collect();
    (policies, policy_of)
}

/// The timelines of records that are there, as lanes. `place_of`: a record's group and policy.
fn lanes(timelines: &[Timeline], place_of: impl Fn(usize) -> Option<(usize, usize)>) -> Vec<Lanes> {
    let most = MOST_STRETCHES_IN_ALL / timelines.len().max(1);
    let end = timelines.iter().map(|timeline| timeline.end.0).max().unwrap_or(0);
    let tick_ns = end.div_ceil(TICKS).max(1);
    timelines
        .iter()
        .filter_map(|timeline| {
            let (group, policy) = place_of(timeline.record)?;
            let mut timeline = timeline.clone();
            timeline.limit(most);
            Some(Lanes::new(group, policy, timeline, tick_ns))
        })
        .collect()
}

/// The groups as workloads: with the machine in their names if they are of several.
fn workloads(groups: Vec<labels::Group>, records: &[Record]) -> Vec<Workload> {
    let one_machine = groups.iter().all(|group| {
        groups
            .first()
            .is_some_and(|first| (&first.machine, &first.cores) == (&group.machine, &group.cores))
    });
    let workload = |group: labels::Group| {
        // If a run was done before its duration was over, its time counts.
        let mut runs =
            group.records.iter().map(|&record| &records[record]).filter(|run| run.error.is_none());
        let first = runs.next();
        let timed = first.is_some_and(Record::is_timed) && runs.all(Record::is_timed);
        Workload { name: if one_machine { group.workload } else { group.title() }, timed }
    };
    groups.into_iter().map(workload).collect()
}

impl Data {
    /// The data of records that did not fail.
    pub fn new(records: &[Record], timelines: &[Timeline], meta: &Meta) -> Self {
        let (policies, policy_of) = policies(records);
        let named = |wanted: &str| {
            policies.iter().position(|label| label == wanted).or_else(|| {
                records
                    .iter()
                    .position(|record| record.policy == wanted)
                    .map(|record| policy_of[record])
            })
        };
        let baseline =
            meta.baseline.as_deref().and_then(named).or_else(|| named(BASELINE)).unwrap_or(0);

        let mut kinds: Vec<String> = vec![];
        for kind in records.iter().flat_map(|record| record.kinds.keys()) {
            if !kinds.contains(kind) {
                kinds.push(kind.clone());
            }
        }
        let groups = labels::groups(records);
        let mut group_of = vec![0; records.len()];
        let mut points = vec![];
        for (number, group) in groups.iter().enumerate() {
            let mut runs = BTreeMap::<usize, Vec<&Record>>::new();
            for &record in &group.records {
                group_of[record] = number;
                if records[record].error.is_none() {
                    runs.entry(policy_of[record]).or_default().push(&records[record]);
                }
            }
            points.extend(
                runs.into_iter().map(|(policy, runs)| Point::new(number, policy, &runs, &kinds)),
            );
        }

        let place_of = |record: usize| Some((*group_of.get(record)?, *policy_of.get(record)?));
        let timelines = lanes(timelines, place_of);
        Self { policies, baseline, groups: workloads(groups, records), points, kinds, timelines }
    }

    /// True if a policy that ran has not run all groups.
    pub fn incomplete(&self) -> bool {
        let runs = |policy| self.points.iter().filter(|point| point.policy == policy).count();
        (0..self.policies.len()).map(runs).any(|runs| runs > 0 && runs < self.groups.len())
    }

    /// True if any point has this measure.
    pub fn any(&self, measure: impl Fn(&Point) -> Option<f64>) -> bool {
        self.points.iter().any(|point| measure(point).is_some())
    }

    /// True if the measure of runs that end when their work is done applies to any workload.
    pub fn any_free(&self) -> bool {
        self.groups.iter().any(|group| !group.timed)
    }

    /// True if any workload ended at a set time, and has latencies.
    pub fn any_timed(&self) -> bool {
        self.points
            .iter()
            .any(|point| self.groups[point.group].timed && point.wake_p99_us.is_some())
    }

    /// The geometric mean of a policy's measure divided by the baseline's, over those `groups` in
    /// which both have it. `name` is that of the measure's interval. `None` if there is no such
    /// group.
    pub fn against_baseline(
        &self,
        policy: usize,
        groups: impl Fn(&Workload) -> bool,
        name: &str,
        measure: impl Fn(&Point) -> Option<f64>,
    ) -> Option<Against> {
        let of = |group: usize, policy: usize| {
            let is_it = |point: &&Point| (point.group, point.policy) == (group, policy);
            let point = self.points.iter().find(is_it)?;
            let value = measure(point).filter(|value| *value > 0.0)?;
            Some((value, point.doubt(name)))
        };
        let wanted = (0..self.groups.len()).filter(|group| groups(&self.groups[*group]));
        let (ratios, doubts): (Vec<f64>, Vec<f64>) = wanted
            .filter_map(|group| {
                let (here, there) = (of(group, policy)?, of(group, self.baseline)?);
                let doubt = if policy == self.baseline { 0.0 } else { here.1 + there.1 };
                Some((here.0 / there.0, doubt))
            })
            .unzip();
        let workloads = ratios.len();
        let doubt = doubts.iter().sum::<f64>() / workloads.max(1) as f64;
        Some(Against { ratio: geometric_mean(ratios.iter().copied())?, doubt, workloads })
    }
}

/// A policy beside the baseline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Against {
    pub ratio: f64,
    /// Half of the ratio's interval, as a part of it; 0 of single runs.
    pub doubt: f64,
    /// How many workloads it is of.
    pub workloads: usize,
}

impl Point {
    /// Half of a measure's interval, as a part of the measure; 0 of a single run.
    pub fn doubt(&self, name: &str) -> f64 {
        let mean = match name {
            "time_s" => Some(self.time_s),
            "energy_j" => self.energy_j,
            "edp_js" => self.edp_js,
            "unfairness" => self.unfairness,
            "wake_p99_us" => self.wake_p99_us,
            "wake_max_us" => self.wake_max_us,
            _ => None,
        };
        let within = self.within.get(name).copied();
        within.zip(mean).map_or(0.0, |(within, mean)| within / mean.abs())
    }

    fn new(group: usize, policy: usize, runs: &[&Record], kinds: &[String]) -> Self {
        let mean = |measure: &dyn Fn(&Record) -> Option<f64>| {
            let values: Option<Vec<f64>> =
                runs.iter().map(|run| measure(run).filter(|v| v.is_finite())).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        let kind = |kind: &String| {
            let of = |part: &dyn Fn(&evenkeel_metrics::KindRow) -> f64| {
                mean(&|run| run.kinds.get(kind).map(part))
            };
            Some((of(&|row| row.busy_s)?, of(&|row| row.idle_s)?))
        };
        Self {
            group,
            policy,
            runs: runs.len(),
            time_s: mean(&|run| Some(run.makespan_s)).unwrap_or(0.0),
            energy_j: mean(&|run| run.energy_j),
            edp_js: mean(&|run| run.edp_js),
            unfairness: mean(&|run| run.unfairness),
            asp: mean(&|run| run.asp),
            stp: mean(&|run| run.stp),
            timer_waits: mean(&|run| Some(run.timers?.waits as f64)),
            missed: mean(&|run| Some(run.timers?.missed as f64)),
            missed_percent: mean(&|run| {
                run.timers.map(|it| 100.0 * it.missed as f64 / it.waits as f64)
            }),
            least_slack_us: mean(&|run| Some(run.timers?.least_slack_us)),
            wake_p99_us: mean(&|run| Some(run.wakeup_latency_us.as_ref()?.all.p99)),
            wake_max_us: mean(&|run| Some(run.wakeup_latency_us.as_ref()?.all.max)),
            within: within(runs),
            kinds: kinds.iter().map(kind).collect(),
        }
    }
}

/// The intervals of a record that is a mean over seeds.
fn within(runs: &[&Record]) -> BTreeMap<&'static str, f64> {
    const PATHS: [(&str, &str); 8] = [
        ("time_s", "makespan_s"),
        ("energy_j", "energy_j"),
        ("edp_js", "edp_js"),
        ("unfairness", "unfairness"),
        ("asp", "asp"),
        ("stp", "stp"),
        ("wake_p99_us", "wakeup_latency_us.p99"),
        ("wake_max_us", "wakeup_latency_us.max"),
    ];
    let [run] = runs else { return BTreeMap::new() };
    let of = |(name, path): (&'static str, &str)| {
        Some((name, run.interval(path))).filter(|(_, interval)| *interval > 0.0)
    };
    PATHS.into_iter().filter_map(of).collect()
}

impl Lanes {
    fn new(group: usize, policy: usize, timeline: Timeline, tick_ns: u64) -> Self {
        // Only threads that appear, in the order of the log.
        let mut seen: BTreeMap<usize, usize> =
            timeline.stretches.iter().map(|stretch| (stretch.thread, 0)).collect();
        let mut threads = vec![];
        let mut in_app = BTreeMap::<usize, usize>::new();
        for (place, (number, shown)) in seen.iter_mut().enumerate() {
            *shown = place;
            if let Some(thread) = timeline.threads.get(*number) {
                let nth = in_app.entry(thread.app).or_default();
                threads.push((thread.name.clone(), thread.app, *nth));
                *nth += 1;
            }
        }
        let mut stretches = vec![vec![]; timeline.lanes.len()];
        let mut ends = vec![0; timeline.lanes.len()];
        for stretch in &timeline.stretches {
            let (from, to) = (stretch.from.0 / tick_ns, stretch.to.0 / tick_ns);
            let thread = seen.get(&stretch.thread).copied().unwrap_or(0) as u64;
            if let (Some(lane), Some(end)) =
                (stretches.get_mut(stretch.lane), ends.get_mut(stretch.lane))
            {
                lane.extend([thread, from.saturating_sub(*end), to - from]);
                *end = to;
            }
        }
        Self {
            group,
            policy,
            lanes: timeline.lanes,
            apps: timeline.apps,
            threads,
            tick_s: tick_ns as f64 / 1e9,
            end: timeline.end.0.div_ceil(tick_ns),
            stretches,
            column_s: timeline.column.map(|column| column.as_secs_f64()),
        }
    }
}
