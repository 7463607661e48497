//! The gain of opening a centre.

use std::sync::atomic::Ordering;

use super::block::{Block, PARTS, part_of};
use crate::team::Team;

impl Block {
    /// Opens x if that gains something, and returns the gain. It takes six phases, two of which run
    /// on one thread, and two more if x is opened.
    pub(super) fn gain(&self, team: &impl Team, x: usize, z: f64) -> f64 {
        // 1 to 3: the centres are numbered, so that each part can have a table of them.
        team.each(PARTS, |part| *self.centres_before.write(part) = self.centres_in(part).count());
        let centres = team.agree(|| {
            (0..PARTS).fold(0, |before, part| {
                before + std::mem::replace(&mut *self.centres_before.write(part), before)
            }) as f64
        }) as usize;
        team.each(PARTS, |part| {
            for (rank, point) in (*self.centres_before.read(part)..).zip(self.centres_in(part)) {
                self.rank[point].store(rank as u32, Ordering::Relaxed);
            }
        });
        // 4 and 5: what does x change for each point, and so for each centre?
        team.each(PARTS, |part| {
            let (mut saved, mut extra) = (0.0, self.extra.write(part));
            extra.clear();
            extra.resize(centres, 0.0);
            for point in self.points_of(part) {
                let more = self.cost_at(point, x) - self.cost.get(point);
                if more < 0.0 {
                    saved -= more;
                } else {
                    extra[self.rank_of_centre(point)] += more;
                }
            }
            *self.saved.write(part) = saved;
        });
        let x_is_centre = self.is_centre[x].load(Ordering::Relaxed);
        let x_rank =
            if x_is_centre { self.rank[x].load(Ordering::Relaxed) as usize } else { centres };
        team.each(PARTS, |part| {
            *self.closing.write(part) = part_of(centres, part)
                .map(|centre| {
                    let saved =
                        z - (0..PARTS).map(|part| self.extra.read(part)[centre]).sum::<f64>();
                    let closes = saved > 0.0 && centre != x_rank;
                    self.closes[centre].store(closes, Ordering::Relaxed);
                    if closes { saved } else { 0.0 }
                })
                .sum();
        });
        // 6: does opening gain anything?
        let opening = if x_is_centre { 0.0 } else { z };
        let gain = team.agree(|| self.saved.sum() + self.closing.sum() - opening);
        if gain <= 0.0 {
            return 0.0;
        }
        // 7 and 8: points change, and centres close.
        self.each_point(team, |point| {
            let cost = self.cost_at(point, x);
            if cost < self.cost.get(point)
                || self.closes[self.rank_of_centre(point)].load(Ordering::Relaxed)
            {
                self.change(point, x, cost);
            }
        });
        self.each_point(team, |point| {
            let is_centre = &self.is_centre[point];
            let closes = is_centre.load(Ordering::Relaxed)
                && self.closes[self.rank[point].load(Ordering::Relaxed) as usize]
                    .load(Ordering::Relaxed);
            if closes || point == x {
                is_centre.store(point == x, Ordering::Relaxed);
            }
        });
        gain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Phases as _;
    use crate::setting::Size;
    use crate::streamcluster::Streamcluster;
    use crate::team::Serial;

    fn total(block: &Block, z: f64) -> f64 {
        block.cost.iter().sum::<f64>() + z * block.centres_open() as f64
    }

    #[test]
    fn what_a_centre_gains_is_what_the_cost_falls_by() {
        let block = &Streamcluster::generate(Size::Small).blocks[0];
        // z is twice a point's cost in its cluster: some of the drawn centres are worth their
        // price, others are not.
        let z = 4.0;
        block.open_at_random(&Serial, z, 1);
        let mut gains = 0;
        for x in 0..block.points.len() {
            let before = total(block, z);
            let gain = block.gain(&Serial, x, z);
            assert!((before - total(block, z) - gain).abs() < 1e-9 * before, "{x}: {gain}");
            gains += usize::from(gain > 0.0);
        }
        assert!(gains > 0);
        assert!((0..block.points.len()).all(|point| {
            let centre = block.centre_of[point].load(Ordering::Relaxed) as usize;
            block.is_centre[centre].load(Ordering::Relaxed)
                && block.cost.get(point) == block.cost_at(point, centre)
        }));
    }
}
