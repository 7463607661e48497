//! canneal: simulated annealing that places the elements of a chip so that its wires get short.
//!
//! Two elements swap places if that shortens their wires, and, at temperature T, with probability
//! exp(-d / T) if it makes them longer by d; T falls step by step (Kirkpatrick, Gelatt and Vecchi,
//! "Optimization by Simulated Annealing", Science 1983; for routing cost: Banerjee, "Parallel
//! Algorithms for VLSI Computer-Aided Design", 1994). A wire's length is |dx| + |dy|.
//!
//! Shape: lock-free swaps, and one barrier per temperature step. Memory-bound, as wires lead
//! anywhere.
//!
//! Differences from the suite: there threads swap random pairs at any time, and the result depends
//! on their order. Here a step pairs every element e with `e XOR mask` for a random mask, and all
//! pairs decide on the places before the step, of which there are two copies that take turns. So a
//! pair sees another's swap in the next step and never earlier; each step tries all elements and
//! not a fixed number of random ones; and the result is always the same.

use std::sync::atomic::{AtomicU32, Ordering};

use evenkeel_model::SplitMix64;

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::setting::Size;
use crate::shared::part;
use crate::team::Team;

/// Parts of the pairs of a step.
const BLOCKS: usize = 64;
/// Wires that begin at an element; on average as many end there.
const FAN_OUT: usize = 5;
/// Temperature of the last step: it hardly ever accepts much longer wires any more. The first
/// temperature is the width of the chip.
const LAST_TEMPERATURE: f64 = 0.5;

/// A netlist and the places of its elements.
pub struct Canneal {
    /// The wires of each element, both ends counted: it is joined to
    /// `neighbours[first[e]..first[e + 1]]`.
    first: Vec<u32>,
    neighbours: Vec<u32>,
    /// Places of the chip are numbered row by row; this is the logarithm of its width.
    width_log2: u32,
    /// Place of each element, before even steps and before odd ones.
    places: [Vec<AtomicU32>; 2],
    steps: usize,
}

impl Phases for Canneal {
    fn generate(size: Size) -> Self {
        let elements_log2 = size.pick(10, 18, 20);
        let elements = 1_usize << elements_log2;
        let mut random = SplitMix64::named(1, "canneal");
        let mut joined = vec![Vec::new(); elements];
        for from in 0..elements {
            for _ in 0..FAN_OUT {
                // Most wires are short in some placement, which the annealing can find.
                let reach = 1 << (1 + random.below(elements_log2 - 1));
                let to = (from + 1 + random.below(reach)) % elements;
                joined[from].push(to as u32);
                joined[to].push(from as u32);
            }
        }
        let mut places: Vec<u32> = (0..elements as u32).collect();
        for last in (1..elements).rev() {
            places.swap(last, random.below(last + 1));
        }
        let mut first = vec![0];
        first.extend(joined.iter().scan(0, |end, joined| {
            *end += joined.len() as u32;
            Some(*end)
        }));
        let copy = || places.iter().copied().map(AtomicU32::new).collect();
        Self {
            first,
            neighbours: joined.concat(),
            width_log2: elements_log2 as u32 / 2,
            places: [copy(), copy()],
            steps: size.pick(80, 60, 120),
        }
    }

    fn run(&self, team: &impl Team) {
        let elements = self.places[0].len();
        let mut random = SplitMix64::named(2, "canneal");
        let mut temperature = (elements as f64).sqrt();
        let cooling = (LAST_TEMPERATURE / temperature).powf(1.0 / self.steps as f64);
        for step in 0..self.steps {
            let mask = 1 + random.below(elements - 1) as u32;
            let seed = random.bits();
            team.each(BLOCKS, |block| {
                for pair in part(elements / 2, BLOCKS, block) {
                    let luck = SplitMix64(seed ^ pair as u64).unit();
                    self.decide(step, pair as u32, mask, temperature, luck);
                }
            });
            temperature *= cooling;
        }
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        for place in &self.places[self.steps % 2] {
            sum.word(place.load(Ordering::Relaxed).into());
        }
        sum.word(self.wire_length(self.steps));
        sum.finish()
    }
}

