//! Which cores there are for workers, and of which kinds.

use std::path::Path;

use evenkeel_machine::discover::{Given, discover};
use evenkeel_machine::{FULL_CAPACITY, KindId, KindList, ListedKind, write_cpus};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::error::PoolError;
use crate::reserve::RESERVE;

/// A kind of core that workers are on.
#[derive(Clone, Debug, PartialEq)]
pub struct KindOfCore {
    /// Its rank in the machine: 0 is the fastest.
    pub id: KindId,
    /// `big`, `little`, `P`, `E`, …
    pub name: String,
    /// Speed relative to the fastest kind of the machine (1024).
    pub capacity: u32,
}

/// The core of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of its core.
    pub kind: KindId,
    /// Its core, as the operating system counts; `None`: wherever the system puts it.
    pub cpu: Option<u32>,
}

/// The workers' cores: one place per worker, fastest kind first.
#[derive(Clone, Debug, PartialEq)]
pub struct Team {
    /// Kinds that places are of, fastest first.
    pub kinds: Vec<KindOfCore>,
    /// Indexed by worker.
    pub places: Vec<Place>,
    /// True if they lend each other their cores.
    pub lends: bool,
}

impl Team {
    /// The cores that this process may use, of the kinds that `stated` names, each with its CPUs;
    /// of those that the system tells where that is `None`. The text is what a message calls them.
    ///
    /// # Errors
    /// None of the CPUs that are stated may be used.
    pub fn here(stated: Option<(String, KindList)>) -> Result<Self, PoolError> {
        let allowed = allowed_cpus();
        let Some((machine, kinds)) = stated else {
            let given = Given { allowed: allowed.clone(), ..Given::default() };
            return Ok(match discover(Path::new("/sys"), &given) {
                Ok(detected) => Self::of(&KindList::from(&detected.machine), &|_| true),
                Err(_) => Self::alike(allowed),
            });
        };
        let may_use = |cpu: u32| allowed.as_ref().is_none_or(|allowed| allowed.contains(&cpu));
        let team = Self::of(&kinds, &may_use);
        if team.places.is_empty() {
            return Err(PoolError::Elsewhere {
                machine,
                cpus: write_cpus(kinds.0.into_iter().flat_map(|kind| kind.cpus)),
                allowed: write_cpus(allowed.unwrap_or_default()),
            });
        }
        Ok(team)
    }

    /// The CPUs of some kinds that may be used.
    fn of(kinds: &KindList, may_use: &dyn Fn(u32) -> bool) -> Self {
        let (mut there, mut places) = (Vec::new(), Vec::new());
        for (ListedKind { name, capacity, cpus }, id) in kinds.0.iter().zip((0..).map(KindId)) {
            let before = places.len();
            places.extend(
                cpus.iter()
                    .filter(|&&cpu| may_use(cpu))
                    .map(|&cpu| Place { kind: id, cpu: Some(cpu) }),
            );
            if places.len() > before {
                there.push(KindOfCore { id, name: name.clone(), capacity: *capacity });
            }
        }
        Self { kinds: there, places, lends: true }
    }

    /// A team on a system that says nothing of its cores: all alike.
    fn alike(cpus: Option<Vec<u32>>) -> Self {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let cpus =
            cpus.map_or_else(|| vec![None; count], |cpus| cpus.into_iter().map(Some).collect());
        let places = cpus.into_iter().map(|cpu| Place { kind: KindId(0), cpu }).collect();
        let kinds =
            vec![KindOfCore { id: KindId(0), name: "core".into(), capacity: FULL_CAPACITY }];
        Self { kinds, places, lends: true }
    }

    /// So many workers: on the fastest cores, and round again if there are more workers than cores.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        let mut places: Vec<_> = self.places.iter().copied().cycle().take(workers).collect();
        places.sort_by_key(|place| place.kind);
        self.kinds.retain(|kind| places.iter().any(|place| place.kind == kind.id));
        self.places = places;
        self
    }

    /// At most so many workers, on the fastest cores.
    #[must_use]
    pub fn within(self, most: usize) -> Self {
        if self.places.len() > most { self.with_workers(most.max(1)) } else { self }
    }

    /// How many threads there are: a pool of one worker has a reserve.
    pub fn threads(&self) -> usize {
        self.places.len().max(RESERVE + 1)
    }

    /// The place of a worker, or of the reserve: any core.
    pub fn place(&self, thread: usize) -> Place {
        self.places.get(thread).copied().unwrap_or(Place { kind: self.places[0].kind, cpu: None })
    }

    /// True if no other worker is on its core.
    pub fn has_own_core(&self, worker: usize) -> bool {
        let cpu = self.place(worker).cpu;
        cpu.is_some() && self.places.iter().filter(|place| place.cpu == cpu).count() == 1
    }

    /// Workers go where the system puts them.
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        self.places.iter_mut().for_each(|place| place.cpu = None);
        self
    }
}

fn allowed_cpus() -> Option<Vec<u32>> {
    let set = sched_getaffinity(None).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> KindList {
        KindList::from(&evenkeel_files::machines::preset("rk3588").unwrap())
    }

    #[test]
    fn the_fastest_cores_come_first_whatever_their_numbers() {
        let team = Team::of(&machine(), &|_| true);
        assert_eq!(team.places.len(), 8);
        assert!(team.places.is_sorted_by_key(|place| place.kind) && team.kinds.len() > 1);
        assert_eq!(team.places[0].cpu, Some(4), "rk3588: the big cores are CPUs 4 to 7");
    }

    #[test]
    fn a_quota_leaves_the_fastest_cores_and_adds_none() {
        let team = Team::of(&machine(), &|_| true);
        let bounded = team.clone().within(3);
        assert_eq!(bounded.places, team.places[..3]);
        assert_eq!((team.clone().within(0).places.len(), team.clone().within(99)), (1, team));
    }

    #[test]
    fn cores_that_may_not_be_used_are_left_out_and_so_are_their_kinds() {
        let team = Team::of(&machine(), &|cpu| cpu < 2);
        assert_eq!(team.kinds.len(), 1);
        assert_eq!(
            team.places.iter().map(|place| place.cpu).collect::<Vec<_>>(),
            [Some(0), Some(1)]
        );
    }

    #[test]
    fn more_workers_than_cores_go_round_and_fewer_take_the_fastest() {
        let team = Team::of(&machine(), &|cpu| cpu == 0 || cpu == 4);
        let kinds = |workers| {
            team.clone().with_workers(workers).places.iter().map(|it| it.kind.0).collect::<Vec<_>>()
        };
        assert_eq!((kinds(1), kinds(3)), (vec![0], vec![0, 0, 1]));
        assert_eq!(team.with_workers(1).kinds.len(), 1);
    }
}
