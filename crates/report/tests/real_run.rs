//! The drawings of a simulated run add up to what the simulator counted.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use evenkeel_files::machines;
use evenkeel_files::programs::{Context, load};
use evenkeel_machine::Machine;
use evenkeel_policy::registry::make;
use evenkeel_report::perfetto::proto::{EventType, Trace};
use evenkeel_report::{Timeline, perfetto};
use evenkeel_sim::{Config, Governor, Log, Outcome, run};
use prost::Message;

fn simulated(governor: Governor) -> (Machine, Log, Outcome) {
    let machine = machines::preset("odroid-xu3").unwrap();
    let context = Context { size: 0.005, ..Context::new(&machine) };
    let apps = load("streamcluster", &context).unwrap();
    let mut log = Log::default();
    let config = Config { governor, ..Config::default() };
    let outcome = run(&machine, &apps, &mut *make("gts", &[]).unwrap(), &config, &mut log).unwrap();
    (machine, log, outcome)
}

/// The trace's content: busy nanoseconds by core, last progress by thread, last clock by cluster.
struct Traced {
    joules: f64,
    busy: BTreeMap<String, u64>,
    progress: BTreeMap<String, i64>,
    clocks: BTreeMap<String, i64>,
}

fn traced(machine: &Machine, log: &Log, end: u64) -> Traced {
    let mut bytes = vec![];
    perfetto::write(machine, &["streamcluster".into()], log, &mut bytes).unwrap();
    let (mut tracks, mut opened, mut busy) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (mut progress, mut clocks) = (BTreeMap::new(), BTreeMap::new());
    let (mut now, mut watts, mut since, mut joules) = (0, 0.0, 0, 0.0);
    for packet in Trace::decode(&bytes[..]).unwrap().packet {
        if let Some(track) = packet.track_descriptor {
            tracks.insert(track.uuid.unwrap(), track.name.unwrap());
        }
        let Some(event) = packet.track_event else { continue };
        now += packet.timestamp.unwrap();
        let track = &tracks[&event.track_uuid.unwrap()];
        match event.r#type() {
            EventType::SliceBegin => drop(opened.insert(track.clone(), now)),
            EventType::SliceEnd => *busy.entry(track.clone()).or_default() += now - opened[track],
            EventType::Counter if track == "power of the machine" => {
                joules += watts * (now - since) as f64 / 1e9;
                (watts, since) = (event.double_counter_value.unwrap(), now);
            }
            EventType::Counter if track.starts_with("clock of") => {
                clocks.insert(track.clone(), event.counter_value.unwrap());
            }
            _ => {}
        }
        for (uuid, value) in event.extra_counter_track_uuids.iter().zip(&event.extra_counter_values)
        {
            progress.insert(tracks[uuid].clone(), *value);
        }
    }
    Traced { joules: joules + watts * (end - since) as f64 / 1e9, busy, progress, clocks }
}

#[test]
fn the_traces_power_slices_and_progress_are_the_simulators() {
    for governor in [Governor::Performance, Governor::Schedutil] {
        let (machine, log, outcome) = simulated(governor);
        let Traced { joules, busy, progress, clocks } = traced(&machine, &log, outcome.makespan.0);
        let cores = outcome.cores.iter().filter_map(|core| core.energy);
        let energy: f64 = cores
            .chain(outcome.cluster_energy.clone().unwrap())
            .map(|energy| energy.as_joules_f64())
            .sum();
        assert!(
            (joules - energy).abs() < 1e-6 * energy,
            "{governor:?}: {joules} J drawn, {energy} J counted"
        );
        for core in &outcome.cores {
            let name = format!("core {} ({})", core.core.0, machine.kind_of(core.core).name);
            assert_eq!(busy.get(&name).copied().unwrap_or(0), core.busy.0, "{governor:?}: {name}");
        }
        assert!(
            clocks.values().all(|khz| *khz > 0) && clocks.len() == machine.clusters.len(),
            "{clocks:?}"
        );
        for thread in &outcome.threads {
            assert_eq!(
                progress[&format!("work of {}", thread.name)],
                thread.retired.0 as i64,
                "{}",
                thread.name
            );
        }
    }
}

#[test]
fn a_timeline_has_all_of_a_run_that_is_short_enough() {
    let (machine, log, outcome) = simulated(Governor::Performance);
    let timeline = Timeline::new(0, &machine, &[], &log);
    assert_eq!(timeline.column, None, "{} stretches", timeline.stretches.len());
    let drawn: u64 = timeline.stretches.iter().map(|stretch| stretch.to.0 - stretch.from.0).sum();
    assert_eq!(drawn, outcome.cores.iter().map(|core| core.busy.0).sum::<u64>());
    assert!(timeline.end <= outcome.makespan);
}
