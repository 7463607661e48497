//! Pictures: makes and segments them.

use evenkeel_model::SplitMix64;

use crate::vector::squared_distance;

/// Side of a picture, pixels.
pub(super) const SIDE: usize = 48;
pub(super) const SEGMENTS: usize = 6;
const ROUNDS: usize = 8;

pub(super) type Colour = [f64; 3];
/// Pixels, and the segment of each.
pub(super) type Segmented = (Vec<Colour>, Vec<usize>);

/// A picture of the collection with this amount of noise: ellipses on a ground, all with some
/// texture.
pub(super) fn render(picture: usize, noise: f64, seed: u64) -> Vec<Colour> {
    let mut random = SplitMix64::named(picture as u64, "picture");
    let mut colour = || -> Colour { std::array::from_fn(|_| random.unit()) };
    let mut pixels = vec![colour(); SIDE * SIDE];
    for _ in 1..SEGMENTS {
        let inside = colour();
        let [x, y, _] = colour().map(|part| part * SIDE as f64);
        let [width, height, _] = colour().map(|part| (0.1 + 0.25 * part) * SIDE as f64);
        for (index, pixel) in pixels.iter_mut().enumerate() {
            let (dx, dy) = ((index % SIDE) as f64 - x, (index / SIDE) as f64 - y);
            if (dx / width).powi(2) + (dy / height).powi(2) < 1.0 {
                *pixel = inside;
            }
        }
    }
    let mut random = SplitMix64::named(seed, "noise");
    for part in pixels.iter_mut().flatten() {
        *part += noise * (random.unit() - 0.5);
    }
    pixels
}

/// k-means on the colours (Lloyd, IEEE Transactions on Information Theory 1982). It starts with the
/// pixels that differ most.
pub(super) fn segment(pixels: Vec<Colour>) -> Segmented {
    let nearest = |colours: &[Colour], pixel: &Colour| {
        let distances = colours.iter().map(|colour| squared_distance(colour, pixel)).enumerate();
        distances.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    };
    let mut colours = vec![pixels[0]];
    while colours.len() < SEGMENTS {
        let distances = pixels.iter().map(|pixel| nearest(&colours, pixel).1).enumerate();
        let farthest = distances.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default().0;
        colours.push(pixels[farthest]);
    }
    let mut labels = vec![0; pixels.len()];
    for _ in 0..ROUNDS {
        let mut sums = [([0.0; 3], 0.0); SEGMENTS];
        for (label, pixel) in labels.iter_mut().zip(&pixels) {
            *label = nearest(&colours, pixel).0;
            let (sum, count) = &mut sums[*label];
            sum.iter_mut().zip(pixel).for_each(|(sum, part)| *sum += part);
            *count += 1.0;
        }
        for (colour, (sum, count)) in colours.iter_mut().zip(sums) {
            *colour = sum.map(|part| part / f64::max(count, 1.0));
        }
    }
    (pixels, labels)
}
