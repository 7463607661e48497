//! The values that flags take, from text.

use std::path::{Path, PathBuf};

use evenkeel_machine::Nanos;
pub use evenkeel_sweep::words::{
    PolicySpec, estimator, governor, model, policies, policy, rate, time,
};
use evenkeel_vm::Cores;
use evenkeel_vm::fetch::Fetch;

/// A time that is more than nothing.
///
/// # Errors
/// What would do instead.
pub fn positive_time(text: &str) -> Result<Nanos, String> {
    match time(text)? {
        Nanos::ZERO => Err("expected more than 0".into()),
        some => Ok(some),
    }
}

/// The period at which a slow CPU is taken away. It is long enough for timers to keep up, and short
/// enough for the kernel to let the thief take the CPU.
///
/// # Errors
/// What would do instead.
pub fn lab_period(text: &str) -> Result<Nanos, String> {
    const LEAST: Nanos = Nanos::from_micros(50);
    const GREATEST: Nanos = Nanos::from_millis(20);
    Some(time(text)?)
        .filter(|period| (LEAST..=GREATEST).contains(period))
        .ok_or("expected 50us to 20ms".into())
}

/// A duration of whole seconds, up to a day.
///
/// # Errors
/// What would do instead.
pub fn seconds(text: &str) -> Result<u32, String> {
    const SECOND: u64 = 1_000_000_000;
    const MOST: u64 = 86_400;
    let time = time(text)?;
    let seconds = Some(time.0 / SECOND)
        .filter(|seconds| time.0 % SECOND == 0 && (1..=MOST).contains(seconds));
    seconds
        .and_then(|seconds| u32::try_from(seconds).ok())
        .ok_or("expected whole seconds, 1 to 86400".into())
}

/// How long the kernel lets a thread wait. It is at most what the kernel accepts
/// (SCX_WATCHDOG_MAX_TIMEOUT, kernel/sched/ext.c), and at least what a slow machine needs for a
/// turn of all threads.
///
/// # Errors
/// What would do instead.
pub fn watchdog(text: &str) -> Result<Nanos, String> {
    const LEAST: Nanos = Nanos::from_secs(1);
    const GREATEST: Nanos = Nanos::from_secs(30);
    Some(time(text)?)
        .filter(|time| (LEAST..=GREATEST).contains(time))
        .ok_or("expected 1s to 30s".into())
}

/// A time of at least a millisecond.
///
/// # Errors
/// What would do instead.
pub fn interval(text: &str) -> Result<Nanos, String> {
    const LEAST: Nanos = Nanos::from_millis(1);
    match time(text)? {
        interval if interval >= LEAST => Ok(interval),
        _ => Err("expected at least 1ms".into()),
    }
}

/// The file of `-o`, which has results and no page.
///
/// # Errors
/// The name of a page.
pub fn result_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_page = path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("html") || it.eq_ignore_ascii_case("htm"));
    if is_page {
        Err("-o writes results as JSON or CSV; --html FILE writes a page".into())
    } else {
        Ok(path)
    }
}

/// A factor greater than 0.
///
/// # Errors
/// What would do instead.
pub fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("expected a number greater than 0".into()),
    }
}

/// A part of a whole.
///
/// # Errors
/// What would do instead.
pub fn part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if part > 0.0 && part <= 1.0 => Ok(part),
        _ => Err("expected a number greater than 0 and at most 1".into()),
    }
}

/// The number of an experiment.
///
/// # Errors
/// What would do instead.
pub fn experiment(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected a number, or several, as 1,3".into())
}

/// A seed.
///
/// # Errors
/// What would do instead.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("'{text}' found, expected a whole number from 0 to {}", u64::MAX))
}

/// `knob=value` or `policy.knob=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The policy that it is for; `None`: each that has such a knob.
    pub policy: Option<String>,
    /// Name of the knob.
    pub knob: String,
    /// Its value.
    pub value: String,
}

