//! bfs and mclas at work: deadlines, classes, and what becomes of threads under overload, seen in
//! what ran where.

use crate::support::{compute, free_odroid, rounds, threads};
use evenkeel_machine::{CoreId, KindId, Nanos};
use evenkeel_model::{
    Application, Channel, ChannelId, Phase, Scaling, Step, ThreadSpec, TimerId, TimerMode,
};
use evenkeel_policy::registry;
use evenkeel_sim::{Config, Entry, Log, Outcome, run};

const BIG: KindId = KindId(0);

/// Instructions of a millisecond alone on a big core of [`free_odroid`], with a factor of 2 (800
/// MHz, one a cycle, twice that).
const BIG_MS: u64 = 1_600_000;

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// To the nearest: what is left of a slice is kept to some nanoseconds.
fn in_ms(time: Nanos) -> u64 {
    (time.0 + 500_000) / 1_000_000
}

fn simulate(cores: &str, app: &Application, name: &str, set: &[(&str, &str)]) -> (Outcome, Log) {
    let set: Vec<_> =
        set.iter().map(|&(name, value)| (name.to_string(), value.to_string())).collect();
    let mut policy = registry::make(name, &set).unwrap();
    let mut log = Log::default();
    let machine = free_odroid(cores);
    let outcome =
        run(&machine, std::slice::from_ref(app), policy.as_mut(), &Config::default(), &mut log)
            .unwrap();
    (outcome, log)
}

/// Who ran where, in order of time: thread, core, from, to. Stretches that follow each other
/// without a break are one.
fn stretches(log: &Log) -> Vec<(u32, CoreId, Nanos, Nanos)> {
    let mut all: Vec<(u32, CoreId, Nanos, Nanos)> = Vec::new();
    for entry in &log.entries {
        if let Entry::Ran { thread, core, from, to, .. } = *entry
            && to > from
        {
            all.push((thread.0, core, from, to));
        }
    }
    all.sort_by_key(|&(thread, core, from, _)| (core, from, thread));
    all.dedup_by(|next, before| {
        let goes_on = (next.0, next.1, next.2) == (before.0, before.1, before.3);
        if goes_on {
            before.3 = next.3;
        }
        goes_on
    });
    all.sort_by_key(|&(_, core, from, _)| (from, core));
    all
}

fn on_big(outcome: &Outcome, thread: usize) -> Nanos {
    outcome.threads[thread].time_on[BIG]
}

/// The longest that a thread waited between two stretches, or before the first, while it was ready
/// the whole time.
fn longest_wait(log: &Log, thread: u32) -> Nanos {
    let own: Vec<_> = stretches(log).into_iter().filter(|stretch| stretch.0 == thread).collect();
    let first = own.first().map_or(Nanos::ZERO, |stretch| stretch.2);
    own.windows(2).map(|pair| pair[1].2 - pair[0].3).fold(first, Nanos::max)
}

/// Runs for `busy` instructions whenever a timer of this period expires, so many times.
fn periodic(timer: u32, busy: u64, period: Nanos, times: u64) -> Vec<Step> {
    let wait = Step::Timer { timer: TimerId(timer), period, mode: TimerMode::Relative };
    vec![rounds(times, vec![compute(busy), wait])]
}

/// Threads with programs of their own.
fn programs(steps: Vec<Vec<Step>>) -> Application {
    let mut app = threads(steps.len(), 2.0, Vec::new());
    app.timers = steps.len() as u32;
    app.programs = steps.into_iter().map(|steps| evenkeel_model::Program { steps }).collect();
    for (i, thread) in app.threads.iter_mut().enumerate() {
        thread.program = evenkeel_model::ProgramId(i as u32);
    }
    app
}

#[test]
fn bfs_picks_who_is_due_first() {
    // nice 0 is due after 39.2 ms, nice -10 after 15.2 ms (324 / 128 slices): from 0, and again
    // from the end of each slice.
    let mut app = threads(3, 2.0, vec![compute(12 * BIG_MS)]);
    app.threads[2].nice = -10;
    let (_, log) = simulate("1big", &app, "bfs", &[]);
    let order: Vec<_> =
        stretches(&log).iter().map(|&(thread, _, from, to)| (thread, in_ms(to - from))).collect();
    // 2 first, until 6 (then due at 21.2), and again until 12; then 0 and 1, due at 39.2 as from
    // the start, then at 57 and 63.
    assert_eq!(order, [(2, 12), (0, 6), (1, 6), (0, 6), (1, 6)]);
}

