//! One number for all that an app computes.

/// FNV-1a (Fowler, Noll and Vo) over 64-bit words: the order counts, and so does every bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Adds a word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Adds numbers, bit by bit: two results that differ by a rounding have different checksums.
    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = f64>) {
        for number in numbers {
            self.word(number.to_bits());
        }
    }

    /// The checksum.
    pub fn finish(self) -> u64 {
        // High bits of the words must reach low bits of the sum: a multiplication only carries
        // upwards.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> u64 {
        let mut sum = Checksum::default();
        sum.numbers(numbers.iter().copied());
        sum.finish()
    }

    #[test]
    fn order_and_the_last_bit_count() {
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[0.1 + 0.2]), of(&[0.3]));
    }
}
