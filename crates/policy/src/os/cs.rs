//! `cs`: cluster switching. The cores of one kind are in use at a time, all others are off.
//!
//! ```text
//! u = mean utilisation of the working kind's cores (PELT)
//! u > up -> all threads to the next faster kind        u < down -> all to the next slower kind
//! ```
//!
//! Thresholds, `settle` and bound threads: see `os/switching.rs`. Each thread pays one migration
//! per switch. With two kinds the fast or the slow one is in use; more kinds are ranked by capacity
//! and switched one step at a time. All clusters of a kind count as one.
//!
//! Source: the cluster migration of the first big.LITTLE products (Arm, "big.LITTLE Technology: The
//! Future of Mobile", 2013).
//!
//! Knobs: `up` (0.8), `down` (0.3), `tick` (4 ms), `settle` (128 ms), `first` (slow): the kind in
//! use at the start.

use evenkeel_machine::KindId;

use super::switching::{KNOBS, Switching};
use crate::contract::{Directives, Event, Interest, Policy, StartError, View};
use crate::entry::Entry;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "cs",
    summary: "cluster switching: one kind of core works at a time, chosen by utilisation",
    source: "Arm, big.LITTLE Technology: The Future of Mobile, 2013 (cluster migration)",
    traits: &[],
    knobs: KNOBS,
    make: |knobs, _| Box::new(ClusterSwitching { switching: Switching::new(knobs), kinds: 0 }),
};

/// The policy `cs`.
#[derive(Debug)]
pub struct ClusterSwitching {
    switching: Switching,
    kinds: usize,
}

impl Policy for ClusterSwitching {
    fn interest(&self) -> Interest {
        Switching::INTEREST
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        self.kinds = view.machine.kinds.len();
        let kinds = (0..self.kinds).map(|rank| view.machine.cores_of(KindId(rank as u8)).collect());
        self.switching.start("cs", vec![kinds.collect()], view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        self.switching.event(event, view, say);
    }

    fn notes(&self) -> Vec<String> {
        match self.kinds {
            1 => vec![
                "cs has one kind of core here, and so nothing to switch: all cores work".into(),
            ],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::{CoreId, Nanos};

    use super::*;
    use crate::contract::QueueId;
    use crate::registry::make;
    use crate::testing::{Bench, machine};

    fn bench(big: u32, little: u32) -> Bench {
        Bench::start(big, little, make("cs", &[]).unwrap())
    }

    fn working(bench: &Bench) -> Vec<usize> {
        (0..bench.cores.len())
            .filter(|&core| !bench.serves(CoreId(core as u32)).is_empty())
            .collect()
    }

    fn tick(bench: &mut Bench, ms: u64, utilisation: u32) {
        bench.now = Nanos::from_millis(ms);
        for core in &mut bench.cores {
            core.utilisation = utilisation;
        }
        bench.deliver(Event::Timer);
    }

    #[test]
    fn one_kind_works_at_a_time_and_utilisation_chooses_it() {
        let mut bench = bench(2, 2);
        assert_eq!(working(&bench), [2, 3]);
        tick(&mut bench, 4, 820);
        assert_eq!(working(&bench), [0, 1]);
        tick(&mut bench, 200, 500);
        assert_eq!(working(&bench), [0, 1], "between the thresholds nothing happens");
        tick(&mut bench, 204, 300);
        assert_eq!(working(&bench), [2, 3]);
    }

    #[test]
    fn what_the_new_cores_have_not_yet_measured_does_not_switch_back() {
        let mut bench = bench(2, 2);
        tick(&mut bench, 4, 1024);
        tick(&mut bench, 8, 0);
        assert_eq!(working(&bench), [0, 1]);
        tick(&mut bench, 4 + 128, 0);
        assert_eq!(working(&bench), [2, 3]);
    }

    #[test]
    fn a_smaller_kind_takes_the_threads_of_all_queues() {
        let mut bench = bench(1, 3);
        let threads: Vec<_> = (0..3).map(|_| bench.spawn(0)).collect();
        tick(&mut bench, 4, 1024);
        assert_eq!(working(&bench), [0]);
        for thread in threads {
            assert_eq!(bench.queue_of(thread), Some(QueueId(0)));
        }
        assert_eq!(bench.serves(CoreId(0))[0], QueueId(0));
    }

    #[test]
    fn three_kinds_are_taken_step_by_step() {
        let machine = machine(&[("prime", 1024, 1), ("big", 700, 2), ("little", 300, 2)]);
        let mut bench = Bench::on(machine, make("cs", &[]).unwrap());
        assert_eq!(working(&bench), [3, 4]);
        tick(&mut bench, 4, 1024);
        assert_eq!(working(&bench), [1, 2]);
        tick(&mut bench, 200, 1024);
        assert_eq!(working(&bench), [0]);
    }

    #[test]
    fn a_thread_bound_to_a_core_that_is_off_is_not_left_waiting() {
        let mut bench = bench(1, 1);
        let thread = bench.spawn_on(0, &[CoreId(0)]);
        let queue = bench.queue_of(thread).unwrap();
        assert_eq!(bench.serves(CoreId(0)), [queue]);
        assert!(!bench.serves(CoreId(1)).contains(&queue));
        tick(&mut bench, 4, 1024);
        assert_eq!(bench.queue_of(thread), Some(QueueId(0)), "its core works now");
    }

    #[test]
    fn it_says_that_there_is_nothing_to_switch_between_cores_of_one_kind() {
        let bench = Bench::start(0, 2, make("cs", &[]).unwrap());
        assert_eq!(bench.notes().len(), 1);
        assert_eq!(working(&bench), [0, 1]);
    }

    #[test]
    fn thresholds_the_wrong_way_round_are_refused() {
        for name in ["cs", "iks", "gts"] {
            for (up, down) in [("0.4", "0.4"), ("0.2", "0.5")] {
                let set =
                    [("up".to_string(), up.to_string()), ("down".to_string(), down.to_string())];
                let machine = machine(&[("big", 1024, 1), ("little", 512, 1)]);
                let why = Bench::try_on(machine, make(name, &set).unwrap()).err();
                assert!(
                    matches!(&why, Some(StartError::Thresholds { policy, .. }) if *policy == name),
                    "{name}: {why:?}"
                );
            }
        }
    }

    #[test]
    fn where_all_cores_of_the_working_kind_leave_the_other_takes_over() {
        let mut bench = bench(1, 1);
        bench.set_online(CoreId(1), false);
        assert_eq!(working(&bench), [0]);
    }
}