#[test]
fn bfs_keeps_the_deadline_and_the_rest_of_the_slice_of_a_thread_that_is_preempted() {
    // Threads 1 and 2 take turns; 0, due since 39.2 ms, wakes at 20 ms, when 2, due at 51.2 ms, has
    // run for 2 ms of its second slice. After 0 it has the rest of it, for 1 is due at 57.2 ms.
    let spin = vec![compute(18 * BIG_MS)];
    let app = programs(vec![vec![Step::Sleep(ms(20)), compute(BIG_MS)], spin.clone(), spin]);
    let (_, log) = simulate("1big", &app, "bfs", &[]);
    let order: Vec<_> =
        stretches(&log).iter().map(|&(thread, _, from, _)| (thread, in_ms(from))).collect();
    assert_eq!(order, [(1, 0), (2, 6), (1, 12), (2, 18), (0, 20), (2, 21), (1, 25), (2, 31)]);
}

#[test]
fn under_bfs_a_thread_that_was_taken_off_a_core_goes_to_another_only_if_that_is_worth_the_distance()
{
    // Threads 0 to 2 on two cores: at 6 ms both slices end. Core 0 takes 2, which is due first;
    // core 1 sees 0 and 1, due alike. 0, which came first, sticks to core 0 no more, so it has core
    // 1. At 12 ms core 0 takes 1, and core 1 has 0, which sticks to it, and 2, which came before 0,
    // but is no longer postponed, for core 0 runs 1.
    let app = threads(3, 2.0, vec![compute(12 * BIG_MS)]);
    let (_, log) = simulate("2big", &app, "bfs", &[]);
    let order: Vec<_> = stretches(&log)
        .iter()
        .map(|&(thread, core, from, _)| (in_ms(from), core.0, thread))
        .collect();
    assert_eq!(order, [(0, 0, 0), (0, 1, 1), (6, 0, 2), (6, 1, 0), (12, 0, 1), (12, 1, 2)]);
}

#[test]
fn under_bfs_a_thread_that_wakes_takes_the_core_where_it_was_if_that_idles() {
    // It starts on core 2, for the others have 0 and 1; soon it has all four to choose from
    // whenever it wakes.
    let busy = (0..2).map(|_| vec![compute(30 * BIG_MS)]);
    let app = programs(busy.chain([periodic(2, BIG_MS, ms(20), 20)]).collect());
    let (_, log) = simulate("4big", &app, "bfs", &[]);
    assert!(stretches(&log).iter().all(|&(thread, core, ..)| core == CoreId(thread)));
}

#[test]
fn under_bfs_a_thread_that_was_woken_through_a_pipe_waits_for_its_waker_to_wait() {
    // Thread 0, due first, has its message at 1 ms; thread 1, which has sent it, works for 3 ms
    // more. A queue of the program's own wakes otherwise.
    let order = |channel: Channel| {
        let receive = vec![Step::Receive(ChannelId(0)), compute(BIG_MS)];
        let mut app = programs(vec![
            receive,
            vec![compute(BIG_MS), Step::Send(ChannelId(0)), compute(3 * BIG_MS)],
        ]);
        app.channels = vec![channel];
        app.threads[0].nice = -10;
        let (_, log) = simulate("1big", &app, "bfs", &[]);
        stretches(&log)
            .iter()
            .map(|&(thread, _, from, _)| (thread, in_ms(from)))
            .collect::<Vec<_>>()
    };
    assert_eq!(order(Channel::pipe(1)), [(1, 0), (0, 4)]);
    assert_eq!(order(Channel::of(1)), [(1, 0), (0, 1), (1, 2)]);
}

