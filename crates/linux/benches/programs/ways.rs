//! How a program is run: under the kernel alone, or under a policy, carried out by a mechanism,
//! begun in some way.

use std::fmt;
use std::str::FromStr;

/// How Evenkeel is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// `evenkeel run -- program`.
    Run,
    /// `evenkeel schedule`, the whole machine, begun before the program, as a service would.
    Schedule,
    /// `evenkeel schedule --pid`, a second after the program began.
    Attach,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Run, Self::Schedule, Self::Attach];

    /// Its name here.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Schedule => "schedule",
            Self::Attach => "attach",
        }
    }
}

/// What carries a policy out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// `sched_setaffinity`.
    Affinity,
    /// The kernel's scheduler.
    SchedExt,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Affinity, Self::SchedExt];

    /// As `--backend` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Affinity => "affinity",
            Self::SchedExt => "sched_ext",
        }
    }
}

/// What is compared with the kernel alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// How it is begun.
    pub way: Way,
    /// What carries the policy out.
    pub mechanism: Mechanism,
    /// The policy, with knobs.
    pub policy: String,
}

/// The kernel alone, or a candidate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// What candidates are compared with.
    Kernel,
    /// Something of ours.
    Candidate(Candidate),
}

/// The kernel alone, in files.
const KERNEL: &str = "kernel";

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.write_str(KERNEL),
            Self::Candidate(it) => {
                write!(f, "{}/{}/{}", it.way.name(), it.mechanism.name(), it.policy)
            }
        }
    }
}

impl FromStr for How {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == KERNEL {
            return Ok(Self::Kernel);
        }
        let refused = || format!("'{text}' is neither {KERNEL} nor WAY/MECHANISM/POLICY");
        let mut parts = text.splitn(3, '/');
        let mut part = || parts.next().filter(|part| !part.is_empty()).ok_or_else(refused);
        let (way, mechanism, policy) = (part()?, part()?, part()?);
        Ok(Self::Candidate(Candidate {
            way: Way::ALL.into_iter().find(|it| it.name() == way).ok_or_else(refused)?,
            mechanism: Mechanism::ALL
                .into_iter()
                .find(|it| it.name() == mechanism)
                .ok_or_else(refused)?,
            policy: policy.to_owned(),
        }))
    }
}

/// Candidates between two turns of the kernel alone, at most: what is compared is then never
/// minutes apart.
const BETWEEN: usize = 4;

/// The turns at one program in one round: the candidates in an order that is another each round and
/// for each program, the kernel alone first, last, and after each few.
pub fn turns(candidates: &[Candidate], rotation: usize) -> Vec<How> {
    let mut rotated = candidates.to_vec();
    if !rotated.is_empty() {
        rotated.rotate_left(rotation % candidates.len());
    }
    // In pairs of rounds the one's order is the other's backwards, so that none is always after the
    // same other.
    if (rotation / candidates.len().max(1)) % 2 == 1 {
        rotated.reverse();
    }
    let mut turns = vec![How::Kernel];
    for few in rotated.chunks(BETWEEN) {
        turns.extend(few.iter().cloned().map(How::Candidate));
        turns.push(How::Kernel);
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(number: usize) -> Vec<Candidate> {
        let of = |at: usize| Candidate {
            way: Way::Run,
            mechanism: Mechanism::Affinity,
            policy: format!("p{at}"),
        };
        (0..number).map(of).collect()
    }

    #[test]
    fn each_has_one_turn_with_the_kernel_alone_near_on_both_sides() {
        for rotation in 0..40 {
            let turns = turns(&candidates(9), rotation);
            assert_eq!((turns.first(), turns.last()), (Some(&How::Kernel), Some(&How::Kernel)));
            for candidate in candidates(9).into_iter().map(How::Candidate) {
                assert_eq!(turns.iter().filter(|turn| **turn == candidate).count(), 1);
            }
            assert!(turns.windows(BETWEEN + 1).all(|some| some.contains(&How::Kernel)));
        }
        assert_eq!(turns(&[], 3), [How::Kernel]);
    }

    #[test]
    fn in_as_many_rounds_as_there_are_candidates_each_has_had_each_place() {
        let first = |rotation| turns(&candidates(4), rotation)[1].clone();
        let mut firsts: Vec<How> = (0..4).map(first).collect();
        firsts.sort();
        firsts.dedup();
        assert_eq!(firsts.len(), 4);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for way in Way::ALL {
            for mechanism in Mechanism::ALL {
                let how =
                    How::Candidate(Candidate { way, mechanism, policy: "acfs:uf=1.2".into() });
                assert_eq!(how.to_string().parse(), Ok(how));
            }
        }
        assert_eq!("kernel".parse(), Ok(How::Kernel));
        for bad in
            ["", "run", "run/affinity", "run/affinity/", "walk/affinity/acfs", "run/luck/acfs"]
        {
            assert!(bad.parse::<How>().is_err(), "{bad}");
        }
    }
}
