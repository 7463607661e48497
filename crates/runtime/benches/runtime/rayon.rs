//! The cases on rayon.

use std::hint::black_box;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::cases::{self, TASKS};
use super::memory;
use super::system::{Answer, System, Threads, pin_to, timed};
use super::work::Work;

pub struct Rayon {
    name: String,
    pool: ThreadPool,
    work: Option<&'static Work>,
    version: String,
}

impl Rayon {
    pub fn new(work: Option<&'static Work>, threads: Threads) -> Self {
        let start = move |cpu| {
            if threads == Threads::Pinned {
                pin_to(cpu)
            }
        };
        let pool = ThreadPoolBuilder::new()
            .num_threads(cases::WORKERS)
            .start_handler(start)
            .build()
            .unwrap();
        Self { name: threads.of("rayon"), pool, work, version: locked_version() }
    }

    fn do_case(&self, case: &str) -> Option<u64> {
        match case {
            "independent" => independent(&self.pool),
            "fib" => return Some(self.pool.install(|| fib(cases::FIB))),
            _ => return self.do_work(case, self.work?),
        }
        Some(0)
    }

    fn do_work(&self, case: &str, work: &Work) -> Option<u64> {
        let pool = &self.pool;
        let prices = || (0..cases::OPTIONS).into_par_iter();
        let frames = |chunks: (usize, usize)| {
            pool.install(|| {
                for _ in 0..cases::BARRIERS {
                    let cells = (0..cases::CELLS)
                        .into_par_iter()
                        .with_min_len(chunks.0)
                        .with_max_len(chunks.1);
                    cells.for_each(|i| work.cell(i));
                }
            });
        };
        match case {
            "prices-auto" => pool.install(|| prices().for_each(|i| work.price(i))),
            "prices-static" => {
                pool.install(|| {
                    prices()
                        .with_min_len(cases::OPTIONS / cases::WORKERS)
                        .for_each(|i| work.price(i))
                });
            }
            "prices-dynamic" => {
                pool.install(|| prices().with_max_len(cases::CHUNK).for_each(|i| work.price(i)))
            }
            "short" => pool.install(|| {
                for _ in 0..cases::SHORT_LOOPS {
                    (0..cases::SHORT_LOOP).into_par_iter().for_each(|i| work.short(i));
                }
            }),
            "frames-auto" => frames((1, cases::CELLS)),
            "frames-static" => frames((cases::CELLS / cases::WORKERS, cases::CELLS)),
            "frames-dynamic" => frames((1, cases::CELL_CHUNK)),
            "coarse-tasks" => {
                pool.scope(|s| (0..cases::COARSE).for_each(|i| s.spawn(move |_| work.coarse(i))))
            }
            "coarse-loop" => {
                pool.install(|| {
                    (0..cases::COARSE).into_par_iter().with_max_len(1).for_each(|i| work.coarse(i))
                });
            }
            _ => return None,
        }
        Some(0)
    }
}

fn independent(pool: &ThreadPool) {
    pool.scope(|s| (0..TASKS).for_each(|i| s.spawn(move |_| _ = black_box(i))));
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// A pool of one, so that no worker runs what is created before all is.
pub fn pending(case: &str) -> Option<f64> {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    (case == "memory-independent").then(|| {
        pool.scope(|s| {
            memory::growth(|| (0..TASKS).for_each(|i| s.spawn(move |_| _ = black_box(i))))
        })
    })
}

/// Of the workspace's lock file: a bench that stands elsewhere does without.
fn locked_version() -> String {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"))
        .unwrap_or_default();
    let package = lock.split("[[package]]").find(|package| package.contains("name = \"rayon\""));
    let version =
        package.and_then(|it| it.lines().find_map(|line| line.strip_prefix("version = ")));
    version.unwrap_or_default().trim_matches('"').to_owned()
}

impl System for Rayon {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn run(&mut self, case: &str) -> Option<Answer> {
        if case.starts_with("memory-") {
            return memory::in_a_fresh_process(self.name(), case);
        }
        timed(self.work, case, || self.do_case(case))
    }
}
