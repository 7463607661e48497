//! The machine that a lab makes of a machine.

use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, Costs, FULL_CAPACITY, Kind, KindId, MAX_KINDS, Machine,
    OperatingPoint, Reference,
};

use super::LabError;
use super::slow::Slow;
use crate::observe::watch::Cpu;

/// Clock of cores of which none is known; only ratios of clocks matter in the lab.
const NOMINAL_KHZ: u64 = 1_000_000;
/// Speed of each of two busy SMT siblings where nothing says so. Source: machines.md of the
/// specification.
const SMT_SPEED: f64 = 0.6;

/// A CPU, what was asked for it, and what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowed {
    /// Which, and how much slower it was to be.
    pub asked: Slow,
    /// How much slower it is.
    pub measured: f64,
}

/// A machine of these CPUs, all alike.
pub fn equal_cores(cpus: &[Cpu]) -> Machine {
    let full = f64::from(FULL_CAPACITY);
    let top =
        OperatingPoint { khz: NOMINAL_KHZ, capacity: full, busy_power: None, cluster_power: None };
    let kinds = vec![Kind {
        name: "fast".to_owned(),
        capacity: FULL_CAPACITY,
        opps: vec![top],
        idle_power: None,
        source: "taken to be alike; clock nominal".to_owned(),
        core: None,
    }];
    let reference =
        Reference { slowest_khz: NOMINAL_KHZ, slowest_capacity: full, fastest_capacity: full };
    let core = |(index, cpu): (usize, &Cpu)| Core {
        id: CoreId(index as u32),
        cpu: cpu.0,
        kind: KindId(0),
        cluster: ClusterId(0),
        sibling: None,
    };
    let cores: Vec<Core> = cpus.iter().enumerate().map(core).collect();
    Machine {
        name: "this-machine".to_owned(),
        description: format!("{} CPUs, taken to be alike", cores.len()),
        source: "the CPUs that the process may use".to_owned(),
        kinds,
        clusters: vec![Cluster {
            kind: KindId(0),
            cores: cores.iter().map(|core| core.id).collect(),
            cache_bytes: 0,
            bandwidth: None,
        }],
        cores,
        costs: Costs::default(),
        bandwidth: None,
        smt_speed: SMT_SPEED,
        sensor_interval: None,
        reference,
    }
}

/// `base` with some of its cores slower. Cores of one kind for which the same ratio was asked are a
/// kind of their own, of the mean ratio that was measured for them. In each cluster they are a
/// cluster of their own. Slowed cores have no power model: the thread that takes their time draws
/// what a program would.
///
/// # Errors
/// More kinds than a machine may have.
pub fn slowed_machine(base: &Machine, slowed: &[Slowed]) -> Result<Machine, LabError> {
    // Of each new kind: the base's, the ratio asked for, the mean measured.
    let mut variants: Vec<(KindId, f64, f64)> = Vec::new();
    let mut pieces: Vec<(usize, &Cluster, Vec<&Core>)> = Vec::new();
    for cluster in &base.clusters {
        let first = pieces.len();
        for core in cluster.cores.iter().map(|core| &base.cores[core.index()]) {
            let asked = asked_of(core, slowed);
            let known =
                variants.iter().position(|&(kind, ratio, _)| (kind, ratio) == (core.kind, asked));
            let variant = known.unwrap_or_else(|| {
                variants.push((core.kind, asked, mean_measured(base, core.kind, asked, slowed)));
                variants.len() - 1
            });
            match pieces[first..].iter_mut().find(|piece| piece.0 == variant) {
                Some((_, _, cores)) => cores.push(core),
                None => pieces.push((variant, cluster, vec![core])),
            }
        }
    }
    if variants.len() > MAX_KINDS {
        return Err(LabError::TooManyKinds { kinds: variants.len() });
    }

    let speed =
        |&(kind, _, ratio): &(KindId, f64, f64)| base.kinds[kind.index()].top().capacity / ratio;
    let greatest = variants.iter().map(speed).fold(0.0, f64::max);
    let mut ranked: Vec<usize> = (0..variants.len()).collect();
    ranked.sort_by(|&a, &b| speed(&variants[b]).total_cmp(&speed(&variants[a])));
    let kinds: Vec<Kind> =
        ranked.iter().map(|&variant| slowed_kind(base, variants[variant], greatest)).collect();
    let rank = |variant: usize| {
        KindId(ranked.iter().position(|&other| other == variant).unwrap_or(0) as u8)
    };

    let (mut clusters, mut cores) = (Vec::new(), Vec::<Core>::new());
    for (variant, cluster, mut members) in pieces {
        let first = cores.len();
        let ids: Vec<CoreId> = members.iter().map(|core| core.id).collect();
        // Machine files list a cluster's SMT pairs before its single cores: this order survives
        // writing and reading. Siblings are adjacent, and the stable sort keeps them so.
        members.sort_by_key(|core| !core.sibling.is_some_and(|sibling| ids.contains(&sibling)));
        let order: Vec<CoreId> = members.iter().map(|core| core.id).collect();
        let place = |id: CoreId| {
            order.iter().position(|other| *other == id).map(|at| CoreId((first + at) as u32))
        };
        for (at, core) in members.iter().enumerate() {
            cores.push(Core {
                id: CoreId((first + at) as u32),
                cpu: core.cpu,
                kind: rank(variant),
                cluster: ClusterId(clusters.len() as u32),
                sibling: core.sibling.and_then(place),
            });
        }
        let ids = cores[first..].iter().map(|core| core.id).collect();
        clusters.push(Cluster { kind: rank(variant), cores: ids, ..cluster.clone() });
    }
    let reference = Reference::of(&kinds).unwrap_or(base.reference);
    Ok(Machine {
        name: format!("{}-lab", base.name),
        description: format!("{}, with cores slowed by evenkeel lab", base.description),
        source: format!("{}; ratios of slowed cores measured", base.source),
        kinds,
        clusters,
        cores,
        reference,
        ..base.clone()
    })
}

