//! What the policy is told, and shown, of a kernel side that a test writes by hand: its slots and
//! CPUs change between any two reads.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use evenkeel_machine::{CoreId, Nanos};
use evenkeel_policy::{
    Directives, Event, Interest, Order, Policy, Start, StartError, State, ThreadId, View,
};
use proptest::prelude::*;

use super::load::by_hand::{self, Posted};
use super::mechanism::{Mechanism, Options};
use super::shared::{NONE, command, pending, rule, start, state};
use crate::observe::watch::Tid;

const SLOTS: usize = 16;

/// Notes what it is told, and what cores and threads were shown to do then.
#[derive(Clone, Debug, Default)]
struct Listener {
    told: Arc<Mutex<Vec<Event>>>,
    /// How often its timer came, and until when it then says that it will be quiet.
    timers: Arc<Mutex<u32>>,
    quiet_until: Option<Nanos>,
    /// What it says of the first thread, one at each timer, the last first.
    orders: Arc<Mutex<Vec<Order>>>,
}

impl Policy for Listener {
    fn interest(&self) -> Interest {
        Interest::WOKE.and(Interest::BLOCKED)
    }

    fn start(&mut self, _: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        say.timer(Nanos::from_millis(1));
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        if event == Event::Timer {
            *self.timers.lock().unwrap() += 1;
            if let Some(order) = self.orders.lock().unwrap().pop() {
                say.order(FIRST, order);
            }
        } else {
            self.told.lock().unwrap().push(event);
        }
        // A running thread runs on one core, which says so, too.
        for &thread in view.live {
            let stats = view.thread(thread);
            let on = (0..).zip(view.cores).filter(|(_, core)| core.running == Some(thread));
            let on: Vec<_> = on.map(|(core, _)| CoreId(core)).collect();
            let expected = if stats.state == State::Running { vec![stats.core] } else { vec![] };
            assert_eq!(on, expected, "{event:?}: {thread:?} is {:?}", stats.state);
        }
    }

    fn quiet_until(&self, _: &View<'_>) -> Option<Nanos> {
        self.quiet_until
    }
}

/// A kernel side by hand, and the mechanism above it. Threads are named by their slots.
struct Lab {
    mechanism: Mechanism,
    posted: Posted,
    told: Arc<Mutex<Vec<Event>>>,
    now: u64,
}

/// More than there ever are, so that no thread has it in `/proc`.
const TID_OF_SLOT: i32 = 5_000_000;

impl Lab {
    fn new() -> Self {
        Self::of(Listener::default())
    }

    fn of(listener: Listener) -> Self {
        let told = Arc::clone(&listener.told);
        Self { told, ..Self::under(Box::new(listener), "quickia") }
    }

    fn under(policy: Box<dyn Policy>, machine: &str) -> Self {
        let (kernel, posted) = by_hand::kernel(SLOTS);
        let machine = evenkeel_files::machines::preset(machine).unwrap();
        let mut mechanism =
            Mechanism::new(kernel, machine, policy, Options::default(), Nanos::ZERO).unwrap();
        mechanism.attach().unwrap();
        Self { mechanism, posted, told: Arc::default(), now: 0 }
    }

    fn cores(&self) -> u32 {
        self.mechanism.machine().cores.len() as u32
    }

    /// Something happened, of which there is an event at once, or which is pending until
    /// [`Lab::deliver`].
    fn post(&self, slot: u32, bits: u32) {
        if self.mechanism.kernel().slots[slot as usize].pending.fetch_or(bits, Relaxed) == 0 {
            self.posted.borrow_mut().push(slot);
        }
    }

    fn put(&self, slot: u32, to: u32) {
        self.mechanism.kernel().slots[slot as usize].state.store(to, Relaxed);
    }

    fn state(&self, slot: u32) -> u32 {
        self.mechanism.kernel().slots[slot as usize].state.load(Relaxed)
    }

    fn enable(&self, slot: u32, tid: i32) {
        let at = &self.mechanism.kernel().slots[slot as usize];
        at.tid.store(tid, Relaxed);
        at.process.store(tid, Relaxed);
        at.parent_slot.store(NONE, Relaxed);
        at.resumes_here.store(0, Relaxed);
        self.put(slot, state::BLOCKED);
        self.post(slot, pending::STARTED);
    }

    fn wake(&self, slot: u32) {
        self.put(slot, state::READY);
        self.post(slot, pending::WOKE);
    }

    fn run(&self, slot: u32, cpu: u32) {
        let kernel = self.mechanism.kernel();
        kernel.slots[slot as usize].cpu.store(cpu, Relaxed);
        self.put(slot, state::RUNNING);
        kernel.cpus[cpu as usize].running_slot.store(slot, Relaxed);
        self.post(slot, pending::PICKED);
    }

