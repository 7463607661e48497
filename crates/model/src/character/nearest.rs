//! Characters for phases that state a speedup factor alone: see [`give_characters`].

use evenkeel_machine::Machine;

use super::{Character, GeneratedProgram};
use crate::{Application, Phase, Scaling};

/// The programs to choose from: of this number and above, which are not those of a training.
const FIRST: u64 = 1 << 32;
/// How many.
const PROGRAMS: u64 = 5_000;
/// A factor that deviates by this much is near enough for the speed to decide.
const NEAR: f64 = 0.02;

/// How near the characters come to what phases state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nearness {
    /// How many phases were given one.
    pub phases: usize,
    /// The greatest relative deviation of a factor.
    pub factor: f64,
    /// The greatest relative deviation of a speed on the slowest kind.
    pub speed: f64,
}

/// Gives each phase without a character one of a generated program: that whose factor on the
/// machine, from the slowest to the fastest kind, is what the phase has there; of those within 2 %
/// the one whose speed on the slowest kind is nearest. Work in time has none: it is no number of
/// instructions. `None`, and nothing changed, where a kind does not say how it is built.
pub fn give_characters(apps: &mut [Application], machine: &Machine, seed: u64) -> Option<Nearness> {
    if machine.kinds.iter().any(|kind| kind.core.is_none()) {
        return None;
    }
    let lacking = |phase: &&mut Phase| phase.character.is_none() && !phase.reference_time;
    let mut nearness = Nearness::default();
    let mut pool = Vec::new();
    for phase in apps.iter_mut().flat_map(|app| &mut app.phases).filter(lacking) {
        if pool.is_empty() {
            pool = candidates(machine, seed);
        }
        let wanted = Speeds::of(phase, machine);
        let distance = |it: &Speeds| {
            let (factor, speed) = it.distance(&wanted);
            (factor.max(NEAR), speed)
        };
        let nearest = pool.iter().min_by(|(_, a), (_, b)| {
            let ((a, a_speed), (b, b_speed)) = (distance(a), distance(b));
            a.total_cmp(&b).then(a_speed.total_cmp(&b_speed))
        });
        if let Some((character, found)) = nearest {
            phase.character = Some(Box::new(character.clone()));
            nearness.phases += 1;
            let off = |found: f64, wanted: f64| ((found - wanted).exp() - 1.0).abs();
            nearness.factor = nearness.factor.max(off(found.factor, wanted.factor));
            nearness.speed = nearness.speed.max(off(found.slow, wanted.slow));
        }
    }
    Some(nearness)
}

/// Speed on the slowest kind, and factor from there to the fastest, as logarithms.
struct Speeds {
    slow: f64,
    factor: f64,
}

impl Speeds {
    fn of(phase: &Phase, machine: &Machine) -> Self {
        let slow = phase.top_speed(machine, machine.slowest());
        Self { slow: slow.ln(), factor: phase.speedup_factor(machine).ln() }
    }

    /// Of the factor, and of the speed.
    fn distance(&self, other: &Self) -> (f64, f64) {
        ((self.factor - other.factor).abs(), (self.slow - other.slow).abs())
    }
}

fn candidates(machine: &Machine, seed: u64) -> Vec<(Character, Speeds)> {
    let programs = (FIRST..FIRST + PROGRAMS).map(|number| GeneratedProgram::new(seed, number));
    let with_speeds = |character: Character| {
        let phase = Phase {
            character: Some(Box::new(character.clone())),
            ..Phase::new("", Scaling::Capacity)
        };
        (character, Speeds::of(&phase, machine))
    };
    programs.flat_map(|program| program.phases).map(with_speeds).collect()
}
