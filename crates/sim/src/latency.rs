//! A histogram of latencies: log-linear, bounded in memory, exact to 1/32.

use evenkeel_machine::Nanos;

const SUB_BITS: u32 = 5;
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) << SUB_BITS;

/// How long things took: count, least, greatest, mean, and quantiles to within 1/32 of their value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

fn bucket(ns: u64) -> usize {
    if ns < 1 << SUB_BITS {
        return ns as usize;
    }
    let exponent = 63 - ns.leading_zeros();
    let sub = (ns >> (exponent - SUB_BITS)) & ((1 << SUB_BITS) - 1);
    (((exponent - SUB_BITS + 1) << SUB_BITS) + sub as u32) as usize
}

fn upper_bound(bucket: usize) -> u64 {
    let (row, sub) = (bucket >> SUB_BITS, (bucket & ((1 << SUB_BITS) - 1)) as u64);
    if row == 0 { sub } else { (((1 << SUB_BITS) + sub + 1) << (row - 1)).wrapping_sub(1) }
}

impl Latencies {
    /// Adds one.
    pub fn add(&mut self, latency: Nanos) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
            self.least = u64::MAX;
        }
        self.buckets[bucket(latency.0)] += 1;
        self.count += 1;
        self.sum += u128::from(latency.0);
        self.least = self.least.min(latency.0);
        self.greatest = self.greatest.max(latency.0);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least, or none.
    pub fn least(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.least))
    }

    /// The greatest, or none.
    pub fn greatest(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.greatest))
    }

    /// The mean, or none.
    pub fn mean(&self) -> Option<Nanos> {
        (self.count > 0).then(|| Nanos((self.sum / u128::from(self.count)) as u64))
    }

    /// The latency that a share `q` (0 to 1) of all does not exceed, to within 1/32, or none.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for (i, &n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Some(Nanos(upper_bound(i).clamp(self.least, self.greatest)));
            }
        }
        Some(Nanos(self.greatest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_32nd_of_the_true_ones() {
        let mut latencies = Latencies::default();
        for ns in 1..=100_000 {
            latencies.add(Nanos(ns));
        }
        for q in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let got = latencies.quantile(q).unwrap().0 as f64;
            let exact = q * 100_000.0;
            assert!(
                got >= exact && got <= exact * (1.0 + 1.0 / 32.0) + 1.0,
                "{q}: {got} against {exact}"
            );
        }
        assert_eq!(latencies.quantile(1.0), Some(Nanos(100_000)));
    }

    #[test]
    fn every_latency_falls_into_a_bucket_that_reaches_it() {
        for ns in (0..64)
            .flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, (1u64 << bit) + 1])
            .chain([u64::MAX])
        {
            assert!(bucket(ns) < BUCKETS);
            assert!(upper_bound(bucket(ns)) >= ns, "{ns}");
        }
    }
}
