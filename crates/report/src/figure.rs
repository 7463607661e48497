//! Figures as tables show them.

/// Four significant figures, without an exponent if possible.
pub fn number(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        0.0 => "0".into(),
        _ if !(1e-4..1e7).contains(&magnitude) => format!("{value:.2e}"),
        _ => {
            let before = magnitude.log10().floor() as i32;
            format!("{value:.*}", usize::try_from(3 - before).unwrap_or(0))
        }
    }
}
