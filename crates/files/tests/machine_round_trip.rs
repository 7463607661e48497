//! Laws of the machine file: what is written reads as the same machine, and any bytes give a
//! machine or an error.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines::{self, MachineError, presets};
use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, Costs, DataCache, Kind, KindId, MAX_CORES, Machine,
    MicroWatts, Microarchitecture, Nanos, OperatingPoint, Reference,
};
use proptest::prelude::*;

/// Limits of the format (docs/simulate/machines.md), in the model's units.
const MAX_KHZ: u64 = 1_000_000_000;
const MAX_POWER_UW: u64 = 1_000_000_000_000;
const MAX_TIME_NS: u64 = 1_000_000_000_000;
const MAX_BYTES: u64 = 1_000_000_000 * 1_024;
const MAX_RATE: u64 = 1_000_000_000_000_000;

fn power() -> impl Strategy<Value = MicroWatts> {
    (0..=MAX_POWER_UW).prop_map(MicroWatts)
}

/// Points of a kind whose highest has capacity `top`: clocks ascend, and so do capacities.
fn points(top: f64, with_power: bool) -> impl Strategy<Value = Vec<OperatingPoint>> {
    let clocks = prop::collection::btree_set(1..=MAX_KHZ, 1..6);
    (clocks, prop::collection::vec((power(), power()), 6)).prop_map(move |(clocks, powers)| {
        let count = clocks.len();
        let point = |(index, khz): (usize, u64)| OperatingPoint {
            khz,
            // Down to half of the top, so that the least allowed (1) is kept to.
            capacity: if index + 1 == count {
                top
            } else {
                top * (0.5 + 0.5 * index as f64 / count as f64)
            },
            busy_power: with_power.then_some(powers[index].0),
            cluster_power: with_power.then_some(powers[index].1),
        };
        clocks.into_iter().enumerate().map(point).collect()
    })
}

fn core() -> impl Strategy<Value = Microarchitecture> {
    let sizes = prop::collection::btree_set(1..=MAX_BYTES, 1..5);
    let caches =
        (sizes, prop::collection::vec(1_u32..=1_000_000, 4)).prop_map(|(sizes, cycles)| {
            let cache = |(bytes, latency)| DataCache { bytes, latency };
            sizes.into_iter().zip(cycles).map(cache).collect()
        });
    let counts = (1_u32..=64, prop::option::of(1_u32..=65_536), 0_u32..=1_000_000);
    let tlb = (1..=MAX_BYTES, 0_u32..=1_000_000);
    let counters = (0_u32..=64, any::<bool>(), any::<bool>());
    let memory = (0_u64..=1_000_000_000, 1_u32..=65_536);
    (counts, 1..=MAX_BYTES, caches, memory, tlb, counters, "\\PC{0,12}").prop_map(
        |(counts, code_cache_bytes, data_caches, memory, tlb, counters, source)| {
            Microarchitecture {
                width: counts.0,
                window: counts.1,
                mispredict_penalty: counts.2,
                code_cache_bytes,
                data_caches,
                memory_latency: Nanos(memory.0),
                most_misses: memory.1,
                tlb_bytes: tlb.0,
                tlb_penalty: tlb.1,
                counters: counters.0,
                counts_instructions: counters.1,
                counts_cycles: counters.2,
                source,
            }
        },
    )
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let others = prop::collection::vec(2.0..1024.0, 0..7);
    let tops = others.prop_map(|mut tops: Vec<f64>| {
        tops.push(1024.0);
        tops.sort_by(|a, b| b.total_cmp(a));
        tops
    });
    tops.prop_flat_map(|tops| {
        let kind = |(rank, top): (usize, f64)| {
            any::<bool>().prop_flat_map(move |with_power| {
                let core = prop::option::of(core());
                (points(top, with_power), power(), "\\PC{0,12}", core).prop_map(
                    move |(opps, idle, source, core)| Kind {
                        name: format!("kind-{rank}"),
                        capacity: top.round() as u32,
                        opps,
                        idle_power: with_power.then_some(idle),
                        source,
                        core,
                    },
                )
            })
        };
        tops.into_iter().enumerate().map(kind).collect::<Vec<_>>()
    })
}

fn costs() -> impl Strategy<Value = Costs> {
    let time = || (0..=MAX_TIME_NS).prop_map(Nanos);
    (time(), time(), time(), prop::option::of(1..=MAX_RATE), 0..=MAX_BYTES).prop_map(
        |(
            context_switch,
            migration_within,
            migration_across,
            refill_bandwidth,
            private_cache_bytes,
        )| Costs {
            context_switch,
            migration_within,
            migration_across,
            refill_bandwidth,
            private_cache_bytes,
        },
    )
}

/// A cluster as kind, physical cores, how many of them have two threads, cache, bandwidth.
type ClusterPlan = (usize, u32, u32, u64, Option<u64>);

