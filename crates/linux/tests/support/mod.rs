//! A kernel made of plain data, and threads that run on it: what the mechanism can be tested with,
//! whole, without a machine.
//!
//! Every millisecond each CPU runs one thread that may run there: of the normal class before
//! SCHED_IDLE, among equals the one that has not run for longest ([`Model::OneQueue`]); or each CPU
//! has a queue of its own, as Linux has, and believes all CPUs equal ([`Model::QueuePerCpu`]).
//! Threads work, work and sleep in turn, or work and meet at barriers, and get done what their
//! CPU's speed lets them.

#![allow(dead_code, reason = "each test program uses its part")]

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use evenkeel_files::machines;
use evenkeel_linux::affinity::kernel::{Class, Kernel, SchedParams};
use evenkeel_linux::affinity::{Mechanism, Options};
use evenkeel_linux::watch::{Cpu, Doing, Seen, Tid};
use evenkeel_machine::{Machine, Nanos};
use evenkeel_policy::Policy;
use rustix::thread::CpuSet;

pub const MS: Nanos = Nanos(1_000_000);

/// What a thread does: works for so many milliseconds of CPU time, then sleeps for so many, and
/// again.
#[derive(Clone, Copy, Debug)]
pub enum Habit {
    Spins,
    Naps {
        works: u64,
        sleeps: u64,
    },
    Sleeps,
    /// Works for so many milliseconds of the fastest CPU, then waits for all others of its process;
    /// and again. `spins`: it waits at work.
    Meets {
        works: f64,
        spins: bool,
    },
}

/// How the kernel shares out CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    #[default]
    OneQueue,
    QueuePerCpu,
}

#[derive(Clone, Debug)]
pub struct Worker {
    pub tid: Tid,
    pub process: Tid,
    pub habit: Habit,
    pub mask: CpuSet,
    pub class: Class,
    pub alive: bool,
    /// Milliseconds on a CPU.
    pub ran: u64,
    /// The same by CPU.
    pub ran_on: Vec<u64>,
    /// Work done, in milliseconds of the fastest CPU.
    pub done: f64,
    /// How fast it is on each CPU, of 1.
    pub speed: Vec<f64>,
    pub on: Option<u32>,
    ran_at: u64,
    stretch: u64,
    wakes_at: Option<u64>,
    /// How often its mask was set from outside.
    pub masks_set: u64,
    /// Barriers that it has passed, and what it has done since.
    pub met: u64,
    since_met: f64,
    waits: bool,
    /// The CPU whose queue it is in.
    home: u32,
    /// Milliseconds since it got the CPU that it is on.
    turn: u64,
}

/// Slice of the kernel's (`base_slice_ns` of EEVDF on a few CPUs is 2.8 ms).
const SLICE_MS: u64 = 3;

impl Worker {
    fn is_runnable(&self) -> bool {
        let blocked = self.waits && matches!(self.habit, Habit::Meets { spins: false, .. });
        self.alive && !blocked && self.wakes_at.is_none() && !matches!(self.habit, Habit::Sleeps)
    }
}

#[derive(Debug, Default)]
pub struct World {
    pub cpus: u32,
    pub now_ms: u64,
    pub workers: Vec<Worker>,
    pub may_park: bool,
    pub model: Model,
    seen: Vec<Seen>,
}

#[derive(Clone, Debug)]
pub struct Fake(pub Rc<RefCell<World>>);

pub fn all(cpus: u32) -> CpuSet {
    let mut set = CpuSet::new();
    (0..cpus).for_each(|cpu| set.set(cpu as usize));
    set
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error())
}

impl World {
    fn of(&mut self, tid: Tid) -> io::Result<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.tid == tid && worker.alive).ok_or_else(gone)
    }

    fn at(&self) -> Nanos {
        Nanos(self.now_ms * MS.0)
    }
}

