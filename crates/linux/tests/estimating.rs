//! Speedup factors by a model from counters, live: counters made of plain data beside a kernel made
//! of it (support/mod.rs), the affinity mechanism and a policy whole.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use evenkeel_estimate::training::{Method, Plan, train};
use evenkeel_estimate::{Event, Model, PERIOD, Settings, generated, modelled};
use evenkeel_files::machines;
use evenkeel_files::programs::{self, Context};
use evenkeel_linux::affinity::{Mechanism, Options};
use evenkeel_linux::counters::{Code, MOST_WORDS, PerfEvents};
use evenkeel_linux::live::estimating::{Estimating, EstimatingError};
use evenkeel_linux::watch::{Cpu, Tid};
use evenkeel_machine::{Machine, Nanos};
use evenkeel_model::character::{Character, give_characters};
use evenkeel_policy::registry;
use support::{Fake, Habit};
use tempfile::TempDir;

/// What the two PMUs call their events.
const NAMES: [&str; Event::ALL.len()] = [
    "instructions",
    "cpu-cycles",
    "cache-references",
    "cache-misses",
    "branch-instructions",
    "branch-misses",
    "l1d_cache_refill",
    "l1i_cache_refill",
    "l1d_tlb_refill",
    "l1i_tlb_refill",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
];
/// Numbers of the PMUs, by kind.
const PMUS: [(&str, u32, &str); 2] = [("cpu_core", 4, "0-1"), ("cpu_atom", 10, "2-3")];

fn quickia() -> Machine {
    machines::preset("quickia").unwrap()
}

fn sysfs(pmus: &[(&str, u32, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, number, cpus) in pmus {
        let device = root.path().join("bus/event_source/devices").join(name);
        fs::create_dir_all(device.join("events")).unwrap();
        fs::create_dir_all(device.join("format")).unwrap();
        fs::write(device.join("type"), number.to_string()).unwrap();
        fs::write(device.join("cpus"), cpus).unwrap();
        fs::write(device.join("format/event"), "config:0-7").unwrap();
        for (event, name) in NAMES.iter().enumerate() {
            fs::write(device.join("events").join(name), format!("event={event:#x}")).unwrap();
        }
    }
    root
}

static MODEL: LazyLock<Arc<Model>> = LazyLock::new(|| {
    let plan = Plan {
        method: Method::Phases { deviation: 0.05 },
        most_sets: 3,
        most_metrics: usize::MAX,
        settings: Settings::default(),
    };
    Arc::new(train(&generated::traces(&quickia(), 1, 40), &plan).unwrap().model)
});

/// Counters made of what threads have done in a [`Fake`].
#[derive(Clone)]
struct Counters {
    world: Fake,
    machine: Machine,
    characters: Rc<RefCell<BTreeMap<Tid, Character>>>,
    /// Groups count for this part of their time.
    part: f64,
    /// Threads whose events are refused, and with what.
    refused: BTreeMap<Tid, i32>,
    everything_refused: bool,
    /// So many events count together; two counters beside the fixed ones.
    at_once: usize,
    /// Threads whose groups are lost from so many reads on, for so many reads.
    lost: BTreeMap<Tid, (u64, u64)>,
    /// Threads of which every so many reads finds a group lost.
    lost_now_and_then: BTreeMap<Tid, u64>,
    reads: Rc<RefCell<BTreeMap<Tid, u64>>>,
    open: Rc<RefCell<BTreeSet<u64>>>,
    opened: u64,
}

struct Open {
    id: u64,
    all: Rc<RefCell<BTreeSet<u64>>>,
    tid: Tid,
    kind: usize,
    group: Rc<RefCell<Group>>,
}

#[derive(Default)]
struct Group {
    events: Vec<Event>,
    counted_ms: f64,
    /// Milliseconds of the thread on the kind when it began to count.
    since: Option<u64>,
    /// What has been counted, and in how many milliseconds, when it was last read.
    counts: Vec<f64>,
    read_ms: f64,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.all.borrow_mut().remove(&self.id);
    }
}

impl Counters {
    fn of(world: &Fake, characters: BTreeMap<Tid, Character>) -> Self {
        Self {
            world: world.clone(),
            machine: quickia(),
            characters: Rc::new(RefCell::new(characters)),
            part: 1.0,
            refused: BTreeMap::new(),
            everything_refused: false,
            at_once: 4,
            lost: BTreeMap::new(),
            lost_now_and_then: BTreeMap::new(),
            reads: Rc::default(),
            open: Rc::default(),
            opened: 0,
        }
    }