/// At least one cluster of each kind, in any order.
fn clusters(kinds: usize) -> impl Strategy<Value = Vec<ClusterPlan>> {
    let cluster = |kind: std::ops::Range<usize>| {
        (kind, 1_u32..6, 0_u32..6, 0..=MAX_BYTES, prop::option::of(1..=MAX_RATE)).prop_map(
            |(kind, cores, doubled, cache, rate)| (kind, cores, doubled.min(cores), cache, rate),
        )
    };
    let each = (0..kinds).map(|kind| cluster(kind..kind + 1)).collect::<Vec<_>>();
    (each, prop::collection::vec(cluster(0..kinds), 0..4)).prop_flat_map(|(mut each, more)| {
        each.extend(more);
        Just(each).prop_shuffle()
    })
}

/// `stride` is odd, so that no two of the 2^16 numbers that a CPU may have fall together.
fn build(clusters: Vec<ClusterPlan>, stride: u32) -> (Vec<Cluster>, Vec<Core>) {
    let mut cores: Vec<Core> = Vec::new();
    let mut built = Vec::new();
    for (index, (kind, physical, doubled, cache_bytes, bandwidth)) in
        clusters.into_iter().enumerate()
    {
        let (kind, cluster, first) =
            (KindId(kind as u8), ClusterId(index as u32), cores.len() as u32);
        for core in 0..physical + doubled {
            let sibling = (core < 2 * doubled).then_some(CoreId(first + (core ^ 1)));
            let cpu = ((first + core) * stride) % MAX_CORES;
            cores.push(Core { id: CoreId(first + core), cpu, kind, cluster, sibling });
        }
        let cores = (first..cores.len() as u32).map(CoreId).collect();
        built.push(Cluster { kind, cores, cache_bytes, bandwidth });
    }
    (built, cores)
}

fn machine() -> impl Strategy<Value = Machine> {
    let parts = kinds().prop_flat_map(|kinds| {
        let count = kinds.len();
        (Just(kinds), clusters(count))
    });
    let rest = (
        "[a-z\"'\\\\ é]{1,12}",
        "\\PC{0,20}",
        any::<String>(),
        prop::option::of(1..=MAX_RATE),
        0.0..=1.0_f64,
        prop::option::of((1..=MAX_TIME_NS).prop_map(Nanos)),
        (0..16_u32).prop_map(|half| 2 * half + 1),
    );
    (parts, costs(), rest).prop_map(
        |(
            (kinds, clusters),
            costs,
            (name, description, source, bandwidth, smt, sensor_interval, stride),
        )| {
            let reference = Reference::of(&kinds).unwrap();
            let (clusters, cores) = build(clusters, stride);
            let smt_speed = if smt > 0.0 { smt } else { 1.0 };
            Machine {
                name,
                description,
                source,
                kinds,
                clusters,
                cores,
                costs,
                bandwidth,
                smt_speed,
                sensor_interval,
                reference,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_as_the_same_machine(machine in machine()) {
        let written = machines::to_toml(&machine);
        let read = machines::parse(&written, "written");
        prop_assert_eq!(read.map_err(|error| format!("{error}\n{written}")), Ok(machine));
    }

    #[test]
    fn any_text_is_met_with_a_machine_or_an_error(text in any::<String>()) {
        let _ = machines::parse(&text, "any");
    }

    /// Bytes of a preset overwritten, inserted, removed: errors deep in the reader, and never a
    /// panic.
    #[test]
    fn a_damaged_preset_is_met_with_a_machine_or_an_error(
        which in 0..presets().len(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..3, "[-\"=.,0-9a-z{}\\[\\]#\n]"), 1..6),
    ) {
        let mut text: Vec<char> = presets()[which].text.chars().collect();
        for (place, what, with) in damages {
            let place = place.index(text.len());
            let with = with.chars().next().unwrap();
            match what {
                0 => text[place] = with,
                1 => text.insert(place, with),
                _ => { text.remove(place); }
            }
        }
        let text: String = text.into_iter().collect();
        match machines::parse(&text, "damaged") {
            Ok(machine) => prop_assert_eq!(&machines::parse(&machines::to_toml(&machine), "written").unwrap(), &machine),
            Err(error) => prop_assert!(error.place().is_some_and(|place| place.line <= text.matches('\n').count() + 1)),
        }
    }
}

#[test]
fn a_file_of_thirty_thousand_clusters_is_read_and_written() {
    let kind = "name = \"x\"\n[[kinds]]\nname = \"a\"\ndmips_mhz = 1\nmax_mhz = 1\n";
    let clusters = "[[clusters]]\nkind = \"a\"\ncores = 2\n".repeat(30_000);
    let machine = machines::parse(&format!("{kind}{clusters}"), "long").unwrap();
    assert_eq!(machine.cores.len(), 60_000);
    assert_eq!(machine.subset("59999a").unwrap().clusters.len(), 30_000);
    // Written with all digits it is longer than a machine file may be, so it is refused and not
    // read in part.
    assert!(matches!(
        machines::parse(&machines::to_toml(&machine), "written"),
        Err(MachineError::TooLarge { .. })
    ));
}