#[test]
fn under_mclas_a_low_thread_that_wakes_preempts_a_neutral_one_on_a_slow_core_and_nobody_on_a_fast_one()
 {
    // Both that compute have qualified after half a second; one of them has the fast core, the
    // other is neutral and has the slow one. Another works for a quarter of a millisecond there
    // every 40 ms, in all for less than a slice: overdue whenever it wakes, and not to wait for a
    // slice of 6 ms to end.
    let light =
        vec![Step::Sleep(ms(1000)), rounds(20, vec![compute(BIG_MS / 8), Step::Sleep(ms(40))])];
    let heavy = vec![compute(3000 * BIG_MS)];
    let (outcome, log) =
        simulate("1big+1little", &programs(vec![light, heavy.clone(), heavy]), "mclas", &[]);
    let light = &outcome.threads[0];
    assert_eq!(light.time_on[BIG], Nanos::ZERO);
    assert!(light.waiting < ms(1), "{:?}", light.waiting);
    const LITTLE: CoreId = CoreId(0);
    let beside =
        stretches(&log).into_iter().filter(|it| it.2 > ms(1000) && it.2 < ms(1900) && it.0 != 0);
    let slow = beside.filter(|it| it.1 == LITTLE).count();
    assert!(slow >= 15, "nobody was on the slow core to be preempted: {slow}");
}

#[test]
fn mclas_keeps_threads_that_mostly_wait_off_the_fast_cores_and_has_those_that_compute_there() {
    let light = (0..6).map(|i| periodic(i, BIG_MS, ms(10), 100));
    let heavy = (0..2).map(|_| vec![compute(1000 * BIG_MS)]);
    let (outcome, _) =
        simulate("2big+2little", &programs(light.chain(heavy).collect()), "mclas", &[]);
    for light in 0..6 {
        assert_eq!(on_big(&outcome, light), Nanos::ZERO, "{light}");
    }
    for heavy in 6..8 {
        // Three epochs of run time on a slow core that four share, then a fast core alone.
        assert!(on_big(&outcome, heavy) > ms(800), "{heavy}: {:?}", on_big(&outcome, heavy));
    }
}

#[test]
fn under_mclas_low_threads_wait_while_a_fast_core_idles() {
    // The rule, not an oversight: six threads that run for half of the time at most are served by
    // one slow core.
    let light = (0..6).map(|i| periodic(i, 2 * BIG_MS, ms(20), 50));
    let (outcome, log) = simulate("1big+1little", &programs(light.collect()), "mclas", &[]);
    assert!((0..6).all(|thread| on_big(&outcome, thread) == Nanos::ZERO));
    assert!((0..6).any(|thread| longest_wait(&log, thread) > ms(10)));
}

#[test]
fn under_mclas_nobody_waits_for_long_however_many_compute() {
    // Two fast cores: R = 12 ms. A starving thread has the next slice of a fast core that ends, or,
    // after 24 ms, of any core; a low one its turn on a slow core by its deadline.
    for count in [5, 12, 24] {
        let app = threads(count, 2.0, vec![compute(300 * BIG_MS)]);
        let (_, log) = simulate("2big+2little", &app, "mclas", &[]);
        let longest = (0..count as u32).map(|thread| longest_wait(&log, thread)).max().unwrap();
        // By deadlines alone it would be a round of all on the two slow cores, of slices of 6 ms,
        // twice (a deadline of nice 0 is 6.5 slices away, so no round is longer than needed by more
        // than that).
        let bound = ms(2 * 6 * (count as u64).div_ceil(2) + 40);
        assert!(longest <= bound, "{count} threads: {longest:?} > {bound:?}");
    }
}

#[test]
fn under_mclas_a_high_thread_is_picked_soon_though_its_deadline_is_far_off() {
    // Children of a thread that has qualified are high as it is: seven for two fast cores. The last
    // one's deadline is 247 ms away, those of the others 6.
    let forks =
        [vec![compute(1000 * BIG_MS)], vec![Step::Fork(0); 5], vec![Step::Fork(1), Step::JoinAll]];
    let mut app = programs(vec![forks.concat()]);
    app.programs.push(evenkeel_model::Program { steps: vec![compute(1000 * BIG_MS)] });
    app.templates = [-20, 19]
        .map(|nice| ThreadSpec { nice, ..ThreadSpec::new("child", evenkeel_model::ProgramId(1)) })
        .into();
    let longest = |policy: &str| {
        let (_, log) = simulate("2big+2little", &app, policy, &[]);
        let ran: Vec<_> = stretches(&log).into_iter().filter(|it| it.0 == 6).collect();
        ran.windows(2).map(|two| two[1].2.saturating_sub(two[0].3)).max().unwrap()
    };
    assert!(longest("bfs") > ms(150), "{:?}", longest("bfs"));
    // R = 12 ms: it starves after that and then goes before all others, and after 24 ms any core
    // may have it: with a tick, and slices of those who starve, too.
    assert!(longest("mclas") <= ms(24 + 4 + 2 * 6), "{:?}", longest("mclas"));
}

