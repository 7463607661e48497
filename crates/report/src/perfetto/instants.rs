//! A log, sorted into instants. A log reports a run when it ends; a trace needs its beginning, too,
//! and causes before effects within one instant.

use evenkeel_machine::{ClusterId, CoreId, MicroWatts, Nanos, Work};
use evenkeel_policy::ThreadId;
use evenkeel_sim::{Entry, Log};

/// A thread's run on a core, of a length above 0.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub thread: ThreadId,
    pub core: CoreId,
    pub from: Nanos,
    pub to: Nanos,
    pub retired: Work,
}

/// One thread made another runnable.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    pub at: Nanos,
    pub thread: ThreadId,
    pub by: ThreadId,
}

/// The log's entries by sort, each in order of time.
pub struct Instants {
    pub begins: Vec<Run>,
    pub ends: Vec<Run>,
    pub wakes: Vec<Wake>,
    pub clocks: Vec<(Nanos, ClusterId, u64)>,
    pub powers: Vec<(Nanos, CoreId, MicroWatts)>,
    next: [usize; 5],
}

/// What happens at one instant.
pub struct Instant<'a> {
    pub at: Nanos,
    pub begins: &'a [Run],
    pub ends: &'a [Run],
    pub wakes: &'a [Wake],
    pub clocks: &'a [(Nanos, ClusterId, u64)],
    pub powers: &'a [(Nanos, CoreId, MicroWatts)],
}

impl Instants {
    /// Sorts a log's entries. Runs of no length are left out: a trace cannot nest them.
    pub fn new(log: &Log) -> Self {
        let mut all = Self {
            begins: vec![],
            ends: vec![],
            wakes: vec![],
            clocks: vec![],
            powers: vec![],
            next: [0; 5],
        };
        for entry in &log.entries {
            match *entry {
                Entry::Ran { thread, core, from, to, retired } if from < to => {
                    all.ends.push(Run { thread, core, from, to, retired });
                }
                Entry::Woke { at, thread, by: Some(by) } => all.wakes.push(Wake { at, thread, by }),
                Entry::Frequency { at, cluster, khz } => all.clocks.push((at, cluster, khz)),
                Entry::Power { at, core, power } => all.powers.push((at, core, power)),
                _ => {}
            }
        }
        all.begins.clone_from(&all.ends);
        // The sort is stable: entries of one time stay in the log's order.
        all.begins.sort_by_key(|run| run.from);
        all.ends.sort_by_key(|run| run.to);
        all.wakes.sort_by_key(|wake| wake.at);
        all.clocks.sort_by_key(|clock| clock.0);
        all.powers.sort_by_key(|power| power.0);
        all
    }

    /// The next instant at which something happens.
    pub fn next(&mut self) -> Option<Instant<'_>> {
        let [begin, end, wake, clock, power] = self.next;
        let heads = [
            self.begins.get(begin).map(|run| run.from),
            self.ends.get(end).map(|run| run.to),
            self.wakes.get(wake).map(|wake| wake.at),
            self.clocks.get(clock).map(|clock| clock.0),
            self.powers.get(power).map(|power| power.0),
        ];
        let at = heads.into_iter().flatten().min()?;
        let begins = upto(&self.begins[begin..], |run| run.from == at);
        let ends = upto(&self.ends[end..], |run| run.to == at);
        let wakes = upto(&self.wakes[wake..], |wake| wake.at == at);
        let clocks = upto(&self.clocks[clock..], |clock| clock.0 == at);
        let powers = upto(&self.powers[power..], |power| power.0 == at);
        self.next = [
            begin + begins.len(),
            end + ends.len(),
            wake + wakes.len(),
            clock + clocks.len(),
            power + powers.len(),
        ];
        Some(Instant { at, begins, ends, wakes, clocks, powers })
    }
}

/// The leading items for which `holds` is true.
fn upto<T>(items: &[T], holds: impl Fn(&T) -> bool) -> &[T] {
    &items[..items.iter().take_while(|item| holds(item)).count()]
}

/// `begins`, ordered so that a thread comes after the one whose wake-up it answers at this instant.
pub fn causal(instant: &Instant<'_>) -> Vec<Run> {
    let mut order = Vec::with_capacity(instant.begins.len());
    if instant.wakes.is_empty() || instant.begins.len() < 2 {
        order.extend_from_slice(instant.begins);
        return order;
    }
    let mut begins: Vec<(ThreadId, usize)> =
        instant.begins.iter().enumerate().map(|(place, run)| (run.thread, place)).collect();
    begins.sort_unstable();
    let place = |thread: ThreadId| {
        begins.binary_search_by_key(&thread, |begin| begin.0).ok().map(|found| begins[found].1)
    };
    let mut waker = vec![None; instant.begins.len()];
    for wake in instant.wakes {
        if let (Some(woken), Some(by)) = (place(wake.thread), place(wake.by)) {
            waker[woken] = Some(by);
        }
    }
    let mut placed = vec![false; instant.begins.len()];
    let mut chain = vec![];
    for start in 0..instant.begins.len() {
        let mut link = Some(start);
        while let Some(run) = link.filter(|&run| !placed[run]) {
            placed[run] = true;
            chain.push(run);
            link = waker[run];
        }
        while let Some(run) = chain.pop() {
            order.push(instant.begins[run]);
        }
    }
    order
}
