//! The state that the workers of a pool share.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crossbeam_deque::{Injector, Stealer, Worker as Deque};
use crossbeam_utils::CachePadded;
use evenkeel_machine::{KindId, Nanos};
use evenkeel_model::TaskGraph;
use evenkeel_policy::graph::victims::Victims;
use evenkeel_policy::graph::{self, UnknownGraphPolicy};

use crate::arena::{Arena, SharedBlocks};
use crate::batch::SharedBatches;
use crate::builder::Discipline;
use crate::central::{Central, CentralScheduler, OnlineTasks};
use crate::costs::{Costs, Label};
use crate::counts::Counts;
use crate::give_way::GiveWay;
use crate::job::JobRef;
use crate::lend::CoreLending;
use crate::loops::Schedule;
use crate::region::Regions;
use crate::reserve::Reserve;
use crate::sleep::Sleep;
use crate::sync::{AtomicBool, Ordering};
use crate::team::Team;
use crate::trace::Trace;
use crate::worker::Worker;

/// Seed of a policy behind a lock.
pub const SEED: u64 = 1;

/// What a pool's workers share: deques, sleep states, blocks, costs.
pub struct Registry {
    /// The core of each worker.
    pub team: Team,
    /// How tasks find their workers.
    pub discipline: Discipline,
    /// Idle workers and sleepers.
    pub sleep: Sleep,
    /// Workers that may be lent a core.
    pub lending: CoreLending,
    /// Indexed by worker.
    pub stealers: Box<[Stealer<JobRef>]>,
    /// Indexed by worker: the open part of its batches.
    pub shared_batches: Box<[SharedBatches]>,
    /// The schedule of loops without one of their own.
    pub schedule: Schedule,
    /// Learnt costs of tasks.
    pub costs: Arc<Costs>,
    /// True if costs are learnt by name. On cores of one kind nothing follows from them, unless a
    /// summary or a trace is asked for.
    pub learns: bool,
    /// Indexed by worker: what it has done.
    pub counts: Box<[Arc<CachePadded<Counts>>]>,
    /// The trace, if one was asked for.
    pub trace: Option<Trace>,
    /// True if this pool, or the pool around this region, is traced.
    pub is_traced: bool,
    /// Regions within.
    pub regions: Regions,
    /// The thread that works while the only worker is blocked. None: there are several workers.
    pub reserve: Option<Reserve>,
    made: Instant,
    /// Declined tasks. None: there is one kind of core only, or kinds do not count.
    pub give_way: Option<GiveWay>,
    /// Where workers ask for tasks, besides deques.
    pub central: Central,
    /// The source for tasks as they come. None: they go into deques.
    pub online: Option<Arc<OnlineTasks>>,
    /// Blocks that no worker has in stock.
    pub shared_blocks: Arc<SharedBlocks>,
    /// Blocks for threads that are no workers.
    pub external_arena: Mutex<Arena>,
    /// Indexed by kind of the team: work from outside.
    injectors: Box<[Injector<JobRef>]>,
    victims: Box<[Victims]>,
    ending: AtomicBool,
}

impl Registry {
    /// The registry of a team with these deques.
    ///
    /// # Errors
    /// The discipline's policy is not there.
    pub fn new(
        team: Team,
        discipline: Discipline,
        stealers: Box<[Stealer<JobRef>]>,
        schedule: Schedule,
    ) -> Result<Self, UnknownGraphPolicy> {
        let knows_kinds = discipline == Discipline::StealKind && team.kinds.len() > 1;
        let central = Central::default();
        let online = match discipline {
            Discipline::Steal | Discipline::StealKind => None,
            Discipline::Central(policy) => {
                let workers = graph::Team {
                    kinds: team.places.iter().map(|place| place.kind).collect(),
                    ..graph::Team::default()
                };
                let scheduler = CentralScheduler::new(
                    graph::make(policy, SEED)?,
                    TaskGraph::default(),
                    workers,
                );
                let online = Arc::new(OnlineTasks::new(scheduler));
                central.open(Arc::<OnlineTasks>::clone(&online));
                Some(online)
            }
        };
        let kinds: Vec<_> =
            (0..team.threads()).map(|thread| Some(team.place(thread).kind)).collect();
        let victims = |thief| {
            if knows_kinds {
                Victims::by_kind(thief, &kinds, kinds.iter().copied().max().flatten())
            } else {
                Victims::blind(thief, kinds.len())
            }
        };
        Ok(Self {
            discipline,
            sleep: Sleep::new(stealers.len()),
            lending: CoreLending::new(&team),
            shared_batches: stealers.iter().map(|_| SharedBatches::default()).collect(),
            schedule,
            costs: Arc::default(),
            learns: team.kinds.len() > 1,
            counts: kinds.iter().map(|_| Arc::default()).collect(),
            trace: None,
            is_traced: false,
            regions: Regions::default(),
            reserve: (team.places.len() == 1).then(Reserve::default),
            made: Instant::now(),
            give_way: knows_kinds.then(|| GiveWay::new(stealers.len())),
            central,
            online,
            shared_blocks: Arc::default(),
            external_arena: Mutex::default(),
            injectors: team.kinds.iter().map(|_| Injector::new()).collect(),
            victims: (0..kinds.len()).map(victims).collect(),
            stealers,
            ending: AtomicBool::new(false),
            team,
        })
    }

