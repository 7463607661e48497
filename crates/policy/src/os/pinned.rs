//! `pinned`: static threading, what a program does that binds thread `i` to core `i`.
//!
//! ```text
//! core(thread) = F[index in its application mod cores],   F = cores, fastest kind first, first siblings of SMT cores
//!                                                              before second ones, then by number
//! ```
//!
//! Nobody moves: no stealing, no balance. A thread goes elsewhere only when its core leaves, or when its affinity forbids the core, in which case it
//! takes the next core of `F` that is allowed. Threads that share a core take turns: virtual time by weight, slices of 3 ms
//! divided by their number (at least 0.75 ms), as in [`super::linux`].
//!
//! Source: the usual baseline of the field, for instance Becchi and Crowley, Computing Frontiers 2006, "static assignment".
//! Any number of kinds: only the order of capacities counts. No knobs.

use evenkeel_machine::CoreId;

use crate::contract::{Directives, Event, Knobs, Policy, QueueId, ThreadId, Tier, View};
use crate::os::fair;
use crate::registry::Entry;

/// In the list of policies.
pub const ENTRY: Entry = Entry {
    name: "pinned",
    summary: "thread i of an application on core i, fast cores first; nobody moves",
    source: "Becchi and Crowley, Computing Frontiers 2006 (static assignment)",
    knobs: &[],
    make: |_: &Knobs| Box::new(Pinned::default()),
};

/// See the file's head.
#[derive(Debug, Default)]
pub struct Pinned {
    /// Cores, fastest first. Queue `q` is core `q`'s.
    fast_first: Vec<CoreId>,
}

impl Pinned {
    /// The first core from `index` on, in `fast_first` taken as a ring, that is there and allowed.
    fn core_for(&self, thread: ThreadId, view: &View<'_>) -> Option<CoreId> {
        let cores = self.fast_first.len();
        let first = view.thread(thread).index_in_app as usize;
        (0..cores)
            .map(|step| self.fast_first[(first + step) % cores])
            .find(|&core| view.cores[core.index()].online && view.allowed(thread, core))
    }
}

impl Policy for Pinned {
    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), String> {
        self.fast_first = fair::fast_first(view.machine);
        for core in &view.machine.cores {
            let own = fair::make_queue(say);
            say.serve(core.id, vec![Tier::least_key([own])], None);
            say.prefer(own, vec![core.id]);
        }
        Ok(())
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        match event {
            Event::Started(thread) => {
                if let Some(core) = self.core_for(thread, view) {
                    fair::enter(thread, QueueId(core.0), view, say);
                }
            }
            Event::CoreOffline(_) | Event::CoreOnline(_) => {
                for &thread in view.live {
                    if let Some(core) = self.core_for(thread, view) {
                        say.assign(thread, QueueId(core.0));
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn thread_i_goes_to_core_i_fast_cores_first_and_then_round_again() {
        let mut bench = Bench::start(2, 2, Box::new(Pinned::default()));
        let threads: Vec<_> = (0..5).map(|_| bench.spawn(0)).collect();
        let cores: Vec<_> = threads.iter().map(|&thread| bench.queue_of(thread)).collect();
        assert_eq!(cores, [0, 1, 2, 3, 0].map(|queue| Some(QueueId(queue))));
    }

    #[test]
    fn a_core_serves_its_own_queue_and_no_other() {
        let bench = Bench::start(1, 2, Box::new(Pinned::default()));
        for core in 0..3 {
            assert_eq!(bench.serves(CoreId(core)), [QueueId(core)]);
        }
    }

    #[test]
    fn a_thread_that_may_not_run_on_its_core_takes_the_next_that_it_may() {
        let mut bench = Bench::start(2, 2, Box::new(Pinned::default()));
        let thread = bench.spawn_on(0, &[CoreId(2)]);
        assert_eq!(bench.queue_of(thread), Some(QueueId(2)));
    }

    #[test]
    fn threads_of_a_core_that_leaves_move_on_and_come_back_with_it() {
        let mut bench = Bench::start(1, 1, Box::new(Pinned::default()));
        let thread = bench.spawn(0);
        bench.set_online(CoreId(0), false);
        assert_eq!(bench.queue_of(thread), Some(QueueId(1)));
        bench.set_online(CoreId(0), true);
        assert_eq!(bench.queue_of(thread), Some(QueueId(0)));
    }
}