    fn ms_on(&self, tid: Tid, kind: usize) -> u64 {
        let world = self.world.0.borrow();
        let worker = world.workers.iter().find(|worker| worker.tid == tid);
        let cores = self.machine.cores.iter().filter(|core| core.kind.index() == kind);
        worker.map_or(0, |it| cores.map(|core| it.ran_on[core.cpu as usize]).sum())
    }
}

impl PerfEvents for Counters {
    type Event = Open;

    fn open(&mut self, code: Code, tid: Tid, leader: Option<&Open>) -> io::Result<Open> {
        let errno = self.everything_refused.then_some(libc::EACCES);
        if let Some(errno) = errno.or(self.refused.get(&tid).copied()) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let kind = PMUS.iter().position(|(_, number, _)| *number == code.kind).unwrap();
        let group = leader.map(|leader| Rc::clone(&leader.group)).unwrap_or_default();
        group.borrow_mut().events.push(Event::ALL[code.config as usize]);
        assert!(group.borrow().events.len() <= self.at_once, "more than count together");
        self.opened += 1;
        self.open.borrow_mut().insert(self.opened);
        Ok(Open { id: self.opened, all: Rc::clone(&self.open), tid, kind, group })
    }

    fn set_counting(&mut self, leader: &Open, counts: bool) -> io::Result<()> {
        let now = self.ms_on(leader.tid, leader.kind);
        let mut group = leader.group.borrow_mut();
        if let Some(since) = group.since.take() {
            group.counted_ms += (now - since) as f64 * self.part;
        }
        group.since = counts.then_some(now);
        Ok(())
    }

    fn try_group(&mut self, codes: &[Code], _: Cpu) -> Result<(), (usize, io::Error)> {
        let errno = match (self.everything_refused, codes.len() > self.at_once) {
            (true, _) => libc::EACCES,
            (false, true) => libc::EINVAL,
            (false, false) => return Ok(()),
        };
        Err((0, io::Error::from_raw_os_error(errno)))
    }

    fn read(&mut self, leader: &Open, into: &mut [u64; MOST_WORDS]) -> io::Result<usize> {
        let mut reads = self.reads.borrow_mut();
        let read = reads.entry(leader.tid).or_default();
        *read += 1;
        let (from, count) = self.lost.get(&leader.tid).copied().unwrap_or((u64::MAX, 0));
        let every = self.lost_now_and_then.get(&leader.tid);
        if (from..from.saturating_add(count)).contains(read)
            || every.is_some_and(|&every| read.is_multiple_of(every))
        {
            return Ok(0);
        }
        let mut group = leader.group.borrow_mut();
        let now = self.ms_on(leader.tid, leader.kind);
        let part = self.part;
        let counting = group.since.map_or(0.0, |since| (now - since) as f64 * part);
        let ms = group.counted_ms + counting;
        let kind = &self.machine.kinds[leader.kind];
        let (core, ghz) = (kind.core.as_ref().unwrap(), kind.top().khz as f64 / 1e6);
        let character = &self.characters.borrow()[&leader.tid];
        let window = modelled::window(character, core, ghz, 1_000_000_000);
        let since = ms - group.read_ms;
        let Group { events, counts, read_ms, .. } = &mut *group;
        (*read_ms, _) = (ms, counts.resize(events.len(), 0.0));
        for (count, &event) in counts.iter_mut().zip(&*events) {
            let many = window.counts.get(event).unwrap_or(0) as f64;
            *count += many * since * 1e6 / window.time.0 as f64;
        }
        into[0] = group.events.len() as u64;
        into[2] = (ms * 1e6) as u64;
        into[1] = (ms / part * 1e6) as u64;
        for (word, count) in into[3..].iter_mut().zip(&group.counts) {
            *word = *count as u64;
        }
        Ok(3 + group.events.len())
    }
}

/// Four programs at work on quickia, the two of greater factors begun last.
struct Scene {
    fake: Fake,
    tids: Vec<Tid>,
    counters: Counters,
    mechanism: Mechanism<Fake>,
}

const PROGRAMS: [&str; 4] = ["libquantum", "gobmk", "gamess", "calculix"];

