//! The cases on Evenkeel.

use std::hint::black_box;

use evenkeel_runtime::{Graph, Handle, Pool};

use super::cases::{self, CHAINS, TASKS};
use super::memory;
use super::system::{Answer, System, Threads, pin_to, timed};
use super::work::Work;

pub struct Ours {
    name: String,
    pool: &'static Pool,
    /// A pool without core lending: loops in equal parts on it are the pinned version of a program.
    lends_nothing: &'static Pool,
    work: Option<&'static Work>,
    handles: &'static [Handle],
    chains: Option<Graph<'static, 'static>>,
    independent: Option<Graph<'static, 'static>>,
}

impl Ours {
    /// They live as long as the bench.
    pub fn new(work: Option<&'static Work>, threads: Threads) -> Self {
        let pool = || Pool::builder().workers(cases::WORKERS).pin(threads == Threads::Pinned);
        let (pool, lends_nothing) = (pool().build().unwrap(), pool().lend(false).build().unwrap());
        let handles: Vec<_> = (0..CHAINS).map(|_| Handle::new()).collect();
        let (pool, lends_nothing) = (Box::leak(Box::new(pool)), Box::leak(Box::new(lends_nothing)));
        let name = threads.of(super::OURS);
        Self {
            name,
            pool,
            lends_nothing,
            work,
            handles: handles.leak(),
            chains: None,
            independent: None,
        }
    }

    fn independent(pool: &Pool) {
        pool.scope(|s| (0..TASKS).for_each(|i| s.spawn(move || _ = black_box(i))));
    }

    fn chains(pool: &Pool, handles: &[Handle]) {
        pool.scope(|s| {
            for _ in 0..TASKS / CHAINS {
                handles.iter().for_each(|handle| s.task().updates(handle).run(|| _ = black_box(0)));
            }
        });
    }

    fn fib(pool: &Pool, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = pool.join(|| Self::fib(pool, n - 1), || Self::fib(pool, n - 2));
        a + b
    }

    /// The pool that runs a case, by the name behind its dash.
    fn team(&self, case: &str) -> &Pool {
        if case.ends_with("-static") { self.lends_nothing } else { self.pool }
    }

    /// A loop under the schedule that a case names after its dash; `auto`: the pool's own.
    fn each(&self, case: &str, n: usize, f: impl Fn(usize) + Send + Sync) {
        let pool = self.team(case);
        match case.rsplit('-').next() {
            Some("auto") => pool.for_each(0..n, f),
            Some(schedule) => pool.over(0..n).schedule(schedule.parse().unwrap()).for_each(f),
            None => {}
        }
    }

    fn do_case(&mut self, case: &str) -> Option<u64> {
        let (pool, handles) = (self.pool, self.handles);
        match case {
            "independent" => Self::independent(pool),
            "chains" => Self::chains(pool, handles),
            "independent-again" => self.independent.as_mut()?.run(),
            "chains-again" => self.chains.as_mut()?.run(),
            "fib" => return Some(pool.run(|| Self::fib(pool, cases::FIB))),
            _ => return self.do_work(case, self.work?),
        }
        Some(0)
    }

    fn do_work(&self, case: &str, work: &Work) -> Option<u64> {
        let pool = self.pool;
        match case {
            _ if case.ends_with("-serial") => return serial(case, work),
            "short" => {
                let shorts = 0..cases::SHORT_LOOPS;
                pool.run(|| {
                    shorts.for_each(|_| pool.for_each(0..cases::SHORT_LOOP, |i| work.short(i)))
                });
            }
            "coarse-tasks" => {
                pool.scope(|s| (0..cases::COARSE).for_each(|i| s.spawn(move || work.coarse(i))))
            }
            "coarse-loop" => pool.for_each(0..cases::COARSE, |i| work.coarse(i)),
            "pipeline" => {
                let mut last = 0;
                let items = pool
                    .pipeline((0..cases::ITEMS).map(|i| work.item(i)))
                    .in_flight(cases::IN_FLIGHT);
                items.parallel(|x| work.change(x)).serial(|x| last = work.collect(last, x)).run();
                return Some(last);
            }
            _ if case.starts_with("prices-") => self.each(case, cases::OPTIONS, |i| work.price(i)),
            _ if case.starts_with("frames-") => self.team(case).run(|| {
                (0..cases::BARRIERS).for_each(|_| self.each(case, cases::CELLS, |i| work.cell(i)));
            }),
            _ => return None,
        }
        Some(0)
    }
}

/// On the first core, without the pool.
fn serial(case: &str, work: &Work) -> Option<u64> {
    let on_first = || {
        pin_to(0);
        match case {
            "prices-serial" => (0..cases::OPTIONS).for_each(|i| work.price(i)),
            "short-serial" => {
                (0..cases::SHORT_LOOPS)
                    .for_each(|_| (0..cases::SHORT_LOOP).for_each(|i| work.short(i)));
            }
            "frames-serial" => {
                (0..cases::BARRIERS).for_each(|_| (0..cases::CELLS).for_each(|i| work.cell(i)))
            }
            "coarse-serial" => (0..cases::COARSE).for_each(|i| work.coarse(i)),
            "pipeline-serial" => {
                let through = |i| work.change(work.item(i));
                return Some(
                    (0..cases::ITEMS).map(through).fold(0, |last, x| work.collect(last, x)),
                );
            }
            _ => return None,
        }
        Some(0)
    };
    std::thread::scope(|threads| threads.spawn(on_first).join().unwrap())
}

/// A pool of one, so that no worker runs what the scope's opener creates before all is created.
pub fn pending(case: &str) -> Option<f64> {
    let pool = Pool::builder().workers(1).pin(false).build().unwrap();
    let handles: Vec<_> = (0..CHAINS).map(|_| Handle::new()).collect();
    match case {
        "memory-independent" => Some(pool.scope(|s| {
            memory::growth(|| (0..TASKS).for_each(|i| s.spawn(move || _ = black_box(i))))
        })),
        "memory-chains" => Some(pool.scope(|s| {
            memory::growth(|| {
                (0..TASKS).for_each(|i| {
                    s.task().updates(&handles[i % CHAINS]).run(move || _ = black_box(i))
                });
            })
        })),
        _ => None,
    }
}

impl System for Ours {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn run(&mut self, case: &str) -> Option<Answer> {
        if case.starts_with("memory-") {
            return memory::in_a_fresh_process(self.name(), case);
        }
        let (pool, handles) = (self.pool, self.handles);
        match case {
            "independent-again" if self.independent.is_none() => {
                self.independent =
                    Some(pool.record(|g| {
                        (0..TASKS).for_each(|i| g.task().run(move || _ = black_box(i)))
                    }));
            }
            "chains-again" if self.chains.is_none() => {
                self.chains = Some(pool.record(|g| {
                    for _ in 0..TASKS / CHAINS {
                        handles
                            .iter()
                            .for_each(|handle| g.task().updates(handle).run(|| _ = black_box(0)));
                    }
                }));
            }
            _ => {}
        }
        timed(self.work, case, || self.do_case(case))
    }
}
