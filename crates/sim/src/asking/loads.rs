//! Load averages of threads: a PELT average each, kept apart from the threads, because a context
//! switch may change what it follows.
//!
//! Most threads follow the same signal for long, and once their average, rounded, has come to the
//! signal's value it stays there. Such a thread is *settled*: a look at all threads has nothing to
//! compute for it. Bits say which threads are not settled. A switch that changes nothing of a
//! thread's signal has nothing to compute, either.

use evenkeel_machine::Nanos;
use evenkeel_policy::ThreadId;
use evenkeel_policy::pelt::Load;

/// Load averages of all threads.
#[derive(Debug, Default)]
pub struct Loads {
    /// By thread.
    averages: Vec<Load>,
    /// By thread, as bits: set if what is shown of its load may have to change though its signal
    /// does not.
    unsettled: Vec<u64>,
}

impl Loads {
    /// A thread starts with a load of 0.
    pub fn start(&mut self, thread: ThreadId, now: Nanos) {
        let index = thread.index();
        if self.averages.len() <= index {
            self.averages.resize(index + 1, Load::default());
            self.unsettled.resize(index / 64 + 1, 0);
        }
        self.averages[index] = Load::new(now);
        self.unsettled[index / 64] |= 1 << (index % 64);
    }

    /// A thread's load follows this signal from now on.
    #[inline]
    pub fn follow(&mut self, thread: ThreadId, signal: f64, now: Nanos) {
        let Some(load) =
            self.averages.get_mut(thread.index()).filter(|load| load.signal() != signal)
        else {
            return;
        };
        load.follow(signal, now);
        self.unsettled[thread.index() / 64] |= 1 << (thread.index() % 64);
    }

    /// A thread has ended: no policy asks for it any more.
    pub fn forget(&mut self, thread: ThreadId) {
        if let Some(word) = self.unsettled.get_mut(thread.index() / 64) {
            *word &= !(1 << (thread.index() % 64));
        }
    }

    /// The load of a thread, if it may be another than when it was last asked for.
    #[inline]
    pub fn news(&mut self, thread: ThreadId, now: Nanos) -> Option<u16> {
        let (word, bit) = (thread.index() / 64, 1 << (thread.index() % 64));
        if self.unsettled.get(word)? & bit == 0 {
            return None;
        }
        let load = &self.averages[thread.index()];
        let shown = load.shown(now);
        if shown == load.signal().round() as u16 {
            self.unsettled[word] &= !bit;
        }
        Some(shown)
    }

    /// How many words of 64 threads' bits there are.
    pub fn words(&self) -> usize {
        self.unsettled.len()
    }

    /// The threads from 64 x `word` on whose load may have changed, as bits.
    pub fn unsettled(&self, word: usize) -> u64 {
        self.unsettled[word]
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_policy::pelt::{HALF_LIFE, Pelt};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_of_a_load_is_what_an_average_that_is_always_looked_at_comes_to(
            steps in prop::collection::vec((0u32..3, 0usize..3, 0u64..200_000_000, any::<bool>()), 1..80),
        ) {
            let mut loads = Loads::default();
            let mut model = [(Pelt::default(), 0.0); 3];
            let mut shown = [0; 3];
            (0..3).for_each(|thread| loads.start(ThreadId(thread), Nanos::ZERO));
            let mut now = Nanos::ZERO;
            for (thread, signal, later, looks) in steps {
                now += Nanos(later);
                let signal = [0.0, 377.4, 1024.0][signal];
                loads.follow(ThreadId(thread), signal, now);
                let (average, before) = &mut model[thread as usize];
                average.update(now, *before);
                *before = signal;
                if !looks {
                    continue;
                }
                for thread in 0..3 {
                    let news = loads.news(ThreadId(thread), now);
                    shown[thread as usize] = news.unwrap_or(shown[thread as usize]);
                    let (average, signal) = &model[thread as usize];
                    prop_assert_eq!(shown[thread as usize], average.at(now, *signal).round() as u16);
                }
            }
        }
    }

    #[test]
    fn who_has_followed_one_signal_for_long_is_settled_until_it_changes() {
        let mut loads = Loads::default();
        loads.start(ThreadId(70), Nanos::ZERO);
        loads.follow(ThreadId(70), 1024.0, Nanos::ZERO);
        assert_eq!(loads.news(ThreadId(70), HALF_LIFE), Some(512));
        assert_eq!(loads.news(ThreadId(70), Nanos::from_millis(1000)), Some(1024));
        loads.follow(ThreadId(70), 1024.0, Nanos::from_millis(1001));
        assert_eq!(loads.news(ThreadId(70), Nanos::from_millis(1002)), None);
        loads.follow(ThreadId(70), 0.0, Nanos::from_millis(1003));
        assert_eq!(loads.unsettled(1), 1 << 6);
        loads.forget(ThreadId(70));
        assert_eq!(loads.news(ThreadId(70), Nanos::from_millis(1004)), None);
    }
}
