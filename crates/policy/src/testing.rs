//! A test bench for policies: a machine of big and little cores, threads whose statistics the test
//! sets, events that it delivers, and the policy's directives. Nothing runs by itself: the bench
//! carries out directives only as far as the view shows them (queue, core, running thread), so a
//! test sees the policy alone.

use evenkeel_machine::{
    Cluster, ClusterId, Core, CoreId, Costs, Kind, KindId, Machine, MicroWatts, Nanos,
    OperatingPoint, PerKind, Reference, Work,
};

use crate::contract::{
    AppId, CoreStats, Directive, Directives, Event, Policy, QueueId, StartError, State, ThreadId,
    ThreadStats, Tier, View,
};

use crate::weight::DEFAULT_WEIGHT;

/// Capacity of the bench's little cores.
pub const LITTLE: u32 = 512;

/// A machine with one cluster per kind: name, capacity and number of cores of each, fastest first.
pub fn machine(kinds: &[(&str, u32, u32)]) -> Machine {
    let mut cores = Vec::new();
    let mut clusters = Vec::new();
    for (rank, &(_, _, count)) in kinds.iter().enumerate() {
        let (kind, cluster) = (KindId(rank as u8), ClusterId(rank as u32));
        let first = cores.len() as u32;
        let ids: Vec<_> = (first..first + count).map(CoreId).collect();
        cores.extend(ids.iter().map(|&id| Core { id, cpu: id.0, kind, cluster, sibling: None }));
        clusters.push(Cluster { kind, cores: ids, cache_bytes: 1 << 20, bandwidth: None });
    }
    let kinds: Vec<_> = kinds
        .iter()
        .map(|&(name, capacity, _)| Kind {
            name: name.into(),
            capacity,
            opps: vec![OperatingPoint {
                khz: 1_000_000,
                capacity: f64::from(capacity),
                busy_power: Some(MicroWatts(1)),
                cluster_power: Some(MicroWatts(0)),
            }],
            idle_power: Some(MicroWatts(0)),
            source: String::new(),
            core: None,
        })
        .collect();
    let (fastest, slowest) = (kinds[0].top(), kinds[kinds.len() - 1].top());
    let reference = Reference {
        slowest_khz: slowest.khz,
        slowest_capacity: slowest.capacity,
        fastest_capacity: fastest.capacity,
    };
    Machine {
        name: "bench".into(),
        description: String::new(),
        source: String::new(),
        kinds,
        clusters,
        cores,
        costs: Costs::FREE,
        bandwidth: None,
        smt_speed: 1.0,
        sensor_interval: None,
        reference,
    }
}

/// The view of a policy on the bench. A macro, so that the policy can be borrowed mutably
/// meanwhile.
macro_rules! view {
    ($bench:ident) => {
        View {
            now: $bench.now,
            answer: $bench.answers,
            carried_out: $bench.answers,
            machine: &$bench.machine,
            schedutil: $bench.schedutil,
            cores: &$bench.cores,
            threads: &$bench.threads,
            live: &$bench.live,
            ran: &$bench.live,
            waiting: &$bench.waiting,
            affinity: &$bench.affinity,
        }
    };
}

/// A policy on the bench.
pub struct Bench {
    /// Number of the policy's answers, all carried out at once.
    answers: u64,
    /// The machine.
    pub machine: Machine,
    /// Time in the view; the test moves it.
    pub now: Nanos,
    /// True if the view says that the governor is schedutil.
    pub schedutil: bool,
    /// Statistics by core; the test may change them.
    pub cores: Vec<CoreStats>,
    /// Statistics by thread; the test may change them.
    pub threads: Vec<ThreadStats>,
    /// The policy's last answer.
    pub said: Vec<Directive>,
    /// The policy's answer to `start`.
    pub said_at_start: Vec<Directive>,
    live: Vec<ThreadId>,
    waiting: Vec<u32>,
    affinity: Vec<Option<Box<[CoreId]>>>,
    tiers: Vec<Vec<Tier>>,
    policy: Box<dyn Policy>,
    say: Directives,
}

impl Bench {
    /// A policy on `big` cores (lower numbers) and `little` ones of half their capacity.
    pub fn start(big: u32, little: u32, policy: Box<dyn Policy>) -> Self {
        match (big, little) {
            (0, little) => Self::on(machine(&[("little", 1024, little)]), policy),
            (big, 0) => Self::on(machine(&[("big", 1024, big)]), policy),
            _ => Self::on(machine(&[("big", 1024, big), ("little", LITTLE, little)]), policy),
        }
    }

    /// A policy on any machine. Panics if the policy refuses it.
    pub fn on(machine: Machine, policy: Box<dyn Policy>) -> Self {
        Self::try_on(machine, policy).unwrap_or_else(|why| panic!("refused: {why}"))
    }

