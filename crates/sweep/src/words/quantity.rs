//! Times and rates, as they are written.

use evenkeel_machine::Nanos;

/// A duration in the usual forms: `90` (seconds), `500ms`, `1.5s`, `2min`, `1h30m`.
///
/// # Errors
/// What would do instead.
pub fn time(text: &str) -> Result<Nanos, String> {
    const EXPECTED: &str =
        "expected a duration: 90 (seconds), 500ms, 50us, 1.5s, 2min, 1h or 1h30m";
    if text
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    {
        return Err(format!("{text} is a negative duration; {EXPECTED}"));
    }
    let mut rest = text.trim();
    let mut total = 0.0;
    let mut last = f64::INFINITY;
    loop {
        let (number, after) = rest
            .split_at(rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len()));
        let after = after.trim_start();
        let (unit, after) =
            after.split_at(after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len()));
        let is_alone = last.is_infinite() && after.is_empty();
        let unit = if unit.is_empty() && is_alone { Some(1e9) } else { unit_ns(unit) };
        // Units descend, and none comes twice: 1h30m, and not 30m1h.
        let unit = unit.filter(|unit| *unit < last).ok_or(EXPECTED)?;
        total += number.parse::<f64>().map_err(|_| EXPECTED)? * unit;
        (last, rest) = (unit, after.trim_start());
        if rest.is_empty() {
            break;
        }
    }
    // Past 2^63 ns, 292 years, sums of times would no longer fit.
    if total < (1_u64 << 63) as f64 {
        Ok(Nanos(total.round() as u64))
    } else {
        Err(format!("{text} is too long a time"))
    }
}

/// Nanoseconds of a unit of time.
fn unit_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3_600e9,
        "d" => 86_400e9,
        _ => return None,
    })
}

/// Bytes over time, in bytes per nanosecond: `1.5GB/s`.
///
/// # Errors
/// What would do instead.
pub fn rate(text: &str) -> Result<f64, String> {
    // Nanoseconds of a byte at 1 of each unit.
    const UNITS: [(&str, f64); 3] = [("kB/s", 1e6), ("MB/s", 1e3), ("GB/s", 1.0)];
    // At a lower rate a file of some gigabytes would take months.
    const LEAST: f64 = 1e-6;
    let expected =
        || "expected a rate with a unit, of 1kB/s or more: 500MB/s or 1.5GB/s".to_owned();
    let (number, per) = UNITS
        .iter()
        .find_map(|&(unit, per)| Some((text.strip_suffix(unit)?, per)))
        .ok_or_else(expected)?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let rate = number.parse::<f64>().ok().filter(|_| digits).map(|number| number / per);
    rate.filter(|rate| rate.is_finite() && *rate >= LEAST).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_taken_in_the_usual_forms() {
        let second = 1_000_000_000;
        for (text, ns) in [
            ("50us", 50_000),
            ("1.5ms", 1_500_000),
            ("0s", 0),
            ("90", 90 * second),
            ("0.5", second / 2),
            ("2min", 120 * second),
            ("1h", 3600 * second),
            ("1h30m", 5400 * second),
            ("1h 30min 5s", 5405 * second),
            ("1d", 86_400 * second),
            (" 1.5 h ", 5400 * second),
        ] {
            assert_eq!(time(text), Ok(Nanos(ns)), "{text}");
        }
        for bad in [
            "",
            "us",
            "1e3s",
            "5 parsecs",
            "99999999999999999999s",
            "1.2.3s",
            "30m1h",
            "1h30",
            "1s2s",
            "--json",
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
        for negative in ["-5s", "-1", "-.5h"] {
            assert!(time(negative).unwrap_err().contains("is a negative duration"), "{negative}");
        }
    }

    #[test]
    fn rates_are_decimal_and_have_a_unit() {
        assert_eq!(["1.5GB/s", "500MB/s", "2kB/s"].map(rate), [Ok(1.5), Ok(0.5), Ok(2e-6)]);
        for bad in [
            "",
            "1",
            "GB/s",
            "1G",
            "-1GB/s",
            "0GB/s",
            "1e3GB/s",
            "nanGB/s",
            "infGB/s",
            "1.2.3GB/s",
            "7B/s",
            "0.5kB/s",
        ] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
