//! `pinned`: static threading. Each thread is bound to a core of its own while there are any, in
//! the order of start.
//!
//! ```text
//! core(thread) = argmin over F of the number of threads bound there,  ties: first of F,
//!                when the thread starts
//! F            = cores, fastest kind first, first siblings of SMT cores before second ones,
//!                then by number
//! ```
//!
//! Applications make no difference: two programs do not share a core while another core has no
//! thread. A program alone has its thread `i` on core `i`; more threads than cores go round again.
//! A thread that ends gives its core back.
//!
//! No thread moves: no stealing, no balance. A thread is elsewhere only while its core is offline,
//! on the next of `F` that it may run on; it is never bound to a core that it may not run on.
//! Threads that share a core take turns: virtual time by weight, slices of 3 ms divided by their
//! number (at least 0.75 ms), as in [`super::cfs_unaware`].
//!
//! Source: the usual baseline of the field, for instance Becchi and Crowley, Computing Frontiers
//! 2006, "static assignment". Any number of kinds: only the order of capacities counts. No knobs. A
//! start costs O(cores).

use evenkeel_machine::CoreId;

use crate::contract::{
    Directives, Event, Knobs, Policy, QueueId, StartError, ThreadId, Tier, View,
};
use crate::entry::Entry;
use crate::os::fair;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "pinned",
    summary: "each thread on a core of its own, fast cores first; nobody moves",
    source: "Becchi and Crowley, Computing Frontiers 2006 (static assignment)",
    traits: &[],
    knobs: &[],
    make: |_: &Knobs, _| Box::new(Pinned::default()),
};

/// Static threading.
#[derive(Debug, Default)]
pub struct Pinned {
    /// Cores, fastest first. Queue `q` belongs to core `q`.
    fast_first: Vec<CoreId>,
    /// By core: how many threads are bound to it.
    bound: Vec<u32>,
    /// By thread: the index in `fast_first` of the core that it is bound to.
    places: Vec<Option<usize>>,
}

impl Pinned {
    /// Binds a thread to the online, allowed core with the fewest threads.
    fn bind(&mut self, thread: ThreadId, view: &View<'_>) {
        let places = self.fast_first.iter().enumerate();
        let may = places
            .filter(|&(_, &core)| view.cores[core.index()].online && view.allowed(thread, core));
        let place = may.min_by_key(|&(_, core)| self.bound[core.index()]).map(|(place, _)| place);
        if let Some(place) = place {
            self.bound[self.fast_first[place].index()] += 1;
        }
        if self.places.len() <= thread.index() {
            self.places.resize(thread.index() + 1, None);
        }
        self.places[thread.index()] = place;
    }

    /// A thread has ended.
    fn release(&mut self, thread: ThreadId) {
        if let Some(place) = self.places.get_mut(thread.index()).and_then(Option::take) {
            self.bound[self.fast_first[place].index()] -= 1;
        }
    }

    /// The core that a thread is bound to or, while that is offline, the next in `fast_first` taken
    /// as a ring.
    fn core_for(&self, thread: ThreadId, view: &View<'_>) -> Option<CoreId> {
        let first = self.places.get(thread.index()).copied().flatten()?;
        let mut ring = self.fast_first[first..].iter().chain(&self.fast_first[..first]).copied();
        ring.find(|&core| view.cores[core.index()].online && view.allowed(thread, core))
    }
}

impl Policy for Pinned {
    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.fast_first = fair::fast_first(view.machine);
        self.bound = vec![0; view.machine.cores.len()];
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
                self.release(thread);
                self.bind(thread, view);
                if let Some(core) = self.core_for(thread, view) {
                    fair::enter(thread, QueueId(core.0), view, say);
                }
            }
            Event::Exited(thread) => self.release(thread),
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
    fn threads_of_two_applications_do_not_share_a_core_while_another_has_none() {
        let mut bench = Bench::start(2, 2, Box::new(Pinned::default()));
        let threads = [0, 1, 1, 0].map(|app| bench.spawn(app));
        assert_eq!(
            threads.map(|thread| bench.queue_of(thread)),
            [0, 1, 2, 3].map(|queue| Some(QueueId(queue)))
        );
    }

    #[test]
    fn the_core_of_a_thread_that_ended_is_the_next_that_is_given() {
        let mut bench = Bench::start(2, 2, Box::new(Pinned::default()));
        let threads = [0; 3].map(|app| bench.spawn(app));
        bench.exit(threads[1]);
        let next = [1, 1].map(|app| bench.spawn(app));
        assert_eq!(
            next.map(|thread| bench.queue_of(thread)),
            [1, 3].map(|queue| Some(QueueId(queue)))
        );
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
