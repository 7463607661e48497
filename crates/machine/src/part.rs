//! Parts of a machine: `2big+4little`.
//!
//! A part has the first cores of each kind, renumbered from 0 without gaps in their order. Clusters
//! and kinds without cores are left out. Capacities stay relative to the fastest kind of the whole
//! machine, and [`Machine::reference`] stays that of the whole: a core's speed does not depend on
//! the other cores in use.
//!
//! Cores are logical. Of a kind with SMT, one thread of each physical core is taken first, and
//! siblings only when each physical core has one: `8P` of eight cores with two threads is eight
//! whole cores, `16P` is all. Each keeps the operating system's number.

use crate::model::{Cluster, ClusterId, Core, CoreId, Costs, Kind, KindId, Machine};

/// Reason why there is no such part of a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubsetError {
    /// Not a sum of counts and kinds.
    #[error("cores '{spec}': '{term}' found, expected a count and a kind, such as 2{example}")]
    Term {
        /// The specification.
        spec: String,
        /// The part that is not understood; may be empty.
        term: String,
        /// A kind of this machine.
        example: String,
    },
    /// A kind that the machine does not have.
    #[error("cores '{spec}': no kind '{kind}' in {machine}, which has {known}")]
    UnknownKind {
        /// The specification.
        spec: String,
        /// The kind.
        kind: String,
        /// The machine.
        machine: String,
        /// Its kinds and their cores: `4big+4little`.
        known: String,
    },
    /// A kind whose name differs by case from several kinds of the machine.
    #[error("cores '{spec}': kind '{kind}' may be {}: expected one of them as it is \
             written", meant.join(" or "))]
    Ambiguous {
        /// The specification.
        spec: String,
        /// The kind.
        kind: String,
        /// Kinds whose names differ from it by case.
        meant: Vec<String>,
    },
    /// A kind more than once.
    #[error("cores '{spec}': kind '{kind}' is named twice")]
    Twice {
        /// The specification.
        spec: String,
        /// The kind.
        kind: String,
    },
    /// More cores than there are.
    #[error("cores '{spec}': {wanted} {kind} asked for, {machine} has {available}")]
    TooMany {
        /// The specification.
        spec: String,
        /// The kind.
        kind: String,
        /// The count asked for, as written.
        wanted: String,
        /// The machine.
        machine: String,
        /// Logical cores of the kind.
        available: usize,
    },
    /// No core at all.
    #[error("cores '{spec}': no core is left, expected at least one")]
    None {
        /// The specification.
        spec: String,
    },
}

impl Machine {
    /// The part that `spec` names: counts and kinds joined by `+`, such as `2big+4little`. Kinds
    /// that it does not name are left out, as are those with count 0. Blanks around a term are
    /// allowed. The case of a kind may differ if that is unambiguous.
    ///
    /// # Errors
    /// A term that is not a count and a kind, a kind that does not exist, is named twice or is
    /// ambiguous, more cores than there are, no core at all.
    pub fn subset(&self, spec: &str) -> Result<Self, SubsetError> {
        let mut wanted: Vec<Option<usize>> = vec![None; self.kinds.len()];
        for term in spec.split('+').map(str::trim) {
            let (count, kind) =
                term.split_at(term.find(|c: char| !c.is_ascii_digit()).unwrap_or(term.len()));
            if count.is_empty() || kind.is_empty() {
                let example = self.kinds.first().map_or_else(String::new, |kind| kind.name.clone());
                return Err(SubsetError::Term {
                    spec: spec.to_owned(),
                    term: term.to_owned(),
                    example,
                });
            }
            let Some(rank) = self.kind_named(kind).map_err(|meant| SubsetError::Ambiguous {
                spec: spec.to_owned(),
                kind: kind.to_owned(),
                meant,
            })?
            else {
                return Err(SubsetError::UnknownKind {
                    spec: spec.to_owned(),
                    kind: kind.to_owned(),
                    machine: self.name.clone(),
                    known: self.cores_label(),
                });
            };
            let available = self.cores_of(KindId(rank as u8)).count();
            // A count too long for an integer is too many, too.
            let count = match count.parse::<usize>() {
                Ok(number) if number <= available => number,
                _ => {
                    return Err(SubsetError::TooMany {
                        spec: spec.to_owned(),
                        kind: kind.to_owned(),
                        wanted: count.to_owned(),
                        machine: self.name.clone(),
                        available,
                    });
                }
            };
            if wanted[rank].replace(count).is_some() {
                return Err(SubsetError::Twice { spec: spec.to_owned(), kind: kind.to_owned() });
            }
        }
        let counts: Vec<usize> = wanted.into_iter().map(Option::unwrap_or_default).collect();
        if counts.iter().all(|count| *count == 0) {
            return Err(SubsetError::None { spec: spec.to_owned() });
        }
        Ok(self.part(&counts))
    }