impl Scene {
    fn of(policy: &str) -> Self {
        let machine = quickia();
        let fake = Fake::new(4, true);
        let (mut tids, mut characters) = (Vec::new(), BTreeMap::new());
        for (number, program) in PROGRAMS.iter().enumerate() {
            let mut apps = programs::load(program, &Context::new(&machine)).unwrap();
            give_characters(&mut apps, &machine, 1).unwrap();
            let tid = fake.start(10 + number as i32, None, Habit::Spins, &[1.0, 1.0, 0.3, 0.3]);
            characters.insert(tid, *apps[0].phases[0].character.clone().unwrap());
            tids.push(tid);
        }
        let options = Options {
            park: true,
            grace: Nanos::ZERO,
            stolen: Vec::new(),
            factors: Vec::new(),
            remembers: 0,
            schedutil: false,
        };
        let policy = registry::make(policy, &[]).unwrap();
        let counters = Counters::of(&fake, characters);
        let mechanism = Mechanism::new(fake.clone(), machine, policy, options, fake.now()).unwrap();
        Self { fake, tids, counters, mechanism }
    }

    fn estimating(&self) -> Estimating<Counters> {
        let sysfs = sysfs(&PMUS);
        Estimating::new(self.counters.clone(), &MODEL, &quickia(), sysfs.path()).unwrap()
    }

    fn run(&mut self, estimating: &mut Estimating<Counters>, ms: u64) {
        for step in 0..ms {
            self.fake.step();
            if step % 4 == 0 {
                let now = self.fake.now();
                if now >= estimating.due() {
                    self.mechanism.estimate_by(estimating, now);
                }
                self.mechanism.look(now, &self.fake.seen());
                drop(self.mechanism.journal());
                self.mechanism.enforce();
            }
        }
    }

    /// Factors that the policy sees, by program; those of the machine's capacities first.
    fn factors(&self) -> Vec<f32> {
        let of = |tid: &Tid| {
            let (thread, _) = self.mechanism.live().find(|(_, it)| it == tid).unwrap();
            self.mechanism.stats()[thread.index()].speedup.0[0]
        };
        self.tids.iter().map(of).collect()
    }

    fn ms_on_big(&self) -> Vec<u64> {
        self.tids.iter().map(|&tid| self.counters.ms_on(tid, 0)).collect()
    }
}

fn capacity_ratio() -> f32 {
    let machine = quickia();
    (machine.kinds[0].top().capacity / machine.kinds[1].top().capacity) as f32
}

#[test]
fn hsp_gives_big_cores_to_the_programs_whose_counters_tell_the_greatest_factors() {
    for part in [1.0, 0.4] {
        let mut scene = Scene::of("hsp");
        scene.counters.part = part;
        let mut estimating = scene.estimating();
        scene.run(&mut estimating, 4_000);
        let before = scene.ms_on_big();
        scene.run(&mut estimating, 2_000);
        let on_big: Vec<u64> =
            scene.ms_on_big().iter().zip(before).map(|(now, before)| now - before).collect();
        let [low, lower, high, higher] = scene.factors()[..] else { panic!() };
        assert!(low.max(lower) < 2.8 && high.min(higher) > 3.2, "{part}: {:?}", scene.factors());
        assert!(on_big[0] + on_big[1] < 200, "{part}: {on_big:?}");
        assert!(on_big[2] + on_big[3] > 3_800, "{part}: {on_big:?}");
        assert_eq!(estimating.uncounted(), None);
    }
}

#[test]
fn a_round_takes_three_periods_where_the_kind_has_three_sets() {
    let mut scene = Scene::of("hsp");
    let mut estimating = scene.estimating();
    // Counters are opened at the first look at which a thread has run for long enough.
    scene.run(&mut estimating, 2 * PERIOD.0 / 1_000_000 + 100);
    assert!(scene.factors().iter().all(|&it| it == capacity_ratio()), "{:?}", scene.factors());
    scene.run(&mut estimating, 3 * PERIOD.0 / 1_000_000);
    assert!(scene.factors().iter().all(|&it| it != capacity_ratio()), "{:?}", scene.factors());
    assert!(estimating.told() >= 4);
}

#[test]
fn where_the_kernel_has_fewer_counters_to_give_sets_are_smaller_and_rounds_longer() {
    let mut scene = Scene::of("hsp");
    scene.counters.at_once = 3;
    let mut estimating = scene.estimating();
    scene.run(&mut estimating, 3_000);
    assert!(scene.factors().iter().all(|&it| it != capacity_ratio()), "{:?}", scene.factors());
    let few = Counters { at_once: 1, ..scene.counters.clone() };
    let sysfs = sysfs(&PMUS);
    let error = Estimating::new(few, &MODEL, &quickia(), sysfs.path()).err().unwrap();
    assert!(error.to_string().starts_with("cpu_core: the kernel does not count"), "{error}");
}

