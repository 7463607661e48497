//! Traces of generated programs: for a machine that is not there, or of which no trace is.

use evenkeel_machine::Machine;
use evenkeel_model::SplitMix64;
use evenkeel_model::character::GeneratedProgram;

use crate::metric::{Counts, Event};
use crate::modelled;
use crate::trace::{Trace, TracedKind, Window};

/// Instructions of a window (the study's).
const WINDOW: u64 = 200_000_000;
/// Standard deviation of a count, relative to it. Ours: counters are read at other instructions
/// than those that were asked for, and other work runs beside.
pub const NOISE: f64 = 0.02;

/// Traces of so many programs of a seed, numbered from 0: what counters would show of them on each
/// kind of a machine. Empty where a kind does not say how it is built.
#[must_use]
pub fn traces(machine: &Machine, seed: u64, programs: u64) -> Vec<Trace> {
    (0..programs).filter_map(|number| trace(machine, seed, number)).collect()
}

fn trace(machine: &Machine, seed: u64, number: u64) -> Option<Trace> {
    let program = GeneratedProgram::new(seed, number);
    let name = format!("generated-{seed}-{number}");
    let mut random = SplitMix64::named(seed, &name);
    let mut kinds = Vec::new();
    for kind in &machine.kinds {
        let core = kind.core.as_ref()?;
        let ghz = kind.top().khz as f64 / 1e6;
        let of_phase = |&phase: &usize| modelled::window(&program.phases[phase], core, ghz, WINDOW);
        let course = program.course.iter();
        let phases = course.flat_map(|&(phase, windows)| std::iter::repeat_n(phase, windows));
        let windows = phases.collect::<Vec<usize>>();
        kinds.push(TracedKind {
            name: kind.name.clone(),
            counters: modelled::counters(core),
            windows: windows.iter().map(of_phase).map(|it| noisy(&it, &mut random)).collect(),
        });
    }
    Trace::new(name, format!("generated, modelled for {}", machine.name), kinds).ok()
}

/// The window with noise on every count but that of instructions. Time follows the cycles.
fn noisy(window: &Window, random: &mut SplitMix64) -> Window {
    let mut counts = Counts::default();
    let mut time = window.time;
    for event in window.counts.events() {
        let count = window.counts.get(event).unwrap_or_default() as f64;
        let normal = random.normal();
        let factor = if event == Event::Instructions { 1.0 } else { 1.0 + NOISE * normal };
        counts.set(event, (count * factor).round() as u64);
        if event == Event::Cycles {
            time.0 = (time.0 as f64 * factor).round() as u64;
        }
    }
    Window { time, counts }
}
