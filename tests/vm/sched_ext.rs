//! Policies as the kernel's scheduler, in the lab. Without the feature `sched_ext` there are no
//! tests here.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use evenkeel_policy::registry::{self, Trait};
use serde_json::Value;

use crate::{Ended, booted, root, tell_retry, test_name};

/// Every named policy of the operating system's level except bounds, which are no schedulers. Some
/// combinations without a name add the remaining assignment, wake-up and balance rules.
fn policies() -> Vec<&'static str> {
    let named =
        registry::ENTRIES.iter().filter(|entry| !entry.has(Trait::Bound)).map(|entry| entry.name);
    named.chain(["aua-pw-rrb", "aaa-fw-aub"]).collect()
}

/// How long each policy has the mixed load, seconds.
const SECONDS: &str = "10";

/// The binary without debugging information: it takes memory of the guest.
fn stripped() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_evenkeel"));
    let stripped = root().join("target/vm-cache/evenkeel");
    std::fs::create_dir_all(stripped.parent().unwrap()).unwrap();
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(&own).status();
    if done.is_ok_and(|status| status.success()) { stripped } else { own }
}

fn worker() -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_BIN_EXE_evenkeel")).with_file_name("examples").join("worker");
    assert!(path.exists(), "cargo build -p evenkeel-linux --examples");
    path
}

/// The longest that a session may take.
const TIMEOUT: Duration = Duration::from_secs(540);
/// How often a run that proves nothing about the scheduler is repeated.
const AGAIN: u32 = 2;

/// Runs a script in a guest with evenkeel and the worker.
pub fn guest(kernel: &str, script: &[&str]) -> Option<Ended> {
    guest_of("2@60+2@20", kernel, script)
}

/// As [`guest`], on other cores.
fn guest_of(cores: &str, kernel: &str, script: &[&str]) -> Option<Ended> {
    guest_with(
        kernel,
        "/bin/evenkeel",
        &["--cores", cores, "--with", "chrt", "--with", "setpriv"],
        script,
    )
}

/// As [`guest`], with evenkeel at another path and with options of `evenkeel vm`.
pub fn guest_with(kernel: &str, evenkeel: &str, with: &[&str], script: &[&str]) -> Option<Ended> {
    let once = || guest_once(kernel, evenkeel, with, script, TIMEOUT);
    let mut ended = once()?;
    for _ in 0..AGAIN {
        let Some(why) = excuse(&ended) else { break };
        tell_retry(&test_name(), why);
        ended = once()?;
    }
    Some(ended)
}

fn guest_once(
    kernel: &str,
    evenkeel: &str,
    with: &[&str],
    script: &[&str],
    timeout: Duration,
) -> Option<Ended> {
    let (evenkeel, worker) = (format!("{}={evenkeel}", stripped().display()), worker());
    let timeout = format!("{}s", timeout.as_secs());
    let all = [
        "--kernel",
        kernel,
        "--with",
        &evenkeel,
        "--with",
        worker.to_str().unwrap(),
        "--timeout",
        &timeout,
    ];
    booted(&[&all, with, &["--"], script].concat())
}

/// Why a run proves nothing about the scheduler, if so.
fn excuse(ended: &Ended) -> Option<&str> {
    if ended.stderr.contains("Oops: int3") {
        return Some(
            "QEMU has lost what the kernel patched in its own code (docs/labs/virtual-machines.md)",
        );
    }
    // As measured on the host by real-time threads.
    let measured = ["this host did not run the lab for ", "the emulator stands still: "];
    let measured =
        ended.stderr.lines().find(|line| measured.iter().any(|note| line.contains(note)));
    measured.or_else(|| {
        // A scheduler that the kernel has taken off keeps no thread waiting any more. If the
        // machine goes on, its end is reported as usual.
        let is_off = ended.code == TIMED_OUT
            && ended.stderr.contains("sched_ext: BPF scheduler \"evenkeel\" disabled");
        is_off.then_some("the kernel had taken the scheduler off, and the guest did not go on")
    })
}

/// Exit code of a lab whose command did not end in time.
const TIMED_OUT: i32 = 124;

/// The kernel's watchdog, seconds. It is shorter than the load, so a thread that waits for most of
/// the load ends the scheduler.
const WATCHDOG: u32 = 8;

