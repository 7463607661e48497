//! The mechanism's state, and one look around: what was noted, what the policy says to it, what the
//! kernel side is told.

use std::io;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use evenkeel_machine::{CoreId, Machine, Nanos};
use evenkeel_mechanism::{Directed as _, Service};
use evenkeel_policy::pelt::Utilisation;
use evenkeel_policy::{
    CoreStats, Directives, Event, Interest, Policy, QueueId, State, ThreadId, ThreadStats, View,
};

use super::load::KernelSide;
use super::shared::{MAX_CPUS, MAX_QUEUES, NONE, TEMPLATE_SLOT, pending};
use super::thread::{Thread, UNIT};
use crate::observe::watch::Tid;
use crate::place::live::milestones::Milestones;
use crate::place::live::roster::Roster;
use crate::place::live::{Refusal, Sums, Totals, check_seen};

/// How often, at most, an answer to what an answer brought about is told again in one look.
const MAX_ANSWER_ROUNDS: usize = 4;
/// After so long a thread that was sent somewhere is no longer waited for (swap.bpf.h forgets it
/// then).
const TARGET_TIMEOUT: Nanos = Nanos::from_millis(60);
/// A thread that has waited for so long gets a core, whatever the policy has in mind: before the
/// kernel's watchdog (20 s) ends us all.
const STARVATION_LIMIT: Nanos = Nanos::from_secs(8);
/// Within so long all live threads are looked at for that, however many there are.
const SWEEP_PERIOD: Nanos = Nanos::from_secs(4);

/// How the mechanism works.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Speedup factors known beforehand, from the slowest to the fastest kind, by name of the
    /// command.
    pub factors: Vec<(String, f64)>,
    /// How many threads that have ended are remembered, for the record.
    pub remembers: usize,
    /// True if schedutil sets the clocks of all CPUs.
    pub schedutil: bool,
}

/// A thread that has been sent to a core, and in which answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub thread: ThreadId,
    pub answer: u64,
    pub until: Nanos,
}

/// A command for the kernel side, as this side has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub kind: u32,
    pub slot: u32,
    pub other: u32,
}

/// The mechanism over sched_ext: policy, view, and the kernel side that carries directives out.
/// Times inside are since `epoch`.
pub struct Mechanism {
    pub(super) kernel: KernelSide,
    pub(super) machine: Machine,
    policy: Box<dyn Policy>,
    pub(super) interest: Interest,
    pub(super) directives: Directives,
    pub(super) options: Options,
    epoch: Nanos,
    pub(super) now: Nanos,
    pub(super) answers: u64,
    pub(super) sent: Vec<Sent>,
    pub(super) timer: Option<(Nanos, Nanos)>,
    /// Until when the policy need not be told of its timer, as things were when it was last told.
    pub(super) quiet: Nanos,
    /// True if threads are running by what has been said: before, nothing has to be done about a
    /// change.
    pub(super) attached: bool,

    /// By CPU of the kernel.
    core_of: Vec<Option<CoreId>>,
    pub(super) roster: Roster,
    /// By slot.
    pub(super) holders: Vec<Option<ThreadId>>,
    pub(super) threads: Vec<Thread>,
    pub(super) stats: Vec<ThreadStats>,
    pub(super) affinity: Vec<Option<Box<[CoreId]>>>,
    pub(super) live: Vec<ThreadId>,
    pub(super) cores: Vec<CoreStats>,
    pub(super) waiting: Vec<u32>,
    /// By queue, whether it has a clock of its own.
    pub(super) queues: Vec<bool>,
    pub(super) utilisation: Vec<Utilisation>,
    /// By core, as of the last look: how often it had gone idle.
    pub(super) idles: Vec<u64>,
    /// All threads that are shown as running, and some that were.
    pub(super) shown_running: Vec<ThreadId>,
    pub(super) commands: Vec<Command>,
    pub(super) events: Vec<Event>,
    pub(super) milestones: Milestones,
    /// The live thread that was last looked at for how long it has waited, and when.
    swept: (usize, Nanos),
    changed_slots: Vec<u32>,
    /// Events that the kernel side had no room for, as of the last look.
    dropped: u64,
    /// Threads that have not ended and have no slot: of other classes by now. And where among them
    /// it is looked whether they have ended, and when last.
    pub(super) away: Vec<ThreadId>,
    sought: (usize, Nanos),
    pub(super) totals: Totals,
    /// Slots given back, ever.
    freed: u64,
}

