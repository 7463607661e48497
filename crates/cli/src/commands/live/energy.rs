//! The energy of a live run: read from the machine's sensors, or, if it has none that can be read,
//! computed from its power model.

use std::path::Path;

use evenkeel_linux::live::Finished;
use evenkeel_linux::sensors::{CoreUse, Sampler, find, modelled_energy};
use evenkeel_machine::{KindId, Nanos};
use evenkeel_metrics::Record;

use crate::error::say;

/// How often sensors are read: often enough for runs of seconds, seldom enough not to show in them.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// Sensors that are being sampled.
pub struct Watched(Option<Sampler>);

impl Watched {
    /// Begins to read sensors, if there are any.
    pub fn begin(sysfs: &Path) -> Self {
        let found = find(sysfs);
        for (sensor, error) in &found.refused {
            say("note", &format!("{}: {error}", sensor.name));
        }
        let counted: Vec<_> =
            found.sensors.iter().filter(|sensor| found.counts(sensor)).cloned().collect();
        if counted.is_empty() {
            return Self(None);
        }
        Self(
            Sampler::start(counted, INTERVAL)
                .map_err(|error| say("note", &format!("sensors: {error}")))
                .ok(),
        )
    }

    /// Puts the energy of the run into its record.
    pub fn tell(self, record: &mut Record, finished: &Finished) {
        let makespan = Nanos((record.makespan_s * 1e9) as u64);
        let (joules, measured) = match self.0.map(Sampler::finish) {
            Some(Ok(meter)) => {
                let (from, to) = (finished.epoch, finished.epoch.saturating_add(makespan));
                (meter.series.iter().map(|series| series.energy(from, to).joules).sum(), true)
            }
            _ => {
                let machine = &finished.machine;
                let uses: Vec<_> = machine
                    .cores
                    .iter()
                    .map(|core| CoreUse {
                        cpu: core.cpu,
                        busy: finished.busy[core.id.index()].min(makespan),
                    })
                    .collect();
                let Some(modelled) = modelled_energy(machine, &uses, makespan) else { return };
                for (rank, kind) in record.kinds.values_mut().enumerate() {
                    let joules = modelled.by_kind[KindId(rank as u8)].as_joules_f64();
                    kind.energy_j = Some(joules);
                    kind.mean_power_w =
                        (record.makespan_s > 0.0).then(|| joules / record.makespan_s);
                }
                (modelled.total.as_joules_f64(), false)
            }
        };
        record.energy_j = Some(joules);
        record.mean_power_w = (record.makespan_s > 0.0).then(|| joules / record.makespan_s);
        record.edp_js = Some(joules * record.makespan_s);
        if let Some(live) = &mut record.live {
            live.energy_measured = Some(measured);
        }
    }
}
