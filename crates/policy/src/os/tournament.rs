//! The least of many changing numbers: a tree of matches, each won by the lesser number or, of
//! equals, by the first.
//!
//! A change replays matches from the bottom up, as far as it makes a difference: O(log n), no
//! allocation. It is many times cheaper than a sorted set.

/// No number.
const ABSENT: u64 = u64::MAX;

/// Numbers by place, and the winners of all matches.
#[derive(Clone, Debug, Default)]
pub struct Tournament {
    /// By place.
    numbers: Vec<u64>,
    /// Node 1 is the final; node `n` has the winners of `2n` and `2n + 1`; nodes from the number of
    /// leaves on are the places.
    winners: Vec<u32>,
}

impl Tournament {
    /// A tournament of so many zeros.
    pub fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two();
        let mut numbers = vec![ABSENT; leaves];
        numbers[..places].fill(0);
        let mut tournament = Self { numbers, winners: vec![0; leaves] };
        for node in (1..leaves).rev() {
            tournament.winners[node] = tournament.match_at(node);
        }
        tournament
    }

    /// The winner at a node.
    fn winner(&self, node: usize) -> u32 {
        let leaves = self.numbers.len();
        if node < leaves { self.winners[node] } else { (node - leaves) as u32 }
    }

    fn match_at(&self, node: usize) -> u32 {
        let (before, after) = (self.winner(2 * node), self.winner(2 * node + 1));
        if self.numbers[after as usize] < self.numbers[before as usize] { after } else { before }
    }

    /// Sets or removes (`None`) the number of a place. `u64::MAX` counts as none.
    pub fn set(&mut self, place: usize, number: Option<u64>) {
        let number = number.unwrap_or(ABSENT);
        if std::mem::replace(&mut self.numbers[place], number) == number {
            return;
        }
        let mut node = (self.numbers.len() + place) / 2;
        while node > 0 {
            let winner = self.match_at(node);
            // The winner here is the same as before and not the changed place: nothing changes
            // further up.
            if self.winners[node] == winner && winner as usize != place {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// All numbers, each with its place.
    pub fn all(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.numbers.iter().copied().zip(0..).filter(|&(number, _)| number != ABSENT)
    }

    /// The least number, and its place.
    pub fn first(&self) -> Option<(u64, usize)> {
        let place = if self.numbers.is_empty() { return None } else { self.winner(1) as usize };
        let number = self.numbers[place];
        (number != ABSENT).then_some((number, place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_and_of_equals_the_one_before(
            places in 1usize..20,
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::weighted(0.8, 0u64..6)), 0..60),
        ) {
            let mut tournament = Tournament::new(places);
            let mut model = vec![Some(0); places];
            for (place, number) in changes {
                let place = place.index(places);
                tournament.set(place, number);
                model[place] = number;
                let expected = (0..places).filter_map(|place| Some((model[place]?, place))).min();
                prop_assert_eq!(tournament.first(), expected);
            }
        }
    }

    #[test]
    fn of_nobody_nobody_is_the_first() {
        assert_eq!(Tournament::default().first(), None);
        let mut one = Tournament::new(1);
        assert_eq!(one.first(), Some((0, 0)));
        one.set(0, None);
        assert_eq!(one.first(), None);
    }
}
