//! Linux's lists of CPUs, `0-3,8`, and masks of them, `0000010f`.

use std::fmt::Write as _;

use crate::model::MAX_CORES;

/// Greatest number of characters of a list that an error quotes.
const SHOWN: usize = 20;

/// Reason why a text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} found, expected {}", self.found(), self.expected())]
pub enum CpuListError {
    /// Neither a number nor a range.
    Item(String),
    /// A range that ends before it starts.
    Backwards(String),
    /// A number that no CPU has.
    TooHigh(String),
    /// The same CPU twice.
    Twice(u32),
}

impl CpuListError {
    /// What was found.
    pub fn found(&self) -> String {
        match self {
            Self::Item(item) | Self::Backwards(item) | Self::TooHigh(item) => format!("'{item}'"),
            Self::Twice(cpu) => format!("CPU {cpu} twice"),
        }
    }

    /// What would be valid.
    pub fn expected(&self) -> String {
        match self {
            Self::Item(_) => "CPU numbers and ranges, as 0-3,8".to_owned(),
            Self::Backwards(_) => "a range from the lower number to the higher".to_owned(),
            Self::TooHigh(_) => format!("CPU numbers below {MAX_CORES}"),
            Self::Twice(_) => "each once".to_owned(),
        }
    }
}

/// Reads a list of CPUs as Linux writes it (`Documentation/admin-guide/cputopology.rst`): numbers
/// and ranges, separated by commas, blanks around them allowed. An empty text is an empty list. The
/// result keeps the order of the text: Linux's lists are ascending, those of machine files need not
/// be.
///
/// # Errors
/// Anything else, a CPU named twice, or a number of [`MAX_CORES`] or more.
pub fn parse_cpus(text: &str) -> Result<Vec<u32>, CpuListError> {
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Ok(cpus);
    }
    // A flag for each number, because a search through the list would be slow on large machines.
    let mut seen = vec![false; MAX_CORES as usize];
    for item in text.split(',').map(str::trim) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let (first, last) = (number(first, item)?, number(last, item)?);
        if last < first {
            return Err(CpuListError::Backwards(shown(item)));
        }
        for cpu in first..=last {
            if std::mem::replace(&mut seen[cpu as usize], true) {
                return Err(CpuListError::Twice(cpu));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

/// Reads a mask of CPUs as Linux writes it: groups of at most 8 hexadecimal digits, separated by
/// commas, the last one for CPUs 0 to 31. Ascending; `None` if it is no mask or names a CPU of
/// [`MAX_CORES`] or more.
pub fn parse_mask(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for (index, group) in text.trim().rsplit(',').enumerate() {
        let is_group =
            (1..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = is_group.then(|| u32::from_str_radix(group, 16).ok()).flatten()?;
        for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
            let cpu = u32::try_from(index).ok()?.checked_mul(32)?.checked_add(bit)?;
            cpus.push(Some(cpu).filter(|cpu| *cpu < MAX_CORES)?);
        }
    }
    Some(cpus)
}

/// A whole number as the kernel prints it, hexadecimal if it begins with `0x`.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        // `from_str_radix` accepts a sign, too.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// Writes a list of CPUs as Linux does: `0-3,8`. Runs of ascending numbers become ranges; the order
/// stays.
pub fn write_cpus(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut text = String::new();
    let mut add = |(first, last): (u32, u32)| {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
    };
    let mut open: Option<(u32, u32)> = None;
    for cpu in cpus {
        match &mut open {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => open.replace((cpu, cpu)).into_iter().for_each(&mut add),
        }
    }
    open.into_iter().for_each(add);
    text
}

/// CPUs as a sentence names them: `CPU 8`, `CPUs 0-3,8`.
pub fn name_cpus(cpus: impl IntoIterator<Item = u32>) -> String {
    let list = write_cpus(cpus);
    let noun = if list.contains([',', '-']) { "CPUs" } else { "CPU" };
    format!("{noun} {list}")
}

/// A CPU number below [`MAX_CORES`]. An error shows `item`.
fn number(digits: &str, item: &str) -> Result<u32, CpuListError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CpuListError::Item(shown(item)));
    }
    match digits.parse() {
        Ok(number) if number < MAX_CORES => Ok(number),
        _ => Err(CpuListError::TooHigh(shown(item))),
    }
}