/// A command and its speedup factor: `gzip=3.1`.
///
/// # Errors
/// What would do instead.
pub fn named_factor(text: &str) -> Result<(String, f64), String> {
    let expected = || "expected COMMAND=FACTOR with a factor of 1 or more, as gzip=3.1".to_owned();
    let (name, number) = text.rsplit_once('=').ok_or_else(expected)?;
    match number.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor >= 1.0 && !name.is_empty() => {
            Ok((name.to_owned(), factor))
        }
        _ => Err(expected()),
    }
}

/// Percent of one core, as a share: `1`, `0.5`, `1%`.
///
/// # Errors
/// What would do instead.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err("expected percent of one core, more than 0 and at most 100".into()),
    }
}

/// Cores of the VM lab: `2@60+2@20`.
///
/// # Errors
/// What would do instead.
pub fn vm_cores(text: &str) -> Result<Cores, String> {
    text.parse().map_err(|error: evenkeel_vm::CoresError| error.to_string())
}

/// A file or program of this host, and its place in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCopy {
    /// A program or a file.
    pub host: PathBuf,
    /// Path in the guest; `None`: the folder of programs.
    pub guest: Option<PathBuf>,
}

/// A path in the guest: absolute, without `.` and `..`, and not in one of the kernel's own file
/// systems.
///
/// # Errors
/// What would do instead.
pub fn guest_path(text: &str) -> Result<PathBuf, String> {
    evenkeel_vm::image::guest_path(Path::new(text)).ok_or_else(|| {
        "expected an absolute path in the guest, outside of /dev, /proc and /sys".to_owned()
    })
}

/// `BINARY` or `BINARY=GUEST-PATH`.
///
/// # Errors
/// What would do instead.
pub fn guest_program(text: &str) -> Result<GuestCopy, String> {
    match text.split_once('=') {
        Some(_) => guest_file(text)
            .map_err(|_| "expected BINARY or BINARY=GUEST-PATH, as worker=/opt/worker".to_owned()),
        None if text.is_empty() => Err("expected the name or the path of a program".to_owned()),
        None => Ok(GuestCopy { host: text.into(), guest: None }),
    }
}

/// `HOST=GUEST-PATH`.
///
/// # Errors
/// What would do instead.
pub fn guest_file(text: &str) -> Result<GuestCopy, String> {
    let expected =
        || "expected HOST=GUEST-PATH with an absolute path in the guest, as data=/data".to_owned();
    let (host, guest) =
        text.rsplit_once('=').filter(|(host, _)| !host.is_empty()).ok_or_else(expected)?;
    let guest = guest_path(guest).map_err(|_| expected())?;
    Ok(GuestCopy { host: host.into(), guest: Some(guest) })
}

/// `GUEST-PATH=HOST`.
///
/// # Errors
/// What would do instead.
pub fn fetch(text: &str) -> Result<Fetch, String> {
    let expected = || {
        "expected GUEST-PATH=HOST with an absolute path in the guest, as /tmp/out=out".to_owned()
    };
    let (guest, host) =
        text.split_once('=').filter(|(_, host)| !host.is_empty()).ok_or_else(expected)?;
    let guest = guest_path(guest).map_err(|_| expected())?;
    Ok(Fetch { guest, host: host.into() })
}