#[test]
fn a_thread_that_the_kernel_does_not_count_for_keeps_the_capacities_ratio_and_is_told() {
    let mut scene = Scene::of("acfs");
    scene.counters.refused.insert(scene.tids[1], libc::EMFILE);
    let mut estimating = scene.estimating();
    scene.run(&mut estimating, 3_000);
    assert_eq!(scene.factors()[1], capacity_ratio());
    assert!(scene.factors()[3] != capacity_ratio());
    let expected = "no counters for 1 thread: instructions: Too many open files (os error 24)";
    assert_eq!(estimating.uncounted().as_deref(), Some(expected));
}

#[test]
fn a_group_that_is_lost_is_opened_anew_and_given_up_if_it_is_lost_again_and_again() {
    let mut scene = Scene::of("hsp");
    let (once, always) = (scene.tids[2], scene.tids[3]);
    scene.counters.lost.insert(once, (2, 1));
    scene.counters.lost.insert(always, (1, u64::MAX));
    let reads = Rc::clone(&scene.counters.reads);
    let mut estimating = scene.estimating();
    scene.run(&mut estimating, 4_000);
    assert!(scene.factors()[2] != capacity_ratio());
    assert_eq!(scene.factors()[3], capacity_ratio());
    let of = |tid| reads.borrow()[&tid];
    assert!(of(once) > 10 && of(always) <= 6, "{} {}", of(once), of(always));
    assert!(estimating.uncounted().unwrap().contains("its counters were lost"));
}

#[test]
fn a_group_that_is_lost_now_and_then_is_never_given_up() {
    let mut scene = Scene::of("hsp");
    scene.counters.lost_now_and_then.insert(scene.tids[3], 9);
    let reads = Rc::clone(&scene.counters.reads);
    let mut estimating = scene.estimating();
    scene.run(&mut estimating, 20_000);
    // Nine reads have two whole rounds in them.
    assert!(reads.borrow()[&scene.tids[3]] > 60, "{:?}", reads.borrow());
    assert_eq!(estimating.uncounted(), None);
}

#[test]
fn a_program_whose_work_changes_has_the_factor_of_what_it_does_now() {
    let mut scene = Scene::of("hsp");
    let characters = Rc::clone(&scene.counters.characters);
    let mut estimating = scene.estimating();
    scene.run(&mut estimating, 12_000);
    let before = scene.factors();
    // The first program goes on as the last one.
    let other = characters.borrow()[&scene.tids[3]].clone();
    characters.borrow_mut().insert(scene.tids[0], other);
    scene.run(&mut estimating, 2_000);
    let after = scene.factors();
    assert!(before[0] < 2.0 && before[3] > 4.0, "{before:?}");
    // Both may be on other kinds, from which factors are told a little otherwise.
    assert!(after[0] > 3.2, "{after:?}");
}

#[test]
fn the_counters_of_threads_that_have_ended_are_closed() {
    let mut scene = Scene::of("hsp");
    let open = Rc::clone(&scene.counters.open);
    let mut estimating = scene.estimating();
    assert_eq!(open.borrow().len(), 0, "what was tried is open");
    scene.run(&mut estimating, 1_000);
    let of_four = open.borrow().len();
    assert!(of_four > 0);
    for &tid in &scene.tids[..3] {
        scene.fake.exit(tid);
    }
    scene.run(&mut estimating, 1_000);
    assert_eq!(open.borrow().len() * 4, of_four);
}

#[test]
fn a_machine_whose_counters_cannot_be_had_is_refused_in_one_line() {
    let scene = Scene::of("hsp");
    let with = |counters: Counters, pmus: &[(&str, u32, &str)], model: &Model| {
        let sysfs = sysfs(pmus);
        let error = Estimating::new(counters, model, &quickia(), sysfs.path()).err().unwrap();
        (error.to_string(), error)
    };
    let (text, _) = with(scene.counters.clone(), &PMUS[..1], &MODEL);
    assert_eq!(text, "no PMU counts for small alone, so counters do not tell its share");
    let refusing = Counters { everything_refused: true, ..scene.counters.clone() };
    let (text, _) = with(refusing, &PMUS, &MODEL);
    let expected = "cpu_core: the kernel does not count instructions: Permission denied";
    assert!(text.starts_with(expected), "{text}");
    let mut other = Model::clone(&MODEL);
    other.kinds = ["P", "E"].map(str::to_owned).to_vec();
    let (text, error) = with(scene.counters.clone(), &PMUS, &other);
    assert_eq!(text, "the model is for the kinds P, E, and the machine has big, small");
    assert!(matches!(error, EstimatingError::Model(_)));
    let none = tempfile::tempdir().unwrap();
    let error = Estimating::new(scene.counters, &MODEL, &quickia(), none.path()).err().unwrap();
    assert!(matches!(error, EstimatingError::Pmu(_)), "{error}");
}
