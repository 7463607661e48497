//! What one sensor said over time, and the energy of a region of it.

use evenkeel_machine::Nanos;

use super::reading::Reading;

/// Samples of one sensor, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    segments: Vec<Segment>,
    last: Option<(Nanos, Reading)>,
}

/// From one sample to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    from: Nanos,
    to: Nanos,
    /// Joules; `None`: one of the two samples failed, or the counter went back where it does not
    /// wrap.
    joules: Option<f64>,
}

/// The energy of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Joules, as if the energy between two samples had been spent evenly.
    pub joules: f64,
    /// How far that may be off because the region's ends are not samples: all that was spent
    /// between the samples round an end may have been spent on either side of it. A region within
    /// one interval has an uncertainty of its own size or more.
    pub uncertainty_j: f64,
    /// How much of the region lies between samples that were read.
    pub covered: Nanos,
}

impl Energy {
    /// Mean power over what is covered, watts; `None` where nothing is.
    pub fn mean_w(&self) -> Option<f64> {
        (self.covered > Nanos::ZERO).then(|| self.joules / self.covered.as_secs_f64())
    }
}

impl Series {
    /// Adds a sample; `None`: it could not be read. One that is no later than the last is left out.
    pub fn add(&mut self, at: Nanos, reading: Option<Reading>) {
        let Some(reading) = reading else {
            // What lies between the last sample and the next is not known.
            self.last = None;
            return;
        };
        if let Some((before, last)) = self.last {
            if at <= before {
                return;
            }
            self.segments.push(Segment {
                from: before,
                to: at,
                joules: between(last, reading, at - before),
            });
        }
        self.last = Some((at, reading));
    }

    /// The first and the last moment between which it knows something.
    pub fn range(&self) -> Option<(Nanos, Nanos)> {
        Some((self.segments.first()?.from, self.segments.last()?.to))
    }

    /// Mean power between the last two samples, watts; `None`: not both could be read.
    pub fn last_power_w(&self) -> Option<f64> {
        let (at, _) = self.last?;
        let segment = self.segments.last().filter(|segment| segment.to == at)?;
        Some(segment.joules? / (segment.to - segment.from).as_secs_f64())
    }

    /// The energy from one moment to another.
    pub fn energy(&self, from: Nanos, to: Nanos) -> Energy {
        let mut energy = Energy::default();
        // Segments are in order: those before the region are skipped at once.
        let first = self.segments.partition_point(|segment| segment.to <= from);
        for segment in self.segments[first..].iter().take_while(|segment| segment.from < to) {
            let Some(joules) = segment.joules else { continue };
            let (begin, end) = (segment.from.max(from), segment.to.min(to));
            let Some(inside) = end.0.checked_sub(begin.0) else { continue };
            let share = inside as f64 / (segment.to - segment.from).0 as f64;
            energy.joules += joules * share;
            energy.covered += Nanos(inside);
            if share < 1.0 {
                energy.uncertainty_j += joules * share.max(1.0 - share);
            }
        }
        energy
    }
}

/// Joules from one reading to the next.
fn between(before: Reading, after: Reading, time: Nanos) -> Option<f64> {
    match (before, after) {
        (Reading::Power(a), Reading::Power(b)) => Some(f64::midpoint(a, b) * time.as_secs_f64()),
        (Reading::Counter { uj: a, range_uj }, Reading::Counter { uj: b, .. }) => {
            counted(a, b, range_uj).map(|uj| uj as f64 / 1e6)
        }
        _ => None,
    }
}