    /// A policy on any machine.
    pub fn try_on(machine: Machine, policy: Box<dyn Policy>) -> Result<Self, StartError> {
        Self::governed(machine, false, policy)
    }

    /// The same with schedutil or another governor.
    pub fn governed(
        machine: Machine,
        schedutil: bool,
        policy: Box<dyn Policy>,
    ) -> Result<Self, StartError> {
        let count = machine.cores.len();
        let mut bench = Self {
            answers: 0,
            machine,
            now: Nanos::ZERO,
            schedutil,
            cores: vec![CoreStats { online: true, running: None, utilisation: 0 }; count],
            threads: Vec::new(),
            said: Vec::new(),
            said_at_start: Vec::new(),
            live: Vec::new(),
            waiting: Vec::new(),
            affinity: Vec::new(),
            tiers: vec![Vec::new(); count],
            policy,
            say: Directives::default(),
        };
        let view = view!(bench);
        bench.policy.start(&view, &mut bench.say)?;
        bench.carry_out();
        bench.said_at_start.clone_from(&bench.said);
        Ok(bench)
    }

    /// The policy's notes for people.
    pub fn notes(&self) -> Vec<String> {
        self.policy.notes()
    }

    /// A view in which these threads have had a core since the last timer.
    pub fn view_of<'a>(&'a self, ran: &'a [ThreadId]) -> View<'a> {
        View { ran, ..view!(self) }
    }

    /// Delivers an event and carries out the answer; see `said`.
    pub fn deliver(&mut self, event: Event) -> &[Directive] {
        self.deliver_at_once(&[event])
    }

    /// Delivers events of one instant, each with the view after all of them, and then carries out
    /// the answers.
    pub fn deliver_at_once(&mut self, events: &[Event]) -> &[Directive] {
        self.waiting.fill(0);
        for thread in &self.threads {
            if let (State::Ready, Some(queue)) = (thread.state, thread.queue) {
                self.waiting[queue.index()] += 1;
            }
        }
        let view = view!(self);
        for &event in events {
            self.policy.event(event, &view, &mut self.say);
        }
        self.carry_out();
        self.answers += 1;
        &self.said
    }

    /// A thread of this application starts, ready.
    pub fn spawn(&mut self, app: u32) -> ThreadId {
        self.spawn_thread(app, None, DEFAULT_WEIGHT, None)
    }

    /// A thread of this application and weight starts, ready.
    pub fn spawn_weighing(&mut self, app: u32, weight: u32) -> ThreadId {
        self.spawn_thread(app, None, weight, None)
    }

    /// A thread of the same application starts, forked by `parent`.
    pub fn fork(&mut self, parent: ThreadId) -> ThreadId {
        self.spawn_thread(self.threads[parent.index()].app.0, None, DEFAULT_WEIGHT, Some(parent))
    }

    /// A thread starts that may run on these cores only.
    pub fn spawn_on(&mut self, app: u32, cores: &[CoreId]) -> ThreadId {
        self.spawn_thread(app, Some(cores.into()), DEFAULT_WEIGHT, None)
    }

    fn spawn_thread(
        &mut self,
        app: u32,
        affinity: Option<Box<[CoreId]>>,
        weight: u32,
        parent: Option<ThreadId>,
    ) -> ThreadId {
        let thread = ThreadId(self.threads.len() as u32);
        let index_in_app =
            self.threads.iter().filter(|other| other.app == AppId(app)).count() as u32;
        self.threads.push(ThreadStats {
            app: AppId(app),
            group: 0,
            index_in_app,
            parent,
            weight,
            state: State::Ready,
            core: CoreId(0),
            runs: 0,
            queue: None,
            virtual_time: 0,
            started: self.now,
            time_on: PerKind::all(Nanos::ZERO),
            blocked: Nanos::ZERO,
            stalled: Nanos::ZERO,
            waiting: Nanos::ZERO,
            since: self.now,
            retired: Work::ZERO,
            since_milestone: Work::ZERO,
            to_milestone: None,
            speedup: PerKind::all(1.0),
            speedup_offline: PerKind::all(1.0),
            load: 0,
            restricted: affinity.is_some(),
        });
        self.affinity.push(affinity);
        self.live.push(thread);
        self.deliver(Event::Started(thread));
        thread
    }

    /// Puts a thread on a core, displacing the thread that runs there; the policy is not told.
    pub fn run(&mut self, thread: ThreadId, core: CoreId) {
        if let Some(before) = self.cores[core.index()].running.replace(thread) {
            self.threads[before.index()].state = State::Ready;
        }
        let stats = &mut self.threads[thread.index()];
        if stats.state == State::Running && stats.core != core {
            self.cores[stats.core.index()].running = None;
        }
        (stats.state, stats.core, stats.since) = (State::Running, core, self.now);
        stats.runs += 1;
    }