/// Each CPU takes the thread that may run there and has not run for longest.
fn one_queue(workers: &[Worker], cpus: u32) -> Vec<(usize, u32)> {
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for cpu in 0..cpus {
        let fits = |(index, worker): &(usize, &Worker)| {
            worker.is_runnable()
                && worker.mask.is_set(cpu as usize)
                && chosen.iter().all(|(other, _)| other != index)
        };
        let order = |(_, worker): &(usize, &Worker)| {
            (worker.class == Class::Idle, worker.ran_at, worker.mask.count())
        };
        if let Some((index, _)) = workers.iter().enumerate().filter(fits).min_by_key(order) {
            chosen.push((index, cpu));
        }
    }
    chosen
}

/// Each CPU has a queue. A waking thread goes where it was if that idles, else to an idle CPU, else
/// to the shortest queue; a CPU that idles takes a thread that waits elsewhere.
fn queue_per_cpu(workers: &mut [Worker], cpus: u32) -> Vec<(usize, u32)> {
    let load = |workers: &[Worker], cpu: u32, but: usize| {
        let here = |(index, worker): &(usize, &Worker)| {
            *index != but && worker.is_runnable() && worker.home == cpu
        };
        workers
            .iter()
            .enumerate()
            .filter(here)
            .map(|(_, worker)| if worker.class == Class::Idle { 1 } else { 1000 })
            .sum::<u32>()
    };
    for index in 0..workers.len() {
        let worker = &workers[index];
        let woken =
            worker.is_runnable() && worker.on.is_none() && load(workers, worker.home, index) > 0;
        if !worker.mask.is_set(worker.home as usize) || woken {
            let allowed = (0..cpus).filter(|&cpu| worker.mask.is_set(cpu as usize));
            let home = worker.home;
            let least = allowed.min_by_key(|&cpu| (load(workers, cpu, index), cpu != home));
            workers[index].home = least.unwrap_or(home);
        }
    }
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for pull in [false, true] {
        for cpu in 0..cpus {
            if chosen.iter().any(|&(_, taken)| taken == cpu) {
                continue;
            }
            let fits = |(index, worker): &(usize, &Worker)| {
                worker.is_runnable()
                    && (worker.home == cpu || pull)
                    && worker.mask.is_set(cpu as usize)
                    && chosen.iter().all(|(other, _)| other != index)
            };
            let order = |(_, worker): &(usize, &Worker)| {
                let goes_on = worker.on == Some(cpu) && worker.turn < SLICE_MS;
                (worker.class == Class::Idle, !goes_on, worker.ran_at)
            };
            if let Some((index, _)) = workers.iter().enumerate().filter(fits).min_by_key(order) {
                workers[index].home = cpu;
                chosen.push((index, cpu));
            }
        }
    }
    chosen.sort_unstable_by_key(|&(_, cpu)| cpu);
    chosen
}

/// A thread that waits for its process's others goes on once all wait.
fn meet(workers: &mut [Worker]) {
    let processes: Vec<Tid> = workers.iter().map(|worker| worker.process).collect();
    for process in processes {
        let of = |worker: &&mut Worker| worker.alive && worker.process == process;
        let meets = |worker: &Worker| matches!(worker.habit, Habit::Meets { .. });
        if workers.iter_mut().filter(of).all(|worker| worker.waits && meets(worker)) {
            for worker in workers.iter_mut().filter(of) {
                worker.waits = false;
                worker.since_met = 0.0;
                worker.met += 1;
            }
        }
    }
}

impl Kernel for Fake {
    fn affinity(&mut self, thread: Tid) -> io::Result<CpuSet> {
        Ok(self.0.borrow_mut().of(thread)?.mask)
    }

    fn set_affinity(&mut self, thread: Tid, cpus: &CpuSet) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        assert!(cpus.count() > 0, "a mask of no CPUs");
        let worker = world.of(thread)?;
        worker.mask = *cpus;
        worker.masks_set += 1;
        Ok(())
    }

    fn set_class(&mut self, thread: Tid, class: Class) -> io::Result<()> {
        if class == Class::Urgent {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.0.borrow_mut().of(thread)?.class = class;
        Ok(())
    }

    fn can_park(&mut self) -> bool {
        self.0.borrow().may_park
    }

    fn sched_params(&mut self, thread: Tid) -> io::Result<SchedParams> {
        Ok(SchedParams { nice: 0, class: self.0.borrow_mut().of(thread)?.class })
    }

    fn is_of_kernel(&mut self, _: Tid) -> bool {
        false
    }

    fn parent(&mut self, _: Tid) -> Option<Tid> {
        None
    }
}

