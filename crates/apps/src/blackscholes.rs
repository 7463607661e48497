//! blackscholes: prices a portfolio of European options, over and over.
//!
//! The price of a call with spot S, strike K, rate r, volatility v and time T (in years) is
//!
//! ```text
//! C = S N(d1) - K exp(-r T) N(d2),   d1 = (ln(S / K) + (r + v^2 / 2) T) / (v sqrt(T)),
//!                                    d2 = d1 - v sqrt(T)
//! ```
//!
//! and that of a put follows with -d1 and -d2 (Black and Scholes, "The Pricing of Options and
//! Corporate Liabilities", Journal of Political Economy 1973). N is the normal distribution
//! function by the polynomial 26.2.17 of Abramowitz and Stegun, good to 7.5e-8.
//!
//! Shape: the portfolio in equal blocks, priced again in each of 100 runs that end at a barrier.
//! This is the simplest shape: with equal parts on unequal cores, the program waits for the slowest
//! core 100 times.

use evenkeel_model::SplitMix64;
use evenkeel_runtime::{Pool, Regions};

use crate::app::Phases;
use crate::checksum::Checksum;
use crate::setting::Size;
use crate::shared::{Blocks, part};
use crate::team::Team;

/// How often the portfolio is priced, as in the suite.
const RUNS: usize = 100;
/// Blocks of the portfolio: 6,400 tasks in 100 runs, as many as the task version has in the
/// maturity study.
const BLOCKS: usize = 64;

/// A European option.
#[derive(Clone, Copy, Debug)]
struct Asset {
    /// Price of the stock now, and the price at which it may be bought or sold.
    spot: f64,
    strike: f64,
    /// Interest without risk and standard deviation of the stock's return, both per year.
    rate: f64,
    volatility: f64,
    /// Time until the expiry, years.
    time: f64,
    /// True for the right to buy, false for the right to sell.
    is_call: bool,
}

/// The portfolio and its prices.
pub struct Blackscholes {
    options: Vec<Asset>,
    prices: Blocks<Vec<f64>>,
}

impl Phases for Blackscholes {
    fn generate(size: Size) -> Self {
        let mut random = SplitMix64::named(1, "blackscholes");
        let mut between = |low: f64, high: f64| low + (high - low) * random.unit();
        let options = (0..size.pick(1_000, 200_000, 2_000_000)).map(|index| {
            let spot = between(20.0, 120.0);
            Asset {
                spot,
                strike: spot * between(0.8, 1.2),
                rate: between(0.01, 0.1),
                volatility: between(0.05, 0.65),
                time: between(0.05, 2.0),
                is_call: index % 2 == 0,
            }
        });
        Self { options: options.collect(), prices: Blocks::new(vec![Vec::new(); BLOCKS]) }
    }

    fn run(&self, team: &impl Team) {
        for _ in 0..RUNS {
            team.each(BLOCKS, |block| self.price_block(block));
        }
    }

    /// A block's next run waits for its own last run, and for no other block.
    fn tasks(&self, pool: &Pool) {
        let blocks = Regions::new(BLOCKS, 1);
        pool.scope(|scope| {
            for block in (0..RUNS).flat_map(|_| 0..BLOCKS) {
                scope
                    .task()
                    .writes(&blocks.part(block..block + 1))
                    .label("price")
                    .run(move || self.price_block(block));
            }
        });
    }

    fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        for block in 0..BLOCKS {
            sum.numbers(self.prices.read(block).iter().copied());
        }
        sum.finish()
    }
}

impl Blackscholes {
    fn price_block(&self, block: usize) {
        let options = &self.options[part(self.options.len(), BLOCKS, block)];
        let mut prices = self.prices.write(block);
        prices.clear();
        prices.extend(options.iter().map(price));
    }
}

fn price(option: &Asset) -> f64 {
    let &Asset { spot, strike, rate, volatility, time, is_call } = option;
    let spread = volatility * time.sqrt();
    let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * time) / spread;
    let d2 = d1 - spread;
    let strike_now = strike * (-rate * time).exp();
    if is_call {
        spot * normal_cdf(d1) - strike_now * normal_cdf(d2)
    } else {
        strike_now * normal_cdf(-d2) - spot * normal_cdf(-d1)
    }
}

/// Probability that a standard normal variable is at most `x`: Abramowitz and Stegun, 26.2.17.
fn normal_cdf(x: f64) -> f64 {
    const P: f64 = 0.231_641_9;
    const B: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    const SQRT_TWO_PI: f64 = 2.506_628_274_631_000_5;
    let t = 1.0 / (1.0 + P * x.abs());
    let polynomial = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    let tail = (-0.5 * x * x).exp() / SQRT_TWO_PI * polynomial;
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Asset =
        Asset { spot: 42.0, strike: 40.0, rate: 0.1, volatility: 0.2, time: 0.5, is_call: true };

    #[test]
    fn prices_are_those_of_the_text_book() {
        // Hull, "Options, Futures, and Other Derivatives", example of the chapter on the
        // Black-Scholes-Merton model: 4.76 and 0.81.
        assert!((price(&CALL) - 4.76).abs() < 0.005);
        assert!((price(&Asset { is_call: false, ..CALL }) - 0.81).abs() < 0.005);
    }

    #[test]
    fn calls_and_puts_are_in_parity() {
        for option in Blackscholes::generate(Size::Small).options {
            let parity = option.spot - option.strike * (-option.rate * option.time).exp();
            let difference = price(&Asset { is_call: true, ..option })
                - price(&Asset { is_call: false, ..option });
            assert!((difference - parity).abs() < 1e-4, "{option:?}: {difference}, {parity}");
        }
    }
}
