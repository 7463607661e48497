//! The cores of a lab, as `2@60+2@20`: two that get 60 % of a host core each, two that get 20 %.

use std::fmt;
use std::str::FromStr;

use evenkeel_machine::MAX_KINDS;

/// Cores of a lab, at most. They are threads of an emulator: more than a few on each host core are
/// no use.
pub const MAX_CORES: usize = 64;
/// The period of the quotas, where shares allow it. A shorter one is smoother; a scheduler's slice
/// is some milliseconds.
const PERIOD_US: u64 = 5_000;
/// The least quota that the kernel takes (`min_cfs_quota_period` of kernel/sched/core.c).
const LEAST_QUOTA_US: u64 = 1_000;
/// Text that an error repeats, at most, in characters.
const SHOWN: usize = 40;

/// Cores with the same share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    count: usize,
    percent: u32,
}

/// The cores of a lab, in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    groups: Vec<Group>,
    in_pairs: bool,
}

/// The time that a core gets of a host core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Period, microseconds.
    pub period_us: u64,
    /// Time in each period, microseconds.
    pub quota_us: u64,
}

impl Quota {
    /// True if it is all of a host core, and so no limit.
    pub fn is_all(self) -> bool {
        self.quota_us >= self.period_us
    }
}

/// Why a text is no description of cores.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoresError {
    /// Not a sum of counts and shares.
    #[error("cores '{spec}': '{term}' found, expected COUNT@PERCENT, as 2@60+2@20")]
    Term {
        /// What was asked for.
        spec: String,
        /// The part that is not understood; may be empty.
        term: String,
    },
    /// A core count of 0.
    #[error("cores '{spec}': '{term}' is no core at all, expected a count of 1 or more")]
    None {
        /// What was asked for.
        spec: String,
        /// The part.
        term: String,
    },
    /// A share that no core can have.
    #[error("cores '{spec}': '{term}' found, expected whole percent of a host core, from 1 to 100")]
    Share {
        /// What was asked for.
        spec: String,
        /// The part.
        term: String,
    },
    /// Too many cores.
    #[error("cores '{spec}': more than {MAX_CORES} cores, which a lab cannot have")]
    TooMany {
        /// What was asked for.
        spec: String,
    },
    /// Not all of them have a sibling.
    #[error(
        "cores '{spec}': '{term}' cannot be pairs of SMT siblings, expected even counts, as \
         2@60+2@20"
    )]
    Odd {
        /// What was asked for.
        spec: String,
        /// The part.
        term: String,
    },
    /// Too many different shares.
    #[error(
        "cores '{spec}': more than {MAX_KINDS} different shares, which are more kinds of core than \
         a machine may have"
    )]
    TooManyKinds {
        /// What was asked for.
        spec: String,
    },
}

impl Cores {
    /// Share of each core, percent of a host core, in the order of their numbers.
    pub fn percents(&self) -> Vec<u32> {
        self.groups
            .iter()
            .flat_map(|group| std::iter::repeat_n(group.percent, group.count))
            .collect()
    }

    /// Different shares, greatest first.
    pub fn kinds(&self) -> Vec<u32> {
        let mut kinds: Vec<u32> = self.groups.iter().map(|group| group.percent).collect();
        kinds.sort_unstable_by(|a, b| b.cmp(a));
        kinds.dedup();
        kinds
    }

    /// The same cores, in pairs of SMT siblings: for the guest's kernel two cores with adjacent
    /// numbers are threads of one core. They do not slow each other: each has its share.
    ///
    /// # Errors
    /// An odd number of cores has the same share.
    pub fn in_pairs(self) -> Result<Self, CoresError> {
        match self.groups.iter().find(|group| group.count % 2 == 1) {
            Some(odd) => Err(CoresError::Odd {
                spec: self.to_string(),
                term: format!("{}@{}", odd.count, odd.percent),
            }),
            None => Ok(Self { in_pairs: true, ..self }),
        }
    }

    /// True if they are pairs of siblings.
    pub fn are_in_pairs(&self) -> bool {
        self.in_pairs
    }

    /// What all of them take together, percent of a host core.
    pub fn total_percent(&self) -> u32 {
        self.percents().iter().sum()
    }

    /// The limit of each core. All have one period: 5 ms, or longer if the smallest share would
    /// otherwise be below the kernel's least quota of 1 ms.
    pub fn quotas(&self) -> Vec<Quota> {
        let percents = self.percents();
        let least = u64::from(percents.iter().copied().min().unwrap_or(100));
        let period_us = PERIOD_US.max((LEAST_QUOTA_US * 100).div_ceil(least));
        percents
            .iter()
            .map(|&percent| Quota { period_us, quota_us: period_us * u64::from(percent) / 100 })
            .collect()
    }
}

impl FromStr for Cores {
    type Err = CoresError;