    /// It leaves its CPU, and waits; there is no event for that.
    fn stop(&self, slot: u32) {
        let kernel = self.mechanism.kernel();
        let cpu = kernel.slots[slot as usize].cpu.load(Relaxed);
        kernel.cpus[cpu as usize].running_slot.store(NONE, Relaxed);
        self.put(slot, state::READY);
    }

    fn block(&self, slot: u32) {
        self.stop(slot);
        self.put(slot, state::BLOCKED);
        self.post(slot, pending::BLOCKED);
    }

    /// It is of another class from now on.
    fn leave(&self, slot: u32) {
        self.put(slot, state::EXITED);
        self.post(slot, pending::EXITED);
    }

    fn end(&self, slot: u32) {
        self.put(slot, state::EXITED);
        self.post(slot, pending::EXITED | pending::ENDED);
    }

    /// What is told at a look.
    fn look(&mut self) -> Vec<Event> {
        self.now += 1_000_000;
        self.mechanism.look(Nanos(self.now)).unwrap();
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// The same for a look to which what has happened so far is shown, but not noted: it happened
    /// after the events had been taken.
    fn look_before_the_events(&mut self) -> Vec<Event> {
        let posted = std::mem::take(&mut *self.posted.borrow_mut());
        let told = self.look();
        *self.posted.borrow_mut() = posted;
        told
    }
}

const FIRST: ThreadId = ThreadId(0);

/// One thread, in slot 1, which runs on CPU 0.
fn one_runs() -> Lab {
    let mut lab = Lab::new();
    lab.enable(1, TID_OF_SLOT);
    lab.wake(1);
    lab.run(1, 0);
    assert_eq!(lab.look(), [Event::Started(FIRST)]);
    lab
}

#[test]
fn a_thread_that_blocks_between_the_events_and_the_look_at_its_core_is_told_of_once() {
    let mut lab = one_runs();
    lab.block(1);
    let told = [lab.look_before_the_events(), lab.look(), lab.look()].concat();
    assert_eq!(told, [Event::Blocked(FIRST)]);
}

#[test]
fn a_thread_that_wakes_between_its_start_and_the_next_look_at_it_is_told_of() {
    let mut lab = Lab::new();
    lab.enable(1, TID_OF_SLOT);
    assert_eq!(lab.look(), [Event::Started(FIRST), Event::Blocked(FIRST)]);
    lab.wake(1);
    lab.run(1, 0);
    let told = [lab.look_before_the_events(), lab.look(), lab.look()].concat();
    assert_eq!(told, [Event::Woke(FIRST)]);
}

#[test]
fn a_thread_that_has_to_wait_right_after_it_was_picked_is_not_shown_as_running() {
    let mut lab = one_runs();
    lab.enable(2, TID_OF_SLOT + 1);
    lab.wake(2);
    lab.look();
    lab.stop(1);
    lab.run(2, 0);
    lab.look();
    lab.stop(2);
    lab.run(1, 0);
    lab.look();
    assert_eq!(lab.mechanism.stats()[1].state, State::Ready);
}

#[test]
fn a_thread_that_was_in_another_class_between_two_looks_left_and_came_back() {
    let mut lab = one_runs();
    lab.stop(1);
    lab.put(1, state::EXITED);
    lab.post(1, pending::EXITED);
    lab.enable(2, TID_OF_SLOT);
    lab.wake(2);
    lab.run(2, 1);
    assert_eq!(lab.look(), [Event::Exited(FIRST), Event::Started(FIRST)]);
    assert_eq!(lab.look(), []);
    let stats = &lab.mechanism.stats()[0];
    assert_eq!((stats.state, stats.core), (State::Running, CoreId(1)));
}

#[test]
fn a_policy_that_is_quiet_has_its_timer_when_it_said_or_when_something_changes() {
    let timers = Arc::new(Mutex::new(0));
    let quiet_until = Some(Nanos::from_millis(50));
    let mut lab =
        Lab::of(Listener { timers: Arc::clone(&timers), quiet_until, ..Listener::default() });
    lab.enable(1, TID_OF_SLOT);
    lab.wake(1);
    lab.run(1, 0);
    let mut seen = Vec::new();
    for look in 1..=60 {
        match look {
            // Threads taking turns change nothing.
            10 => lab.run(1, 0),
            20 => lab.block(1),
            30 => lab.wake(1),
            _ => {}
        }
        lab.look();
        if std::mem::take(&mut *timers.lock().unwrap()) > 0 {
            seen.push(look);
        }
    }
    // Its period is a look's.
    assert_eq!(seen[..3], [1, 20, 30]);
    assert_eq!(seen[3..], (50..=60).collect::<Vec<_>>());
}

#[test]
fn where_a_thread_is_to_start_holds_until_it_is_taken_up_though_another_weight_is_said_meanwhile() {
    let order = |weight: u32, start: Start| Order::VirtualTime { weight, start };
    let said =
        vec![order(512, Start::Keep), order(2048, Start::Keep), order(1024, Start::At(5_000))];
    let mut lab = Lab::of(Listener { orders: Arc::new(Mutex::new(said)), ..Listener::default() });
    lab.enable(1, TID_OF_SLOT);
    lab.wake(1);
    lab.run(1, 0);
    let mut look = |is_taken_up: bool| {
        lab.look();
        let slot = &lab.mechanism.kernel().slots[1];
        if is_taken_up {
            slot.applied_order_generation.store(slot.order_generation.load(Relaxed), Relaxed);
        }
        (slot.start.load(Relaxed), slot.start_virtual_time.load(Relaxed))
    };
    assert_eq!(look(false), (start::AT, 5_000));
    assert_eq!(look(true), (start::AT, 5_000));
    assert_eq!(look(true).0, start::KEEP);
}

/// Slots are given out in turn, as the kernel side does.
fn come_and_go(lab: &mut Lab, threads: i32) {
    for tid in (TID_OF_SLOT..).take(threads as usize) {
        let slot = 2 + (tid % (SLOTS as i32 - 2)) as u32;
        lab.enable(slot, tid);
        lab.wake(slot);
        lab.look();
        lab.end(slot);
        lab.look();
    }
}

#[test]
fn threads_that_have_ended_take_no_memory() {
    let mut lab = one_runs();
    come_and_go(&mut lab, 1000);
    assert!(lab.mechanism.stats().len() <= 3, "{} threads", lab.mechanism.stats().len());
    let forgotten = lab.mechanism.roster().forgotten();
    assert!((998..=1000).contains(&forgotten.apps), "{forgotten:?}");
}

#[test]
fn what_was_said_of_a_number_is_said_to_the_slot_of_whoever_has_it_next_or_again() {
    let fixed = Order::Fixed { key: 77, step: 3 };
    let mut lab =
        Lab::of(Listener { orders: Arc::new(Mutex::new(vec![fixed])), ..Listener::default() });
    lab.enable(1, TID_OF_SLOT);
    lab.wake(1);
    lab.look();
    lab.look();
    let said = |lab: &Lab, slot: usize| {
        let slot = &lab.mechanism.kernel().slots[slot];
        (slot.rule.load(Relaxed), slot.directed_key.load(Relaxed), slot.slice[0].load(Relaxed))
    };
    let expected = said(&lab, 1);
    assert_eq!((expected.0, expected.1), (rule::FIXED, 77));
    // It comes back from another class, in another slot;
    lab.put(1, state::EXITED);
    lab.post(1, pending::EXITED);
    lab.enable(2, TID_OF_SLOT);
    lab.look();
    let slot = &lab.mechanism.kernel().slots[2];
    assert_eq!(said(&lab, 2), (expected.0, expected.1, 3_000_000));
    assert_ne!(
        slot.order_generation.load(Relaxed),
        slot.applied_order_generation.load(Relaxed),
        "it is to be taken up"
    );
    // another comes after its end.
    lab.end(2);
    lab.look();
    lab.enable(3, TID_OF_SLOT + 1);
    lab.look();
    assert_eq!(
        (lab.mechanism.stats().len(), said(&lab, 3)),
        (1, (expected.0, expected.1, 3_000_000))
    );
}

#[test]
fn a_thread_that_executes_a_program_has_its_processs_number_from_then_on() {
    let mut lab = one_runs();
    lab.enable(2, TID_OF_SLOT + 1);
    lab.mechanism.kernel().slots[2].process.store(TID_OF_SLOT, Relaxed);
    lab.wake(2);
    lab.look();
    // The first one ends, and the second is the first by number.
    lab.mechanism.kernel().slots[2].tid.store(TID_OF_SLOT, Relaxed);
    lab.post(2, pending::EXEC);
    lab.end(1);
    lab.look();
    assert_eq!(lab.mechanism.roster().known(Tid(TID_OF_SLOT)), Some(ThreadId(1)));
    assert_eq!(lab.mechanism.roster().known(Tid(TID_OF_SLOT + 1)), None);
    assert_eq!(lab.mechanism.tids()[1].0, Tid(TID_OF_SLOT));
}

#[test]
fn a_thread_that_ends_while_it_is_of_another_class_is_found_to_have_ended() {
    let mut lab = Lab::new();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let tid = child.id() as i32;
    lab.enable(1, tid);
    lab.look();
    lab.leave(1);
    lab.now += 5_000_000_000;
    assert_eq!(lab.look(), [Event::Exited(FIRST)]);
    assert_eq!(lab.mechanism.roster().known(Tid(tid)), Some(FIRST));
    child.kill().unwrap();
    child.wait().unwrap();
    lab.now += 5_000_000_000;
    lab.look();
    assert_eq!(lab.mechanism.roster().known(Tid(tid)), None);
    lab.look();
    assert_eq!(lab.mechanism.roster().forgotten().apps, 1);
}

#[test]
fn a_number_in_proc_that_another_process_has_is_not_who_had_it() {
    for has_left_before in [false, true] {
        let mut lab = one_runs();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let tid = child.id() as i32;
        lab.enable(2, tid);
        lab.look();
        lab.leave(2);
        if has_left_before {
            lab.look();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lab.enable(3, tid);
        lab.mechanism.kernel().slots[3].process.store(TID_OF_SLOT, Relaxed);
        lab.look();
        let roster = lab.mechanism.roster();
        assert_eq!(roster.known(Tid(tid)), Some(ThreadId(2)));
        assert_eq!(roster.apps().iter().map(|app| app.live).collect::<Vec<_>>(), [2, 0]);
    }
}

#[test]
fn a_number_that_another_process_has_got_is_not_who_had_it_while_it_was_of_another_class() {
    let mut lab = Lab::new();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let tid = child.id() as i32;
    lab.enable(1, tid);
    lab.look();
    lab.leave(1);
    assert_eq!(lab.look(), [Event::Exited(FIRST)]);
    assert_eq!(lab.mechanism.roster().known(Tid(tid)), Some(FIRST));
    // No look has come between, and the number is another thread's.
    lab.enable(2, tid);
    lab.mechanism.kernel().slots[2].kernel_start_time.store(7, Relaxed);
    lab.look();
    let roster = lab.mechanism.roster();
    assert_ne!(roster.known(Tid(tid)), Some(FIRST));
    assert_eq!(roster.apps().iter().map(|app| app.live).collect::<Vec<_>>(), [0, 1]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_thread_that_has_left_has_ended_if_proc_knows_another_start_of_its_number() {
    let mut lab = Lab::new();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let tid = child.id() as i32;
    lab.enable(1, tid);
    lab.look();
    lab.leave(1);
    lab.look();
    lab.mechanism.threads[FIRST.index()].born_in_proc = Some(1);
    lab.now += 5_000_000_000;
    lab.look();
    assert_eq!(lab.mechanism.roster().known(Tid(tid)), None);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn events_that_were_lost_are_looked_for() {
    let mut lab = Lab::new();
    lab.enable(1, TID_OF_SLOT);
    lab.posted.borrow_mut().clear();
    assert_eq!(lab.look(), []);
    lab.mechanism.kernel().globals().dropped_events.fetch_add(1, Relaxed);
    assert_eq!(lab.look(), [Event::Started(FIRST), Event::Blocked(FIRST)]);
}

/// Something that happens to a thread: which, and what.
type Step = (u32, u8, u8);

proptest! {
    /// However looks fall between what happens and its events: every policy can count the runnable
    /// threads.
    #[test]
    fn what_is_told_adds_up_to_what_is(steps in prop::collection::vec((1_u32..6, 0_u8..8, 0_u8..3), 1..120)) {
        let mut lab = Lab::new();
        let mut started = [false; SLOTS];
        let mut runnable = [false; SLOTS];
        let mut hear = |told: Vec<Event>, lab: &Lab| -> Result<(), TestCaseError> {
            let of = |thread: ThreadId| (lab.mechanism.tids()[thread.index()].0.0 - TID_OF_SLOT) as usize;
            for event in told {
                match event {
                    Event::Started(thread) => runnable[of(thread)] = true,
                    Event::Woke(thread) => prop_assert!(!std::mem::replace(&mut runnable[of(thread)], true)),
                    Event::Blocked(thread) => prop_assert!(std::mem::replace(&mut runnable[of(thread)], false)),
                    _ => {}
                }
            }
            Ok(())
        };
        let act = |lab: &Lab, started: &mut [bool; SLOTS], (slot, what, cpu): Step| {
            if !std::mem::replace(&mut started[slot as usize], true) {
                return lab.enable(slot, TID_OF_SLOT + slot as i32);
            }
            let cpu = u32::from(cpu) % lab.cores();
            let free = lab.mechanism.kernel().cpus[cpu as usize].running_slot.load(Relaxed) == NONE;
            match (lab.state(slot), what) {
                (state::BLOCKED, 0..=3) => lab.wake(slot),
                (state::READY, 0..=3) if free => lab.run(slot, cpu),
                (state::RUNNING, 0..=1) => lab.stop(slot),
                (state::RUNNING, 2..=3) => lab.block(slot),
                _ => {}
            }
        };
        for step in steps {
            act(&lab, &mut started, step);
            let told = match step.1 {
                4..=5 => lab.look(),
                6 => lab.look_before_the_events(),
                _ => continue,
            };
            hear(told, &lab)?;
        }
        let told = [lab.look(), lab.look()].concat();
        hear(told, &lab)?;
        for slot in (1..6).filter(|&slot| started[slot as usize]) {
            prop_assert_eq!(runnable[slot as usize], lab.state(slot) != state::BLOCKED, "slot {}", slot);
        }
    }
}

/// Programs a second after their start: of each thread its process and
/// `/proc/PROCESS/task/THREAD/stat`.
const RECORDINGS: [&str; 4] = [
    include_str!("../../../tests/attach/busy-and-sleeper.stat"),
    include_str!("../../../tests/attach/half-asleep.stat"),
    include_str!("../../../tests/attach/pipeline.stat"),
    include_str!("../../../tests/attach/shell.stat"),
];

#[test]
fn a_thread_that_sleeps_at_attach_is_blocked_under_every_policy() {
    let policies = evenkeel_policy::registry::ENTRIES.iter().map(|entry| entry.name);
    for policy in policies.filter(|name| *name != "opt-unfairness") {
        for recording in RECORDINGS {
            let mut lab =
                Lab::under(evenkeel_policy::registry::make(policy, &[]).unwrap(), "odroid-xu3");
            let mut busy = Vec::new();
            for (slot, line) in (1..).zip(recording.lines()) {
                let (_, stat) = line.split_once(' ').unwrap();
                // As the kernel tells of threads that are there when a scheduler is loaded: all
                // come asleep, and those that may run wake.
                lab.enable(slot, TID_OF_SLOT + slot as i32);
                if crate::observe::watch::Doing::parse(stat).unwrap().runnable {
                    lab.wake(slot);
                    lab.run(slot, busy.len() as u32);
                    busy.push(slot as usize - 1);
                }
            }
            for _ in 0..10 {
                lab.look();
            }
            let stats = lab.mechanism.stats();
            assert_eq!(stats.len(), recording.lines().count(), "{policy}");
            for (index, stats) in stats.iter().enumerate() {
                assert_eq!(
                    stats.runnable(),
                    busy.contains(&index),
                    "{policy}: {index} of {recording}"
                );
                assert!(
                    stats.runnable() || stats.waiting == Nanos::ZERO,
                    "{policy}: {index} of {recording}"
                );
                assert!(stats.queue.is_some(), "{policy}: {index} of {recording}");
            }
        }
    }
}

#[test]
fn a_thread_that_runs_on_a_core_that_its_first_queue_is_not_for_goes_to_one_that_it_is_for() {
    // gts puts a new thread on an idle big core, where it believes it from then on.
    let of_kinds = |lab: &Lab| -> Vec<usize> {
        lab.mechanism.machine().cores.iter().map(|core| core.kind.index()).collect()
    };
    for (cpu, idles, wanted) in [(0, true, Some(command::MOVE)), (0, false, None), (4, true, None)]
    {
        let mut lab =
            Lab::under(evenkeel_policy::registry::make("gts", &[]).unwrap(), "odroid-xu3");
        assert_eq!(
            of_kinds(&lab),
            [1, 1, 1, 1, 0, 0, 0, 0],
            "Linux numbers the little cores first"
        );
        for big in (4..8).filter(|_| !idles) {
            lab.enable(big, TID_OF_SLOT + big as i32);
            lab.wake(big);
            lab.run(big, big);
        }
        lab.look();
        lab.enable(1, TID_OF_SLOT);
        lab.wake(1);
        lab.run(1, cpu);
        lab.look();
        let ordered = &lab.mechanism.kernel().commands[0];
        let (kind, other) = (ordered.kind.load(Relaxed), ordered.operand.load(Relaxed));
        let ordered =
            (lab.mechanism.kernel().globals().command_count.load(Relaxed) > 0).then_some(kind);
        assert_eq!(ordered, wanted, "CPU {cpu}, big cores idle: {idles}");
        assert!(wanted.is_none() || other >= 4, "to CPU {other}");
    }
}
