//! `iks`: the in-kernel switcher. Cores are paired, one of each pair is in use, and each pair is
//! switched by its own utilisation.
//!
//! ```text
//! pair i = (i-th core of the fast kind, i-th core of the slow kind)
//! u_i = utilisation of the core of pair i that is in use (PELT)
//! u_i > up -> its faster core is used      u_i < down -> its slower core is used
//! ```
//!
//! Pairs need equally many cores of each kind: those beyond the least number stay off, which
//! [`Policy::notes`] reports. Thresholds, `settle` and bound threads: see `os/switching.rs`. More
//! than two kinds: tuples of one core of each kind, ranked by capacity and switched one step at a
//! time.
//!
//! Source: Poirier, "In Kernel Switcher: A solution to support ARM's new big.LITTLE technology",
//! Embedded Linux Conference 2013; arch/arm/common/bL_switcher.c.
//!
//! Knobs: `up` (0.8), `down` (0.3), `tick` (4 ms), `settle` (128 ms), `first` (slow): the core of
//! each pair that is in use at the start.

use evenkeel_machine::{CoreId, KindId};

use super::switching::{KNOBS, Switching};
use crate::contract::{Directives, Event, Interest, Policy, StartError, View};
use crate::entry::Entry;

/// Entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "iks",
    summary: "in-kernel switcher: pairs of a fast and a slow core, one of each works, chosen by \
              utilisation",
    source: "Poirier, In Kernel Switcher, Embedded Linux Conference 2013",
    traits: &[],
    knobs: KNOBS,
    make: |knobs, _| {
        Box::new(InKernelSwitcher { switching: Switching::new(knobs), notes: Vec::new() })
    },
};

/// The policy `iks`.
#[derive(Debug)]
pub struct InKernelSwitcher {
    switching: Switching,
    notes: Vec<String>,
}

impl Policy for InKernelSwitcher {
    fn interest(&self) -> Interest {
        Switching::INTEREST
    }

    fn start(&mut self, view: &View<'_>, say: &mut Directives) -> Result<(), StartError> {
        let machine = view.machine;
        if machine.kinds.len() < 2 {
            let machine = machine.name.clone();
            return Err(StartError::OneKind { policy: "iks", machine });
        }
        let kinds: Vec<Vec<CoreId>> = (0..machine.kinds.len())
            .map(|rank| machine.cores_of(KindId(rank as u8)).collect())
            .collect();
        let pairs = kinds.iter().map(Vec::len).min().unwrap_or(0);
        for (kind, cores) in
            machine.kinds.iter().zip(&kinds).filter(|(_, cores)| cores.len() > pairs)
        {
            let surplus = cores.len() - pairs;
            self.notes.push(format!(
                "iks pairs {pairs} of the {} {} cores; {surplus} without a partner stay off",
                cores.len(),
                kind.name
            ));
        }
        let pair = |i: usize| kinds.iter().map(|cores| vec![cores[i]]).collect();
        self.switching.start("iks", (0..pairs).map(pair).collect(), view, say)
    }

    fn event(&mut self, event: Event, view: &View<'_>, say: &mut Directives) {
        self.switching.event(event, view, say);
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_machine::Nanos;

    use super::*;
    use crate::contract::QueueId;
    use crate::registry::make;
    use crate::testing::Bench;

    fn bench(big: u32, little: u32) -> Bench {
        Bench::start(big, little, make("iks", &[]).unwrap())
    }

    fn working(bench: &Bench) -> Vec<usize> {
        (0..bench.cores.len())
            .filter(|&core| !bench.serves(CoreId(core as u32)).is_empty())
            .collect()
    }

    #[test]
    fn each_pair_is_switched_by_its_own_utilisation() {
        let mut bench = bench(2, 2);
        assert_eq!(working(&bench), [2, 3]);
        bench.now = Nanos::from_millis(4);
        bench.cores[2].utilisation = 900;
        bench.deliver(Event::Timer);
        assert_eq!(working(&bench), [0, 3]);
        assert_eq!(bench.serves(CoreId(0))[0], QueueId(0), "the pair's queue goes along");
    }

    #[test]
    fn threads_stay_in_their_queue_when_their_pair_switches() {
        let mut bench = bench(2, 2);
        let threads = [bench.spawn(0), bench.spawn(0)];
        bench.now = Nanos::from_millis(4);
        bench.cores[2].utilisation = 900;
        bench.deliver(Event::Timer);
        assert_eq!(
            threads.map(|thread| bench.queue_of(thread)),
            [Some(QueueId(0)), Some(QueueId(1))]
        );
    }

    #[test]
    fn surplus_cores_stay_off_and_it_says_so() {
        let mut bench = bench(1, 3);
        assert_eq!(
            bench.notes(),
            ["iks pairs 1 of the 3 little cores; 2 without a partner stay off"]
        );
        for ms in 1..50 {
            bench.now = Nanos::from_millis(100 * ms);
            let utilisation = if ms % 2 == 0 { 1024 } else { 0 };
            bench.cores.iter_mut().for_each(|core| core.utilisation = utilisation);
            bench.deliver(Event::Timer);
            assert_eq!(working(&bench).len(), 1);
        }
    }

    #[test]
    fn one_kind_only_is_refused() {
        let machine = crate::testing::machine(&[("big", 1024, 2)]);
        let why = Bench::try_on(machine, make("iks", &[]).unwrap()).err();
        assert_eq!(
            why.unwrap().to_string(),
            "iks pairs cores of different kinds; bench has one kind only"
        );
    }
}
