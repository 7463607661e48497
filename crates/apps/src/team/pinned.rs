//! One thread a core, equal static parts, a barrier after each phase: how the suite's programs use
//! pthreads.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Team;
use super::barrier::Barrier;
use super::cpus::{PinError, pin};
use crate::shared::{SharedF64s, part};

/// What the threads share.
struct Common {
    barrier: Barrier,
    /// The next ticket; see [`Member::tickets`].
    next: AtomicUsize,
    /// The last two results of [`Team::agree`]: a late thread may still read the older one while
    /// the newer one is written.
    agreed: SharedF64s,
}

/// One of several pinned threads, each of which goes through the whole app.
pub struct Member<'a> {
    common: &'a Common,
    index: usize,
    members: usize,
    /// The first ticket of the next phase.
    first_ticket: Cell<usize>,
    /// How often the members have agreed on something.
    agreements: Cell<usize>,
}

/// Starts a thread for each CPU, lets each run `body`, and waits for all. A CPU may be named more
/// than once. A panic of one would leave the others at a barrier for ever, so an app's phases must
/// not panic.
///
/// # Errors
/// A thread cannot be pinned; then `body` has not run.
pub fn pinned(cpus: &[Option<u32>], body: impl Fn(&Member<'_>) + Sync) -> Result<(), PinError> {
    let cores = cpus.iter().collect::<HashSet<_>>().len();
    let barrier = Barrier::new(cpus.len(), cores);
    let common = Common { barrier, next: AtomicUsize::new(0), agreed: SharedF64s::zeros(2) };
    let in_place = AtomicUsize::new(0);
    let thread = |index: usize| {
        let pinned = pin(cpus[index]);
        in_place.fetch_add(usize::from(pinned.is_ok()), Ordering::Relaxed);
        common.barrier.wait();
        if in_place.load(Ordering::Relaxed) == cpus.len() {
            let (first_ticket, agreements) = (Cell::new(0), Cell::new(0));
            body(&Member { common: &common, index, members: cpus.len(), first_ticket, agreements });
        }
        pinned
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..cpus.len()).map(|index| scope.spawn(move || thread(index))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

impl Team for Member<'_> {
    fn each(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        part(blocks, self.members, self.index).for_each(body);
        self.common.barrier.wait();
    }

    fn tickets(&self, blocks: usize, body: impl Fn(usize) + Sync) {
        let first = self.first_ticket.get();
        loop {
            let ticket = self.common.next.fetch_add(1, Ordering::Relaxed) - first;
            if ticket >= blocks {
                break;
            }
            body(ticket);
        }
        // Each member has drawn one ticket too many. So all know where the next phase's tickets
        // begin, and the counter need not be reset.
        self.first_ticket.set(first + blocks + self.members);
        self.common.barrier.wait();
    }

    fn once(&self, body: impl FnOnce()) {
        if self.index == 0 {
            body();
        }
        self.common.barrier.wait();
    }

    fn agree(&self, decide: impl FnOnce() -> f64) -> f64 {
        let slot = self.agreements.get() % 2;
        self.agreements.set(self.agreements.get() + 1);
        self.once(|| self.common.agreed.set(slot, decide()));
        self.common.agreed.get(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(count: usize) -> Vec<Option<u32>> {
        let pool = evenkeel_runtime::Pool::builder().workers(count).build().unwrap();
        pool.places().iter().map(|place| place.cpu).collect()
    }

    #[test]
    fn every_ticket_of_every_phase_is_drawn_once() {
        for members in [1, 2, 3, 7] {
            let drawn: Vec<AtomicUsize> = (0..30).map(|_| AtomicUsize::new(0)).collect();
            pinned(&cpus(members), |member| {
                for phase in 0..3 {
                    member.tickets(10, |ticket| {
                        drawn[phase * 10 + ticket].fetch_add(1, Ordering::Relaxed);
                    });
                }
            })
            .unwrap();
            assert!(
                drawn.iter().all(|times| times.load(Ordering::Relaxed) == 1),
                "{members}: {drawn:?}"
            );
        }
    }

    #[test]
    fn a_phase_begins_when_the_one_before_has_ended() {
        let done = AtomicUsize::new(0);
        pinned(&cpus(3), |member| {
            for phase in 0..100 {
                member.each(5, |_| {
                    assert!(done.load(Ordering::Relaxed) >= 6 * phase);
                    done.fetch_add(1, Ordering::Relaxed);
                });
                member.once(|| assert_eq!(done.fetch_add(1, Ordering::Relaxed), 6 * phase + 5));
            }
        })
        .unwrap();
    }

    #[test]
    fn all_agree_on_what_one_decides() {
        pinned(&cpus(3), |member| {
            for number in 0..100 {
                assert_eq!(member.agree(|| f64::from(number)), f64::from(number));
            }
        })
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_and_nobody_waits() {
        let error = pinned(&[cpus(1)[0], Some(1000)], |_| unreachable!()).unwrap_err();
        assert_eq!(error.cpu, 1000);
    }
}
