//! From the ratio that is asked for to the share that the thief takes.
//!
//! Of a period the thief takes its share, the victim gets 1 / ratio, and the rest is lost in
//! switching back from the one to the other: a few microseconds on bare metal, ten or more in a
//! virtual machine, where each timer is the host's. That loss hardly depends on the share or on the
//! period. So every window tells it,
//!
//! > loss = period x (1 - share - 1 / ratio measured),
//!
//! and the share that gives the ratio asked for is 1 - 1 / asked - loss / period, by the median
//! loss of the last windows.
//!
//! The loss varies from turn to turn and from one minute to the next, and the victim pays for it.
//! Hence the period: long enough that the loss is a small part ([`LOSS_OF_REST`]) of what the thief
//! leaves to the victim, and no longer.

use evenkeel_machine::Nanos;

use super::LabError;
use super::control::Control;
use super::figures::Figures;
use super::limits::Budget;
use super::slow::Slow;
use super::thief::Thief;
use super::victim::{Length, Window, measure};

/// How far the ratio may be off, and how far it may spread, for the lab to be one. Source: issue 3.
pub const BOUND: f64 = 0.02;
/// Closer than this is not tried for.
const CLOSE: f64 = 0.005;
/// Good enough to end with.
const GOOD: f64 = 0.01;
/// Short windows that tell what switching costs at the shortest period, from which the period
/// follows.
const FIRST: usize = 2;
/// Short windows between adjustments.
const ROUND: usize = 3;
/// Windows of the last measurement, the one that is reported.
const REPORT: usize = 5;
/// Windows of a calibration that finds its shares at once. They take up to five seconds: see
/// `Length`.
pub const LEAST_WINDOWS: usize = FIRST + ROUND + REPORT;
/// Adjustments before a report, at most.
const ROUNDS: usize = 3;
/// Reports at most; the last one counts, whatever it says.
const REPORTS: usize = 2;
/// Windows whose loss is remembered.
const REMEMBERED: usize = 9;
/// What may be lost, as a part of what a period leaves to the victim.
const LOSS_OF_REST: f64 = 0.03;
/// Shortest period. A program sees a slow core only at scales well above it.
pub const SHORTEST_PERIOD: Nanos = Nanos::from_micros(500);
/// Longest period: no longer than kernels let a thread run before the next has its turn.
const LONGEST_PERIOD: Nanos = Nanos::from_millis(4);
/// Loss of a period before anything has been measured: two switches on bare metal.
const FIRST_LOSS: Nanos = Nanos::from_micros(5);
/// The least that a thief takes: less is lost in its switches.
const LEAST_SHARE: f64 = 0.001;

/// A slowed CPU, and how slow it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated {
    /// What was asked.
    pub asked: Slow,
    /// What the thief takes.
    pub share: f64,
    /// From one of its turns to the next.
    pub period: Nanos,
    /// How many times slower, by windows.
    pub ratio: Figures,
    /// The speed of the CPU itself by windows, in no particular unit: what it spreads is not the
    /// lab's doing.
    pub unslowed: Figures,
}

impl Calibrated {
    /// How far the ratio is from what was asked, relative to that.
    pub fn deviation(&self) -> f64 {
        (self.ratio.median / self.asked.ratio - 1.0).abs()
    }

    /// True if it is as slow as asked, and steadily so: [`BOUND`].
    pub fn holds(&self) -> bool {
        self.deviation() <= BOUND && self.ratio.spread <= BOUND
    }

    /// True if it is as slow as asked, and steadier than the CPU itself is: what is unsteady then
    /// is the machine, which a virtual one with neighbours often is, and no thief can mend that.
    pub fn is_as_steady_as_the_machine(&self) -> bool {
        self.deviation() <= BOUND && self.ratio.spread <= self.unslowed.spread
    }
}

/// Finds the shares at which the thieves, one for each of `asked`, make their CPUs as slow as
/// asked, and measures. `period`: from one turn to the next, if it has been said.
///
/// # Errors
/// Threads cannot be made, or not be made real-time; `control` has it end.
pub fn calibrate(
    thieves: &[Thief],
    asked: &[Slow],
    period: Option<Nanos>,
    budget: &Budget,
    control: &Control,
) -> Result<Vec<Calibrated>, LabError> {
    let mut losses: Vec<Losses> = thieves.iter().map(|_| Losses::default()).collect();
    match period {
        Some(period) => thieves.iter().for_each(|thief| thief.set_period(period)),
        None => choose_periods(thieves, asked, budget, &mut losses, control)?,
    }
    let mut calibrated = Vec::new();
    for _ in 0..REPORTS {
        let shares = approach(thieves, asked, budget, &mut losses, control)?;
        let windows = measure(thieves, asked, &shares, (REPORT, Length::Whole), budget, control)?;
        learn(thieves, &mut losses, &shares, &windows);
        calibrated = report(thieves, asked, &shares, &windows);
        if calibrated.iter().all(|cpu| cpu.deviation() <= GOOD && cpu.ratio.spread <= BOUND) {
            break;
        }
    }
    Ok(calibrated)
}

/// Measures at the shares found.
///
/// # Errors
/// As [`calibrate`].
pub fn measure_again(
    thieves: &[Thief],
    calibrated: &[Calibrated],
    windows: usize,
    budget: &Budget,
    control: &Control,
) -> Result<(Vec<Calibrated>, Vec<Vec<Window>>), LabError> {
    let shares: Vec<f64> = calibrated.iter().map(|cpu| cpu.share).collect();
    let asked: Vec<Slow> = calibrated.iter().map(|cpu| cpu.asked).collect();
    let windows = measure(thieves, &asked, &shares, (windows, Length::Whole), budget, control)?;
    Ok((report(thieves, &asked, &shares, &windows), windows))
}