/// True if the kernel's message proves that no CPU of the guest ran for seconds. Every CPU checks
/// at every tick if the watchdog is overdue, so a scheduler that keeps it from running is reported
/// within a tick of its deadline. A later report means that the emulator did not run, and proves
/// nothing about the scheduler.
fn stood_still(said: &str) -> bool {
    let overdue = said
        .split_once("watchdog failed to check in for ")
        .and_then(|(_, rest)| rest.split_once('s'));
    overdue.is_some_and(|(seconds, _)| {
        seconds.parse().is_ok_and(|seconds: f64| seconds > f64::from(WATCHDOG) + 2.0)
    })
}

#[test]
fn a_guest_that_stood_still_is_told_from_a_scheduler_that_stalls() {
    assert!(stood_still(
        "[  302.08] sched_ext: evenkeel: watchdog failed to check in for 22.956s\nrr: ok"
    ));
    assert!(!stood_still("[  302.08] sched_ext: evenkeel: watchdog failed to check in for 8.004s"));
    assert!(!stood_still("[  302.08] sched_ext: evenkeel: spin[77] failed to run for 22.956s"));
    assert!(!stood_still("acfs: ok"));
    let excused = |code, stderr: &str| {
        excuse(&Ended { code, stdout: Vec::new(), stderr: stderr.to_owned() }).is_some()
    };
    assert!(excused(0, "note: x\nnote: this host did not run the lab for 16.0 s: y\n"));
    assert!(!excused(
        0,
        "[  334.79] watchdog: BUG: soft lockup - CPU#0 stuck for 177s! [worker:1886]\n"
    ));
    assert!(excused(TIMED_OUT, "note: the emulator stands still: none of its cores ran\n"));
    let off = "[   57.36] sched_ext: BPF scheduler \"evenkeel\" disabled (runtime error)\n";
    assert!(excused(TIMED_OUT, off) && !excused(0, off));
    assert!(!excused(
        TIMED_OUT,
        "note: in the second after the time was over the cores ran for 12, 0, 0 ms\n"
    ));
}

/// The output about each policy, in their order.
fn by_policy<'a>(text: &str, policies: &[&'a str]) -> Vec<(&'a str, String)> {
    let mut said: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        let of = policies
            .iter()
            .find(|policy| line.strip_prefix(**policy).is_some_and(|it| it.starts_with(": ")));
        match (of, said.last_mut()) {
            (Some(policy), _) => said.push((policy, line[policy.len() + 2..].to_owned())),
            (None, Some((_, more))) => *more += &format!("\n{line}"),
            (None, None) => panic!("said of no policy: {text}"),
        }
    }
    said
}

#[test]
fn what_the_guest_says_is_told_apart_by_policy() {
    let text = "acfs: ok\nacfs-static: ended early: note: Ctrl-C ends it\n[  3.1] sched_ext: a \
                stall\nrr: ok\n";
    let said = by_policy(text, &["acfs", "acfs-static", "rr"]);
    let of_static = "ended early: note: Ctrl-C ends it\n[  3.1] sched_ext: a stall";
    assert_eq!(
        said,
        [("acfs", "ok".into()), ("acfs-static", of_static.into()), ("rr", "ok".into())]
    );
}

/// Gives each policy the mixed load in turn, on more than half of two CPUs. The speeds of the cores
/// do not matter here.
fn mixed_load(kernel: &str, policies: &[&str]) -> Option<Ended> {
    let file = format!("{}=/bin/mixed.sh", root().join("tests/vm/mixed.sh").display());
    let with = ["--cores", "2@50+2@17", "--with", "chrt", "--file", &file];
    let watchdog = WATCHDOG.to_string();
    let script = [&["sh", "/bin/mixed.sh", SECONDS, &watchdog][..], policies].concat();
    // Each policy takes some 18 s. A guest that hangs must not hold up the others for as long as
    // the longest session may take.
    let timeout = Duration::from_secs(60 + 40 * policies.len() as u64);
    guest_once(kernel, "/bin/evenkeel", &with, &script, timeout)
}

/// Two guests, one after the other: both at a time take more than two CPUs, and threads then wait
/// for the host until the kernel takes them for starved.
#[track_caller]
fn schedule_a_mixed_load(kernel: &str, policies: &[&str]) {
    let (first, second) = policies.split_at(policies.len() / 2);
    schedule_in_turn(kernel, first);
    schedule_in_turn(kernel, second);
}

