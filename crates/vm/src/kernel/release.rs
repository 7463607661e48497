//! Names of kernels: `6.18`, `6.18.15+deb13`, `7.2.13+deb14-rt-amd64`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::error::VmError;

/// Text that an error repeats, at most, in characters.
const SHOWN: usize = 60;

/// The release of a Debian kernel, as `uname -r` says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    /// `6.18.15`.
    numbers: Vec<u32>,
    /// `deb13`; may be empty.
    build: String,
    /// `amd64`, `rt-amd64`, `cloud-amd64`.
    flavour: String,
}

/// Which kernel is asked for: any part of a release from its start, of at least two numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    numbers: Vec<u32>,
    build: Option<String>,
    flavour: String,
}

const FLAVOURS: [&str; 3] = ["amd64", "rt-amd64", "cloud-amd64"];

impl Release {
    /// The series that it belongs to: `6.18`.
    pub fn series(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().take(2).map(u32::to_string).collect();
        numbers.join(".")
    }

    /// The builder: `deb13`; may be empty.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// `amd64` for the ordinary one.
    pub fn flavour(&self) -> &str {
        &self.flavour
    }

    /// The release of a name such as `6.18.15+deb13-amd64`; `None`: it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (version, flavour) = text.split_once('-')?;
        let (numbers, build) = version.split_once('+').unwrap_or((version, ""));
        let is_build = build.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let numbers = parse_numbers(numbers).filter(|numbers| numbers.len() >= 2)?;
        (is_build && FLAVOURS.contains(&flavour)).then(|| Self {
            numbers,
            build: build.into(),
            flavour: flavour.into(),
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plus = if self.build.is_empty() { "" } else { "+" };
        write!(f, "{}{plus}{}-{}", dotted(&self.numbers), self.build, self.flavour)
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        // Compares lengths first: deb9 is before deb13.
        let build = |release: &Self| (release.build.len(), release.build.clone());
        let key =
            |release: &Self| (release.numbers.clone(), build(release), release.flavour.clone());
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Wanted {
    /// True if this release matches.
    pub fn is(&self, release: &Release) -> bool {
        release.numbers.starts_with(&self.numbers)
            && self.build.as_ref().is_none_or(|build| *build == release.build)
            && self.flavour == release.flavour
    }

    /// True if it names a version and not a whole series.
    pub fn is_one(&self) -> bool {
        self.build.is_some() || self.numbers.len() > 2
    }
}

impl FromStr for Wanted {
    type Err = VmError;

    fn from_str(text: &str) -> Result<Self, VmError> {
        let name = || VmError::KernelName { text: text.chars().take(SHOWN).collect() };
        let (version, flavour) = text.split_once('-').unwrap_or((text, FLAVOURS[0]));
        let (numbers, build) = match version.split_once('+') {
            Some((numbers, build)) => (numbers, Some(build)),
            None => (version, None),
        };
        let is_build = |build: &str| {
            !build.is_empty() && build.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let numbers = parse_numbers(numbers)
            .filter(|numbers| (2..=4).contains(&numbers.len()))
            .ok_or_else(name)?;
        if !build.is_none_or(is_build) || !FLAVOURS.contains(&flavour) {
            return Err(name());
        }
        Ok(Self { numbers, build: build.map(str::to_owned), flavour: flavour.to_owned() })
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let build = self.build.as_ref().map(|build| format!("+{build}")).unwrap_or_default();
        let flavour =
            if self.flavour == FLAVOURS[0] { String::new() } else { format!("-{}", self.flavour) };
        write!(f, "{}{build}{flavour}", dotted(&self.numbers))
    }
}

fn parse_numbers(text: &str) -> Option<Vec<u32>> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').map(|part| is_number(part).then(|| part.parse().ok())?).collect()
}

fn dotted(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn release(text: &str) -> Release {
        Release::parse(text).unwrap()
    }

    #[test]
    fn releases_are_ordered_as_numbers_and_not_as_text() {
        let mut releases =
            ["6.18.5+deb13", "7.2.13+deb14", "6.18.15+deb13", "6.9.1+deb13", "7.2.13+deb9"]
                .map(|text| release(&format!("{text}-amd64")));
        releases.sort();
        let names = releases.map(|release| release.to_string().replace("-amd64", ""));
        assert_eq!(
            names,
            ["6.9.1+deb13", "6.18.5+deb13", "6.18.15+deb13", "7.2.13+deb9", "7.2.13+deb14"]
        );
    }

    #[test]
    fn a_series_is_not_the_start_of_another_number() {
        let wanted: Wanted = "6.1".parse().unwrap();
        assert!(
            wanted.is(&release("6.1.140-amd64")) && !wanted.is(&release("6.18.15+deb13-amd64"))
        );
        let wanted: Wanted = "6.18.15".parse().unwrap();
        assert!(
            wanted.is(&release("6.18.15+deb13-amd64"))
                && !wanted.is(&release("6.18.15+deb13-rt-amd64"))
        );
        let wanted: Wanted = "6.18.15+deb13-rt-amd64".parse().unwrap();
        assert!(wanted.is_one() && wanted.is(&release("6.18.15+deb13-rt-amd64")));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        for text in [
            "",
            "6",
            "6.",
            "6.18-",
            "6.18+",
            "6.18.15+deb13-arm64",
            "six",
            "6.18.1.2.3",
            "-amd64",
            "6.18+a b",
            "6.-1",
        ] {
            assert!(text.parse::<Wanted>().is_err(), "{text}");
        }
        for name in [
            "6.18.15+deb13-amd64-dbg",
            "amd64",
            "6.18.15+deb13-amd64-unsigned",
            "x-amd64",
            "6-amd64",
        ] {
            assert_eq!(Release::parse(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_wish_or_an_error_of_one_short_line(text in "[0-9.+a-z-]{0,120}|\\PC{0,200}") {
            match text.parse::<Wanted>() {
                Ok(wanted) => prop_assert_eq!(wanted.to_string().parse::<Wanted>().unwrap(), wanted),
                Err(error) => prop_assert!(error.to_string().len() < 400),
            }
            if let Some(read) = Release::parse(&text) {
                prop_assert_eq!(Release::parse(&read.to_string()), Some(read.clone()));
                prop_assert!(read.to_string().parse::<Wanted>().unwrap().is(&read));
            }
        }
    }
}
