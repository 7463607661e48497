//! Vectors in space.

/// Along x, y and z.
pub type Vector = [f64; 3];

/// a + factor b.
pub fn plus(a: Vector, factor: f64, b: Vector) -> Vector {
    std::array::from_fn(|axis| a[axis] + factor * b[axis])
}

/// The scalar product.
pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Square of the length.
pub fn square(a: Vector) -> f64 {
    dot(a, a)
}

/// The vector product.
pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Square of the distance of two points in a space of any dimension.
pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