#[track_caller]
fn schedule_in_turn(kernel: &str, policies: &[&str]) {
    let mut left = policies.to_vec();
    for attempt in 0..=AGAIN {
        let Some(ended) = mixed_load(kernel, &left) else { return };
        let said = by_policy(&ended.text(), &left);
        print!("{}", ended.stderr);
        left.retain(|policy| !said.contains(&(policy, "ok".to_owned())));
        if left.is_empty() {
            return;
        }
        // A policy without output: the guest ended before it.
        let of =
            |policy: &str| said.iter().find(|(named, _)| *named == policy).map_or("", |(_, it)| it);
        let is_excused = |policy: &&str| excuse(&ended).is_some() || stood_still(of(policy));
        assert!(
            attempt < AGAIN && left.iter().all(is_excused),
            "{left:?}: {said:?}\n{}",
            ended.stderr
        );
        println!("{left:?}: {said:?}");
        tell_retry(&left.join(", "), excuse(&ended).unwrap_or("the emulator stood still"));
    }
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn every_policy_schedules_a_mixed_load_on_6_18() {
    schedule_a_mixed_load("6.18", &policies());
}

/// These policies use all of the mechanism, which is what has changed between kernels.
#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_fair_policy_and_one_that_moves_much_schedule_a_mixed_load_on_7_2() {
    schedule_a_mixed_load("7.2", &["acfs", "age"]);
}

#[test]
#[ignore = "boots a virtual machine, and takes long: make vm-test-long"]
fn every_policy_schedules_a_mixed_load_on_6_16_7_0_and_7_2_in_the_longer_run() {
    for kernel in ["6.16", "7.0", "7.2"] {
        schedule_a_mixed_load(kernel, &policies());
    }
}

/// A shell function that waits until the state is as given, ten seconds at most.
pub const IS: &str = "is() { for _ in $(seq 400); do [ $(cat /sys/kernel/sched_ext/state) = $1 ] && return; usleep 100000; done; echo not $1; exit 1; }";

/// Separates the output of a session's parts.
const PART: &str = "== ";

/// A part of a session: the progress of the fastest program in percent of the slowest, of four
/// programs and of six.
const EQUAL: &str = "for n in 4 6; do
     p=; for i in $(seq $n); do worker spin 1 8000 >/tmp/done$i & p=\"$p $!\"; done; wait $p
     cat /tmp/done* | sort -n | awk 'NR == 1 { least = $1 } END { print int(100 * $1 / least) }'
 done";

/// A part of a session: two threads, and the percentage of their CPU time on the fast cores.
const TWO: &str = "grep '^cpu[0-9]' /proc/stat >/tmp/before; worker spin 2 4000 >/dev/null; grep \
                   '^cpu[0-9]' /proc/stat >/tmp/after
 paste /tmp/before /tmp/after | awk '{ user[NR] = $13 - $2 } END \
 { print int(100 * (user[1] + user[2]) / (user[1] + user[2] + user[3] + user[4] + 1)) }'";

