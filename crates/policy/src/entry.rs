//! What the registry has of a policy.

use crate::contract::{Knob, Knobs, Policy};

/// A policy of the operating-system level.
pub struct Entry {
    /// Name, as in `-p name`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Paper or system that it comes from.
    pub source: &'static str,
    /// Claims about it.
    pub traits: &'static [Trait],
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// Constructor, with a seed for random choices.
    pub make: fn(&Knobs, u64) -> Box<dyn Policy>,
}

/// A claim about a policy. Tests hold each policy to its claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// No core idles while a thread waits that may run there.
    WorkConserving,
    /// It decides by threads' speedup factors. A policy without this decides the same whatever they
    /// are.
    NeedsFactors,
    /// It uses what no scheduler can know: a bound for other policies, in the simulator only.
    Bound,
    /// Threads take turns in the order of their numbers.
    ByNumber,
}

impl Entry {
    /// True if the claim is made of it.
    pub fn has(&self, it: Trait) -> bool {
        self.traits.contains(&it)
    }
}
