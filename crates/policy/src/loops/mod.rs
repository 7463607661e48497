//! Policies for parallel loops: which worker runs which iterations.

use evenkeel_machine::{KindId, Nanos};

mod aid_affinity;
mod aid_dynamic;
mod aid_static;
mod dynamic;
mod guided;
mod sample;
mod static_;
pub mod tail;

#[cfg(test)]
mod testing;

pub use aid_affinity::AidAffinity;
pub use aid_dynamic::AidDynamic;
pub use aid_static::AidStatic;
pub use dynamic::Dynamic;
pub use guided::Guided;
pub use static_::Static;

/// A policy that hands out the iterations of one execution of a loop.
pub trait LoopPolicy: Send {
    /// An execution begins: `iterations` to hand out to `workers`.
    fn start(&mut self, iterations: u64, workers: u32);

    /// As `start`, for a loop that may have run before. `speeds`: by worker, its speed then, in any
    /// unit; empty if unknown.
    fn start_again(&mut self, iterations: u64, workers: u32, _speeds: &[f64]) {
        self.start(iterations, workers);
    }

    /// Worker `worker` (dense from 0, in order of first arrival) on a core of this kind asks for
    /// more. Returns the first iteration and their number, or None if nothing is left for it.
    fn take(&mut self, worker: u32, kind: KindId) -> Option<(u64, u64)>;

    /// A chunk took this long. The ratio of kinds is sampled from this.
    fn done(&mut self, _worker: u32, _kind: KindId, _iterations: u64, _time: Nanos) {}
}

/// Length of the next of equal pieces into which `length` divides, as near to `wanted` (1 or more)
/// as possible. Equal pieces leave no crumb at the end, which would cost as much to take as a
/// piece.
pub fn equal_piece(length: u64, wanted: u64) -> u64 {
    length.div_ceil((length.saturating_add(wanted / 2) / wanted).max(1))
}

/// Names of the loop policies.
pub const NAMES: &[&str] =
    &["static", "dynamic", "guided", "aid-static", "aid-dynamic", "aid-affinity"];

/// Description of a loop policy.
pub struct Entry {
    /// Name, one of [`NAMES`].
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Paper or standard that it comes from.
    pub source: &'static str,
}

/// All loop policies, in the order of [`NAMES`].
pub static ENTRIES: &[Entry] = &[
    Entry {
        name: "static",
        summary: "equal blocks, fixed before the loop runs; with a chunk, chunks in turn",
        source: "OpenMP 5.2, 11.5.3",
    },
    Entry {
        name: "dynamic",
        summary: "the next chunk to whoever is free",
        source: "OpenMP 5.2, 11.5.3",
    },
    Entry {
        name: "guided",
        summary: "chunks that shrink with what is left",
        source: "Polychronopoulos and Kuck, IEEE TC 1987; OpenMP 5.2, 11.5.3",
    },
    Entry {
        name: "aid-static",
        summary: "a chunk each to measure the kinds, then shares by their speeds",
        source: "Saez, Castro and Prieto-Matias, ICPP 2020",
    },
    Entry {
        name: "aid-dynamic",
        summary: "shares by speeds that are measured anew as the loop runs, a part of it at a time",
        source: "Saez, Castro and Prieto-Matias, ICPP 2020",
    },
    Entry {
        name: "aid-affinity",
        summary: "to each worker about the part that it had the last times, whose data are near \
                  it; the first time, aid-dynamic",
        source: "Markatos and LeBlanc, IEEE TPDS 1994; Subramaniam and Eager, SC 1994; unequal \
                 cores: ICPP 2020",
    },
];

/// An invalid loop schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopError {
    /// No such policy.
    #[error("no loop schedule '{name}'; there are {}, each with ',CHUNK' where \
             wanted", NAMES.join(", "))]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// Not a chunk.
    #[error(
        "loop schedule '{schedule}': '{chunk}' is not a chunk; expected a whole number of \
         iterations, at least 1"
    )]
    Chunk {
        /// As asked for.
        schedule: String,
        /// The part that does not fit.
        chunk: String,
    },
}

