//! The energy model: the core where a thread costs least. `find_energy_efficient_cpu`,
//! `compute_energy` of kernel/sched/fair.c and kernel/power/energy_model.c of Linux 6.12.
//!
//! ```text
//! E = sum_c util(c) / capacity(point) x (busy power - idle power)
//!     +  min(1, max_c util(c) / capacity(point)) x cluster power
//! point = the least operating point with capacity >= 1.25 max_c util(c)                  schedutil
//!
//! candidates  the previous core, and in each cluster the one with the most spare capacity, if
//!             est(t) fits beside its utilisation
//! taken       the one that adds least to E; the previous unless another adds less; none fits: the
//!             previous
//! ```
//!
//! `E` is the kernel's estimate with two additions from the machine file: the power of an idle
//! core, which a busy one saves, and that of a cluster, which is on for at least as long as its
//! busiest core.

use evenkeel_machine::{CoreId, Machine, MicroWatts};

use super::utilisation::{MARGIN, Utilisation};
use crate::contract::{ThreadId, View};

/// Utilisation of a cluster.
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

/// Mean power that a cluster draws beyond that of its idle cores, in microwatts.
fn power(machine: &Machine, cluster: usize, at_top: bool, demand: Demand) -> f64 {
    let kind = &machine.kinds[machine.clusters[cluster].kind.index()];
    let wanted = if at_top { f64::INFINITY } else { demand.greatest * MARGIN };
    let point =
        kind.opps.iter().find(|point| point.capacity >= wanted).unwrap_or_else(|| kind.top());
    let power = |power: Option<MicroWatts>| power.unwrap_or_default().0 as f64;
    demand.sum / point.capacity * (power(point.busy_power) - power(kind.idle_power))
        + (demand.greatest / point.capacity).min(1.0) * power(point.cluster_power)
}

/// The core where a thread with this utilisation adds the least energy, given its previous core.
/// The thread must not be counted anywhere.
pub fn cheapest(
    utilisation: &Utilisation,
    at_top: bool,
    thread: ThreadId,
    needs: f64,
    previous: CoreId,
    view: &View<'_>,
) -> CoreId {
    let machine = view.machine;
    let with_it = |core: CoreId| utilisation.used(core) + needs;
    let spare = |core: CoreId| utilisation.capacity(core) - with_it(core);
    let may = |core: CoreId| {
        view.cores[core.index()].online
            && view.allowed(thread, core)
            && utilisation.fits(with_it(core), core)
    };
    let (mut at_previous, mut best) = (f64::INFINITY, (f64::INFINITY, previous));
    if needs <= 0.0 {
        return previous;
    }
    for (number, cluster) in machine.clusters.iter().enumerate() {
        let demand = cluster
            .cores
            .iter()
            .fold(Demand::default(), |demand, &core| demand.with(utilisation.used(core), 0.0));
        let without = power(machine, number, at_top, demand);
        let cost = |core: CoreId| {
            power(machine, number, at_top, demand.with(needs, utilisation.used(core))) - without
        };
        let mut roomiest: Option<CoreId> = None;
        for &core in cluster.cores.iter().filter(|&&core| may(core)) {
            if core == previous {
                at_previous = cost(core);
            }
            if roomiest.is_none_or(|roomiest| spare(core) > spare(roomiest)) {
                roomiest = Some(core);
            }
        }
        if let Some(core) = roomiest
            && cost(core) < best.0
        {
            best = (cost(core), core);
        }
    }
    if best.0 < at_previous { best.1 } else { previous }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::linux::energy_tests::machine;

    #[test]
    fn power_is_the_share_of_the_busy_cores_and_the_busiest_cores_share_of_the_cluster() {
        let mut machine = machine(2, 2);
        let demand = Demand { sum: 384.0, greatest: 256.0 };
        // 256 x 1.25 fit the point of 512: 384 / 512 of a core at 300 mW, and the cluster for half
        // of the time at 150 mW.
        assert_eq!(power(&machine, 0, false, demand), 0.75 * 300_000.0 + 0.5 * 150_000.0);
        assert_eq!(power(&machine, 0, true, demand), 0.375 * 900_000.0 + 0.25 * 450_000.0);
        assert_eq!(power(&machine, 0, true, Demand::default()), 0.0);
        machine.kinds[0].idle_power = Some(MicroWatts(100_000));
        let busy = Demand { sum: 512.0, greatest: 0.0 };
        assert_eq!(
            power(&machine, 0, true, busy),
            0.5 * 800_000.0,
            "a busy core saves what an idle one draws"
        );
    }
}
