//! What the simulator is measured against: the crate simcore, SimPy, and the start of the program
//! itself.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Instant;

use serde::Serialize;
use simcore::{Event, EventHandler, Id, Simulation, SimulationContext, cast};

#[derive(Clone, Serialize)]
struct Start {
    peer: Id,
}

#[derive(Clone, Serialize)]
struct Ping {}

#[derive(Clone, Serialize)]
struct Pong {}

struct Player {
    context: SimulationContext,
    left: u64,
}

impl Player {
    fn ping(&self, peer: Id) {
        let delay = self.context.rand();
        self.context.emit(Ping {}, peer, delay);
    }
}

impl EventHandler for Player {
    fn on(&mut self, event: Event) {
        cast!(match event.data {
            Start { peer } => {
                self.ping(peer);
            }
            Ping {} => {
                let delay = self.context.rand();
                self.context.emit(Pong {}, event.src, delay);
            }
            Pong {} => {
                self.left -= 1;
                if self.left > 0 {
                    self.ping(event.src);
                }
            }
        })
    }
}

/// Ping-pong as simcore's authors measure it (dslab, examples/ping-pong): two components, each of
/// which pings the other, answers with random delays.
pub fn simcore_events_per_second() -> f64 {
    // Half a second of events, as long as our own cases run.
    const EACH: u64 = 4_000_000;
    let mut simulation = Simulation::new(123);
    let names = ["a", "b"];
    let ids = names.map(|name| {
        let context = simulation.create_context(name);
        let id = context.id();
        simulation.add_handler(name, Rc::new(RefCell::new(Player { context, left: EACH })));
        id
    });
    let root = simulation.create_context("root");
    root.emit(Start { peer: ids[1] }, ids[0], 0.0);
    root.emit(Start { peer: ids[0] }, ids[1], 0.0);
    let start = Instant::now();
    simulation.step_until_no_events();
    simulation.event_count() as f64 / start.elapsed().as_secs_f64()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The same round-robin as a SimPy program, in a virtual environment that `make bench` made.
pub fn simpy_switches_per_second() -> Result<f64, String> {
    let python = root().join("target/venv-bench/bin/python");
    if !python.exists() {
        return Err(format!("{} is not there; `make bench` makes it", python.display()));
    }
    let script = root().join("crates/sim/benches/simpy_round_robin.py");
    let output = Command::new(python).arg(script).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .map_err(|_| format!("it printed {text:?} {}", String::from_utf8_lossy(&output.stderr)))
}

/// From starting the program to its first byte of output, for one thread that runs a second.
pub fn first_result_ms() -> Result<f64, String> {
    let program = root().join("target/release/evenkeel");
    let start = Instant::now();
    let output = Command::new(&program)
        .args([
            "simulate",
            "-m",
            "odroid-xu3",
            "-w",
            "spin:threads=1,seconds=1",
            "-p",
            "acfs",
            "--json",
        ])
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Memory that each of 10,000 threads adds, from two processes of this bench.
pub fn bytes_per_thread() -> Option<f64> {
    let peak = |threads: usize| -> Option<f64> {
        let output = Command::new(std::env::current_exe().ok()?)
            .arg(format!("--memory={threads}"))
            .output()
            .ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    Some((peak(10_001)? - peak(1)?) / 10_000.0)
}

/// Greatest resident memory of this process so far.
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
