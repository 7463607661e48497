//! Sorting few numbers.
//!
//! A processor cannot predict how they compare. Up to eight are sorted by a network of minima and
//! maxima, without branches.

/// Sorts numbers.
#[inline]
pub fn sort_few<N: Copy + Ord>(numbers: &mut [N]) {
    macro_rules! network {
        ($all:ident: $(($a:literal $b:literal))*) => {
            {$(($all[$a], $all[$b]) = ($all[$a].min($all[$b]), $all[$a].max($all[$b]));)*}
        };
    }
    // The fewest comparisons known for each: Knuth, The Art of Computer Programming 3, 5.3.4.
    match numbers {
        [] | [_] => {}
        [a, b] => (*a, *b) = (*a.min(b), *a.max(b)),
        all @ [_, _, _] => network!(all: (0 2) (0 1) (1 2)),
        all @ [_, _, _, _] => network!(all: (0 2) (1 3) (0 1) (2 3) (1 2)),
        all @ [_, _, _, _, _] => {
            network!(all: (0 3) (1 4) (0 2) (1 3) (0 1) (2 4) (1 2) (3 4) (2 3))
        }
        all @ [_, _, _, _, _, _] => {
            network!(all: (0 5) (1 3) (2 4) (1 2) (3 4) (0 3) (2 5) (0 1) (2 3) (4 5) (1 2) (3 4));
        }
        all @ [_, _, _, _, _, _, _] => {
            network!(all: (0 6) (2 3) (4 5) (0 2) (1 4) (3 6) (0 1) (2 5) (3 4) (1 2) (4 6) (2 3) (4 5) (1 2) (3 4) (5 6));
        }
        all @ [_, _, _, _, _, _, _, _] => {
            network!(all: (0 2) (1 3) (4 6) (5 7) (0 4) (1 5) (2 6) (3 7) (0 1) (2 3) (4 5) (6 7) (2 4) (3 5) (1 4) (3 6) (1 2) (3 4) (5 6));
        }
        many => many.sort_unstable(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_network_sorts_whatever_it_is_given() {
        // It sorts everything if it sorts all zeros and ones (Knuth, 5.3.4, theorem Z).
        for count in 0..=8 {
            for bits in 0..1_u32 << count {
                let mut numbers: Vec<_> = (0..count).map(|bit| bits >> bit & 1).collect();
                sort_few(&mut numbers);
                assert!(numbers.is_sorted(), "{bits:b}");
                assert_eq!(numbers.iter().sum::<u32>(), bits.count_ones());
            }
        }
    }

    proptest! {
        #[test]
        fn few_or_many_come_out_sorted(mut numbers in prop::collection::vec(any::<u16>(), 0..40)) {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sort_few(&mut numbers);
            prop_assert_eq!(numbers, sorted);
        }
    }
}