    /// The registry of a region of this one, and its deques.
    pub fn within(outer: Arc<Self>) -> (Self, Vec<Deque<JobRef>>) {
        let deques: Vec<_> = (0..outer.team.threads()).map(|_| Deque::new_lifo()).collect();
        let stealers = deques.iter().map(Deque::stealer).collect();
        // A worker that loses its core is lent another in the pool outside.
        let team = Team { lends: false, ..outer.team.clone() };
        let Ok(mut registry) = Self::new(team, outer.discipline, stealers, outer.schedule) else {
            unreachable!("the policy has been made once, of the same name")
        };
        // All visitors of a region come from outside, the reserve, too.
        registry.reserve = None;
        registry.costs = Arc::clone(&outer.costs);
        registry.shared_blocks = Arc::clone(&outer.shared_blocks);
        registry.counts = outer.counts.iter().map(Arc::clone).collect();
        (registry.learns, registry.is_traced, registry.made) =
            (outer.learns, outer.is_traced, outer.made);
        registry.sleep = Sleep::within(registry.stealers.len(), outer);
        (registry, deques)
    }

    /// The number of a name. 0: the name is not needed.
    pub fn label(&self, name: &'static str) -> Label {
        if !self.learns {
            return Label::default();
        }
        Worker::with_current_of(self, |worker| {
            worker.map_or_else(|| self.costs.label(name), |it| it.label(name))
        })
    }

    /// An instant, in nanoseconds since the pool was made.
    pub fn since_made(&self, at: Instant) -> Nanos {
        Nanos(at.saturating_duration_since(self.made).as_nanos() as u64)
    }

    /// A job from outside, for the fastest kind if it has the time.
    pub fn inject(&self, job: JobRef) {
        let Some(give_way) = &self.give_way else {
            self.injectors[0].push(job);
            self.sleep.work_appeared();
            return self.reserve.iter().for_each(Reserve::call);
        };
        give_way.note_call();
        self.injectors[0].push(job);
        // Slower workers that are idle may leave the job to one that sleeps.
        let slowest = self.team.kinds[self.team.kinds.len() - 1].id;
        match self.sleep.asleep().find(|&worker| self.team.place(worker).kind < slowest) {
            Some(faster) => self.sleep.wake(faster),
            None => self.sleep.work_appeared(),
        }
    }

    /// An independent task from outside.
    pub fn submit(&self, job: JobRef) {
        let unnumbered = match &self.online {
            None => Err(job),
            Some(online) => online.spawn(self, job, None),
        };
        self.reserve.iter().for_each(Reserve::call);
        unnumbered.err().into_iter().for_each(|job| self.inject(job));
    }

    /// Injectors in the order in which a worker on a kind of core looks at them: its own, then
    /// those of other kinds.
    pub fn injectors_for(&self, kind: KindId) -> impl Iterator<Item = &Injector<JobRef>> {
        let own = self.team.kinds.iter().position(|it| it.id == kind).unwrap_or_default();
        self.injectors[own..].iter().chain(&self.injectors[..own])
    }

    /// The order in which a worker steals.
    pub fn victims_of(&self, thief: usize) -> &Victims {
        &self.victims[thief]
    }

    /// How many jobs are in deques and injectors.
    pub fn jobs(&self) -> usize {
        let injected: usize = self.injectors.iter().map(Injector::len).sum();
        injected + self.stealers.iter().map(Stealer::len).sum::<usize>()
    }

    /// True if a job has come from outside.
    pub fn has_calls(&self) -> bool {
        self.injectors.iter().any(|injector| !injector.is_empty())
    }

    /// True if there is a job in any deque, injector or batch.
    pub fn has_work(&self) -> bool {
        self.has_calls()
            || self.stealers.iter().any(|stealer| !stealer.is_empty())
            || self.shared_batches.iter().any(|batches| !batches.is_empty())
    }

    /// True if workers are to return when they find no work.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Tells all workers to return.
    pub fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.sleep.wake_all();
        self.reserve.iter().for_each(Reserve::call);
    }
}

impl Drop for Registry {
    /// Writes the trace: the last owner drops it, a worker or the pool.
    fn drop(&mut self) {
        if let Some(trace) = self.trace.take() {
            trace.write(&self.team, self.costs.names());
        }
    }
}
