//! The machine description of a lab: facts that its kernel cannot see.

use evenkeel_linux::lab::equal_cores;
use evenkeel_linux::watch::Cpu;
use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, FULL_CAPACITY, Kind, KindId, Machine, OperatingPoint,
    Reference,
};

use crate::cores::Cores;

/// The machine that these cores are: a kind for each share, named `fast` and `slow`, or, of more
/// than two, after how many times slower they are (`slow1.5`, `slow3`).
pub fn machine(cores: &Cores) -> Machine {
    let percents = cores.percents();
    let cpus: Vec<Cpu> = (0..percents.len() as u32).map(Cpu).collect();
    let base = equal_cores(&cpus);
    let shares = cores.kinds();
    let kinds: Vec<Kind> = shares.iter().map(|&percent| kind(percent, &shares)).collect();
    let rank = |percent: u32| shares.iter().position(|&share| share == percent).unwrap_or(0);
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut numbered: Vec<Core> = Vec::new();
    for kind in 0..kinds.len() {
        let first = numbered.len();
        for (core, _) in
            base.cores.iter().zip(&percents).filter(|(_, percent)| rank(**percent) == kind)
        {
            let id = CoreId(numbered.len() as u32);
            // All cores of a group have one share, so a core's sibling is in the same group, just
            // before or after it.
            let sibling = cores.are_in_pairs().then_some(CoreId((numbered.len() as u32) ^ 1));
            numbered.push(Core {
                id,
                kind: KindId(kind as u8),
                cluster: ClusterId(kind as u32),
                sibling,
                ..*core
            });
        }
        let ids = numbered[first..].iter().map(|core| core.id).collect();
        clusters.push(Cluster { kind: KindId(kind as u8), cores: ids, ..base.clusters[0].clone() });
    }
    Machine {
        name: "vm-lab".to_owned(),
        description: format!(
            "hybrid VM lab {cores}: virtual cores with a share of a host core each"
        ),
        source: "evenkeel vm: CPU quotas of the emulator's threads; clock nominal".to_owned(),
        // Each sibling keeps its share, whatever the other does.
        smt_speed: if cores.are_in_pairs() { 1.0 } else { base.smt_speed },
        reference: Reference::of(&kinds).unwrap_or(base.reference),
        kinds,
        clusters,
        cores: numbered,
        ..base
    }
}

fn kind(percent: u32, shares: &[u32]) -> Kind {
    let fastest = shares.first().copied().unwrap_or(percent);
    let share = f64::from(percent) / f64::from(fastest);
    let capacity = f64::from(FULL_CAPACITY) * share;
    let name = match shares.len() {
        _ if percent == fastest => "fast".to_owned(),
        2 => "slow".to_owned(),
        _ => {
            let ratio = format!("{:.2}", 1.0 / share);
            format!("slow{}", ratio.trim_end_matches('0').trim_end_matches('.'))
        }
    };
    let top = equal_cores(&[Cpu(0)]).kinds[0].opps[0];
    let top = OperatingPoint { khz: (top.khz as f64 * share).round() as u64, capacity, ..top };
    Kind {
        name,
        capacity: capacity.round().max(1.0) as u32,
        opps: vec![top],
        idle_power: None,
        source: format!("{percent} % of a host core"),
        core: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(cores: &str) -> (Machine, Vec<(String, u32, Vec<u32>)>) {
        let machine = machine(&cores.parse().unwrap());
        let cpus = |kind: usize| {
            machine
                .cores_of(KindId(kind as u8))
                .map(|core| machine.cores[core.index()].cpu)
                .collect::<Vec<_>>()
        };
        let rows = machine
            .kinds
            .iter()
            .enumerate()
            .map(|(at, kind)| (kind.name.clone(), kind.capacity, cpus(at)));
        let rows = rows.collect();
        assert_eq!(
            evenkeel_files::machines::parse(&evenkeel_files::machines::to_toml(&machine), "lab")
                .unwrap(),
            machine
        );
        (machine, rows)
    }

    #[test]
    fn a_share_is_a_kind_of_its_own_capacity() {
        let (machine, rows) = kinds("2@60+2@20");
        assert_eq!(rows, [("fast".into(), 1024, vec![0, 1]), ("slow".into(), 341, vec![2, 3])]);
        assert_eq!(machine.cores_label(), "2fast+2slow");
    }

    #[test]
    fn of_more_than_two_kinds_each_says_how_slow_it_is() {
        let (_, rows) = kinds("2@20+1@40+1@60");
        assert_eq!(
            rows,
            [
                ("fast".into(), 1024, vec![3]),
                ("slow1.5".into(), 683, vec![2]),
                ("slow3".into(), 341, vec![0, 1])
            ]
        );
        let (_, rows) = kinds("1@100+1@99+1@98+1@1");
        assert_eq!(
            rows.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(),
            ["fast", "slow1.01", "slow1.02", "slow100"]
        );
    }

    #[test]
    fn who_is_in_pairs_knows_its_sibling() {
        let machine = machine(&"2@20+4@60".parse::<Cores>().unwrap().in_pairs().unwrap());
        assert_eq!(machine.smt_speed, 1.0);
        let pairs = machine
            .cores
            .iter()
            .filter_map(|core| Some((core.cpu, machine.cores[core.sibling?.index()].cpu)));
        assert_eq!(pairs.collect::<Vec<_>>(), [(2, 3), (3, 2), (4, 5), (5, 4), (0, 1), (1, 0)]);
        assert_eq!(
            evenkeel_files::machines::parse(&evenkeel_files::machines::to_toml(&machine), "lab")
                .unwrap(),
            machine
        );
    }

    #[test]
    fn equal_cores_are_one_kind() {
        assert_eq!(kinds("3@50").1, [("fast".into(), 1024, vec![0, 1, 2])]);
    }
}
