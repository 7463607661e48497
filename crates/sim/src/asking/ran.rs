//! Threads that have had a core since the policy's timer, each once.

use evenkeel_policy::ThreadId;

/// The threads, and a set of them.
#[derive(Debug, Default)]
pub struct Ran {
    threads: Vec<ThreadId>,
    /// By thread, as bits: set if it is among them.
    noted: Vec<u64>,
}

impl Ran {
    /// A thread has a core.
    #[inline]
    pub fn note(&mut self, thread: ThreadId) {
        let (word, bit) = (thread.index() / 64, 1 << (thread.index() % 64));
        if self.noted.len() <= word {
            self.noted.resize(word + 1, 0);
        }
        if self.noted[word] & bit == 0 {
            self.noted[word] |= bit;
            self.threads.push(thread);
        }
    }

    /// All, in no order.
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    /// Forgets them. Threads that run now are to be noted again.
    pub fn clear(&mut self) {
        for thread in self.threads.drain(..) {
            self.noted[thread.index() / 64] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_again_after_all_have_been_forgotten() {
        let mut ran = Ran::default();
        [3, 70, 3, 70, 64].into_iter().for_each(|thread| ran.note(ThreadId(thread)));
        assert_eq!(ran.threads(), [3, 70, 64].map(ThreadId));
        ran.clear();
        assert_eq!(ran.threads(), []);
        ran.note(ThreadId(70));
        assert_eq!(ran.threads(), [ThreadId(70)]);
    }
}
