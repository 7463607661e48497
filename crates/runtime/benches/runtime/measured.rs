//! What came of the rounds.

use std::collections::HashMap;

use super::cases::Family;
use super::system::System;

/// Values by system and case, one a round.
#[derive(Default)]
pub struct Measured {
    values: HashMap<(String, String), Vec<f64>>,
    checks: HashMap<String, u64>,
    rounds: usize,
    /// In the order of the table's columns.
    pub systems: Vec<String>,
    /// How long a cache line took from one worker's CPU to the other's before each round, ns.
    pub travels: Vec<f64>,
}

impl Measured {
    /// Each case of these families on each system, in turn. Another begins each round: to come
    /// after a case that left a core idle is a matter of place.
    pub fn round(&mut self, families: &[&Family], systems: &mut [Box<dyn System>]) {
        if self.systems.is_empty() {
            self.systems = systems.iter().map(|system| system.name().to_owned()).collect();
        }
        for (family, case) in
            families.iter().flat_map(|family| family.cases.iter().map(move |case| (family, case)))
        {
            let (last, first) = systems.split_at_mut(self.rounds % systems.len());
            for system in first.iter_mut().chain(last) {
                let Some(answer) = system.run(case) else { continue };
                let expected = *self.checks.entry(family.name.to_owned()).or_insert(answer.check);
                assert_eq!(answer.check, expected, "{case} on {}: a wrong result", system.name());
                let key = (system.name().to_owned(), (*case).to_owned());
                self.values.entry(key).or_default().push(answer.value / family.units as f64);
            }
        }
        self.rounds += 1;
    }

    /// Of a case on a system, in the family's unit.
    pub fn values(&self, system: &str, case: &str) -> Option<&[f64]> {
        self.values.get(&(system.to_owned(), case.to_owned())).map(Vec::as_slice)
    }

    pub fn median(&self, system: &str, case: &str) -> Option<f64> {
        self.values(system, case).map(median)
    }

    /// Round by round: what slows a round down slows both.
    pub fn ratios(&self, a: (&str, &str), b: (&str, &str)) -> Option<Vec<f64>> {
        let rounds = self.values(a.0, a.1)?.iter().zip(self.values(b.0, b.1)?);
        Some(rounds.map(|(a, b)| a / b).collect())
    }

    /// Round by round, a case of ours / the one of these that is the fastest by all other rounds,
    /// on any system but ours.
    ///
    /// By the others, not by all: of twenty that are equally fast one has had the best luck in the
    /// rounds that it is chosen by, and would be compared with us in those.
    pub fn to_best_peer(&self, case: &str, cases: &[&'static str]) -> Option<ToBestPeer<'_>> {
        let peers = self.systems.iter().filter(|system| !system.starts_with(super::OURS));
        let pairs = peers.flat_map(|system| cases.iter().map(move |case| (system.as_str(), *case)));
        let compared: Vec<_> = pairs
            .filter_map(|pair| Some((pair, self.ratios((super::OURS, case), pair)?)))
            .collect();
        // A system that did not answer once is not compared.
        let rounds = compared.iter().map(|(_, ratios)| ratios.len()).max()?;
        let compared: Vec<_> =
            compared.into_iter().filter(|(_, ratios)| ratios.len() == rounds).collect();
        let without = |ratios: &[f64], round: usize| {
            let others: Vec<_> = ratios
                .iter()
                .enumerate()
                .filter(|(it, _)| *it != round)
                .map(|(_, it)| *it)
                .collect();
            if others.is_empty() { ratios[round] } else { median(&others) }
        };
        // The system that we are slowest compared to.
        let best = |round| {
            (0..compared.len()).max_by(|&a, &b| {
                without(&compared[a].1, round).total_cmp(&without(&compared[b].1, round))
            })
        };
        let chosen: Vec<usize> = (0..rounds).filter_map(best).collect();
        let times = |peer| chosen.iter().filter(|it| **it == peer).count();
        let most = (0..compared.len()).max_by_key(|&peer| times(peer))?;
        let values =
            chosen.iter().enumerate().map(|(round, peer)| compared[*peer].1[round]).collect();
        Some(ToBestPeer { peer: compared[most].0, values })
    }
}

/// See [`Measured::to_best_peer`].
pub struct ToBestPeer<'a> {
    /// Which system and case that was, in most rounds.
    pub peer: (&'a str, &'static str),
    /// One a round.
    pub values: Vec<f64>,
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    f64::midpoint(below, above)
}