    /// Starts a thread of this load that runs on this core and belongs to its queue; the policy is
    /// told that it started.
    pub fn spawn_running(&mut self, core: u32, load: u16) -> ThreadId {
        let thread = self.spawn(0);
        let stats = &mut self.threads[thread.index()];
        (stats.queue, stats.load) = (Some(QueueId(core)), load);
        self.run(thread, CoreId(core));
        thread
    }

    /// A thread blocks, and the policy is told.
    pub fn block(&mut self, thread: ThreadId) {
        self.leave(thread, State::Blocked);
        self.deliver(Event::Blocked(thread));
    }

    /// A thread wakes, and the policy is told.
    pub fn wake(&mut self, thread: ThreadId) {
        let stats = &mut self.threads[thread.index()];
        (stats.state, stats.since) = (State::Ready, self.now);
        self.deliver(Event::Woke(thread));
    }

    /// A thread ends, and the policy is told.
    pub fn exit(&mut self, thread: ThreadId) {
        self.leave(thread, State::Exited);
        self.live.retain(|&other| other != thread);
        self.deliver(Event::Exited(thread));
    }

    /// A core comes or goes, and the policy is told.
    pub fn set_online(&mut self, core: CoreId, online: bool) {
        self.cores[core.index()].online = online;
        if let (false, Some(thread)) = (online, self.cores[core.index()].running.take()) {
            self.threads[thread.index()].state = State::Ready;
        }
        self.deliver(if online { Event::CoreOnline(core) } else { Event::CoreOffline(core) });
    }

    /// The queue that a thread is assigned to.
    pub fn queue_of(&self, thread: ThreadId) -> Option<QueueId> {
        self.threads[thread.index()].queue
    }

    /// The queues that a core serves, tier by tier.
    pub fn serves(&self, core: CoreId) -> Vec<QueueId> {
        self.tiers[core.index()].iter().flat_map(|tier| tier.queues.iter().copied()).collect()
    }

    fn leave(&mut self, thread: ThreadId, state: State) {
        let stats = &mut self.threads[thread.index()];
        if stats.state == State::Running {
            self.cores[stats.core.index()].running = None;
        }
        (stats.state, stats.since) = (state, self.now);
    }

    fn carry_out(&mut self) {
        self.said = self.say.drain().collect();
        let said = std::mem::take(&mut self.said);
        let mut moves = Vec::new();
        // The queues of an answer are made before the rest of it is carried out.
        let made =
            said.iter().filter(|directive| matches!(directive, Directive::MakeQueue(_))).count();
        self.waiting.resize(self.waiting.len() + made, 0);
        for directive in &said {
            match *directive {
                Directive::Assign(thread, queue) => {
                    assert!(
                        queue.index() < self.waiting.len(),
                        "assigned to {queue:?}, which is not there"
                    );
                    self.threads[thread.index()].queue = Some(queue);
                }
                Directive::AssignAll(ref threads) => {
                    for &(thread, queue) in threads {
                        assert!(
                            queue.index() < self.waiting.len(),
                            "assigned to {queue:?}, which is not there"
                        );
                        self.threads[thread.index()].queue = Some(queue);
                    }
                }
                Directive::Serve { core, ref tiers, .. } => {
                    let mut named = tiers.iter().flat_map(|tier| &tier.queues);
                    assert!(
                        named.all(|queue| queue.index() < self.waiting.len()),
                        "{core:?} serves what is not there"
                    );
                    self.tiers[core.index()].clone_from(tiers);
                    if let (true, Some(thread)) =
                        (tiers.is_empty(), self.cores[core.index()].running)
                    {
                        self.leave(thread, State::Ready);
                    }
                }
                Directive::Move(thread, core) if self.threads[thread.index()].runnable() => {
                    moves.push((thread, core))
                }
                Directive::Swap(a, b) => {
                    let (one, two) = (self.threads[a.index()], self.threads[b.index()]);
                    if one.state == State::Running && two.state == State::Running {
                        moves.extend([(a, two.core), (b, one.core)]);
                    }
                }
                Directive::Preempt(core) => {
                    if let Some(thread) = self.cores[core.index()].running {
                        self.leave(thread, State::Ready);
                    }
                }
                _ => {}
            }
        }
        for &(thread, _) in &moves {
            self.leave(thread, State::Ready);
        }
        for (thread, core) in moves {
            self.run(thread, core);
        }
        self.said = said;
    }
}
