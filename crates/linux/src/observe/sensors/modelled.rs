//! Energy without sensors: the machine's power model applied to what its cores did.
//!
//! A core draws its busy power while it ran something and its idle power otherwise, each cluster
//! its own power while any of its cores ran; two SMT siblings share the idle power of their core.
//! It is the simulator's rule, but for two things that a live run does not know: the clock, taken
//! to be the highest, and when the cores of a cluster were busy together, taken to be chance: a
//! cluster of cores that are busy for shares b1, b2, … of the time is on for 1 - (1 - b1)(1 - b2)…
//! of it.

use evenkeel_machine::{FemtoJoules, KindId, Machine, MicroWatts, Nanos, PerKind};

/// How long a core ran something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreUse {
    /// The number by which the operating system knows the core.
    pub cpu: u32,
    /// Busy time.
    pub busy: Nanos,
}

/// Energy by the power model. It is modelled, and to be called so wherever it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modelled {
    /// Of the cores of each kind, and of their clusters.
    pub by_kind: PerKind<FemtoJoules>,
    /// Of all.
    pub total: FemtoJoules,
}

/// What the machine drew over `wall`, its cores being used so; those that are not named were idle,
/// and a core named twice was busy for both. A core is busy for `wall` at most. `None`: the machine
/// has no power model.
pub fn modelled_energy(machine: &Machine, uses: &[CoreUse], wall: Nanos) -> Option<Modelled> {
    if !machine.has_power_model() {
        return None;
    }
    let mut modelled = Modelled::default();
    let busy_of = |cpu: u32| -> Nanos {
        let busy: Nanos = uses.iter().filter(|one| one.cpu == cpu).map(|one| one.busy).sum();
        busy.min(wall)
    };
    let mut add = |kind: KindId, energy: FemtoJoules| {
        modelled.by_kind[kind] += energy;
        modelled.total += energy;
    };
    for cluster in &machine.clusters {
        let kind = &machine.kinds[cluster.kind.index()];
        let mut off = 1.0;
        for core in cluster.cores.iter().map(|core| &machine.cores[core.index()]) {
            let busy = busy_of(core.cpu);
            let idle = kind.idle_power?;
            let idle = if core.sibling.is_some() { MicroWatts(idle.0 / 2) } else { idle };
            add(cluster.kind, FemtoJoules::integral(kind.top().busy_power?, busy));
            add(cluster.kind, FemtoJoules::integral(idle, wall - busy));
            off *= 1.0 - busy.0 as f64 / wall.0.max(1) as f64;
        }
        let on = Nanos((wall.0 as f64 * (1.0 - off)).round() as u64);
        add(cluster.kind, FemtoJoules::integral(kind.top().cluster_power?, on));
    }
    Some(modelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let text = "name = \"two\"\n\
                    [[kinds]]\nname = \"big\"\nidle_power_w = 0.1\ncluster_power_w = 0.5\n\
                    operating_points = [{ mhz = 500, capacity = 300, power_w = 0.3 }, \
                    { mhz = 1000, capacity = 1024, power_w = 2 }]\n\
                    [[kinds]]\nname = \"little\"\nidle_power_w = 0.05\ncluster_power_w = 0.25\n\
                    operating_points = [{ mhz = 500, capacity = 256, power_w = 0.25 }]\n\
                    [[clusters]]\nkind = \"big\"\ncores = 2\ncpus = \"4-5\"\n\
                    [[clusters]]\nkind = \"little\"\ncores = 1\ncpus = \"0\"\n";
        evenkeel_files::machines::parse(text, "two").unwrap()
    }

    #[test]
    fn busy_cores_draw_busy_power_and_the_others_idle_power() {
        let wall = Nanos::from_secs(10);
        let uses = [
            CoreUse { cpu: 4, busy: Nanos::from_secs(4) },
            CoreUse { cpu: 0, busy: Nanos::from_secs(20) },
        ];
        let modelled = modelled_energy(&machine(), &uses, wall).unwrap();
        // Core 4: 4 s at 2 W, 6 s at 0.1 W; core 5: 10 s at 0.1 W; cluster: 4 s at 0.5 W.
        assert_eq!(modelled.by_kind[KindId(0)].as_joules_f64(), 8.0 + 0.6 + 1.0 + 2.0);
        // Core 0: 10 s at 0.25 W, cluster at 0.25 W: it cannot be busy for longer than there was
        // time.
        assert_eq!(modelled.by_kind[KindId(1)].as_joules_f64(), 2.5 + 2.5);
        assert_eq!(modelled.total.as_joules_f64(), 16.6);
    }

    #[test]
    fn cores_of_a_cluster_are_busy_together_by_chance() {
        let half = |cpu| CoreUse { cpu, busy: Nanos::from_secs(5) };
        let modelled =
            modelled_energy(&machine(), &[half(4), half(5)], Nanos::from_secs(10)).unwrap();
        // Two cores: 5 s at 2 W and 5 s at 0.1 W each; cluster: 7.5 s at 0.5 W.
        assert_eq!(modelled.by_kind[KindId(0)].as_joules_f64(), 21.0 + 3.75);
    }

    #[test]
    fn without_a_power_model_there_is_no_answer_and_without_time_no_energy() {
        assert_eq!(
            modelled_energy(
                &evenkeel_files::machines::preset("quickia").unwrap(),
                &[],
                Nanos::from_secs(1)
            ),
            None
        );
        let uses = [CoreUse { cpu: 4, busy: Nanos::from_secs(1) }];
        assert_eq!(
            modelled_energy(&machine(), &uses, Nanos::ZERO).unwrap().total,
            FemtoJoules::ZERO
        );
    }
}