/// What a counter has counted from `a` to `b`: at most its range, or `None` where it is lower and
/// does not wrap, or says more than its range.
fn counted(a: u64, b: u64, range: Option<u64>) -> Option<u64> {
    match range {
        Some(range) if a.max(b) > range => None,
        _ if b >= a => Some(b - a),
        Some(range) => Some(range - a + b),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RANGE: u64 = 262_143_328_850;

    fn counter(samples: &[(u64, u64)]) -> Series {
        let mut series = Series::default();
        for &(ms, uj) in samples {
            series
                .add(Nanos::from_millis(ms), Some(Reading::Counter { uj, range_uj: Some(RANGE) }));
        }
        series
    }

    fn ms(series: &Series, from: u64, to: u64) -> Energy {
        series.energy(Nanos::from_millis(from), Nanos::from_millis(to))
    }

    #[test]
    fn a_counter_that_wraps_goes_on() {
        let series = counter(&[(0, RANGE - 1_000_000), (100, RANGE), (200, 3_000_000)]);
        let energy = ms(&series, 0, 200);
        assert_eq!(
            (energy.joules, energy.uncertainty_j, energy.covered),
            (4.0, 0.0, Nanos::from_millis(200))
        );
        assert_eq!(energy.mean_w(), Some(20.0));
    }

    #[test]
    fn power_is_integrated_by_trapezoids() {
        let mut series = Series::default();
        for (at, watts) in [(0, 1.0), (1_000, 3.0), (2_000, 3.0)] {
            series.add(Nanos::from_millis(at), Some(Reading::Power(watts)));
        }
        assert_eq!(ms(&series, 0, 2_000).joules, 5.0);
    }

    #[test]
    fn a_region_shorter_than_the_interval_has_an_answer_and_says_how_uncertain_it_is() {
        let energy = ms(&counter(&[(0, 0), (270, 2_700_000)]), 100, 127);
        assert!(
            (energy.joules - 0.27).abs() < 1e-9 && (energy.uncertainty_j - 2.43).abs() < 1e-9,
            "{energy:?}"
        );
        let aligned =
            ms(&counter(&[(0, 0), (100, 1_000_000), (200, 2_000_000), (300, 3_000_000)]), 100, 200);
        assert_eq!((aligned.joules, aligned.uncertainty_j), (1.0, 0.0));
    }

    #[test]
    fn what_was_not_read_is_not_covered() {
        let mut series = counter(&[(0, 0), (100, 1_000_000)]);
        series.add(Nanos::from_millis(200), None);
        for (at, uj) in [(300, 5_000_000), (400, 6_000_000)] {
            series
                .add(Nanos::from_millis(at), Some(Reading::Counter { uj, range_uj: Some(RANGE) }));
        }
        let energy = ms(&series, 0, 1_000);
        assert_eq!((energy.joules, energy.covered), (2.0, Nanos::from_millis(200)));
        assert_eq!(ms(&Series::default(), 0, 1_000).mean_w(), None);
        // A counter without a range that goes back has been started anew.
        assert_eq!(
            (counted(5, 3, None), counted(5, 3, Some(4)), counted(3, 5, None)),
            (None, None, Some(2))
        );
    }

    fn series() -> impl Strategy<Value = Series> {
        let sample = (1_u64..1_000_000_000, prop::option::weighted(0.9, 0..=RANGE));
        prop::collection::vec(sample, 0..40).prop_map(|samples| {
            let (mut series, mut at) = (Series::default(), Nanos::ZERO);
            for (step, uj) in samples {
                at += Nanos(step);
                series.add(at, uj.map(|uj| Reading::Counter { uj, range_uj: Some(RANGE) }));
            }
            series
        })
    }

    proptest! {
        #[test]
        fn energies_of_adjacent_regions_add_up(series in series(), mut cuts in prop::array::uniform3(0_u64..45_000_000_000)) {
            cuts.sort_unstable();
            let [a, b, c] = cuts.map(Nanos);
            let (left, right, whole) = (series.energy(a, b), series.energy(b, c), series.energy(a, c));
            let scale = 1e-9 * (1.0 + whole.joules);
            prop_assert!((left.joules + right.joules - whole.joules).abs() <= scale);
            prop_assert_eq!(left.covered + right.covered, whole.covered);
            prop_assert!(whole.uncertainty_j <= left.uncertainty_j + right.uncertainty_j + scale);
        }

        #[test]
        fn wrapping_never_gives_negative_or_huge_energy(a in any::<u64>(), b in any::<u64>(), range in prop::option::of(1..=RANGE)) {
            if let Some(uj) = counted(a, b, range) {
                prop_assert!(range.is_none_or(|range| uj <= range));
                prop_assert!(range.is_some() || uj <= b);
            }
        }

        #[test]
        fn a_counter_tells_what_was_spent_however_often_it_wraps(start in 0..RANGE, spent in prop::collection::vec(0..RANGE, 1..30)) {
            let (mut series, mut true_uj, mut sum) = (counter(&[(0, start)]), u128::from(start), 0_u128);
            for (step, &uj) in spent.iter().enumerate() {
                true_uj += u128::from(uj);
                sum += u128::from(uj);
                let shown = (true_uj % u128::from(RANGE)) as u64;
                series.add(Nanos::from_millis(100 * (step as u64 + 1)), Some(Reading::Counter { uj: shown, range_uj: Some(RANGE) }));
            }
            let joules = ms(&series, 0, 100 * spent.len() as u64).joules;
            prop_assert!((joules - sum as f64 / 1e6).abs() <= 1e-6 * (1.0 + joules));
        }
    }
}
