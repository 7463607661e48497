//! A run as a trace for Perfetto (<https://ui.perfetto.dev>), in its native protobuf format.
//!
//! Tracks: each core by name and kind, with a slice for each run; the clock of each cluster; the
//! power of each core and of the whole machine; the progress of each thread. An arrow leads from
//! where a thread woke another to the other's next run. Wakes by timers and devices have no arrow:
//! nothing that ran caused them.
//!
//! crates/perfetto writes the format.

mod instants;

use std::collections::BTreeMap;
use std::io::Write;

use evenkeel_machine::{Cluster, CoreId, Machine, MicroWatts, Nanos};
use evenkeel_perfetto::Sequence;
pub use evenkeel_perfetto::proto;
use evenkeel_policy::ThreadId;
use evenkeel_sim::{Entry, Log};

use crate::labels;
use instants::{Instant, Instants, Run, Wake, causal};
use proto::{CounterDescriptor, EventType, TrackEvent, UNIT_COUNT};

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The writer failed.
    #[error("cannot write the trace: {0}")]
    Write(#[from] std::io::Error),
    /// The log is not of this machine.
    #[error("the log names core {core}, but {machine} has {cores} cores")]
    UnknownCore {
        /// What the log names.
        core: u32,
        /// The machine.
        machine: String,
        /// Cores that it has.
        cores: usize,
    },
    /// The log is not of this machine.
    #[error("the log names cluster {cluster}, but {machine} has {clusters} clusters")]
    UnknownCluster {
        /// What the log names.
        cluster: u32,
        /// The machine.
        machine: String,
        /// Clusters that it has.
        clusters: usize,
    },
}

/// Writes the trace of a run.
///
/// `apps` are the names of the applications by [`evenkeel_policy::AppId`]; one without a name goes
/// by its number. Use a buffered writer: packets are small.
///
/// # Errors
/// The writer fails, or the log is not of this machine.
pub fn write(
    machine: &Machine,
    apps: &[String],
    log: &Log,
    out: impl Write,
) -> Result<(), TraceError> {
    check(machine, log)?;
    let mut writer = Writer::new(machine, log, Sequence::begin(out, 1, Nanos::ZERO)?);
    writer.describe(apps, log)?;
    let mut instants = Instants::new(log);
    while let Some(instant) = instants.next() {
        writer.instant(&instant)?;
    }
    Ok(writer.out.finish()?)
}

/// Checks that the log can be of this machine.
fn check(machine: &Machine, log: &Log) -> Result<(), TraceError> {
    for entry in &log.entries {
        match *entry {
            Entry::Ran { core, .. } | Entry::Power { core, .. }
                if core.index() >= machine.cores.len() =>
            {
                let (machine, cores) = (machine.name.clone(), machine.cores.len());
                return Err(TraceError::UnknownCore { core: core.0, machine, cores });
            }
            Entry::Frequency { cluster, .. } if cluster.index() >= machine.clusters.len() => {
                let (machine, clusters) = (machine.name.clone(), machine.clusters.len());
                return Err(TraceError::UnknownCluster { cluster: cluster.0, machine, clusters });
            }
            _ => {}
        }
    }
    Ok(())
}

/// State of a thread while the trace is written.
#[derive(Default)]
struct Thread {
    name: String,
    /// Number of its interned name, from the first event on.
    iid: Option<u64>,
    /// Track of its progress.
    progress: u64,
    /// Start of its last run.
    last_run: Option<Nanos>,
    /// The core that it runs on.
    on: Option<CoreId>,
    /// Arrows that its next run ends.
    flows: Vec<u64>,
}

struct Writer<'a, W> {
    machine: &'a Machine,
    out: Sequence<W>,
    core_tracks: Vec<u64>,
    clock_tracks: Vec<u64>,
    power_tracks: Vec<u64>,
    /// The whole machine's power.
    total_track: u64,
    threads: BTreeMap<ThreadId, Thread>,
    /// Last power written, by core.
    core_power: Vec<Option<MicroWatts>>,
    /// Cores that run, by cluster.
    cluster_busy: Vec<u32>,
    /// Power of each cluster, without its cores, while one of them runs, at its present clock.
    cluster_power: Vec<MicroWatts>,
    total: Option<MicroWatts>,
    has_power: bool,
}

