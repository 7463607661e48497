//! swaptions: prices of swaptions by Monte Carlo simulation in the framework of Heath, Jarrow and
//! Morton.
//!
//! The curve of forward rates f(t, T), T >= t, moves under three random factors W_k with
//! volatilities s_k:
//!
//! ```text
//! df(t, T) = m(t, T) dt + sum over k of s_k(T - t) dW_k,
//! m(t, T)  = sum over k of s_k(T - t) x integral of s_k from 0 to T - t
//! ```
//!
//! (Heath, Jarrow and Morton, "Bond Pricing and the Term Structure of Interest Rates", Econometrica
//! 1992): the volatilities give the drift. On a grid of time steps of length h the drift is chosen
//! so that discounted bonds stay martingales exactly, not just as h goes to 0 (Glasserman, "Monte
//! Carlo Methods in Financial Engineering", 2003, section 3.6). A payer swaption is the right to
//! enter at its expiry into a swap that pays the fixed rate and receives the floating one: it is
//! worth max(0, 1 - P(T_n) - strike x sum of h P(T_i)) then, P the prices of bonds.
//!
//! Shape: 128 swaptions with equal numbers of trials, in equal blocks; one join at the end. Each
//! swaption has its own random numbers. The pieces are few and coarse: on unequal cores the last
//! one decides the time.

use evenkeel_model::SplitMix64;

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::normal::normal_pair;
use crate::setting::Size;
use crate::shared::Blocks;
use crate::team::Team;

/// As in the suite's large inputs; one task each in the maturity study.
const SWAPTIONS: usize = 128;
/// Points of the curve, and so steps until its end.
const STEPS: usize = 11;
/// Length of a step, years.
const STEP: f64 = 0.5;
const FACTORS: usize = 3;

/// Forward rates per year, for the periods that begin at each step.
type Curve = [f64; STEPS];

/// The right to swap at `expiry` until `end`, in steps.
struct Swaption {
    strike: f64,
    expiry: usize,
    end: usize,
    curve: Curve,
    seed: u64,
}

/// A price and the standard error of it, as parts of the principal.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    mean: f64,
    error: f64,
}

/// The swaptions and their prices.
pub struct Swaptions {
    swaptions: Vec<Swaption>,
    trials: usize,
    prices: Blocks<Estimate>,
}

impl Phases for Swaptions {
    fn generate(size: Size) -> Self {
        let mut random = SplitMix64::named(1, "swaptions");
        let swaptions = (0..SWAPTIONS).map(|_| {
            let (level, slope) = (0.02 + 0.06 * random.unit(), 0.002 * random.unit());
            Swaption {
                strike: level + 0.02 * random.unit(),
                expiry: 4,
                end: STEPS - 1,
                curve: std::array::from_fn(|step| level + slope * step as f64),
                seed: random.bits(),
            }
        });
        let prices = Blocks::new(vec![Estimate::default(); SWAPTIONS]);
        Self { swaptions: swaptions.collect(), trials: size.pick(40, 13_000, 130_000), prices }
    }

    fn run(&self, team: &impl Team) {
        team.each(SWAPTIONS, |index| {
            let swaption = &self.swaptions[index];
            *self.prices.write(index) = expectation(self.trials, swaption, |discount, curve| {
                discount * swaption.value(curve).max(0.0)
            });
        });
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        for index in 0..SWAPTIONS {
            let Estimate { mean, error } = *self.prices.read(index);
            sum.numbers([mean, error]);
        }
        sum.finish()
    }
}

impl Swaption {
    /// Value of the swap that is entered at expiry, by the curve at that time, as part of the
    /// principal.
    fn value(&self, curve: &Curve) -> f64 {
        let mut bond = 1.0;
        let mut fixed = 0.0;
        for rate in &curve[self.expiry..self.end] {
            bond *= (-rate * STEP).exp();
            fixed += self.strike * STEP * bond;
        }
        1.0 - bond - fixed
    }
}

/// Volatility of a factor for the period that begins `steps` after now, per square root of a year:
/// the level, the slope and the bend of the curve (Litterman and Scheinkman, "Common Factors
/// Affecting Bond Returns", Journal of Fixed Income 1991).
fn volatility(factor: usize, steps: usize) -> f64 {
    let x = steps as f64 / (STEPS - 1) as f64;
    [0.01, 0.006 * (1.0 - 2.0 * x), 0.003 * (1.0 - 6.0 * x * (1.0 - x))][factor]
}

/// Mean of a `payoff` over random paths. It gets the discount until the swaption's expiry and the
/// curve at that time.
fn expectation(
    trials: usize,
    swaption: &Swaption,
    payoff: impl Fn(f64, &Curve) -> f64,
) -> Estimate {
    let volatilities: [Curve; FACTORS] =
        std::array::from_fn(|k| std::array::from_fn(|steps| volatility(k, steps)));
    let drifts = drifts(&volatilities);
    let mut random = SplitMix64(swaption.seed);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..trials {
        let mut curve = swaption.curve;
        let mut discount = (-curve[0] * STEP).exp();
        for now in 1..=swaption.expiry {
            let shocks = normal_shocks(&mut random);
            for (ahead, rate) in curve[now..].iter_mut().enumerate() {
                let shock: f64 = volatilities
                    .iter()
                    .zip(shocks)
                    .map(|(volatility, shock)| volatility[ahead] * shock)
                    .sum();
                *rate += drifts[ahead] * STEP + shock * STEP.sqrt();
            }
            if now < swaption.expiry {
                discount *= (-curve[now] * STEP).exp();
            }
        }
        let value = payoff(discount, &curve);
        sum += value;
        squares += value * value;
    }
    let mean = sum / trials as f64;
    Estimate {
        mean,
        error: ((squares / trials as f64 - mean * mean).max(0.0) / trials as f64).sqrt(),
    }
}

/// Drift of the rate of each period ahead that makes discounted bonds martingales, per year: the
/// increments of half the squares of the volatilities' sums.
fn drifts(volatilities: &[Curve; FACTORS]) -> Curve {
    let mut drifts = [0.0; STEPS];
    for volatility in volatilities {
        let mut sum = 0.0;
        for (drift, volatility) in drifts.iter_mut().zip(volatility) {
            let before = sum;
            sum += volatility * STEP;
            *drift += 0.5 * (sum * sum - before * before) / STEP;
        }
    }
    drifts
}

/// Draws normal numbers in pairs, so one of four is unused.
fn normal_shocks(random: &mut SplitMix64) -> [f64; FACTORS] {
    let ((a, b), (c, _)) = (normal_pair(random), normal_pair(random));
    [a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discounted_bonds_are_martingales() {
        let swaption = &Swaptions::generate(Size::Small).swaptions[0];
        let bond = expectation(20_000, swaption, |discount, curve| {
            discount * (-curve[swaption.expiry..swaption.end].iter().sum::<f64>() * STEP).exp()
        });
        let now = (-swaption.curve[..swaption.end].iter().sum::<f64>() * STEP).exp();
        assert!((bond.mean - now).abs() < 3.0 * bond.error, "{bond:?}, {now}");
    }

    #[test]
    fn the_right_is_worth_no_less_than_the_duty() {
        for swaption in &Swaptions::generate(Size::Small).swaptions[..4] {
            let right = expectation(500, swaption, |discount, curve| {
                discount * swaption.value(curve).max(0.0)
            });
            let duty =
                expectation(500, swaption, |discount, curve| discount * swaption.value(curve));
            assert!(right.mean >= duty.mean.max(0.0));
        }
    }
}
