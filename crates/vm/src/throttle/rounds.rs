//! CPUs of one host are not quite equal: another guest beside this one, interrupts, a hyperthread,
//! its own kinds of core. Cores that are to be alike take turns on them, so that none is the slower
//! one for good.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::places::bind;

/// Between two turns: short beside the time that a policy keeps a thread where it is (acfs: 850
/// ms), long beside what filling a cache anew takes, and no multiple of the ticks of any.
const TURN: Duration = Duration::from_millis(97);

/// Threads that take turns until this goes.
pub struct Rounds {
    end: Option<Sender<()>>,
    turning: Option<JoinHandle<()>>,
}

impl Rounds {
    /// Of threads that are bound to these CPUs, one each.
    pub fn begin(threads: Vec<u32>, mut places: Vec<u32>) -> Self {
        let (end, ended) = channel();
        let turning = thread::spawn(move || {
            while ended.recv_timeout(TURN) == Err(RecvTimeoutError::Timeout) {
                places = turned(&places);
                // They have ended, or the host took a CPU away: the lab finds out by itself, or
                // goes on as it was.
                if bind(&threads, &places).is_err() {
                    return;
                }
            }
        });
        Self { end: Some(end), turning: Some(turning) }
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        self.end.take();
        if let Some(turning) = self.turning.take() {
            let _ = turning.join();
        }
    }
}

/// Everybody on the next CPU of those in use: whoever shared one shares the next, so that all still
/// fit.
fn turned(places: &[u32]) -> Vec<u32> {
    let mut used = places.to_vec();
    used.sort_unstable();
    used.dedup();
    let next = |place: &u32| {
        used.iter().position(|cpu| cpu == place).map_or(*place, |at| used[(at + 1) % used.len()])
    };
    places.iter().map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_been_everywhere_after_a_round_beside_the_same_others() {
        assert_eq!(turned(&[0, 1, 0, 1]), [1, 0, 1, 0]);
        assert_eq!(turned(&turned(&[0, 1, 0, 1])), [0, 1, 0, 1]);
        assert_eq!(turned(&[5, 2, 9]), [9, 5, 2]);
        assert_eq!(turned(&[3]), [3]);
    }
}