impl<'a, W: Write> Writer<'a, W> {
    fn new(machine: &'a Machine, log: &Log, out: Sequence<W>) -> Self {
        let mut threads = BTreeMap::<ThreadId, Thread>::new();
        for entry in &log.entries {
            match entry {
                Entry::Started { thread, name, .. } => {
                    threads.entry(*thread).or_default().name.clone_from(name)
                }
                Entry::Ran { thread, from, to, .. } if from < to => {
                    let thread = threads.entry(*thread).or_default();
                    thread.last_run = thread.last_run.max(Some(*from));
                }
                _ => {}
            }
        }
        for (id, thread) in threads.iter_mut().filter(|(_, thread)| thread.name.is_empty()) {
            thread.name = format!("thread {}", id.0);
        }
        Self {
            machine,
            out,
            core_tracks: vec![],
            clock_tracks: vec![],
            power_tracks: vec![],
            total_track: 0,
            threads,
            core_power: vec![None; machine.cores.len()],
            cluster_busy: vec![0; machine.clusters.len()],
            cluster_power: machine
                .clusters
                .iter()
                .map(|cluster| shared_power(machine, cluster, u64::MAX))
                .collect(),
            total: None,
            has_power: log.entries.iter().any(|entry| matches!(entry, Entry::Power { .. })),
        }
    }

    /// All tracks.
    fn describe(&mut self, apps: &[String], log: &Log) -> Result<(), TraceError> {
        let machine = self.machine;
        let cores = self.out.group(&format!("{}: {}", machine.name, machine.cores_label()))?;
        for core in &machine.cores {
            self.core_tracks.push(self.out.track(cores, &labels::core(machine, core.id), None)?);
        }

        let clocks = self.out.group("clock")?;
        for (number, cluster) in machine.clusters.iter().enumerate() {
            let kind = machine.kinds.get(cluster.kind.index()).map_or("", |kind| &kind.name);
            let name = format!("clock of cluster {number} ({kind})");
            self.clock_tracks.push(self.out.track(clocks, &name, Some(unit("kHz")))?);
        }

        if self.has_power {
            let power = self.out.group("power")?;
            self.total_track = self.out.track(power, "power of the machine", Some(unit("W")))?;
            for core in &machine.cores {
                let name = format!("power of {}", labels::core(machine, core.id));
                self.power_tracks.push(self.out.track(power, &name, Some(unit("W")))?);
            }
        }
        self.describe_progress(apps, log)
    }

    /// A group for each application with a counter for each of its threads, in order of start.
    fn describe_progress(&mut self, apps: &[String], log: &Log) -> Result<(), TraceError> {
        let mut members = BTreeMap::<_, Vec<_>>::new();
        for entry in &log.entries {
            if let Entry::Started { thread, app, .. } = entry {
                members.entry(*app).or_default().push(*thread);
            }
        }
        for (app, threads) in members {
            let name = apps
                .get(app.0 as usize)
                .cloned()
                .unwrap_or_else(|| format!("application {}", app.0));
            let group = self.out.group(&format!("progress of {name}"))?;
            for id in threads {
                let Some(thread) = self.threads.get_mut(&id) else { continue };
                let counter =
                    CounterDescriptor { unit: Some(UNIT_COUNT), ..CounterDescriptor::default() };
                thread.progress =
                    self.out.track(group, &format!("work of {}", thread.name), Some(counter))?;
            }
        }
        Ok(())
    }

    /// All that happens at one instant.
    fn instant(&mut self, instant: &Instant<'_>) -> Result<(), TraceError> {
        for &(at, cluster, khz) in instant.clocks {
            self.cluster_power[cluster.index()] =
                shared_power(self.machine, &self.machine.clusters[cluster.index()], khz);
            let value = i64::try_from(khz).unwrap_or(i64::MAX);
            self.counter(at, self.clock_tracks[cluster.index()], |event| {
                event.counter_value = Some(value)
            })?;
        }
        for &(at, core, power) in instant.powers {
            if self.core_power[core.index()].replace(power) == Some(power) {
                continue;
            }
            self.watts(at, self.power_tracks[core.index()], power)?;
        }
        // A waker whose run ends now wakes from within that run; one whose run begins now, from
        // within the new one.
        let mut later = vec![];
        for wake in instant.wakes {
            if !self.wake(wake)? {
                later.push(*wake);
            }
        }
        for run in instant.ends {
            self.end(run)?;
        }
        later.sort_by_key(|wake| wake.thread);
        for run in causal(instant) {
            let first = later.partition_point(|wake| wake.thread < run.thread);
            for wake in later[first..].iter().take_while(|wake| wake.thread == run.thread) {
                self.wake(wake)?;
            }
            self.begin(&run)?;
        }
        for wake in
            later.iter().filter(|wake| !instant.begins.iter().any(|run| run.thread == wake.thread))
        {
            self.wake(wake)?;
        }
        if self.has_power {
            let total = self.total_power();
            if self.total != Some(total) {
                self.total = Some(total);
                self.watts(instant.at, self.total_track, total)?;
            }
        }
        Ok(())
    }