/// The parts of one session under acfs, in turn, and, once it has been killed, of others: booting
/// and loading take longer than most parts.
const PARTS: [(&str, &str); 13] = [
    (
        "watched",
        "evenkeel schedule --monitor 1 --json >/tmp/seen & m=$!; worker spin 6 20000 >/dev/null & \
         w=$!
         for _ in $(seq 180); do [ $(wc -l </tmp/seen) -ge 3 ] && break; usleep 100000; done; kill \
         $m $w; sed -n 3p /tmp/seen; grep 'per second' /tmp/log | tail -n 1",
    ),
    (
        "others",
        "evenkeel schedule --backend sched_ext -p gts; echo $?
         rm /run/evenkeel/schedule.lock; evenkeel schedule --backend sched_ext -p gts; echo $?",
    ),
    ("unconfigured", "ls /boot; cat /sys/kernel/sched_ext/root/ops"),
    ("two", TWO),
    ("equal", EQUAL),
    (
        "interrupts",
        // From here on a thread that wakes preempts none: that would be an interrupt, too.
        "kill -INT $s; wait $s; evenkeel schedule --backend sched_ext -p acfs:guests=far-behind \
         >/tmp/log 2>&1 & s=$!; is enabled; sleep 1
         interrupts() { awk '/IWI:/ { for (i = 2; i <= 5; i++) all += $i; print all }' /proc/interrupts; }
         worker spin 4 8000 >/dev/null & w=$!; sleep 1; before=$(interrupts); worker crowd 20 \
         3000; echo $(($(interrupts) - before)); kill $w",
    ),
    (
        "guests",
        "worker spin 4 30000 >/dev/null & b=$!; worker crossings 2 4000; kill $b",
    ),
    (
        "killed",
        "worker spin 6 3000 >/tmp/done & w=$!; sleep 1; kill -9 $s; is disabled; wait $w; awk '$1 \
         > 0' /tmp/done | wc -l",
    ),
    ("unprivileged", "/usr/local/bin/setpriv --reuid 99 --regid 99 --clear-groups evenkeel \
                      schedule --backend sched_ext -p acfs; echo $?"),
    (
        "partial",
        "for name in inside outside app; do cp $(which worker) /bin/$name; done
         evenkeel schedule --backend sched_ext -p acfs --partial --json >/tmp/record 2>/tmp/log & \
         s=$!; is enabled; sleep 1
         outside spin 2 3000 >/tmp/outside & o=$!; worker ext thread inside spin 2 3000 \
         >/tmp/inside; wait $o
         kill -INT $s; wait $s || cat /tmp/log >&2; awk '$1 > 0' /tmp/outside /tmp/inside | wc -l; \
         cat /tmp/record",
    ),
    (
        "hidden",
        "is disabled; evenkeel schedule --backend sched_ext -p bfs >/tmp/log 2>&1 & s=$!; is enabled
         taskset 1 worker spin 40 4000 >/dev/null & b=$!; sleep 1
         grep '^cpu[1-3]' /proc/stat >/tmp/before; worker spin 6 2000 >/dev/null; grep '^cpu[1-3]' \
         /proc/stat >/tmp/after
         paste /tmp/before /tmp/after | awk '{ idle += $16 - $5; user += $13 - $2 } END \
         { print int(100 * idle / (user + idle + 1)) }'
         wait $b; kill -INT $s; wait $s || cat /tmp/log >&2",
    ),
    // The lab's cores have no performance counters. A replaced description of the hardware makes
    // "instructions" nanoseconds of CPU time.
    (
        "counted",
        "is disabled; cpu=/tmp/devices/cpu; mkdir -p $cpu/events $cpu/format; echo 1 >$cpu/type; \
         echo config:0-7 >$cpu/format/event
         for event in instructions cpu-cycles; do echo event=0x00 >$cpu/events/$event; done
         mount --bind /tmp/devices /sys/bus/event_source/devices
         evenkeel schedule --backend sched_ext -p acfs --json --threads >/tmp/record 2>/tmp/log & \
         s=$!; is enabled; sleep 1
         p=; for i in 1 2 3 4; do app spin 1 5000 >/dev/null & p=\"$p $!\"; done; wait $p
         kill -INT $s; wait $s || cat /tmp/log >&2; cat /tmp/record",
    ),
    (
        "types",
        "is disabled; head -c 4096 /dev/urandom >/tmp/types; mount --bind /tmp/types \
         /sys/kernel/btf/vmlinux
         evenkeel schedule --backend sched_ext -p acfs; echo $?",
    ),
];

/// The script that begins a session under acfs.
fn under_acfs() -> String {
    format!(
        "{IS}; rm /boot/config-*; evenkeel schedule --backend sched_ext -p acfs --stats 1 \
         >/tmp/log 2>&1 & s=$!; is enabled; sleep 1"
    )
}

