//! The kernel's side of sched_ext picks as the plain reference does.
//!
//! The C code that decides in the kernel (`src/bpf/queues.bpf.h`) is compiled for user space,
//! beside a kernel of a hundred lines (`kernel_side/kernel.h`). Both are asked the same questions
//! on random scenes. No root, clang or virtual machine is needed.
//!
//! Where the kernel's side differs on purpose, the scenes leave that out or the test says it:
//!
//! - of threads whose virtual times are within 1 ms it takes one that ran on the CPU before: here
//!   virtual times are 2 ms apart;
//! - an idle CPU where the thread was last comes before others of its kind;
//! - after a queue chosen by load that has no thread for the CPU, it takes the tier's queues in
//!   their order: where tiers go by load, all threads may run everywhere;
//! - it sees at most 32 threads of a queue: there are fewer.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use evenkeel_files::machines;
use evenkeel_machine::{CoreId, Machine, Nanos};
use evenkeel_mechanism::picking::{self, Candidate};
use evenkeel_mechanism::{Guests, Service};
use evenkeel_policy::{Choose, Order, QueueId, Start, ThreadId, Tier};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// Random scenes.
const SCENES: u32 = 2_000;
/// Virtual times and keys are multiples of this, so that no two are near.
const STEP: u64 = 2_000_000;

/// A thread of a scene; its sequence is its number.
#[derive(Clone, Debug)]
struct Thread {
    queue: usize,
    key: u64,
    weight: u32,
    allowed: u16,
    last_core: usize,
    woken: bool,
}

/// How all threads of a queue are ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    VirtualTime,
    Deadline,
    Fixed,
    Arrival,
}

#[derive(Clone, Debug)]
struct Queue {
    rule: Rule,
    margin: u64,
    prefer: Vec<CoreId>,
}

#[derive(Clone, Debug)]
struct Core {
    tiers: Vec<(bool, Vec<usize>)>,
    adopt: Option<usize>,
    guests: Vec<usize>,
    behind: u64,
    /// What it runs, or has run last: a thread that waits, runs, or is at the end of its slice.
    thread: Option<usize>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Runs,
    /// Its thread's slice is over: the thread competes with those that wait.
    Over,
}

#[derive(Clone, Debug)]
struct Scene {
    machine: Machine,
    cores: Vec<Core>,
    queues: Vec<Queue>,
    threads: Vec<Thread>,
    postpone: [Nanos; 3],
    services: Vec<Service>,
    guests: Vec<Guests>,
}

impl Scene {
    fn candidate(&self, thread: usize) -> Candidate {
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

    fn waits(&self, thread: usize) -> bool {
        !self.is(thread, State::Runs)
    }

    /// The question and the scene, as `picks.c` reads them.
    fn question(&self, what: &str, about: usize, over: Option<usize>) -> String {
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

fn scenes() -> impl Strategy<Value = Scene> {
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
        let is_own = core.tiers[0].1[0] == queue || core.guests.contains(&queue);
        let may_be = match state {
            State::Idle => false,
            State::Runs => !taken.contains(&thread),
            State::Over => {
                !taken.contains(&thread)
                    && queues[queue].rule != Rule::Arrival
                    && (core.guests.is_empty() || is_own)
            }
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

/// What the reference says, as `picks.c` writes it, with the question.
fn asked(scene: &Scene) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (number, core) in scene.cores.iter().enumerate() {
        if core.state == State::Runs {
            continue;
        }
        let id = CoreId(number as u32);
        let over = core.thread.filter(|_| core.state == State::Over);
        let said = picking::pick(scene, id).map_or_else(
            || "-1 -1".to_owned(),
            |thread| {
                let queue = QueueId(scene.threads[thread.index()].queue as u32);
                let key = scene.candidate(thread.index()).key();
                let after = picking::adopted_into(scene, id, queue, key).unwrap_or(queue);
                format!("{} {}", thread.0, after.0)
            },
        );
        all.push((scene.question("pick", number, over), said));
    }
    let or_none = |core: Option<CoreId>| core.map_or("-1".to_owned(), |core| core.0.to_string());
    let waiting = (0..scene.threads.len()).filter(|&thread| scene.waits(thread));
    for number in waiting {
        let arrival = scene.candidate(number);
        let queue = QueueId(scene.threads[number].queue as u32);
        let of = &scene.queues[queue.index()];
        let last = CoreId(scene.threads[number].last_core as u32);
        let idle = picking::idle_core(scene, arrival.thread, queue, &of.prefer, Some(last));
        // Of one kind the kernel's side prefers the CPU where the thread was last.
        let kind = |core: CoreId| scene.machine.cores[core.index()].kind;
        let alone = picking::idle_core(scene, arrival.thread, queue, &[last], None);
        let idle = idle.map(|idle| alone.filter(|&last| kind(last) == kind(idle)).unwrap_or(idle));
        all.push((scene.question("idle", number, None), or_none(idle)));
        let cores = scene.machine.cores.iter().map(|core| core.id);
        let victim = picking::victim(scene, &arrival, queue, of.margin, cores);
        all.push((scene.question("victim", number, None), or_none(victim)));
    }
    all
}

/// The program that asks the kernel's side; `None`, with a line that says so, where no C compiler
/// is installed.
fn compiled(folder: &Path) -> Option<std::path::PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel_side/picks.c");
    let built = folder.join("picks");
    let flags = [
        "-std=gnu11",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wno-sign-compare",
        "-Werror",
        "-Wno-unused-function",
    ];
    let done = Command::new("cc").args(flags).arg("-o").arg(&built).arg(&source).output();
    let Ok(done) = done else {
        println!("skipped: no C compiler (cc)");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(built)
}

/// The answers to all questions.
fn answers(program: &Path, questions: String) -> Vec<String> {
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_kernels_side_picks_as_the_plain_reference_does() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path()) else { return };
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let strategy = scenes();
    let scenes: Vec<Scene> =
        (0..SCENES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    let mut all = Vec::new();
    for (number, scene) in scenes.iter().enumerate() {
        all.extend(asked(scene).into_iter().map(|(question, said)| (number, question, said)));
    }
    let questions: String = all.iter().map(|(_, question, _)| question.as_str()).collect();
    let said = answers(&program, questions);
    assert_eq!(said.len(), all.len());
    let mut counts = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    for ((scene, question, expected), said) in all.iter().zip(&said) {
        let what = question.split(' ').next().unwrap();
        let count: &mut (u32, u32) = counts.entry(what.to_owned()).or_default();
        count.0 += 1;
        count.1 += u32::from(!said.starts_with("-1"));
        if said != expected {
            wrong.push((question.len(), *scene, question, expected, said));
        }
    }
    // Each question is answered by a thread or a core often enough for the comparison to tell.
    assert!(counts.len() == 3 && counts.values().all(|it| it.1 > 1_000), "{counts:?}");
    wrong.sort();
    if let Some((_, scene, question, expected, said)) = wrong.first() {
        let Scene { machine, cores, queues, threads, postpone, .. } = &scenes[*scene];
        panic!(
            "{} of {} wrong; {counts:?}; the shortest, on {}: expected {expected}, said {said}\n\
             {question}\n{cores:#?} {queues:?} {threads:#?} {postpone:?}",
            wrong.len(),
            all.len(),
            machine.name,
        );
    }
}
