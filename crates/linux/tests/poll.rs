//! Real programs are looked for in `/proc`. In a process of its own, which takes in orphans: what
//! other tests begin would be taken for some.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

#[path = "support/programs.rs"]
mod programs;
#[path = "support/seen.rs"]
mod seen;

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    time::{Duration, Instant},
};

use evenkeel_linux::watch::{Options, Seen, Source, Tid, Watcher};
use programs::{example, held, tid};
use rustix::process::{getpid, set_child_subreaper};
use seen::{is_lawful, started};

/// Nothing here takes longer, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn look_until(
    watcher: &mut Watcher,
    seen: &mut Vec<Seen>,
    is_done: impl Fn(&Watcher, &[Seen]) -> bool,
) {
    let begun = Instant::now();
    while !is_done(watcher, seen) {
        assert!(begun.elapsed() < PATIENCE, "{} alive, seen: {seen:?}", watcher.alive());
        watcher.wait(Duration::from_millis(100)).unwrap();
        watcher.drain(seen);
    }
}

/// Begins the program, which prints so many numbers of processes, and lets those live until all of
/// them are seen.
fn all_are_seen(words: &[&str], number: usize) {
    let mut child = held(&example("swarm"), words);
    let options =
        Options { source: Source::Poll, interval: Duration::from_millis(2), ..Options::default() };
    let mut watcher = Watcher::program(tid(&child), &options).unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    let output = BufReader::new(child.stdout.take().unwrap()).lines();
    let printed: BTreeSet<Tid> =
        output.take(number).map(|line| Tid(line.unwrap().parse().unwrap())).collect();
    assert_eq!(printed.len(), number);
    let mut seen = Vec::new();
    look_until(&mut watcher, &mut seen, |_, seen| {
        printed.is_subset(&started(seen).into_iter().collect())
    });
    drop(input);
    look_until(&mut watcher, &mut seen, |watcher, _| watcher.alive() == 0);
    is_lawful(&seen);
    assert!(child.wait().unwrap().success());
}

#[test]
fn polling_sees_those_who_live_longer_than_its_interval() {
    all_are_seen(&["forks", "5"], 6);
    set_child_subreaper(Some(getpid())).unwrap();
    all_are_seen(&["orphans", "5"], 5);
}
