//! What cores have to do, and what that costs: utilisation by core, and the energy model that says where a thread costs least.
//! The formulas are in `os/eas.rs`.

use evenkeel_machine::{ClusterId, CoreId, Machine, MicroWatts};

use crate::contract::{ThreadId, View};

/// Used capacity x this must not exceed what there is: `fits_capacity` (1280 / 1024), and schedutil's headroom.
const MARGIN: f64 = 1.25;

/// Utilisation, in parts of 1024 of the fastest kind.
#[derive(Debug)]
pub struct Energy {
    /// Whether clusters are taken to run at their highest clock.
    at_top: bool,
    /// By core: at its highest clock.
    capacity: Vec<f64>,
    /// By core: as of the last look and what has been placed since.
    used: Vec<f64>,
    /// By thread: where it counts in that, and for how much.
    counted: Vec<Option<(CoreId, f64)>>,
}

/// What a cluster has to do.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    sum: f64,
    greatest: f64,
}

impl Demand {
    fn with(self, load: f64, on: f64) -> Self {
        Self { sum: self.sum + load, greatest: self.greatest.max(on + load) }
    }
}

impl Energy {
    /// Of a machine that is told with [`Energy::start`].
    pub const fn new(at_top: bool) -> Self {
        Self { at_top, capacity: Vec::new(), used: Vec::new(), counted: Vec::new() }
    }

    /// Nobody has anything to do yet.
    pub fn start(&mut self, machine: &Machine) {
        self.capacity = machine.cores.iter().map(|core| machine.kind_of(core.id).top().capacity.max(1.0)).collect();
        self.used = vec![0.0; machine.cores.len()];
    }

    /// Capacity of a core at its highest clock.
    pub fn capacity(&self, core: CoreId) -> f64 {
        self.capacity[core.index()]
    }

    /// Whether a core has room for so much with a margin.
    pub fn fits(&self, used: f64, core: CoreId) -> bool {
        used * MARGIN <= self.capacity(core)
    }

    /// Counts a thread where it belongs, for what it has to do.
    pub fn count(&mut self, thread: ThreadId, at: Option<(CoreId, f64)>) {
        if self.counted.len() <= thread.index() {
            self.counted.resize(thread.index() + 1, None);
        }
        if let Some((core, load)) = std::mem::replace(&mut self.counted[thread.index()], at) {
            self.used[core.index()] = (self.used[core.index()] - load).max(0.0);
        }
        if let Some((core, load)) = at {
            self.used[core.index()] += load;
        }
    }

    /// Utilisation anew, from the view. O(threads).
    pub fn count_all(&mut self, view: &View<'_>) {
        self.used.fill(0.0);
        self.counted.fill(None);
        for &thread in view.live {
            let stats = view.thread(thread);
            if let Some(queue) = stats.queue {
                self.count(thread, Some((CoreId(queue.0), f64::from(stats.load))));
            }
        }
    }

    /// Whether some core does not fit what it has.
    pub fn is_over_utilised(&self, view: &View<'_>) -> bool {
        view.online().any(|core| !self.fits(self.used[core.index()], core))
    }

    /// Power that a cluster draws beyond that of its idle cores, in microwatts, the mean over time.
    fn power(&self, machine: &Machine, cluster: ClusterId, demand: Demand) -> f64 {
        let kind = &machine.kinds[machine.clusters[cluster.index()].kind.index()];
        let wanted = if self.at_top { f64::INFINITY } else { demand.greatest * MARGIN };
        let point = kind.opps.iter().find(|point| point.capacity >= wanted).unwrap_or_else(|| kind.top());
        let power = |power: Option<MicroWatts>| power.unwrap_or_default().0 as f64;
        demand.sum / point.capacity * (power(point.busy_power) - power(kind.idle_power))
            + (demand.greatest / point.capacity).min(1.0) * power(point.cluster_power)
    }

    /// The core where a thread of this load costs the least energy, given where it was. The thread itself must not be counted anywhere.
    pub fn cheapest(&self, thread: ThreadId, load: f64, previous: CoreId, view: &View<'_>) -> Option<CoreId> {
        let machine = view.machine;
        let spare = |core: CoreId| self.capacity(core) - self.used[core.index()] - load;
        let may = |core: CoreId| view.cores[core.index()].online && view.allowed(thread, core);
        let mut cheapest: Option<(f64, bool, f64, CoreId)> = None;
        let mut roomiest: Option<(f64, CoreId)> = None;
        for (number, cluster) in machine.clusters.iter().enumerate() {
            let used = cluster.cores.iter().map(|core| self.used[core.index()]);
            let demand = used.fold(Demand::default(), |demand, used| demand.with(used, 0.0));
            let id = ClusterId(number as u32);
            let without = self.power(machine, id, demand);
            for &core in cluster.cores.iter().filter(|&&core| may(core)) {
                let used = self.used[core.index()];
                if roomiest.is_none_or(|(room, _)| spare(core) > room) {
                    roomiest = Some((spare(core), core));
                }
                if !self.fits(used + load, core) {
                    continue;
                }
                let cost = self.power(machine, id, demand.with(load, used)) - without;
                let moves = core != previous;
                let better = cheapest.is_none_or(|(least, moves_there, room, _)| {
                    cost < least
                        || cost == least && (!moves && moves_there || moves == moves_there && spare(core) > room)
                });
                if better {
                    cheapest = Some((cost, moves, spare(core), core));
                }
            }
        }
        cheapest.map(|(.., core)| core).or(roomiest.map(|(_, core)| core))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::eas::tests::machine;

    #[test]
    fn power_is_the_share_of_the_busy_cores_and_the_busiest_cores_share_of_the_cluster() {
        let mut machine = machine(2, 2);
        let mut energy = Energy::new(false);
        let (big, demand) = (ClusterId(0), Demand { sum: 384.0, greatest: 256.0 });
        // 256 x 1.25 fit the point of 512: 384 / 512 of a core at 300 mW, and the cluster for half of the time at 150 mW.
        assert_eq!(energy.power(&machine, big, demand), 0.75 * 300_000.0 + 0.5 * 150_000.0);
        energy.at_top = true;
        assert_eq!(energy.power(&machine, big, demand), 0.375 * 900_000.0 + 0.25 * 450_000.0);
        assert_eq!(energy.power(&machine, big, Demand::default()), 0.0);
        machine.kinds[0].idle_power = Some(MicroWatts(100_000));
        let busy = Demand { sum: 512.0, greatest: 0.0 };
        assert_eq!(energy.power(&machine, big, busy), 0.5 * 800_000.0, "a busy core saves what an idle one draws");
    }
}