impl Canneal {
    /// Swaps a pair of a step, or leaves it where it is.
    fn decide(&self, step: usize, pair: u32, mask: u32, temperature: f64, luck: f64) {
        let [a, b] = elements_of(pair, mask);
        let (at_a, at_b) = (self.place(step, a), self.place(step, b));
        let longer = self.change(step, a, b, at_b) + self.change(step, b, a, at_a);
        let swap = longer <= 0 || luck < (-longer as f64 / temperature).exp();
        let (to_a, to_b) = if swap { (at_b, at_a) } else { (at_a, at_b) };
        let next = &self.places[(step + 1) % 2];
        next[a as usize].store(to_a, Ordering::Relaxed);
        next[b as usize].store(to_b, Ordering::Relaxed);
    }

    /// By how much the wires of an element get longer if it moves `to` a place. Wires to its
    /// partner keep their length.
    fn change(&self, step: usize, element: u32, partner: u32, to: u32) -> i64 {
        let from = self.place(step, element);
        let others = self.neighbours_of(element).iter().filter(|&&other| other != partner);
        others
            .map(|&other| self.place(step, other))
            .map(|at| self.distance(to, at) - self.distance(from, at))
            .sum()
    }

    fn neighbours_of(&self, element: u32) -> &[u32] {
        let element = element as usize;
        &self.neighbours[self.first[element] as usize..self.first[element + 1] as usize]
    }

    fn place(&self, step: usize, element: u32) -> u32 {
        self.places[step % 2][element as usize].load(Ordering::Relaxed)
    }

    fn distance(&self, a: u32, b: u32) -> i64 {
        let column = (1 << self.width_log2) - 1;
        let (x, y) = (
            (a & column).abs_diff(b & column),
            (a >> self.width_log2).abs_diff(b >> self.width_log2),
        );
        i64::from(x + y)
    }

    /// Length of all wires before a step.
    fn wire_length(&self, step: usize) -> u64 {
        let elements = 0..self.places[0].len() as u32;
        let both_ends: i64 = elements
            .map(|element| {
                let at = self.place(step, element);
                let lengths = self
                    .neighbours_of(element)
                    .iter()
                    .map(|&other| self.distance(at, self.place(step, other)));
                lengths.sum::<i64>()
            })
            .sum();
        both_ends as u64 / 2
    }
}

/// The elements e and `e XOR mask` of a pair: e is the pair's number with a zero inserted at the
/// mask's highest bit.
fn elements_of(pair: u32, mask: u32) -> [u32; 2] {
    let below = (1 << mask.ilog2()) - 1;
    let element = (pair & !below) << 1 | pair & below;
    [element, element ^ mask]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Serial;

    #[test]
    fn the_pairs_of_a_mask_name_every_element_once() {
        for mask in 1..32 {
            let mut elements: Vec<u32> = (0..16).flat_map(|pair| elements_of(pair, mask)).collect();
            elements.sort_unstable();
            assert_eq!(elements, (0..32).collect::<Vec<_>>(), "{mask}");
        }
    }

    #[test]
    fn elements_change_places_and_wires_get_shorter() {
        let chip = Canneal::generate(Size::Small);
        let before = chip.wire_length(0);
        chip.run(&Serial);
        let mut places: Vec<u32> =
            (0..1024).map(|element| chip.place(chip.steps, element)).collect();
        places.sort_unstable();
        assert_eq!(places, (0..1024).collect::<Vec<_>>());
        let after = chip.wire_length(chip.steps);
        // The placement for which the wires were drawn.
        for (element, place) in chip.places[0].iter().enumerate() {
            place.store(element as u32, Ordering::Relaxed);
        }
        let drawn_for = chip.wire_length(0);
        assert!(
            after < before - (before - drawn_for) * 2 / 3,
            "{before}, then {after}; drawn for {drawn_for}"
        );
    }

    #[test]
    fn a_swap_changes_the_length_as_foretold() {
        let chip = Canneal::generate(Size::Small);
        let [a, b] = elements_of(3, 77);
        let (at_a, at_b) = (chip.place(0, a), chip.place(0, b));
        let foretold = chip.change(0, a, b, at_b) + chip.change(0, b, a, at_a);
        let before = chip.wire_length(0);
        chip.places[0][a as usize].store(at_b, Ordering::Relaxed);
        chip.places[0][b as usize].store(at_a, Ordering::Relaxed);
        assert_eq!(chip.wire_length(0) as i64, before as i64 + foretold);
    }
}