/// What the policy sees. It borrows nothing else, so that the policy can be asked, and its answer
/// taken down.
macro_rules! view {
    ($mechanism:ident) => {
        View {
            now: $mechanism.now,
            answer: $mechanism.answers,
            carried_out: $mechanism
                .sent
                .iter()
                .map(|sent| sent.answer)
                .min()
                .unwrap_or($mechanism.answers),
            machine: &$mechanism.machine,
            schedutil: $mechanism.options.schedutil,
            cores: &$mechanism.cores,
            threads: &$mechanism.stats,
            live: &$mechanism.live,
            ran: &$mechanism.live,
            waiting: &$mechanism.waiting,
            affinity: &$mechanism.affinity,
        }
    };
}

/// The cores, by CPU of the kernel.
fn core_of(machine: &Machine) -> Result<Vec<Option<CoreId>>, Refusal> {
    let mut core_of = vec![None; MAX_CPUS];
    for core in &machine.cores {
        let place = core_of.get_mut(core.cpu as usize);
        *place.ok_or(Refusal::Beyond { cpu: core.cpu, room: MAX_CPUS })? = Some(core.id);
    }
    Ok(core_of)
}

impl Mechanism {
    /// Ready for threads: policy asked, kernel side told, not attached. `epoch`: the beginning of
    /// time, `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// Why the policy makes no sense on this machine.
    pub fn new(
        kernel: KernelSide,
        machine: Machine,
        policy: Box<dyn Policy>,
        options: Options,
        epoch: Nanos,
    ) -> Result<Self, Refusal> {
        check_seen(policy.interest())?;
        let count = machine.cores.len();
        let core_of = core_of(&machine)?;
        let slots = kernel.slots.len();
        let mut mechanism = Self {
            interest: policy.interest(),
            kernel,
            machine,
            policy,
            directives: Directives::default(),
            epoch,
            now: Nanos::ZERO,
            answers: 0,
            sent: Vec::new(),
            timer: None,
            quiet: Nanos::ZERO,
            attached: false,
            core_of,
            roster: Roster::new(options.remembers),
            options,
            holders: vec![None; slots],
            threads: Vec::new(),
            stats: Vec::new(),
            affinity: Vec::new(),
            live: Vec::new(),
            cores: vec![CoreStats { online: true, ..CoreStats::default() }; count],
            waiting: Vec::new(),
            queues: Vec::new(),
            utilisation: vec![Utilisation::default(); count],
            idles: vec![0; count],
            shown_running: Vec::new(),
            commands: Vec::new(),
            events: Vec::new(),
            milestones: Milestones::default(),
            swept: (0, Nanos::ZERO),
            changed_slots: Vec::new(),
            dropped: 0,
            away: Vec::new(),
            sought: (0, Nanos::ZERO),
            totals: Totals::default(),
            freed: 0,
        };
        mechanism.lay_out();
        mechanism.start_policy()?;
        mechanism.carry_out_all();
        mechanism.serve_all_if_none();
        Ok(mechanism)
    }

    /// Asks the policy how it begins, before there are threads.
    fn start_policy(&mut self) -> Result<(), Refusal> {
        let Self { policy, directives, machine, options, cores, .. } = self;
        let view = View {
            now: Nanos::ZERO,
            answer: 0,
            carried_out: 0,
            machine,
            schedutil: options.schedutil,
            cores,
            threads: &[],
            live: &[],
            ran: &[],
            waiting: &[],
            affinity: &[],
        };
        policy.start(&view, directives)?;
        Ok(())
    }