/// Makes a loop policy from `name` or `name,chunk`, the form of OpenMP's `OMP_SCHEDULE`. Spaces
/// around the parts are ignored.
///
/// # Errors
/// A name that does not exist, a chunk that is not a whole number of 1 or more.
pub fn make(schedule: &str) -> Result<Box<dyn LoopPolicy>, LoopError> {
    let (name, chunk) = match schedule.split_once(',') {
        None => (schedule.trim(), None),
        Some((name, text)) => {
            let chunk = text.trim().parse().ok().filter(|&chunk: &u64| chunk > 0);
            let bad = || LoopError::Chunk { schedule: schedule.into(), chunk: text.trim().into() };
            (name.trim(), Some(chunk.ok_or_else(bad)?))
        }
    };
    named(name, chunk).ok_or_else(|| LoopError::Unknown { name: name.into() })
}

/// Makes a loop policy from its name and its chunk, 1 or more; none if there is no such name.
pub fn named(name: &str, chunk: Option<u64>) -> Option<Box<dyn LoopPolicy>> {
    let at_least = chunk.unwrap_or(1);
    Some(match name {
        "static" => Box::new(Static::new(chunk)),
        "dynamic" => Box::new(Dynamic::new(at_least)),
        "guided" => Box::new(Guided::new(at_least)),
        "aid-static" => Box::new(AidStatic::new(at_least)),
        "aid-dynamic" => Box::new(AidDynamic::new(at_least)),
        "aid-affinity" => Box::new(AidAffinity::new(at_least)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_schedule_is_described_and_can_be_made() {
        assert!(ENTRIES.iter().map(|entry| entry.name).eq(NAMES.iter().copied()));
        assert!(NAMES.iter().all(|name| make(name).is_ok()));
    }

    #[test]
    fn a_schedule_that_is_none_is_named() {
        let message = |schedule| make(schedule).err().map(|error| error.to_string());
        assert_eq!(
            message("dinamic,4").as_deref(),
            Some(
                "no loop schedule 'dinamic'; there are static, dynamic, guided, aid-static, \
                 aid-dynamic, aid-affinity, each with ',CHUNK' where wanted"
            )
        );
        for chunk in ["0", "-1", "x", "", "1,2", "99999999999999999999"] {
            let error = make(&format!("dynamic,{chunk}")).err();
            let expected =
                LoopError::Chunk { schedule: format!("dynamic,{chunk}"), chunk: chunk.into() };
            assert_eq!(error, Some(expected));
        }
    }

    #[test]
    fn pieces_are_equal_and_no_crumb_is_left() {
        let pieces = |mut length: u64, wanted| {
            std::iter::from_fn(move || {
                let piece = Some(equal_piece(length, wanted)).filter(|&piece| piece > 0)?;
                length -= piece;
                Some(piece)
            })
        };
        assert!(
            pieces(30, 10).eq([10, 10, 10])
                && pieces(31, 10).eq([11, 10, 10])
                && pieces(14, 10).eq([14])
        );
        assert!(
            pieces(15, 10).eq([8, 7]) && pieces(3, 10).eq([3]) && pieces(0, 10).next().is_none()
        );
        assert_eq!((equal_piece(u64::MAX, 1), equal_piece(u64::MAX, u64::MAX)), (1, u64::MAX));
    }

    proptest! {
        #[test]
        fn every_iteration_is_handed_out_once_in_whatever_order_workers_come(
            policy in 0..NAMES.len(),
            chunk in prop::option::of(1u64..20),
            iterations in 0u64..300,
            order in prop::collection::vec(0u32..5, 400),
            times in prop::option::of(prop::collection::vec(0u64..50, 5)),
            speeds in prop::collection::vec(0.0..1e9, 0..7),
        ) {
            let chunk = chunk.map_or_else(String::new, |chunk| format!(",{chunk}"));
            let mut policy = make(&format!("{}{chunk}", NAMES[policy])).map_err(|e| TestCaseError::fail(e.to_string()))?;
            // Executions one after another: each may remember the one before only through
            // `start_again`.
            for again in [false, true, false] {
                if again { policy.start_again(iterations, 5, &speeds) } else { policy.start(iterations, 5) }
                let mut seen = vec![0; iterations as usize];
                for worker in order.iter().copied().chain((0..5).flat_map(|worker| [worker; 300])) {
                    let kind = KindId(worker as u8 % 3);
                    let Some((first, count)) = policy.take(worker, kind) else { continue };
                    prop_assert!(count > 0);
                    seen[first as usize..(first + count) as usize].iter_mut().for_each(|times| *times += 1);
                    if let Some(times) = &times {
                        policy.done(worker, kind, count, Nanos(times[worker as usize] * count));
                    }
                }
                prop_assert!(seen.iter().all(|&times| times == 1));
            }
        }
    }
}