    /// The rank of the kind of this name, else of the only one that differs from it by case; `Err`
    /// if several do.
    fn kind_named(&self, name: &str) -> Result<Option<usize>, Vec<String>> {
        if let Some(rank) = self.kinds.iter().position(|kind| kind.name == name) {
            return Ok(Some(rank));
        }
        let alike =
            |(rank, kind): (usize, &Kind)| kind.name.eq_ignore_ascii_case(name).then_some(rank);
        let ranks: Vec<usize> = self.kinds.iter().enumerate().filter_map(alike).collect();
        match ranks[..] {
            [] => Ok(None),
            [rank] => Ok(Some(rank)),
            _ => Err(ranks.into_iter().map(|rank| self.kinds[rank].name.clone()).collect()),
        }
    }

    /// The part with all cores of a kind of this machine.
    ///
    /// # Panics
    /// As indexing does: if the machine has no kind of that rank.
    #[must_use]
    pub fn only_kind(&self, kind: KindId) -> Self {
        self.first_of(kind, self.cores_of(kind).count())
    }

    /// The part with one core, of a kind of this machine.
    ///
    /// # Panics
    /// As indexing does: if the machine has no kind of that rank.
    #[must_use]
    pub fn one_core(&self, kind: KindId) -> Self {
        self.first_of(kind, 1)
    }

    /// The same machine, but scheduling costs nothing.
    #[must_use]
    pub fn with_free_costs(&self) -> Self {
        Self { costs: Costs::FREE, ..self.clone() }
    }

    fn first_of(&self, kind: KindId, count: usize) -> Self {
        let mut counts = vec![0; self.kinds.len()];
        counts[kind.index()] = count;
        self.part(&counts)
    }

    /// The part with `counts[k]` logical cores of kind `k`: at most as many as there are, at least
    /// one in all.
    fn part(&self, counts: &[usize]) -> Self {
        let mut taken = vec![false; self.cores.len()];
        for (rank, count) in counts.iter().enumerate() {
            // A core whose sibling comes before it is the second thread of its physical core.
            let is_second = |core: CoreId| {
                self.cores[core.index()].sibling.is_some_and(|sibling| sibling < core)
            };
            let of_kind = || self.cores_of(KindId(rank as u8));
            let firsts = of_kind().filter(|core| !is_second(*core));
            let seconds = of_kind().filter(|core| is_second(*core));
            for core in firsts.chain(seconds).take(*count) {
                taken[core.index()] = true;
            }
        }
        let new_kind = renumbered(counts.iter().map(|count| *count > 0));
        let new_core = renumbered(taken.iter().copied());
        let has_cores = |cluster: &Cluster| cluster.cores.iter().any(|core| taken[core.index()]);
        let new_cluster = renumbered(self.clusters.iter().map(has_cores));

        let kinds: Vec<Kind> = self
            .kinds
            .iter()
            .zip(&new_kind)
            .filter_map(|(kind, new)| new.map(|_| kind.clone()))
            .collect();
        let kind_id = |kind: KindId| new_kind[kind.index()].map(|new| KindId(new as u8));
        let core_id = |core: CoreId| new_core[core.index()].map(CoreId);
        let cluster_id = |cluster: ClusterId| new_cluster[cluster.index()].map(ClusterId);
        let cores = self.cores.iter().filter_map(|core| {
            Some(Core {
                id: core_id(core.id)?,
                cpu: core.cpu,
                kind: kind_id(core.kind)?,
                cluster: cluster_id(core.cluster)?,
                sibling: core.sibling.and_then(core_id),
            })
        });
        let clusters = self.clusters.iter().zip(&new_cluster).filter_map(|(cluster, new)| {
            new.and(Some(Cluster {
                kind: kind_id(cluster.kind)?,
                cores: cluster.cores.iter().filter_map(|core| core_id(*core)).collect(),
                ..cluster.clone()
            }))
        });
        Self { kinds, cores: cores.collect(), clusters: clusters.collect(), ..self.clone() }
    }
}

/// New numbers, from 0, of those that are kept.
fn renumbered(kept: impl Iterator<Item = bool>) -> Vec<Option<u32>> {
    let number = |next: &mut u32, kept: bool| {
        let new = kept.then_some(*next);
        *next += u32::from(kept);
        Some(new)
    };
    kept.scan(0, number).collect()
}
