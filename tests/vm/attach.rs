//! A program has the same time on each kind of core under `schedule`, attached while it runs, as
//! under `run` from its start.
//!
//! The two learn of a program at different times, and must reach the same state. The test compares
//! the share of the program's CPU time on fast cores, as medians of up to five. One pair that
//! agrees is enough.

use std::collections::BTreeMap;

use evenkeel_policy::registry::{self, Trait};
use serde_json::Value;

use crate::sched_ext::guest_with;

/// The greatest difference of shares.
const WITHIN: f64 = 0.10;
/// The most pairs.
const PAIRS: usize = 5;

/// Separates the records.
const MARK: &str = "=====";

/// Programs by name; `$1` is how long they work, in seconds.
const PROGRAMS: [(&str, &str); 4] = [
    ("one busy and one sleeping thread", "worker spin 1 ${1}000"),
    ("eight threads of which half sleep", "worker halves 4 ${1}000"),
    ("a pipeline", "yes | tr y n | timeout $1 wc -c"),
    ("a shell with children", "worker spin 1 ${1}000 & worker spin 1 ${1}000 & wait"),
];

/// Shell functions for `run` and `schedule` in the guest: each prints its record after a line that
/// names it. The program under `run` works long enough for the time before the first look, a tenth
/// of a second there, not to matter. The program under `schedule` works for longer than a scheduler
/// takes to load there, and is killed. The first session of a guest does not count, as the emulator
/// must first translate all its code.
///
/// The lab has no power model. Some policies need one, so they get that of some big and little
/// cores.
const WAYS: &str = r#"
sed -e 's/^operating_points/idle_power_w = 0.01\n&/' -e '/"fast"/,/^]/ s/capacity = [0-9.]*/&, power_w = 1.6, cluster_power_w = 0.4/' \
    -e '/"slow"/,/^]/ s/capacity = [0-9.]*/&, power_w = 0.14, cluster_power_w = 0.1/' "$EVENKEEL_MACHINE" >/tmp/powered.toml
export EVENKEEL_MACHINE=/tmp/powered.toml
own() {
    echo "===== run $1 $2 $3"
    evenkeel run --backend $1 --json -p $2 -- sh /tmp/program$3 $4 2>/tmp/log | sed -n '/^{/,$p'
}
attached() {
    setsid sh /tmp/program$3 100 >/dev/null 2>&1 & target=$!; sleep 0.5
    echo "===== schedule $1 $2 $3"
    evenkeel schedule --backend $1 --json -p $2 --pid $target --duration ${4}s 2>/tmp/log || cat /tmp/log >&2
    kill -9 -$target; wait $target 2>/dev/null
}
attached $BACKEND acfs 3 2 >/dev/null
"#;