    /// What the kernel side has to know before it begins.
    fn lay_out(&mut self) {
        let globals = self.kernel.globals();
        let cpus = self.machine.cores.iter().map(|core| core.cpu as usize + 1).max().unwrap_or(1);
        let possible = super::support::possible_cpus().unwrap_or(cpus);
        globals.own_process.store(std::process::id(), Relaxed);
        globals.half_tick_ns.store(super::support::tick().0 / 2, Relaxed);
        globals.cpu_count.store(cpus.max(possible).min(MAX_CPUS) as u32, Relaxed);
        globals.slot_count.store(self.kernel.slots.len() as u32, Relaxed);
        for cpu in self.kernel.cpus.iter() {
            for nothing in
                [&cpu.running_slot, &cpu.last_slot, &cpu.sibling, &cpu.to_displace, &cpu.displaced]
            {
                nothing.store(NONE, Relaxed);
            }
            if cpu.is_used.load(Relaxed) == 0 {
                cpu.adopts_queue_id.store(NONE, Relaxed);
            }
        }
        for core in &self.machine.cores {
            let cpu = &self.kernel.cpus[core.cpu as usize];
            cpu.kind.store(u32::from(core.kind.0), Relaxed);
            cpu.cluster.store(core.cluster.index() as u32, Relaxed);
            let sibling =
                core.sibling.map_or(NONE, |sibling| self.machine.cores[sibling.index()].cpu);
            cpu.sibling.store(sibling, Relaxed);
            globals.machine[core.cpu as usize / 64].fetch_or(1 << (core.cpu % 64), Relaxed);
        }
        // Everything that a look must know of, and what the policy asks for beside it.
        let mut bits = pending::WOKE | pending::BLOCKED | pending::PICKED;
        if self.interest.wants(Interest::SLICE_USED) {
            bits |= pending::SLICE_USED;
        }
        globals.event_mask.store(bits, Relaxed);
        let template = Thread::new(Tid(0), Nanos::ZERO);
        self.write_order(TEMPLATE_SLOT, &template, UNIT, 0);
        self.write_slice(TEMPLATE_SLOT, &template.slice);
        for (place, slot) in (TEMPLATE_SLOT + 1..self.kernel.slots.len() as u32).enumerate() {
            self.kernel.free_slots[place].store(u64::from(slot), Relaxed);
            self.freed += 1;
        }
        globals.slots_freed.store(self.freed, Release);
    }