fn shown(item: &str) -> String {
    let short: String = item.chars().take(SHOWN).collect();
    short.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_read_and_written_as_linux_does() {
        for (text, cpus) in
            [("", vec![]), ("5", vec![5]), ("0-3,8", vec![0, 1, 2, 3, 8]), ("0-1", vec![0, 1])]
        {
            assert_eq!(parse_cpus(text).as_ref(), Ok(&cpus));
            assert_eq!(write_cpus(cpus), text);
        }
        assert_eq!(parse_cpus(" 0-1, 4\n"), Ok(vec![0, 1, 4]));
        assert_eq!(parse_cpus("0,64,1,65"), Ok(vec![0, 64, 1, 65]));
        assert_eq!(write_cpus([0, 64, 1, 65]), "0,64,1,65");
        assert_eq!(write_cpus([u32::MAX, 0]), "4294967295,0");
        assert_eq!((name_cpus([8]).as_str(), name_cpus([0, 1]).as_str()), ("CPU 8", "CPUs 0-1"));
    }

    #[test]
    fn what_is_no_list_is_told_apart() {
        for item in
            ["x", "-1", "1-", "-", "1,,2", "1,", "0x3", "1-2-3", "+1", "²", "1 2", "0-7:2/4"]
        {
            assert!(
                matches!(parse_cpus(item), Err(CpuListError::Item(_))),
                "{item}: {:?}",
                parse_cpus(item)
            );
        }
        assert_eq!(parse_cpus("3-1"), Err(CpuListError::Backwards("3-1".into())));
        assert_eq!(parse_cpus("0-99999999999"), Err(CpuListError::TooHigh("0-99999999999".into())));
        assert_eq!(parse_cpus("65536"), Err(CpuListError::TooHigh("65536".into())));
        assert_eq!(parse_cpus("0-3,2"), Err(CpuListError::Twice(2)));
    }

    #[test]
    fn masks_are_read_as_linux_writes_them() {
        assert_eq!(parse_mask("c"), Some(vec![2, 3]));
        assert_eq!(parse_mask("00000001,80000001\n"), Some(vec![0, 31, 32]));
        assert_eq!(parse_mask("00000000,00000000"), Some(vec![]));
        for text in ["", "g", "0x3", "000000001", "1,,1", "+1", &"1,".repeat(3_000)] {
            assert_eq!(parse_mask(text), None, "{text}");
        }
        assert_eq!((parse_number("0x1f"), parse_number("12")), (Some(31), Some(12)));
        assert_eq!((parse_number("0x"), parse_number("+1"), parse_number("")), (None, None, None));
    }

    proptest! {
        #[test]
        fn any_text_is_met_with_distinct_cpus_or_an_error(text in "\\PC*|[0-9,\\- ]{0,40}") {
            if let Ok(cpus) = parse_cpus(&text) {
                prop_assert!(cpus.iter().all(|&cpu| cpu < MAX_CORES));
                prop_assert_eq!(parse_cpus(&write_cpus(cpus.iter().copied())), Ok(cpus));
            }
        }

        #[test]
        fn a_list_that_is_written_reads_as_the_same(set in prop::collection::btree_set(0..MAX_CORES, 0..40)) {
            let mut cpus: Vec<u32> = set.into_iter().collect();
            prop_assert_eq!(parse_cpus(&write_cpus(cpus.iter().copied())), Ok(cpus.clone()));
            cpus.reverse();
            prop_assert_eq!(parse_cpus(&write_cpus(cpus.iter().copied())), Ok(cpus));
        }
    }
}
