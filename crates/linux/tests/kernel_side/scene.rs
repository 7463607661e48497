//! Random scenes: what cores, queues and threads are when something is to be picked.

use std::fmt::Write as _;

use evenkeel_files::machines;
use evenkeel_machine::{CoreId, Machine, Nanos};
use evenkeel_mechanism::picking::{self, Candidate};
use evenkeel_mechanism::{Guests, Service};
use evenkeel_policy::{Choose, Order, QueueId, Start, ThreadId, Tier};
use proptest::prelude::*;

/// Virtual times and keys are multiples of this, so that no two are near.
const STEP: u64 = 2_000_000;

/// A thread of a scene; its sequence is its number.
#[derive(Clone, Debug)]
pub struct Thread {
    pub queue: usize,
    pub key: u64,
    pub weight: u32,
    pub allowed: u16,
    pub last_core: usize,
    pub woken: bool,
}

/// How all threads of a queue are ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    VirtualTime,
    Deadline,
    Fixed,
    Arrival,
}

#[derive(Clone, Debug)]
pub struct Queue {
    pub rule: Rule,
    pub margin: u64,
    pub prefer: Vec<CoreId>,
}

#[derive(Clone, Debug)]
pub struct Core {
    pub tiers: Vec<(bool, Vec<usize>)>,
    pub adopt: Option<usize>,
    pub guests: Vec<usize>,
    pub behind: u64,
    /// What it runs, or has run last: a thread that waits, runs, or is at the end of its slice.
    pub thread: Option<usize>,
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Idle,
    Runs,
    /// Its thread's slice is over: the thread competes with those that wait.
    Over,
}

#[derive(Clone, Debug)]
pub struct Scene {
    pub machine: Machine,
    pub cores: Vec<Core>,
    pub queues: Vec<Queue>,
    pub threads: Vec<Thread>,
    pub postpone: [Nanos; 3],
    pub services: Vec<Service>,
    pub guests: Vec<Guests>,
}

impl Scene {
    pub fn candidate(&self, thread: usize) -> Candidate {
        let it = &self.threads[thread];
        let order = match self.queues[it.queue].rule {
            Rule::VirtualTime => Order::VirtualTime { weight: it.weight, start: Start::Keep },
            Rule::Deadline => {
                Order::Deadline { at: Nanos(it.key), renew: Nanos::ZERO, postpone: self.postpone }
            }
            Rule::Fixed => Order::Fixed { key: it.key, step: 0 },
            Rule::Arrival => Order::Arrival,
        };
        Candidate {
            thread: ThreadId(thread as u32),
            order,
            virtual_time: it.key,
            weight: it.weight,
            sequence: thread as u64,
            woken: it.woken,
            last_core: CoreId(it.last_core as u32),
        }
    }

    /// True if the thread is that of a core in this state.
    fn is(&self, thread: usize, state: State) -> bool {
        self.cores.iter().any(|core| core.thread == Some(thread) && core.state == state)
    }

    pub fn waits(&self, thread: usize) -> bool {
        !self.is(thread, State::Runs)
    }

    /// The question and the scene, as `picks.c` reads them.
    pub fn question(&self, what: &str, about: usize, over: Option<usize>) -> String {
        let or_none = |it: Option<usize>| it.map_or(-1, |it| it as i64);
        let mut text = format!(
            "{what} {about} {} {} {} {}\n",
            or_none(over),
            self.cores.len(),
            self.queues.len(),
            self.threads.len()
        );
        for (core, of) in self.cores.iter().zip(&self.machine.cores) {
            let runs = core.thread.filter(|_| core.state == State::Runs);
            let (idle, last) = (u8::from(core.state == State::Idle), or_none(core.thread));
            let (kind, cluster) = (of.kind.0, of.cluster.0);
            let (runs, adopt) = (or_none(runs), or_none(core.adopt));
            let (behind, count) = (core.behind, core.guests.len());
            write!(text, "{kind} {cluster} {idle} {last} {runs} {adopt} {behind} {count} ")
                .unwrap();
            core.guests.iter().for_each(|guest| write!(text, "{guest} ").unwrap());
            write!(text, "{} ", core.tiers.len()).unwrap();
            for (by_load, queues) in &core.tiers {
                write!(text, "{} {} ", u8::from(*by_load), queues.len()).unwrap();
                queues.iter().for_each(|queue| write!(text, "{queue} ").unwrap());
            }
        }
        for queue in &self.queues {
            write!(text, "{} {} ", queue.margin, queue.prefer.len()).unwrap();
            queue.prefer.iter().for_each(|core| write!(text, "{} ", core.0).unwrap());
        }
        for (number, thread) in self.threads.iter().enumerate() {
            let rule = self.queues[thread.queue].rule as u8;
            let Thread { queue, key, weight, allowed, last_core, woken } = thread;
            let [near, cluster, far] = self.postpone.map(|it| it.0);
            let waits = u8::from(self.waits(number) && over != Some(number));
            let woken = u8::from(*woken);
            writeln!(
                text,
                "{queue} {rule} {key} {weight} {allowed} {last_core} {woken} {near} {cluster} \
                 {far} {waits}"
            )
            .unwrap();
        }
        text
    }
}