impl Fake {
    pub fn new(cpus: u32, may_park: bool) -> Self {
        Self(Rc::new(RefCell::new(World { cpus, may_park, ..World::default() })))
    }

    /// A thread begins, forked by another or by none.
    pub fn start(&self, process: i32, parent: Option<Tid>, habit: Habit, speed: &[f64]) -> Tid {
        let mut world = self.0.borrow_mut();
        let tid = Tid(1000 + world.workers.len() as i32);
        let (mask, class) = match parent.and_then(|parent| world.of(parent).ok().cloned()) {
            Some(parent) => (parent.mask, parent.class),
            None => (all(world.cpus), Class::Other),
        };
        world.workers.push(Worker {
            tid,
            process: Tid(process),
            habit,
            mask,
            class,
            alive: true,
            ran: 0,
            ran_on: vec![0; speed.len()],
            done: 0.0,
            speed: speed.to_vec(),
            on: None,
            ran_at: 0,
            stretch: 0,
            wakes_at: None,
            masks_set: 0,
            met: 0,
            since_met: 0.0,
            waits: false,
            home: 0,
            turn: 0,
        });
        let at = world.at();
        world.seen.push(Seen::Started { tid, process: Tid(process), parent, at });
        tid
    }

    /// A thread is found that was there before: it works, or sleeps for ever.
    pub fn find(&self, tid: Tid, process: Tid, doing: Doing, speed: &[f64]) {
        let habit = if doing.runnable { Habit::Spins } else { Habit::Sleeps };
        self.find_with(habit, tid, process, doing, speed);
    }

    /// The same, of any habit from then on.
    pub fn find_with(&self, habit: Habit, tid: Tid, process: Tid, doing: Doing, speed: &[f64]) {
        self.start(process.0, None, habit, speed);
        let mut world = self.0.borrow_mut();
        let at = world.at();
        world.seen.pop();
        world.seen.push(Seen::Found { tid, process, runnable: doing.runnable, at });
        if let Some(worker) = world.workers.last_mut() {
            worker.tid = tid;
        }
    }

    /// The parent of the last thread is not told.
    pub fn hide_parent(&self) {
        if let Some(Seen::Started { parent, .. }) = self.0.borrow_mut().seen.last_mut() {
            *parent = None;
        }
    }

    pub fn exit(&self, tid: Tid) {
        let mut world = self.0.borrow_mut();
        let at = world.at();
        if let Ok(worker) = world.of(tid) {
            worker.alive = false;
            worker.on = None;
            world.seen.push(Seen::Exited { tid, at });
        }
    }

    pub fn choose(&self, tid: Tid, cpus: &[u32]) {
        let mut mask = CpuSet::new();
        cpus.iter().for_each(|&cpu| mask.set(cpu as usize));
        if let Ok(worker) = self.0.borrow_mut().of(tid) {
            worker.mask = mask;
        }
    }

    pub fn worker(&self, tid: Tid) -> Worker {
        self.0.borrow().workers.iter().find(|worker| worker.tid == tid).unwrap().clone()
    }