/// Finds out what switching costs, and has each thief's turns so far apart that it does not matter
/// much.
fn choose_periods(
    thieves: &[Thief],
    asked: &[Slow],
    budget: &Budget,
    losses: &mut [Losses],
    control: &Control,
) -> Result<(), LabError> {
    let tried = shares(thieves, asked, budget, losses);
    let windows = measure(thieves, asked, &tried, (FIRST, Length::Short), budget, control)?;
    learn(thieves, losses, &tried, &windows);
    for ((thief, slow), losses) in thieves.iter().zip(asked).zip(losses) {
        thief.set_period(losses.period(slow.ratio));
    }
    Ok(())
}

/// Adjusts the shares until a round of windows is close.
fn approach(
    thieves: &[Thief],
    asked: &[Slow],
    budget: &Budget,
    losses: &mut [Losses],
    control: &Control,
) -> Result<Vec<f64>, LabError> {
    for _ in 0..ROUNDS {
        let tried = shares(thieves, asked, budget, losses);
        let windows = measure(thieves, asked, &tried, (ROUND, Length::Short), budget, control)?;
        learn(thieves, losses, &tried, &windows);
        let is_close = |(windows, slow): (&Vec<Window>, &Slow)| {
            let ratio = Figures::of(windows.iter().map(Window::ratio));
            ratio.is_some_and(|ratio| (ratio.median / slow.ratio - 1.0).abs() <= CLOSE)
        };
        if windows.iter().zip(asked).all(is_close) {
            break;
        }
    }
    Ok(shares(thieves, asked, budget, losses))
}

fn shares(thieves: &[Thief], asked: &[Slow], budget: &Budget, losses: &[Losses]) -> Vec<f64> {
    let each = thieves.iter().zip(asked).zip(losses);
    each.map(|((thief, slow), losses)| losses.share(slow.ratio, thief.period(), budget)).collect()
}

fn learn(thieves: &[Thief], losses: &mut [Losses], shares: &[f64], windows: &[Vec<Window>]) {
    for (((thief, losses), &share), windows) in thieves.iter().zip(losses).zip(shares).zip(windows)
    {
        losses.learn(thief.period(), share, windows);
    }
}

fn report(
    thieves: &[Thief],
    asked: &[Slow],
    shares: &[f64],
    windows: &[Vec<Window>],
) -> Vec<Calibrated> {
    let each = thieves.iter().zip(asked).zip(shares).zip(windows);
    let calibrated = each.filter_map(|(((thief, &asked), &share), windows)| {
        Some(Calibrated {
            asked,
            share,
            period: thief.period(),
            ratio: Figures::of(windows.iter().map(Window::ratio))?,
            unslowed: Figures::of(windows.iter().map(|window| window.unslowed))?,
        })
    });
    calibrated.collect()
}

/// What a period lost in switching, by the last windows of one CPU, in nanoseconds.
#[derive(Default)]
struct Losses(Vec<f64>);

impl Losses {
    fn learn(&mut self, period: Nanos, share: f64, windows: &[Window]) {
        self.0.extend(
            windows.iter().map(|window| period.0 as f64 * (1.0 - share - 1.0 / window.ratio())),
        );
        let surplus = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..surplus);
    }

    /// In the middle.
    fn loss_ns(&self) -> f64 {
        Figures::of(self.0.iter().copied()).map_or(FIRST_LOSS.0 as f64, |losses| losses.median)
    }

    fn share(&self, ratio: f64, period: Nanos, budget: &Budget) -> f64 {
        let most = budget.share.clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        (1.0 - 1.0 / ratio - self.loss_ns() / period.0 as f64).clamp(LEAST_SHARE, most)
    }

    fn period(&self, ratio: f64) -> Nanos {
        Nanos((self.loss_ns() * ratio / LOSS_OF_REST) as u64).clamp(SHORTEST_PERIOD, LONGEST_PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_MS: Nanos = Nanos::from_micros(500);

    fn budget() -> Budget {
        Budget { share: 0.95, file: "/proc/sys/kernel/sched_rt_runtime_us".into(), priority: 49 }
    }

    #[test]
    fn the_share_leaves_room_for_what_switching_costs() {
        let mut losses = Losses::default();
        assert!((losses.share(4.0, HALF_MS, &budget()) - (0.75 - 0.01)).abs() < 1e-9);
        // A share of 0.7 that came to a ratio of 4 has lost 0.05, 25 us.
        losses.learn(HALF_MS, 0.7, &[Window { unslowed: 4.0, slowed: 1.0 }; 4]);
        assert!((losses.share(4.0, HALF_MS, &budget()) - 0.7).abs() < 1e-9);
        assert!((losses.share(2.0, HALF_MS, &budget()) - 0.45).abs() < 1e-9);
        assert!((losses.share(2.0, Nanos::from_millis(1), &budget()) - 0.475).abs() < 1e-9);
        assert_eq!(losses.share(1.01, HALF_MS, &budget()), LEAST_SHARE);
        assert_eq!(losses.share(1000.0, LONGEST_PERIOD, &budget()), 0.95);
    }

    #[test]
    fn the_period_grows_with_what_switching_costs_and_with_the_ratio() {
        let losses = |us: f64| Losses(vec![us * 1e3]);
        assert_eq!(losses(2.0).period(3.0), SHORTEST_PERIOD);
        assert_eq!(losses(20.0).period(3.0), Nanos::from_millis(2));
        assert_eq!(losses(20.0).period(1.5), Nanos::from_millis(1));
        assert_eq!(losses(20.0).period(20.0), LONGEST_PERIOD);
        // What noise may make of it.
        assert_eq!(losses(-3.0).period(3.0), SHORTEST_PERIOD);
    }
}
