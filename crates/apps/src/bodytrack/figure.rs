//! The figure, its walk, and its silhouette.

use std::f64::consts::TAU;

/// x and y of the hip, pixels; then angles, radians: lean of the trunk, both thighs against the
/// vertical, both knees, both arms against the trunk, both elbows.
pub(super) const PARAMETERS: usize = 11;
pub(super) type Pose = [f64; PARAMETERS];

/// The walk that is filmed.
pub(super) fn walk(frame: usize) -> Pose {
    let phase = TAU * frame as f64 / 20.0;
    let swing = phase.sin();
    let knee = |phase: f64| 0.35 * (1.0 - phase.cos());
    [
        40.0 + 1.2 * frame as f64,
        50.0 + (2.0 * phase).cos(),
        0.08,
        0.5 * swing,
        -0.5 * swing,
        knee(phase),
        knee(phase + TAU / 2.0),
        -0.5 * swing,
        0.5 * swing,
        0.4,
        0.4,
    ]
}

/// A part of the body: all points within `radius` of the line from `from` to `from + along`,
/// pixels.
pub(super) struct Limb {
    from: [f64; 2],
    along: [f64; 2],
    radius: f64,
}

/// Trunk, head, and two parts of each leg and arm.
pub(super) fn figure(
    &[
        x,
        y,
        lean,
        left_hip,
        right_hip,
        left_knee,
        right_knee,
        left_arm,
        right_arm,
        left_elbow,
        right_elbow,
    ]: &Pose,
) -> [Limb; 10] {
    // Angles are from straight down, towards greater x; y grows downwards.
    let limb = |from: [f64; 2], angle: f64, length: f64, radius| Limb {
        from,
        along: [length * angle.sin(), length * angle.cos()],
        radius,
    };
    let end = |limb: &Limb| [limb.from[0] + limb.along[0], limb.from[1] + limb.along[1]];
    let upright = TAU / 2.0 - lean;
    let trunk = limb([x, y], upright, 22.0, 5.0);
    let head = limb(end(&trunk), upright, 9.0, 3.5);
    let leg = |hip, knee: f64| {
        let thigh = limb([x, y], hip, 17.0, 3.0);
        let shank = limb(end(&thigh), hip - knee, 17.0, 2.2);
        [thigh, shank]
    };
    let arm = |angle: f64, elbow: f64| {
        let upper = limb(end(&trunk), angle - lean, 13.0, 2.2);
        let fore = limb(end(&upper), angle - lean + elbow, 13.0, 1.8);
        [upper, fore]
    };
    let ([a, b], [c, d]) = (leg(left_hip, left_knee), leg(right_hip, right_knee));
    let ([e, f], [g, h]) = (arm(left_arm, left_elbow), arm(right_arm, right_elbow));
    [trunk, head, a, b, c, d, e, f, g, h]
}

/// True if a pixel is in a figure's silhouette.
pub(super) fn covers(figure: &[Limb], x: f64, y: f64) -> bool {
    figure.iter().any(|Limb { from, along, radius }| {
        let (dx, dy) = (x - from[0], y - from[1]);
        let nearest = (dx * along[0] + dy * along[1]) / (along[0] * along[0] + along[1] * along[1]);
        let nearest = nearest.clamp(0.0, 1.0);
        let (dx, dy) = (dx - nearest * along[0], dy - nearest * along[1]);
        dx * dx + dy * dy <= radius * radius
    })
}