    fn from_str(text: &str) -> Result<Self, CoresError> {
        let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
        let spec = || shown(text);
        let mut groups: Vec<Group> = Vec::new();
        for term in text.split('+').map(str::trim) {
            let (count, share) = term
                .split_once('@')
                .filter(|(count, share)| [count, share].iter().all(|part| is_number(part)))
                .ok_or_else(|| CoresError::Term { spec: spec(), term: shown(term) })?;
            // A number that is too long for an integer is also too large.
            let count = count.parse().unwrap_or(usize::MAX);
            let percent = share.parse().unwrap_or(u32::MAX);
            if count == 0 {
                return Err(CoresError::None { spec: spec(), term: shown(term) });
            }
            if !(1..=100).contains(&percent) {
                return Err(CoresError::Share { spec: spec(), term: shown(term) });
            }
            let before: usize = groups.iter().map(|group| group.count).sum();
            if count > MAX_CORES - before {
                return Err(CoresError::TooMany { spec: spec() });
            }
            groups.push(Group { count, percent });
        }
        let cores = Self { groups, in_pairs: false };
        if cores.kinds().len() > MAX_KINDS {
            return Err(CoresError::TooManyKinds { spec: spec() });
        }
        Ok(cores)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            let plus = if index == 0 { "" } else { "+" };
            write!(f, "{plus}{}@{}", group.count, group.percent)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cores(text: &str) -> Cores {
        text.parse().unwrap()
    }

    #[test]
    fn cores_are_counted_in_the_order_that_they_are_named() {
        assert_eq!(cores("2@60+1@20").percents(), [60, 60, 20]);
        assert_eq!(cores(" 1@20 + 2@60 ").percents(), [20, 60, 60]);
        assert_eq!(cores("1@60+1@40+2@20").kinds(), [60, 40, 20]);
        assert_eq!(cores("1@60+2@20+1@60").kinds(), [60, 20]);
        assert_eq!(cores("2@60+2@20").total_percent(), 160);
    }

    #[test]
    fn a_share_is_kept_to_over_five_milliseconds_unless_it_is_too_small_for_that() {
        let quotas = cores("1@60+1@20").quotas();
        assert_eq!(
            quotas.iter().map(|it| (it.period_us, it.quota_us)).collect::<Vec<_>>(),
            [(5000, 3000), (5000, 1000)]
        );
        let quotas = cores("1@100+1@7").quotas();
        assert_eq!(
            quotas.iter().map(|it| (it.period_us, it.quota_us)).collect::<Vec<_>>(),
            [(14286, 14286), (14286, 1000)]
        );
        assert!(quotas[0].is_all() && !quotas[1].is_all());
    }

    #[test]
    fn what_no_lab_can_have_is_refused_by_name() {
        for (text, said) in [
            ("", "expected COUNT@PERCENT"),
            ("2@60+", "'' found"),
            ("2", "expected COUNT@PERCENT"),
            ("2@60%", "expected COUNT@PERCENT"),
            ("-1@60", "expected COUNT@PERCENT"),
            ("2@1.5", "expected COUNT@PERCENT"),
            ("0@60", "no core at all"),
            ("2@0", "from 1 to 100"),
            ("2@150", "from 1 to 100"),
            ("1@99999999999999999999", "from 1 to 100"),
            ("300@1", "more than 64 cores"),
            ("64@1+1@1", "more than 64 cores"),
            ("99999999999999999999999@1", "more than 64 cores"),
            ("1@1+1@2+1@3+1@4+1@5+1@6+1@7+1@8+1@9", "more than 8 different shares"),
        ] {
            let error = text.parse::<Cores>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn pairs_are_of_one_share() {
        assert!(
            cores("2@60+4@20").in_pairs().unwrap().are_in_pairs() && !cores("2@60").are_in_pairs()
        );
        let error = cores("2@60+3@20").in_pairs().unwrap_err().to_string();
        assert_eq!(
            error,
            "cores '2@60+3@20': '3@20' cannot be pairs of SMT siblings, expected even counts, as \
             2@60+2@20"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_cores_or_an_error_of_one_short_line(text in "[0-9@+ .%x]{0,300}") {
            match text.parse::<Cores>() {
                Ok(read) => prop_assert_eq!(read.to_string().parse::<Cores>().unwrap(), read),
                Err(error) => prop_assert!(!error.to_string().contains('\n') && error.to_string().len() < 300),
            }
        }

        #[test]
        fn quotas_are_what_the_kernel_takes(groups in prop::collection::vec((1_usize..=8, 1_u32..=100), 1..=8)) {
            let text = groups.iter().map(|(count, percent)| format!("{count}@{percent}")).collect::<Vec<_>>().join("+");
            let read = cores(&text);
            prop_assert_eq!(read.percents().len(), groups.iter().map(|group| group.0).sum::<usize>());
            for (quota, percent) in read.quotas().iter().zip(read.percents()) {
                prop_assert!((LEAST_QUOTA_US..=1_000_000).contains(&quota.quota_us) && quota.period_us <= 1_000_000);
                let share = quota.quota_us as f64 / quota.period_us as f64 * 100.0;
                prop_assert!((share - f64::from(percent)).abs() < 0.05, "{share}");
            }
        }
    }
}