fn asked_of(core: &Core, slowed: &[Slowed]) -> f64 {
    slowed
        .iter()
        .find(|slowed| slowed.asked.cpu.0 == core.cpu)
        .map_or(1.0, |slowed| slowed.asked.ratio)
}

/// The mean of what was measured on cores of this kind for which this was asked; 1 where none was.
fn mean_measured(base: &Machine, kind: KindId, asked: f64, slowed: &[Slowed]) -> f64 {
    let of_kind = |cpu: Cpu| base.cores.iter().any(|core| core.cpu == cpu.0 && core.kind == kind);
    let alike =
        slowed.iter().filter(|slowed| slowed.asked.ratio == asked && of_kind(slowed.asked.cpu));
    let (sum, count) =
        alike.fold((0.0, 0), |(sum, count), slowed| (sum + slowed.measured, count + 1));
    if count == 0 { 1.0 } else { sum / f64::from(count) }
}

/// A kind of `base`, slower, on the scale on which `greatest` is full capacity.
fn slowed_kind(base: &Machine, (kind, asked, ratio): (KindId, f64, f64), greatest: f64) -> Kind {
    let kind = &base.kinds[kind.index()];
    let scale = f64::from(FULL_CAPACITY) / greatest / ratio;
    let is_slowed = asked != 1.0;
    let point = |point: &OperatingPoint| OperatingPoint {
        khz: (point.khz as f64 / ratio).round() as u64,
        capacity: point.capacity * scale,
        busy_power: point.busy_power.filter(|_| !is_slowed),
        cluster_power: point.cluster_power.filter(|_| !is_slowed),
    };
    let opps: Vec<OperatingPoint> = kind.opps.iter().map(point).collect();
    let slow = format!("slow{asked}");
    let name = match (is_slowed, base.kinds.len()) {
        (false, 1) => "fast".to_owned(),
        (false, _) => kind.name.clone(),
        (true, 1) => slow,
        (true, _) => format!("{}-{slow}", kind.name),
    };
    let source = if is_slowed {
        format!("measured in the lab: {ratio:.4} times slower")
    } else {
        kind.source.clone()
    };
    let capacity = opps.last().map_or(1, |top| top.capacity.round().max(1.0) as u32);
    let idle_power = kind.idle_power.filter(|_| !is_slowed);
    Kind { name, capacity, opps, idle_power, source, core: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slowed(cpu: u32, asked: f64, measured: f64) -> Slowed {
        Slowed { asked: Slow { cpu: Cpu(cpu), ratio: asked }, measured }
    }

    fn reread(machine: &Machine) -> Machine {
        evenkeel_files::machines::parse(&evenkeel_files::machines::to_toml(machine), "lab.toml")
            .unwrap()
    }

    #[test]
    fn each_ratio_is_a_kind_of_the_mean_measured_capacity() {
        let base = equal_cores(&[0, 1, 4, 5, 7].map(Cpu));
        let lab = slowed_machine(
            &base,
            &[slowed(1, 3.0, 3.03), slowed(5, 3.0, 2.97), slowed(7, 2.0, 2.0)],
        )
        .unwrap();
        let names: Vec<_> =
            lab.kinds.iter().map(|kind| (kind.name.as_str(), kind.capacity)).collect();
        assert_eq!(names, [("fast", 1024), ("slow2", 512), ("slow3", 341)]);
        let cpus = |kind: u8| {
            lab.cores_of(KindId(kind)).map(|core| lab.cores[core.index()].cpu).collect::<Vec<_>>()
        };
        assert_eq!((cpus(0), cpus(1), cpus(2)), (vec![0, 4], vec![7], vec![1, 5]));
        assert_eq!(reread(&lab), lab);
    }

    #[test]
    fn a_machine_may_be_slow_all_over() {
        let lab = slowed_machine(&equal_cores(&[Cpu(0)]), &[slowed(0, 3.0, 3.0)]).unwrap();
        assert_eq!((lab.kinds.len(), lab.kinds[0].capacity), (1, 1024));
        assert_eq!(reread(&lab), lab);
        let two = slowed_machine(
            &equal_cores(&[0, 1].map(Cpu)),
            &[slowed(0, 2.0, 2.0), slowed(1, 4.0, 4.0)],
        )
        .unwrap();
        assert_eq!(two.cores_label(), "1slow2+1slow4");
        assert_eq!(two.kinds[1].capacity, 512);
    }

    #[test]
    fn kinds_of_an_asymmetric_machine_are_slowed_each_for_itself() {
        let base = evenkeel_files::machines::preset("odroid-xu3").unwrap();
        let last = base.cores.len() as u32 - 1;
        let lab = slowed_machine(&base, &[slowed(0, 2.5, 2.5), slowed(last, 2.5, 2.5)]).unwrap();
        assert_eq!(lab.cores.len(), base.cores.len());
        for kind in &base.kinds {
            assert!(
                lab.kinds.iter().any(|own| own.name == format!("{}-slow2.5", kind.name)),
                "{:?}",
                lab.kinds
            );
        }
        assert!(lab.kinds.is_sorted_by(|a, b| a.capacity >= b.capacity));
        assert_eq!(reread(&lab).cores, lab.cores);
    }

    #[test]
    fn siblings_stay_siblings_where_both_are_slowed_or_neither() {
        let text = "name = \"smt\"\n[[kinds]]\nname = \"P\"\ncapacity = 1\nmax_mhz = 1000\n\
                    [[clusters]]\nkind = \"P\"\ncores = 3\nsmt = 2\ncpus = \"0,3,1,4,2,5\"\n";
        let base = evenkeel_files::machines::parse(text, "smt").unwrap();
        let lab =
            slowed_machine(&base, &[slowed(0, 2.0, 2.0), slowed(1, 2.0, 2.0), slowed(4, 2.0, 2.0)])
                .unwrap();
        let sibling = |cpu: u32| {
            let core = lab.cores.iter().find(|core| core.cpu == cpu).unwrap();
            core.sibling.map(|id| lab.cores[id.index()].cpu)
        };
        assert_eq!(
            [0, 3, 1, 4, 2, 5].map(sibling),
            [None, None, Some(4), Some(1), Some(5), Some(2)]
        );
        assert_eq!(reread(&lab).cores, lab.cores);
    }

    #[test]
    fn more_ratios_than_kinds_are_refused() {
        let cpus: Vec<Cpu> = (0..9).map(Cpu).collect();
        let all: Vec<Slowed> = (0..9).map(|cpu| slowed(cpu, 2.0 + f64::from(cpu), 2.0)).collect();
        let error = slowed_machine(&equal_cores(&cpus), &all).unwrap_err();
        assert!(matches!(error, LabError::TooManyKinds { kinds: 9 }));
    }
}
