//! Random numbers that are the same on every host: splitmix64 (Steele, Lea and Flood, OOPSLA 2014),
//! whose only state is its seed.

/// A generator; it holds its seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// A generator for one of several that share a seed: its name is folded into the seed (FNV-1a).
    pub fn named(seed: u64, name: &str) -> Self {
        let fold =
            |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(seed ^ name.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from 0 to 1, exclusive of 1, in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number that is nearly normal, of mean 0 and deviation 1: the sum of twelve draws, less 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A number below `count`, which is at least 1: by multiplication (Lemire, TOMACS 2019), with
    /// its bias of `count` in 2^64.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_those_of_the_published_generator() {
        let mut random = SplitMix64(1_234_567);
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64];
        assert_eq!(expected.map(|_| random.bits()), expected);
    }
}