    /// Draws the start of an arrow. Draws none if the waker does not run now, or if the woken
    /// thread never runs again.
    fn wake(&mut self, wake: &Wake) -> Result<bool, TraceError> {
        let Some(core) = self.threads.get(&wake.by).and_then(|thread| thread.on) else {
            return Ok(false);
        };
        let Some(woken) = self.threads.get_mut(&wake.thread) else { return Ok(false) };
        if woken.last_run.is_none_or(|last| last < wake.at) {
            return Ok(true);
        }
        let flow = self.out.flow();
        woken.flows.push(flow);
        let event = TrackEvent {
            r#type: Some(EventType::Instant.into()),
            track_uuid: Some(self.core_tracks[core.index()]),
            flow_ids: vec![flow],
            ..TrackEvent::default()
        };
        self.put_named(wake.at, wake.thread, event)?;
        Ok(true)
    }

    fn begin(&mut self, run: &Run) -> Result<(), TraceError> {
        let Some(thread) = self.threads.get_mut(&run.thread) else { return Ok(()) };
        thread.on = Some(run.core);
        let event = TrackEvent {
            r#type: Some(EventType::SliceBegin.into()),
            track_uuid: Some(self.core_tracks[run.core.index()]),
            terminating_flow_ids: std::mem::take(&mut thread.flows),
            ..TrackEvent::default()
        };
        self.cluster_busy[self.machine.cores[run.core.index()].cluster.index()] += 1;
        self.put_named(run.from, run.thread, event)
    }

    fn end(&mut self, run: &Run) -> Result<(), TraceError> {
        let Some(thread) = self.threads.get_mut(&run.thread) else { return Ok(()) };
        thread.on = None;
        let mut event = TrackEvent {
            r#type: Some(EventType::SliceEnd.into()),
            track_uuid: Some(self.core_tracks[run.core.index()]),
            ..TrackEvent::default()
        };
        if thread.progress != 0 {
            event.extra_counter_track_uuids.push(thread.progress);
            event.extra_counter_values.push(i64::try_from(run.retired.0).unwrap_or(i64::MAX));
        }
        let busy = &mut self.cluster_busy[self.machine.cores[run.core.index()].cluster.index()];
        *busy = busy.saturating_sub(1);
        Ok(self.out.event(run.to, event)?)
    }

    /// Power of the cores and of the clusters that are not idle.
    fn total_power(&self) -> MicroWatts {
        let clusters = self.cluster_power.iter().zip(&self.cluster_busy);
        let shared = clusters.filter(|(_, busy)| **busy > 0).map(|(power, _)| power);
        self.core_power
            .iter()
            .flatten()
            .copied()
            .chain(shared.copied())
            .fold(MicroWatts::ZERO, MicroWatts::saturating_add)
    }

    fn watts(&mut self, at: Nanos, track: u64, power: MicroWatts) -> Result<(), TraceError> {
        self.counter(at, track, |event| event.double_counter_value = Some(power.as_watts_f64()))
    }

    fn counter(
        &mut self,
        at: Nanos,
        track: u64,
        set: impl FnOnce(&mut TrackEvent),
    ) -> Result<(), TraceError> {
        let mut event = TrackEvent {
            r#type: Some(EventType::Counter.into()),
            track_uuid: Some(track),
            ..TrackEvent::default()
        };
        set(&mut event);
        Ok(self.out.event(at, event)?)
    }

    /// Puts an event under the name of a thread. The first such event defines the name.
    fn put_named(
        &mut self,
        at: Nanos,
        thread: ThreadId,
        mut event: TrackEvent,
    ) -> Result<(), TraceError> {
        let Some(thread) = self.threads.get_mut(&thread) else { return Ok(()) };
        event.name_iid = Some(*thread.iid.get_or_insert_with(|| self.out.name(&*thread.name)));
        Ok(self.out.event(at, event)?)
    }
}

fn unit(name: &str) -> CounterDescriptor {
    CounterDescriptor { unit_name: Some(name.into()), ..CounterDescriptor::default() }
}

/// Power of a cluster without its cores at this clock, or at its highest clock if this one is above
/// it.
fn shared_power(machine: &Machine, cluster: &Cluster, khz: u64) -> MicroWatts {
    let opps = machine.kinds.get(cluster.kind.index()).map_or(&[][..], |kind| &kind.opps);
    let at = opps.iter().find(|opp| opp.khz >= khz).or(opps.last());
    at.and_then(|opp| opp.cluster_power).unwrap_or_default()
}
