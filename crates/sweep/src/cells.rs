//! Cases of a grid by number: found one by one, and never held all at once.
//!
//! A block is the cases of one machine under one policy. Its places are counted like the digits of
//! a number, of which each wheel is one. A wheel that has knobs of other policies alone stands
//! still.

use indexmap::IndexSet;

use crate::axis::Value;
use crate::case::Case;
use crate::grid::{Grid, Wheel, is_knob_of};

/// The cases of one machine under one policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    digits: Vec<Digit>,
    /// For each axis, whether cases have it.
    applies: Vec<bool>,
    /// How many cases it has.
    pub cases: u64,
}

/// What a wheel goes through in a block.
#[derive(Clone, Debug, PartialEq)]
enum Digit {
    /// One value.
    One(usize),
    /// So many, from the first on.
    All(usize),
    /// Some.
    Some(Vec<usize>),
}

impl Digit {
    fn count(&self) -> u64 {
        let count = match self {
            Self::One(_) => 1,
            Self::All(count) => *count,
            Self::Some(values) => values.len(),
        };
        count as u64
    }

    fn value(&self, number: u64) -> usize {
        match self {
            Self::One(value) => *value,
            Self::All(_) => number as usize,
            Self::Some(values) => values[number as usize],
        }
    }
}

impl Block {
    /// How many places it has, those of cases left out included; `None`: too many to count.
    pub fn places(&self) -> Option<u64> {
        self.digits.iter().try_fold(1_u64, |all, digit| all.checked_mul(digit.count()))
    }

    /// The value of the wheel that machines are on.
    pub fn machine(&self) -> usize {
        self.digits.first().map_or(0, |digit| digit.value(0))
    }

    /// The values of all wheels at a place.
    fn at(&self, mut place: u64, values: &mut Vec<usize>) {
        values.clear();
        values.resize(self.digits.len(), 0);
        for (value, digit) in values.iter_mut().zip(&self.digits).rev() {
            *value = digit.value(place % digit.count());
            place /= digit.count();
        }
    }
}

impl Grid {
    /// Blocks of all machines and policies, in order.
    pub(crate) fn make_blocks(&self) -> Vec<Block> {
        let axes = &self.written.axes;
        let policy = axes.get_index_of("policy").unwrap_or_default();
        // Wheels of machines and policies come first, and may be one.
        let held = if self.wheels[0].axes.contains(&policy) { 1 } else { 2 };
        let (mut blocks, mut known) = (Vec::new(), IndexSet::new());
        for machine in 0..self.wheels[0].values {
            let policies = if held == 1 { 1 } else { self.wheels[1].values };
            for second in 0..policies {
                let value = &axes[policy][if held == 1 { machine } else { second }];
                let applies: Vec<bool> = axes
                    .keys()
                    .map(|axis| !axis.contains('.') || is_knob_of(value, axis))
                    .collect();
                // A machine or a policy that a knob of another one goes with comes again.
                let values = self.wheels[..held].iter().zip([machine, second]);
                let of_block: Vec<(usize, String)> = values
                    .flat_map(|(wheel, value)| wheel.axes.iter().map(move |&axis| (axis, value)))
                    .filter(|&(axis, _)| applies[axis])
                    .map(|(axis, value)| (axis, axes[axis][value].to_string()))
                    .collect();
                if !known.insert(of_block) {
                    continue;
                }
                let digits = self.wheels.iter().enumerate().map(|(number, wheel)| match number {
                    0 => Digit::One(machine),
                    1 if held == 2 => Digit::One(second),
                    _ => self.digit(wheel, &applies),
                });
                blocks.push(Block { digits: digits.collect(), applies, cases: 0 });
            }
        }
        blocks
    }

    /// What a wheel goes through: values that differ on axes that apply, each once.
    fn digit(&self, wheel: &Wheel, applies: &[bool]) -> Digit {
        let applying: Vec<usize> =
            wheel.axes.iter().copied().filter(|&axis| applies[axis]).collect();
        if applying.len() == wheel.axes.len() {
            return Digit::All(wheel.values);
        }
        let of = |value: usize| -> Vec<String> {
            applying.iter().map(|&axis| self.written.axes[axis][value].to_string()).collect()
        };
        let mut known = IndexSet::new();
        Digit::Some((0..wheel.values).filter(|&value| known.insert(of(value))).collect())
    }

    /// How many cases a block has.
    pub(crate) fn count(&self, block: &Block) -> u64 {
        let places = block.places().unwrap_or(0);
        if self.exclude.is_empty() {
            return places;
        }
        (0..places).filter(|&place| self.has(block, place)).count() as u64
    }

    /// True if there is a case at a place: it is not left out.
    pub(crate) fn has(&self, block: &Block, place: u64) -> bool {
        if self.exclude.is_empty() {
            return true;
        }
        let mut values = Vec::new();
        block.at(place, &mut values);
        let value_of = |axis: usize| {
            let wheel = self.wheels.iter().position(|wheel| wheel.axes.contains(&axis));
            wheel.map_or(0, |wheel| values[wheel])
        };
        let holds =
            |(axis, meant): &(usize, Vec<bool>)| block.applies[*axis] && meant[value_of(*axis)];
        !self.exclude.iter().any(|condition| condition.wanted.iter().all(holds))
    }

    /// The case at a place of a block.
    pub(crate) fn case(&self, block: &Block, place: u64) -> Case {
        let mut values = Vec::new();
        block.at(place, &mut values);
        let mut chosen: Vec<Option<&Value>> = vec![None; self.written.axes.len()];
        for (&value, wheel) in values.iter().zip(&self.wheels) {
            for &axis in &wheel.axes {
                chosen[axis] = Some(&self.written.axes[axis][value]);
            }
        }
        let of_axis = |(axis, name): (usize, &String)| {
            let value = chosen[axis].filter(|_| block.applies[axis])?;
            Some((name.clone(), value.clone()))
        };
        Case::new(self.written.axes.keys().enumerate().filter_map(of_axis).collect())
    }

    /// Its cases: all of one machine, and of one policy there, before the next; of the other axes
    /// the last moves first. A knob's axis applies to cases of its policy alone.
    pub fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        self.blocks.iter().flat_map(move |block| {
            let places = 0..block.places().unwrap_or(0);
            places
                .filter(move |&place| self.has(block, place))
                .map(move |place| self.case(block, place))
        })
    }
}