#[test]
fn children_of_a_thread_that_computes_need_not_qualify_again() {
    let mut app = programs(vec![vec![
        compute(1000 * BIG_MS),
        Step::Fork(0),
        compute(100 * BIG_MS),
        Step::JoinAll,
    ]]);
    app.programs.push(evenkeel_model::Program { steps: vec![compute(100 * BIG_MS)] });
    app.templates.push(evenkeel_model::ThreadSpec::new("child", evenkeel_model::ProgramId(1)));
    let (outcome, _) = simulate("2big+2little", &app, "mclas", &[]);
    let child = &outcome.threads[1];
    assert_eq!(child.time_on.0.iter().copied().sum::<Nanos>(), child.time_on[BIG]);
}

#[test]
fn a_thread_that_waits_for_memory_does_not_qualify() {
    let computes = threads(1, 2.0, vec![compute(1000 * BIG_MS)]);
    let mut waits = computes.clone();
    // As fast on every kind: what it does is wait for memory.
    waits.phases =
        vec![Phase { bytes_per_instruction: 1.0, ..Phase::new("memory", Scaling::Factor(1.0)) }];
    let fast =
        |app: &Application| on_big(&simulate("1big+1little", app, "mclas", &[]).0, 0) > Nanos::ZERO;
    assert!(fast(&computes) && !fast(&waits));
}

#[test]
fn calibrated_to_a_thread_that_runs_a_fifth_of_the_time_its_like_have_the_fast_cores() {
    let app = programs((0..2).map(|timer| periodic(timer, 2 * BIG_MS, ms(20), 400)).collect());
    let like = |set: &[(&str, &str)]| on_big(&simulate("1big+1little", &app, "mclas", set).0, 1);
    assert_eq!(like(&[]), Nanos::ZERO);
    assert!(like(&[("calibrate", "0")]) > Nanos::ZERO);
}

#[test]
fn stalled_time_is_told_to_those_who_ask_for_it() {
    use evenkeel_policy::{Directives, Event, Interest, Policy, StartError, View};
    #[derive(Default)]
    struct Asks {
        wants: bool,
        stalled: Nanos,
        ran: Nanos,
    }
    impl Policy for Asks {
        fn interest(&self) -> Interest {
            if self.wants { Interest::STALLED } else { Interest::NONE }
        }
        fn start(&mut self, _: &View<'_>, _: &mut Directives) -> Result<(), StartError> {
            Ok(())
        }
        fn event(&mut self, event: Event, view: &View<'_>, _: &mut Directives) {
            if let Event::Exited(thread) = event {
                let stats = view.thread(thread);
                (self.stalled, self.ran) = (stats.stalled, stats.time_on.0.iter().copied().sum());
            }
        }
    }
    let machine = free_odroid("1big+1little");
    let ratio = f64::from(machine.kinds[0].capacity) / f64::from(machine.kinds[1].capacity);
    // A factor of 1 is as fast on the big core as on the little one: 0.8 instructions a ns.
    const LITTLE_PER_NS: f64 = 0.8;
    for (factor, bytes, wants, expected) in [
        (1.0, 0.0, true, 0.0),
        (ratio, 4.0, true, 0.0),
        (ratio.sqrt(), 4.0, true, 0.5),
        (1.0, 0.04, true, 0.04 * LITTLE_PER_NS * 100.0 / 64.0),
        (1.0, 4.0, false, 0.0),
    ] {
        let mut app = threads(1, factor, vec![compute(100_000_000)]);
        app.phases[0].bytes_per_instruction = bytes;
        let mut policy = Asks { wants, ..Asks::default() };
        run(&machine, &[app], &mut policy, &Config::default(), &mut evenkeel_sim::NoListener)
            .unwrap();
        let share = policy.stalled.as_secs_f64() / policy.ran.as_secs_f64();
        assert!(
            (share - expected).abs() < 0.002,
            "factor {factor}, {bytes} bytes: {share}, not {expected}"
        );
    }
}
