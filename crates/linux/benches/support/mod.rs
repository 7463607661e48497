//! What benchmarks make of their figures.

/// The middle one, of an even number the greater of the two; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    sorted.get(low).zip(sorted.get(high)).map_or(f64::NAN, |(low, high)| (low + high) / 2.0)
}