impl picking::Scene for Scene {
    fn machine(&self) -> &Machine {
        &self.machine
    }

    fn service(&self, core: CoreId) -> &Service {
        &self.services[core.index()]
    }

    fn guests(&self, core: CoreId) -> &Guests {
        &self.guests[core.index()]
    }

    fn waiting(&self, queue: QueueId) -> impl Iterator<Item = Candidate> + '_ {
        let waits = move |&it: &usize| self.threads[it].queue == queue.index() && self.waits(it);
        (0..self.threads.len()).filter(waits).map(|it| self.candidate(it))
    }

    fn waits_in(&self, thread: ThreadId) -> Option<QueueId> {
        let queue = QueueId(self.threads[thread.index()].queue as u32);
        self.waits(thread.index()).then_some(queue)
    }

    fn allows(&self, thread: ThreadId, core: CoreId) -> bool {
        self.threads[thread.index()].allowed >> core.0 & 1 == 1
    }

    fn last_on(&self, core: CoreId) -> Option<ThreadId> {
        self.cores[core.index()].thread.map(|thread| ThreadId(thread as u32))
    }

    fn is_free_for(&self, core: CoreId, _thread: ThreadId) -> bool {
        self.cores[core.index()].state == State::Idle
    }

    fn preemptible(&self, core: CoreId) -> Option<(Candidate, QueueId)> {
        let on = &self.cores[core.index()];
        let running = on.thread.filter(|_| on.state == State::Runs)?;
        Some((self.candidate(running), QueueId(self.threads[running].queue as u32)))
    }
}

/// The queues in a random order, parted into tiers.
fn tiers(queues: usize) -> impl Strategy<Value = Vec<(bool, Vec<usize>)>> {
    let order = Just((0..queues).collect::<Vec<_>>()).prop_shuffle();
    let lengths = prop::collection::vec((prop::bool::weighted(0.3), 1..=queues), 1..=3);
    (order, lengths).prop_map(|(mut left, lengths)| {
        let mut tiers = Vec::new();
        for (by_load, length) in lengths {
            let queues: Vec<usize> = left.drain(..length.min(left.len())).collect();
            if !queues.is_empty() {
                tiers.push((by_load, queues));
            }
        }
        tiers
    })
}

fn core(queues: usize) -> impl Strategy<Value = Core> {
    let guests = prop::collection::vec(0..queues, 0..=2);
    (tiers(queues), prop::option::of(0..queues), guests, 0_u64..6).prop_map(
        |(tiers, adopt, mut guests, behind)| {
            guests.dedup();
            // A core's own queue and its guests' are different ones.
            guests.retain(|guest| *guest != tiers[0].1[0]);
            let (thread, state) = (None, State::Idle);
            Core { tiers, adopt, guests, behind: behind * STEP, thread, state }
        },
    )
}

fn queue(cores: usize) -> impl Strategy<Value = Queue> {
    let rules = [Rule::VirtualTime, Rule::Deadline, Rule::Fixed, Rule::Arrival];
    let order = Just((0..cores as u32).map(CoreId).collect::<Vec<_>>()).prop_shuffle();
    (prop::sample::select(rules.to_vec()), 0_u64..4, order, any::<bool>()).prop_map(
        |(rule, margin, prefer, prefers)| {
            let prefer = if prefers { prefer } else { Vec::new() };
            Queue { rule, margin: margin * STEP, prefer }
        },
    )
}