    /// Begins to schedule.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn attach(&mut self) -> Result<(), super::LoadError> {
        let globals = self.kernel.globals();
        globals.queue_count.store(self.queues.len() as u32, Relaxed);
        globals.heartbeat.store(crate::observe::watch::now().0, Relaxed);
        self.commands.clear();
        self.kernel.attach()?;
        self.attached = true;
        Ok(())
    }

    /// Has the kernel's own scheduler take over.
    pub(super) fn detach(&mut self) {
        self.attached = false;
        self.kernel.detach();
    }

    /// Another kernel side takes the place of one that has ended: threads are told to have left,
    /// and come back when they are told of there. Queues and what cores serve are as they were
    /// said.
    pub(super) fn begin_anew(&mut self, kernel: KernelSide, now: Nanos) {
        self.now = self.now.max(now.saturating_sub(self.epoch));
        self.quiet = Nanos::ZERO;
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            if self.threads[index].slot.is_some() {
                self.leave_slot(thread);
                self.away.push(thread);
            }
            self.leave(thread);
        }
        let before = std::mem::replace(&mut self.kernel, kernel);
        for (old, new) in before.queues.iter().zip(self.kernel.queues.iter()) {
            new.take_over(old);
        }
        for (old, new) in before.cpus.iter().zip(self.kernel.cpus.iter()) {
            new.take_over(old);
        }
        self.kernel
            .globals()
            .tracks_queue_weights
            .store(before.globals().tracks_queue_weights.load(Relaxed), Relaxed);
        self.holders.fill(None);
        self.sent.clear();
        self.idles.fill(0);
        (self.freed, self.dropped) = (0, 0);
        self.lay_out();
    }

    /// Which events the policy wants.
    pub fn interest(&self) -> Interest {
        self.interest
    }

    /// What the policy has to say on this machine.
    pub fn notes(&self) -> Vec<String> {
        self.policy.notes()
    }

    /// The kernel side.
    pub fn kernel(&self) -> &KernelSide {
        &self.kernel
    }

    /// Looks around; true if anything had happened. `now`: `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// The kernel side can no longer be told anything.
    pub fn look(&mut self, now: Nanos) -> io::Result<bool> {
        self.now = self.now.max(now.saturating_sub(self.epoch));
        self.kernel.globals().heartbeat.store(now.0, Relaxed);
        let (stats, threads) = (&self.stats, &self.threads);
        self.roster
            .forget(|thread| Sums::of(&stats[thread.index()], threads[thread.index()].migrations));
        let mut changed_slots = std::mem::take(&mut self.changed_slots);
        // Whatever comes from now on is unseen, though it may be taken in below.
        self.kernel.globals().unseen.store(0, SeqCst);
        self.kernel.changed_slots(&mut changed_slots);
        let dropped = self.kernel.globals().dropped_events.load(Relaxed);
        if std::mem::replace(&mut self.dropped, dropped) != dropped {
            // A slot with pending events has no further entry in the ring.
            let slots = 0..self.kernel.slots.len() as u32;
            changed_slots.extend(
                slots.filter(|&slot| self.kernel.slots[slot as usize].pending.load(Relaxed) != 0),
            );
        }
        self.take_in(&changed_slots);
        let any = !changed_slots.is_empty();
        changed_slots.clear();
        self.changed_slots = changed_slots;
        self.look_at_cores();
        self.refresh_loads();
        self.sent.retain(|sent| {
            let on_its_way = self.threads[sent.thread.index()].slot.is_some_and(|slot| {
                self.kernel.slots[slot as usize].target_cpu.load(Relaxed) != NONE
            });
            on_its_way && self.now < sent.until
        });
        self.tell();
        if let Some((period, due)) = self.timer
            && self.now >= due.max(self.quiet)
        {
            // Not from `due`: a late timer fires once, not twice.
            self.timer = Some((period, self.now.saturating_add(period)));
            self.events.push(Event::Timer);
            self.tell();
            self.quiet = self.policy.quiet_until(&view!(self)).unwrap_or(Nanos::ZERO);
        }
        self.sweep();
        self.look_for_ended();
        self.send_commands()?;
        Ok(any)
    }

    /// When the next look is due, at the latest (`CLOCK_MONOTONIC`), if nothing happens.
    pub fn due(&self) -> Option<Nanos> {
        self.timer.map(|(_, due)| due.max(self.quiet).saturating_add(self.epoch))
    }

    /// True if nothing is due before then, unless something changes.
    pub fn is_quiet(&self) -> bool {
        self.quiet > self.now
    }

    /// Tells the policy what happened, and does what it says to each.
    fn tell(&mut self) {
        for _ in 0..MAX_ANSWER_ROUNDS {
            let mut events = std::mem::take(&mut self.events);
            for event in events.drain(..) {
                let view = view!(self);
                self.policy.event(event, &view, &mut self.directives);
                // What it says, or is told of now, it did not count on.
                if matches!(event, Event::CoreIdle(_)) || !self.directives.is_empty() {
                    self.quiet = Nanos::ZERO;
                }
                if !self.directives.is_empty() {
                    self.carry_out_all();
                    self.answers += 1;
                }
            }
            if self.events.is_empty() {
                self.events = events;
                return;
            }
        }
    }

    /// Has the kernel side carry out the commands.
    fn send_commands(&mut self) -> io::Result<()> {
        let mut commands = std::mem::take(&mut self.commands);
        for portion in commands.chunks(self.kernel.commands.len()) {
            for (said, command) in portion.iter().zip(self.kernel.commands.iter()) {
                command.kind.store(said.kind, Relaxed);
                command.slot_index.store(said.slot, Relaxed);
                command.operand.store(said.other, Relaxed);
                command.done.store(0, Relaxed);
            }
            self.kernel.run_commands(portion.len())?;
            self.totals.calls += 1;
            let done = portion.iter().zip(self.kernel.commands.iter());
            let swaps = done.filter(|(said, command)| {
                said.kind == super::shared::command::SWAP && command.done.load(Relaxed) != 0
            });
            self.totals.swaps += swaps.count() as u64;
        }
        commands.clear();
        self.commands = commands;
        Ok(())
    }

    /// Looks at some threads whether they have waited for too long.
    fn sweep(&mut self) {
        let (mut place, before) = self.swept;
        let live = self.live.len() as u64;
        let due = (live * self.now.saturating_sub(before).0 / SWEEP_PERIOD.0).min(live);
        if due == 0 {
            return;
        }
        for _ in 0..due {
            place = (place + 1) % self.live.len();
            let thread = self.live[place];
            let stats = &self.stats[thread.index()];
            if stats.state != State::Ready
                || self.now.saturating_sub(stats.since) < STARVATION_LIMIT
            {
                continue;
            }
            self.read(thread);
            let stats = &self.stats[thread.index()];
            let anywhere = self.machine.cores.iter().map(|core| core.id);
            let usable =
                |core: &CoreId| self.cores[core.index()].online && self.allowed(thread, *core);
            let core =
                Some(stats.core).filter(usable).or_else(|| anywhere.into_iter().find(usable));
            if let (State::Ready, Some(core)) = (stats.state, core) {
                self.push_command(
                    super::shared::command::MOVE,
                    thread,
                    self.machine.cores[core.index()].cpu,
                );
            }
        }
        self.swept = (place, self.now);
    }

    /// Finds out which of some threads that have left this scheduler have ended: no event says so.
    fn look_for_ended(&mut self) {
        let (mut place, before) = self.sought;
        let away = self.away.len() as u64;
        let due = (away * self.now.saturating_sub(before).0 / SWEEP_PERIOD.0).min(away);
        if due == 0 && away > 0 {
            return;
        }
        for _ in 0..due {
            place = if place == 0 { self.away.len() } else { place.min(self.away.len()) } - 1;
            let thread = self.away[place];
            if self.is_gone(thread) {
                self.away.swap_remove(place);
                self.end(thread);
            }
        }
        self.sought = (place, self.now);
    }

    /// Notes a command for a thread.
    pub(super) fn push_command(&mut self, kind: u32, thread: ThreadId, other: u32) {
        if let (Some(slot), true) = (self.threads[thread.index()].slot, self.attached) {
            self.commands.push(Command { kind, slot, other });
        }
    }

    /// A thread has been sent to a core in the answer that is being carried out.
    pub(super) fn note_sent(&mut self, thread: ThreadId) {
        self.sent.push(Sent {
            thread,
            answer: self.answers,
            until: self.now.saturating_add(TARGET_TIMEOUT),
        });
    }

    /// Gives a slot back to the kernel side.
    pub(super) fn give_back(&mut self, slot: u32) {
        self.holders[slot as usize] = None;
        let places = self.kernel.free_slots.len() as u64;
        self.kernel.free_slots[(self.freed % places) as usize].store(u64::from(slot), Relaxed);
        self.freed += 1;
        self.kernel.globals().slots_freed.store(self.freed, Release);
    }

    pub(super) fn core_of(&self, cpu: u32) -> Option<CoreId> {
        self.core_of.get(cpu as usize).copied().flatten()
    }

    pub(super) fn since_epoch(&self, at: u64) -> Nanos {
        Nanos(at).saturating_sub(self.epoch)
    }

    pub(super) fn on_the_clock(&self, time: Nanos) -> Nanos {
        time.saturating_add(self.epoch)
    }

    pub(super) fn allowed(&self, thread: ThreadId, core: CoreId) -> bool {
        self.affinity[thread.index()].as_ref().is_none_or(|cores| cores.contains(&core))
    }

    /// A policy that says nothing of cores must not keep the machine from running.
    fn serve_all_if_none(&mut self) {
        if self.queues.is_empty() {
            self.make_queue(evenkeel_policy::Clock::Shared);
        }
        let served = self.kernel.cpus.iter().any(|cpu| cpu.is_used.load(Relaxed) != 0);
        if !served {
            let tier = vec![evenkeel_policy::Tier::least_key([QueueId(0)])];
            let service = Service::new(tier, None, self.queues.len());
            for core in 0..self.machine.cores.len() as u32 {
                self.serve(CoreId(core), service.clone());
            }
        }
    }

    /// Room for queues that a policy may make.
    pub(super) fn is_room_for_queues(&self) -> bool {
        self.queues.len() < MAX_QUEUES
    }

    /// Threads that have not ended, by number.
    pub fn live(&self) -> &[ThreadId] {
        &self.live
    }

    /// Statistics of all threads, by number.
    pub fn stats(&self) -> &[ThreadStats] {
        &self.stats
    }

    /// By thread, its number in `/proc`, and how often it changed cores.
    pub fn tids(&self) -> Vec<(Tid, u64)> {
        self.threads.iter().map(|state| (state.tid, state.migrations)).collect()
    }

    /// Threads by number, and their processes.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// By core, the time that it had threads of the policy's.
    pub fn busy(&self) -> Vec<Nanos> {
        self.machine
            .cores
            .iter()
            .map(|core| Nanos(self.kernel.cpus[core.cpu as usize].busy.load(Relaxed)))
            .collect()
    }

    /// Counts so far.
    pub fn totals(&self) -> Totals {
        let switches =
            self.machine.cores.iter().map(|core| &self.kernel.cpus[core.cpu as usize].switches);
        Totals {
            context_switches: switches.map(|switches| switches.load(Relaxed)).sum(),
            ..self.totals
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// When it began, `CLOCK_MONOTONIC`.
    pub fn epoch(&self) -> Nanos {
        self.epoch
    }
}