/// A policy, and the number of its program.
type Case = (&'static str, usize);

/// Policies that are tried on all programs.
const EVERYWHERE: [&str; 4] = ["acfs", "hsp", "age", "gts"];

/// Those policies on programs whose threads do not hand work to each other.
fn everywhere() -> Vec<Case> {
    EVERYWHERE.iter().flat_map(|policy| [0, 1, 3].map(|program| (*policy, program))).collect()
}

/// Those policies on the pipeline. Chance at its start often settles which of its threads has which
/// core, so medians are compared.
fn pipelines() -> Vec<Case> {
    EVERYWHERE.map(|policy| (policy, 2)).to_vec()
}

/// All other policies that place real threads, on the first program.
fn others() -> Vec<Case> {
    let names =
        registry::ENTRIES.iter().filter(|entry| !entry.has(Trait::Bound)).map(|entry| entry.name);
    names.filter(|name| !EVERYWHERE.contains(name)).map(|name| (name, 0)).collect()
}

/// Share of the CPU time of all of a record's programs on the fastest kind.
fn share(record: &str) -> Option<f64> {
    let record: Value = serde_json::from_str(record).ok()?;
    let on = |kind: &str| -> f64 {
        let apps = record["apps"].as_array().into_iter().flatten();
        apps.filter_map(|app| app["time_on_kind_s"][kind].as_f64()).sum()
    };
    let (fast, slow) = (on("fast"), on("slow"));
    (fast + slow > 0.0).then(|| fast / (fast + slow))
}

fn median(shares: &[f64]) -> f64 {
    let mut shares = shares.to_vec();
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Shares of `run` and of `schedule`, by case.
type Seen = BTreeMap<Case, [Vec<f64>; 2]>;

/// A boot in which each case runs once.
fn once(backend: &str, cases: &[Case], seen: &mut Seen) -> Option<()> {
    let programs: String = PROGRAMS
        .iter()
        .enumerate()
        .map(|(at, (_, program))| format!("echo '{program}' >/tmp/program{at}\n"))
        .collect();
    let turns: String = cases
        .iter()
        .map(|(policy, program)| {
            let (own, attached) = if EVERYWHERE.contains(policy) { (3, 2) } else { (2, 1) };
            format!(
                "own {backend} {policy} {program} {own}\nattached {backend} {policy} {program} \
                     {attached}\n"
            )
        })
        .collect();
    let ended = guest_with(
        "6.18",
        "/bin/evenkeel",
        &["--cores", "2@60+2@20", "--with", "timeout"],
        &["sh", "-c", &format!("BACKEND={backend}\n{programs}{WAYS}{turns}")],
    )?;
    let text = ended.text();
    for part in text.split(MARK).skip(1) {
        let (head, record) = part.split_once('\n').unwrap_or((part, ""));
        let words: Vec<&str> = head.split_whitespace().collect();
        let [way, _, policy, program] = words[..] else { panic!("{head}: {text}{}", ended.stderr) };
        let case =
            cases.iter().find(|case| case.0 == policy && case.1.to_string() == program).unwrap();
        let share = share(record).unwrap_or_else(|| panic!("{head}: {record}\n{}", ended.stderr));
        seen.entry(*case).or_default()[usize::from(way == "schedule")].push(share);
    }
    Some(())
}

fn differs([own, attached]: &[Vec<f64>; 2]) -> bool {
    let apart = (median(own) - median(attached)).abs();
    apart.is_nan() || apart > WITHIN
}

fn as_run_gives(backend: &str, cases: Vec<Case>) {
    let mut open = cases;
    let mut seen = Seen::new();
    for _ in 0..PAIRS {
        if once(backend, &open, &mut seen).is_none() {
            return;
        }
        open.retain(|case| seen.get(case).is_none_or(differs));
        if open.is_empty() {
            break;
        }
    }
    for ((policy, program), [own, attached]) in &seen {
        println!(
            "{backend} {policy}, {}: run {own:.3?}, schedule {attached:.3?}",
            PROGRAMS[*program].0
        );
    }
    let apart: Vec<_> = seen.iter().filter(|(_, shares)| differs(shares)).collect();
    assert!(apart.is_empty(), "{apart:?}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_program_that_runs_has_the_kinds_by_affinity_that_it_has_from_its_start() {
    as_run_gives("affinity", everywhere());
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_program_that_runs_has_the_kinds_by_sched_ext_that_it_has_from_its_start() {
    as_run_gives("sched_ext", everywhere());
}

#[test]
#[ignore = "boots a virtual machine, and takes long: make vm-test-long"]
fn a_pipeline_that_runs_has_the_kinds_that_it_has_from_its_start_in_the_longer_run() {
    as_run_gives("affinity", pipelines());
    as_run_gives("sched_ext", pipelines());
}

#[test]
#[ignore = "boots a virtual machine, and takes long: make vm-test-long"]
fn a_program_that_runs_has_the_same_kinds_under_every_policy_in_the_longer_run() {
    as_run_gives("affinity", others());
    as_run_gives("sched_ext", others());
}