/// A size of memory: `512M`, `2G`, as MiB.
///
/// # Errors
/// What would do instead.
pub fn mebibytes(text: &str) -> Result<u64, String> {
    /// 1 TiB, more than an emulator without hardware virtualisation can use.
    const MOST: u64 = 1 << 20;
    let (number, factor) = match (text.strip_suffix('M'), text.strip_suffix('G')) {
        (Some(number), _) => (number, 1),
        (_, Some(number)) => (number, 1024),
        _ => (text, 0),
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let size = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .filter(|_| is_number);
    size.filter(|size| (1..=MOST).contains(size))
        .ok_or_else(|| "expected a size, as 512M or 2G".to_owned())
}

/// See [`Setting`].
///
/// # Errors
/// What would do instead.
pub fn setting(text: &str) -> Result<Setting, String> {
    let expected = || "expected KNOB=VALUE or POLICY.KNOB=VALUE".to_owned();
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    let (policy, knob) = match name.split_once('.') {
        Some((policy, knob)) => (Some(policy.to_ascii_lowercase()), knob),
        None => (None, name),
    };
    if knob.is_empty() || value.is_empty() || policy.as_deref() == Some("") {
        return Err(expected());
    }
    Ok(Setting { policy, knob: knob.into(), value: value.into() })
}

/// One policy, as its label is written elsewhere.
///
/// # Errors
/// None, several, or not a policy.
pub fn policy_label(text: &str) -> Result<String, String> {
    match policies(text)?.as_slice() {
        [one] => Ok(one.label.clone()),
        _ => Err(format!("expected one policy, found '{text}'")),
    }
}

/// Several lists of policies, one after the other.
///
/// # Errors
/// As [`policies`], and the same policy twice.
pub fn policy_lists(lists: &[String]) -> Result<Vec<PolicySpec>, String> {
    let mut specs: Vec<PolicySpec> = Vec::new();
    for text in lists {
        for spec in policies(text)? {
            if specs.iter().any(|other| other.label == spec.label) {
                return Err(format!("policy {} is asked for twice", spec.label));
            }
            specs.push(spec);
        }
    }
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_limited_where_they_must_be() {
        assert_eq!((seconds("5"), seconds("2min")), (Ok(5), Ok(120)));
        assert!(["0", "500ms", "1.5", "2d"].iter().all(|bad| seconds(bad).is_err()));
        assert!(positive_time("0s").is_err());
        assert_eq!(
            (watchdog("1s"), watchdog("30s")),
            (Ok(Nanos::from_secs(1)), Ok(Nanos::from_secs(30)))
        );
        assert!(watchdog("999ms").is_err() && watchdog("31s").is_err());
    }

    #[test]
    fn places_in_a_guest_are_absolute() {
        let both = |host: &str, guest: &str| {
            Ok(GuestCopy { host: host.into(), guest: Some(guest.into()) })
        };
        assert_eq!(guest_program("worker"), Ok(GuestCopy { host: "worker".into(), guest: None }));
        assert_eq!(guest_program("./w=/opt/w"), both("./w", "/opt/w"));
        assert_eq!(guest_file("a=b=/c"), both("a=b", "/c"));
        assert_eq!(fetch("/tmp/x=y=z"), Ok(Fetch { guest: "/tmp/x".into(), host: "y=z".into() }));
        for bad in ["", "=", "a", "a=", "=/b", "a=b", "a=/../b", "a=/"] {
            assert!(guest_file(bad).is_err(), "{bad}");
        }
        for bad in ["", "=/x", "w=opt"] {
            assert!(guest_program(bad).is_err(), "{bad}");
        }
        for bad in ["", "a=b", "/a", "/a=", "=b"] {
            assert!(fetch(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn memory_has_a_unit() {
        assert_eq!((mebibytes("512M"), mebibytes("2G")), (Ok(512), Ok(2048)));
        for bad in [
            "",
            "G",
            "512",
            "0M",
            "-1G",
            "1.5G",
            "2g",
            "99999999999999999G",
            "18446744073709551615G",
        ] {
            assert!(mebibytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn settings_name_a_policy_or_none() {
        assert_eq!(
            setting("acfs.uf=1.2"),
            Ok(Setting { policy: Some("acfs".into()), knob: "uf".into(), value: "1.2".into() })
        );
        assert_eq!(setting("uf=1.2").map(|it| it.policy), Ok(None));
        for bad in ["uf", "=1", "uf=", ".uf=1", "acfs.=1"] {
            assert!(setting(bad).is_err(), "{bad}");
        }
    }
}