/// The output of a part of the session, and all errors of the session.
fn session(part: &str) -> Option<(String, String)> {
    static SESSION: OnceLock<Option<(String, String)>> = OnceLock::new();
    let held = SESSION.get_or_init(|| {
        let parts: String =
            PARTS.iter().map(|(name, script)| format!("echo {PART}{name}; {script}\n")).collect();
        let ended = guest("6.18", &["sh", "-c", &format!("{}\n{parts}", under_acfs())])?;
        assert_eq!(ended.code, 0, "{}{}", ended.text(), ended.stderr);
        Some((ended.text(), ended.stderr))
    });
    let (output, errors) = held.as_ref()?;
    let mut parts = output.split(PART).filter_map(|text| text.split_once('\n'));
    let (_, printed) = parts
        .find(|(name, _)| *name == part)
        .unwrap_or_else(|| panic!("no {part}: {output}{errors}"));
    Some((printed.trim().to_owned(), errors.clone()))
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_machine_whose_scheduler_is_killed_goes_on_under_the_kernels() {
    let Some((threads, errors)) = session("killed") else { return };
    assert_eq!(threads, "6", "{errors}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn equal_programs_advance_alike_under_acfs() {
    // The bound is that of a busy host (docs/decisions/0060-bounds-of-lab-tests.md). Equal cores of
    // a busy host are not equal, in turn, so the part is repeated. Times on the kinds of core do
    // not depend on that (see `simulated`).
    in_one_of_three("equal", EQUAL, "equal cores of a busy host are not equal", |printed| {
        let figures: Vec<u32> = printed.lines().map(|line| line.parse().unwrap()).collect();
        figures.len() == 2 && figures.iter().all(|&figure| figure <= 120)
    });
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn two_threads_have_the_fast_cores_under_acfs() {
    // A thread that begins on a slow core stays there until the next look, which a busy host
    // delays. The session's first looks, which cost the emulator most, are over by then.
    in_one_of_three("two", TWO, "a busy host makes looks late", |percent| {
        percent.parse::<u32>().unwrap() >= 90
    });
}

/// Asserts that a part of the session printed what it should, or that the same script does in one
/// of two sessions of its own.
fn in_one_of_three(part: &str, script: &str, why: &str, holds: impl Fn(&str) -> bool) {
    let again = || {
        let ended = guest(
            "6.18",
            &[
                "sh",
                "-c",
                &format!(
                    "{}; worker spin 6 6000 >/dev/null; {script}\nkill -INT $s; wait $s",
                    under_acfs()
                ),
            ],
        )?;
        Some((ended.text().trim().to_owned(), ended.stderr))
    };
    let mut seen = Vec::new();
    for attempt in 0..3 {
        let Some((printed, errors)) = (if attempt == 0 { session(part) } else { again() }) else {
            return;
        };
        if holds(&printed) {
            return;
        }
        if attempt < 2 {
            tell_retry(&test_name(), &format!("{why}: {printed:?}"));
        }
        seen.push((printed, errors));
    }
    panic!("{part}: {seen:?}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn who_sleeps_much_is_taken_up_by_either_kind_under_acfs() {
    // With `guests=none` 2 of a hundred cross over. With `at-once` fewer threads need to be guests
    // (docs/decisions/0060-bounds-of-lab-tests.md).
    let Some((percent, errors)) = session("guests") else { return };
    assert!(percent.parse::<u32>().unwrap() >= 10, "{percent} {errors}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_thread_that_blocks_hands_its_core_to_those_that_wait() {
    // If a core that goes idle kicked itself while threads wait, there would be an interrupt (IWI)
    // for nearly each of the 3,000 times that these threads go to sleep.
    let Some((interrupts, _)) = session("interrupts") else { return };
    assert!(interrupts.parse::<u32>().unwrap() < 400, "{interrupts}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn what_keeps_a_scheduler_from_loading_is_said_in_a_line() {
    let Some((codes, errors)) = session("others") else { return };
    assert_eq!(codes, "1\n1", "{errors}");
    for alone in ["unprivileged", "types"] {
        let Some((code, _)) = session(alone) else { return };
        assert_eq!(code, "1", "{errors}");
    }
    let said: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    let causes = [
        "another evenkeel schedules already",
        "another sched_ext scheduler runs already (evenkeel",
        "run as root",
        "BTF is malformed",
    ];
    assert_eq!(said.len(), causes.len(), "{errors}");
    for (error, cause) in said.iter().zip(causes) {
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_scheduler_loads_where_the_kernels_configuration_is_not_to_be_had() {
    let Some((listed, errors)) = session("unconfigured") else { return };
    assert!(listed.starts_with("evenkeel"), "{listed} {errors}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn what_the_scheduler_does_is_seen_from_outside_and_in_its_own_lines() {
    let Some((seen, errors)) = session("watched") else { return };
    let Some((object, line)) = seen.split_once('\n') else { panic!("{seen} {errors}") };
    let object: Value =
        serde_json::from_str(object).unwrap_or_else(|error| panic!("{error}: {seen}"));
    assert_eq!((&object["mechanism"], &object["policy"]), (&"sched_ext".into(), &"acfs".into()));
    let per_second = |what: &str| object["per_second"][what].as_f64().unwrap();
    assert!(per_second("switches") > 0.0 && per_second("looks") > 0.0, "{object}");
    assert!(object["runnable"].as_u64().unwrap() >= 6, "{object}");
    assert!(
        line.contains("switches") && line.contains("cost ") && line.contains("looks/s"),
        "{line}"
    );
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn many_who_may_run_on_one_cpu_only_hide_nobody_from_the_others() {
    // The other cores must find their threads behind as many bound ones in the one queue of all
    // cores (docs/decisions/0060-bounds-of-lab-tests.md).
    let Some((percent, errors)) = session("hidden") else { return };
    assert!(percent.parse::<u32>().unwrap() <= 20, "{percent} {errors}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn in_partial_mode_only_those_are_scheduled_who_ask_for_it() {
    let Some((printed, errors)) = session("partial") else { return };
    let Some((advanced, record)) = printed.split_once('\n') else { panic!("{printed} {errors}") };
    assert_eq!(advanced, "4", "{errors}");
    let record: Value =
        serde_json::from_str(record).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let apps: Vec<&str> =
        record["apps"].as_array().unwrap().iter().filter_map(|app| app["name"].as_str()).collect();
    // It was executed by another thread than its process's first.
    assert_eq!(apps, ["inside"], "{record}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn what_threads_retire_is_counted_per_kind_of_core() {
    // A thread that always works retires one a nanosecond on either kind. So its speedup factor, 3
    // by capacities, is measured as 1.
    let Some((printed, errors)) = session("counted") else { return };
    let record: Value = serde_json::from_str(&printed)
        .unwrap_or_else(|error| panic!("{error}: {printed} {errors}"));
    let source = record["live"]["source"].as_str().unwrap();
    assert!(source.contains("with counters of instructions"), "{source}");
    let threads = record["threads"].as_array().unwrap().iter().map(|thread| {
        let on = |kind: &str| thread["time_on_kind_s"][kind].as_f64().unwrap();
        (
            thread["app"].as_str().unwrap_or_default(),
            on("fast"),
            on("slow"),
            thread["retired"].as_f64().unwrap(),
        )
    });
    let threads: Vec<_> =
        threads.filter(|thread| thread.0.starts_with("app") && thread.1 + thread.2 > 3.0).collect();
    assert_eq!(threads.len(), 4, "{record:#}");
    for (_, fast, slow, retired) in &threads {
        // The factor is known once the thread has run on both kinds; until then capacities give the
        // work done.
        assert!((0.7..1.3).contains(&(retired * 1e-9 / (fast + slow))), "{record:#}");
    }
    // A thread that is equally fast on both kinds needs no compensation: threads stay on their
    // kinds, where with a factor of 3 each would have half of the time on either.
    assert!(
        threads.iter().any(|(_, fast, slow, _)| fast.max(*slow) > 0.8 * (fast + slow)),
        "{record:#}"
    );
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn threads_have_cores_of_their_own_before_they_share_one_with_a_sibling() {
    // Two threads sleep and wake on two cores of two siblings each, under a policy whose queue
    // prefers no core. Each core has about half of the work, also after both threads were bound to
    // siblings and may go elsewhere. A mechanism that ignores siblings, or prefers a thread's last
    // core to a free one, leaves them where they began.
    let script = format!(
        "{IS}; evenkeel schedule --backend sched_ext -p bfs >/tmp/log 2>&1 & s=$!; is enabled; \
         sleep 1
         cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list | tr '\\n' ' '; echo
         grep '^cpu[0-9]' /proc/stat >/tmp/before; for i in 1 2 3 4; do worker naps 2 500; done; \
         grep '^cpu[0-9]' /proc/stat >/tmp/after
         paste /tmp/before /tmp/after | awk '{{ user[NR] = $13 - $2 }}
             END {{ first = user[1] + user[2]; second = user[3] + user[4]; print first, second }}'
         taskset -c 0,1 worker naps 2 4000 & w=$!; sleep 1; taskset -ap f $w >/dev/null; grep \
         '^cpu[0-9]' /proc/stat >/tmp/before; wait $w; grep '^cpu[0-9]' /proc/stat >/tmp/after
         paste /tmp/before /tmp/after | awk '{{ user[NR] = $13 - $2 }} END {{ print user[1] + \
         user[2], user[3] + user[4] }}'
         kill -INT $s; wait $s"
    );
    let with = ["--cores", "4@50", "--smt"];
    let Some(ended) = guest_with("6.18", "/bin/evenkeel", &with, &["sh", "-c", &script]) else {
        return;
    };
    let text = ended.text();
    let lines: Vec<&str> = text.lines().collect();
    let ["0-1 0-1 2-3 2-3 ", free, released] = lines[..] else { panic!("{text} {}", ended.stderr) };
    for ticks in [free, released] {
        let ticks: Vec<u32> = ticks.split(' ').map(|ticks| ticks.parse().unwrap()).collect();
        let (less, more) = (ticks[0].min(ticks[1]), ticks[0].max(ticks[1]));
        assert!(less * 10 >= more * 7, "{text}");
    }
}

#[test]
#[ignore = "boots a virtual machine, and takes long: make vm-test-long"]
fn a_kernel_that_describes_its_functions_wrongly_is_named_in_the_longer_run() {
    let script = "evenkeel schedule --backend sched_ext -p acfs; echo $?";
    let Some(ended) = guest("7.2.12+deb13", &["sh", "-c", script]) else { return };
    // A kernel that neither the mirror nor a cache has cannot be booted.
    if ended.stderr.contains("there is no kernel ") {
        println!("skipped: {}", ended.stderr.trim_end());
        return;
    }
    assert_eq!(ended.text(), "1\n", "{}", ended.stderr);
    let errors: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains("BTF is malformed"), "{}", ended.stderr);
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn why_the_kernel_ends_a_scheduler_is_said() {
    // First sysrq ends the scheduler. Then a real-time thread that is not throttled keeps a normal
    // thread from its only CPU, and only that end has a dump. The normal thread works before the
    // other comes: one that is stopped while it starts may be in an RCU reader, for which the
    // kernel waits before it ends a scheduler, as long as the real-time thread goes on.
    let schedule = "evenkeel schedule --backend sched_ext --watchdog 4s -p acfs -v >/tmp/table \
                    2>/tmp/log & is enabled";
    let said = "wait %1; echo $?; is disabled; grep ^error /tmp/log; grep -c '^CPU ' /tmp/log";
    let works = "until [ $(awk '{ print $14 }' /proc/$!/stat) -ge 20 ]; do usleep 20000; done";
    let script = format!(
        "{IS}; {schedule}; echo S >/proc/sysrq-trigger; {said}
         echo -1 >/proc/sys/kernel/sched_rt_runtime_us; {schedule}; taskset -c 3 worker forever & \
         {works}
         timeout -s KILL 100 chrt -f 10 taskset -c 3 worker forever & {said}; killall worker"
    );
    let Some(ended) = guest("6.18", &["sh", "-c", &script]) else { return };
    let output = ended.text();
    let lines: Vec<&str> = output.lines().collect();
    let ["3", why, "0", "1", who, cpus] = lines[..] else { panic!("{output} {}", ended.stderr) };
    assert_eq!(why, "error: the kernel has ended the scheduler: disabled by sysrq-S");
    let waited = who
        .split_once("runnable task stall: ")
        .and_then(|(_, who)| who.split_once(" failed to run for "));
    let waited: f64 = waited
        .and_then(|(_, time)| time.strip_suffix('s')?.parse().ok())
        .unwrap_or_else(|| panic!("{who}"));
    assert!((4.0..15.0).contains(&waited), "{who}");
    assert!(cpus.parse::<u32>().unwrap() >= 1, "{cpus}");
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_newcomer_has_no_more_than_its_share_beside_one_that_has_run_alone() {
    // The threads are bound to one CPU, so that none is moved, under a policy whose queues have
    // clocks of their own. CPU times are in ticks.
    let script = format!(
        "{IS}; evenkeel schedule --backend sched_ext -p linux >/dev/null & s=$!; is enabled; sleep 1
         ticks() {{ awk '{{ print $14 }}' /proc/$1/stat; }}
         taskset -c 0 worker forever & one=$!; sleep 4; before=$(ticks $one)
         taskset -c 0 worker forever & two=$!; sleep 2; echo $(($(ticks $one) - before)) $(ticks \
         $two)
         killall worker; kill -INT $s; wait $s"
    );
    let Some(ended) = guest_of("2@100", "6.18", &["sh", "-c", &script]) else { return };
    let ticks: Vec<u32> =
        ended.text().split_whitespace().map(|ticks| ticks.parse().unwrap()).collect();
    let [one, two] = ticks[..] else { panic!("{ticks:?} {}", ended.stderr) };
    assert!(one.min(two) * 3 >= one + two, "{one} and {two} {}", ended.stderr);
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn who_is_interrupted_by_a_real_time_thread_again_and_again_has_no_more_than_its_turn() {
    // Beside a thread that works for 4 ms and sleeps for 1 there is never room for a whole slice:
    // if each return began a new slice, none would end.
    let script = format!(
        "{IS}; evenkeel schedule --backend sched_ext -p acfs >/dev/null & s=$!; is enabled; sleep 1
         ticks() {{ awk '{{ print $14 }}' /proc/$1/stat; }}
         chrt -f 10 taskset -c 0 worker naps 1 30000 & taskset -c 0 worker forever & one=$!; \
         taskset -c 0 worker forever & two=$!
         sleep 7; echo $(ticks $one) $(ticks $two)
         killall worker; kill -INT $s; wait $s"
    );
    let Some(ended) = guest_of("2@100", "6.18", &["sh", "-c", &script]) else { return };
    let ticks: Vec<u32> =
        ended.text().split_whitespace().map(|ticks| ticks.parse().unwrap()).collect();
    let [one, two] = ticks[..] else { panic!("{ticks:?} {}", ended.stderr) };
    assert!(one + two > 30 && one.min(two) * 3 >= one + two, "{ticks:?} {}", ended.stderr);
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_slice_ends_at_the_tick_nearest_to_its_end_and_in_the_kernel_at_the_one_after_and_a_row_with_its_last()
 {
    // Ticks are 4 ms apart: a slice of 5 ms that ends at the first tick after it takes 8.
    const IN_KERNEL: &str = "timeout 3 dd if=/dev/zero of=/dev/null bs=16M 2>/dev/null";
    let run = |batch: u32, load: &str| {
        format!(
            "evenkeel run --backend sched_ext --json -p acfs:slice=5,batch={batch} -- sh -c 'for _ \
             in 1 2 3 4 5 6 7 8; do {load} & done; wait'; echo"
        )
    };
    let computes = "worker spin 1 3000 >/dev/null";
    // A thread that sleeps waits for its turn behind others, but only for one slice of each,
    // however many they have in a row.
    let beside = format!(
        "{IS}; is disabled; evenkeel schedule --backend sched_ext -p \
         acfs:guests=none,slice=5,batch=20 >/tmp/log 2>&1 & s=$!; is enabled
         worker spin 4 30000 >/dev/null & b=$!; worker wakes 1 2000 4000; kill $b; kill -INT $s; \
         wait $s || cat /tmp/log >&2"
    );
    let script = [run(1, computes), run(1, IN_KERNEL), run(3, computes), beside].join("; ");
    let Some(ended) = guest_of("2@100", "6.18", &["sh", "-c", &script]) else { return };
    let slice = |record: serde_json::Result<Value>| {
        let record = record.unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
        let kinds = record["kinds"].as_object().unwrap();
        let busy: f64 = kinds.values().map(|kind| kind["busy_s"].as_f64().unwrap()).sum();
        busy / record["context_switches"].as_f64().unwrap()
    };
    let output = ended.text();
    let (records, waits) =
        output.trim_end().rsplit_once('\n').unwrap_or_else(|| panic!("{output} {}", ended.stderr));
    let slices: Vec<f64> =
        serde_json::Deserializer::from_str(records).into_iter().map(slice).collect();
    let [in_user, in_kernel, in_a_row] = slices[..] else { panic!("{slices:?} {}", ended.stderr) };
    assert!(
        (0.003..0.006).contains(&in_user) && (0.006..0.011).contains(&in_kernel),
        "{slices:?} {}",
        ended.stderr
    );
    assert!((0.010..0.017).contains(&in_a_row), "{slices:?} {}", ended.stderr);
    // Rows without a break would take 80 ms.
    let median: u32 = waits
        .split(' ')
        .next()
        .and_then(|it| it.parse().ok())
        .unwrap_or_else(|| panic!("{output}"));
    assert!(median < 15_000, "{waits} {}", ended.stderr);
}

#[test]
#[ignore = "boots a virtual machine: make vm-test"]
fn a_scheduler_goes_on_when_cpus_leave_and_come_back() {
    // Loading takes the lab some seconds.
    let script = format!(
        "{IS}; anew() {{ grep -c 'loaded anew' /tmp/log; }}
         evenkeel schedule --backend sched_ext -p acfs >/tmp/table 2>/tmp/log & p=$!; is enabled; \
         worker spin 6 12000 >/tmp/done & w=$!
         for online in 0 1; do
             sleep 1; before=$(anew); echo $online >/sys/devices/system/cpu/cpu3/online
             for _ in $(seq 300); do [ $(anew) -gt $before ] && break; usleep 100000; done
             is enabled; [ -d /proc/$p ] && echo there
         done
         awk '/^CapEff/ {{ print $2 }}' /proc/$p/status
         wait $w; awk '$1 > 0' /tmp/done | wc -l; cat /sys/kernel/sched_ext/state; kill -INT $p; \
         wait $p; echo $?"
    );
    let Some(ended) = guest("6.18", &["sh", "-c", &script]) else { return };
    // CAP_SYS_NICE, CAP_KILL, CAP_IPC_LOCK, CAP_PERFMON, CAP_BPF: a scheduler keeps what it needs
    // to be loaded anew.
    let expected = "there\nthere\n000000c000804020\n6\nenabled\n0\n";
    assert_eq!(ended.text(), expected, "{}", ended.stderr);
}