    /// One millisecond passes.
    pub fn step(&self) {
        let mut world = self.0.borrow_mut();
        let World { cpus, now_ms, workers, seen, model, .. } = &mut *world;
        let at = Nanos(*now_ms * MS.0);
        for worker in workers.iter_mut() {
            worker.wakes_at = worker.wakes_at.filter(|wakes_at| *wakes_at > *now_ms);
        }
        let chosen = match model {
            Model::OneQueue => one_queue(workers, *cpus),
            Model::QueuePerCpu => queue_per_cpu(workers, *cpus),
        };
        for (index, worker) in workers.iter_mut().enumerate() {
            let on = chosen.iter().find(|(other, _)| *other == index).map(|(_, cpu)| *cpu);
            if worker.alive
                && worker.on != on
                && let Some(cpu) = worker.on.take()
            {
                seen.push(Seen::Left { tid: worker.tid, cpu: Cpu(cpu), at, preempted: true });
            }
        }
        *now_ms += 1;
        let end = Nanos(*now_ms * MS.0);
        for (index, cpu) in chosen {
            let worker = &mut workers[index];
            let goes_on = worker.on.replace(cpu) == Some(cpu);
            worker.turn = if goes_on { worker.turn % SLICE_MS + 1 } else { 1 };
            if !goes_on {
                seen.push(Seen::Took { tid: worker.tid, cpu: Cpu(cpu), at });
            }
            worker.ran += 1;
            worker.ran_on[cpu as usize] += 1;
            worker.ran_at = *now_ms;
            worker.stretch += 1;
            worker.done += worker.speed[cpu as usize];
            if let Habit::Naps { works, sleeps } = worker.habit
                && worker.stretch >= works
            {
                worker.stretch = 0;
                worker.on = None;
                worker.wakes_at = Some(*now_ms + sleeps);
                seen.push(Seen::Left { tid: worker.tid, cpu: Cpu(cpu), at: end, preempted: false });
            }
            if let Habit::Meets { works, spins } = worker.habit
                && !worker.waits
            {
                worker.since_met += worker.speed[cpu as usize];
                if worker.since_met >= works {
                    worker.waits = true;
                    if !spins {
                        worker.on = None;
                        seen.push(Seen::Left {
                            tid: worker.tid,
                            cpu: Cpu(cpu),
                            at: end,
                            preempted: false,
                        });
                    }
                }
            }
        }
        meet(workers);
    }

    /// What has happened since it was last asked.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.borrow_mut().seen)
    }

    pub fn now(&self) -> Nanos {
        self.0.borrow().at()
    }
}

/// A policy by name on a machine of one cluster per kind: capacities fastest first, and how many
/// cores of each.
pub fn mechanism(
    fake: &Fake,
    policy: &str,
    kinds: &[(f64, u32)],
    factors: &[(&str, f64)],
) -> Mechanism<Fake> {
    mechanism_of(fake, evenkeel_policy::registry::make(policy, &[]).unwrap(), kinds, factors)
}

/// The same with a policy of one's own.
pub fn mechanism_of(
    fake: &Fake,
    policy: Box<dyn Policy>,
    kinds: &[(f64, u32)],
    factors: &[(&str, f64)],
) -> Mechanism<Fake> {
    let options = Options {
        park: fake.0.borrow().may_park,
        grace: Nanos::ZERO,
        stolen: Vec::new(),
        factors: factors.iter().map(|(name, factor)| ((*name).to_owned(), *factor)).collect(),
        remembers: 0,
        schedutil: false,
    };
    Mechanism::new(fake.clone(), machine(kinds), policy, options, fake.now()).unwrap()
}

pub fn machine(kinds: &[(f64, u32)]) -> Machine {
    let head =
        String::from("name = \"fake\"\ndescription = \"made for a test\"\nsource = \"a test\"\n");
    let (mut kinds_text, mut text) = (String::new(), String::new());
    for (rank, (capacity, count)) in kinds.iter().enumerate() {
        let (kind, cluster) = (
            // Power grows faster than capacity, as it does.
            format!(
                "[[kinds]]\nname = \"k{rank}\"\ncapacity = {capacity}\nidle_power_w = \
                 0\noperating_points = [{{ mhz = 1000, power_w = {}, \
                 cluster_power_w = 0 }}]\n",
                capacity * capacity
            ),
            format!("[[clusters]]\nkind = \"k{rank}\"\ncores = {count}\n"),
        );
        kinds_text += &kind;
        text += &cluster;
    }
    let text = head + &kinds_text + &text;
    machines::parse(&text, "fake.toml").unwrap()
}

/// So many milliseconds pass, with a look every `tick`.
pub fn run(fake: &Fake, mechanism: &mut Mechanism<Fake>, ms: u64, tick: u64) {
    for step in 0..ms {
        fake.step();
        if step % tick == 0 {
            mechanism.look(fake.now(), &fake.seen());
            drop(mechanism.journal());
            mechanism.enforce();
        }
    }
}