fn thread(queues: usize, cores: usize) -> impl Strategy<Value = Thread> {
    let of = (0..queues, 0_u64..12, 1_u32..4, any::<u16>(), 0..cores, any::<bool>());
    of.prop_map(|(queue, key, weight, allowed, last_core, woken)| Thread {
        queue,
        key,
        weight,
        allowed,
        last_core,
        woken,
    })
}

/// What a core does, and with which thread; a thread that is taken already is left where it is.
fn state(threads: usize) -> impl Strategy<Value = (State, usize)> {
    (prop::sample::select(vec![State::Idle, State::Runs, State::Over]), 0..threads)
}

/// Scenes on some machines that are built in.
pub fn scenes() -> impl Strategy<Value = Scene> {
    let machine = prop::sample::select(vec!["odroid-xu3", "juno-r0", "rk3588", "amp-1f7s"]);
    (machine, 1_usize..6, 1_usize..16).prop_flat_map(|(machine, queues, threads)| {
        let machine = machines::preset(machine).unwrap();
        let count = machine.cores.len();
        (
            Just(machine),
            prop::collection::vec(core(queues), count),
            prop::collection::vec(queue(count), queues),
            prop::collection::vec(thread(queues, count), threads),
            prop::collection::vec(state(threads), count),
            (0_u64..8, 0_u64..8),
        )
            .prop_map(|(machine, cores, queues, threads, states, postpone)| {
                built(machine, cores, queues, threads, &states, postpone)
            })
    })
}

fn built(
    machine: Machine,
    mut cores: Vec<Core>,
    queues: Vec<Queue>,
    mut threads: Vec<Thread>,
    states: &[(State, usize)],
    postpone: (u64, u64),
) -> Scene {
    let by_load = cores.iter().flat_map(|core| &core.tiers).any(|tier| tier.0);
    for (number, thread) in threads.iter_mut().enumerate() {
        if by_load {
            thread.allowed = u16::MAX;
        }
        // No two virtual times are near; other keys may be equal.
        thread.key = match queues[thread.queue].rule {
            Rule::VirtualTime => (thread.key * 16 + number as u64) * STEP,
            _ => thread.key * STEP,
        };
    }
    // The thread at the end of its slice has come last, and its key is no other's.
    let last = threads.len() - 1;
    let mut taken = Vec::new();
    for (number, &(state, thread)) in states.iter().enumerate() {
        let thread = if state == State::Over { last } else { thread };
        let queue = threads[thread].queue;
        let core = &mut cores[number];
        let may_be = match state {
            State::Idle => false,
            State::Runs => !taken.contains(&thread),
            State::Over => !taken.contains(&thread) && queues[queue].rule != Rule::Arrival,
        };
        if may_be {
            let it = &mut threads[thread];
            (it.last_core, it.woken) = (number, false);
            it.allowed |= 1 << number;
            if state == State::Over {
                it.key += STEP / 2;
            }
            (core.state, core.thread) = (state, Some(thread));
            taken.push(thread);
        } else if !core.guests.contains(&queue) && !taken.contains(&thread) {
            // An idle core whose last thread waits: a thread with a deadline sticks to it.
            core.thread = Some(thread);
        }
    }
    let service = |core: &Core| {
        let tiers = core.tiers.iter().map(|(by_load, queues)| Tier {
            queues: queues.iter().map(|&queue| QueueId(queue as u32)).collect(),
            choose: if *by_load { Choose::MostLoaded } else { Choose::LeastKey },
        });
        let adopt = core.adopt.map(|queue| QueueId(queue as u32));
        Service::new(tiers.collect(), adopt, queues.len())
    };
    let guests = |core: &Core| {
        let of = core.guests.iter().map(|&queue| QueueId(queue as u32)).collect();
        Guests::new(of, core.behind, queues.len())
    };
    let services = cores.iter().map(service).collect();
    let guests = cores.iter().map(guests).collect();
    // Odd, so that a postponed deadline is no other's.
    let postpone = [0, postpone.0 * STEP + 1, postpone.1 * STEP + 3].map(Nanos);
    Scene { machine, cores, queues, threads, postpone, services, guests }
}
