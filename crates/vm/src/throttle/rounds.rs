//! CPUs of one host are not quite equal: another guest beside this one, interrupts, a hyperthread,
//! its own kinds of core. Cores that should be equal take turns on the CPUs, so that none stays the
//! slower one.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::places::bind;

/// Time between two turns. It is short beside the time that a policy keeps a thread where it is
/// (acfs: 850 ms), long beside refilling a cache, and no multiple of a tick.
const TURN: Duration = Duration::from_millis(97);

/// Threads that take turns until this is dropped.
pub struct Rounds {
    end: Option<Sender<()>>,
    turning: Option<JoinHandle<()>>,
}

impl Rounds {
    /// Starts the turns of threads that are bound to these CPUs, one each.
    pub fn begin(threads: Vec<u32>, mut places: Vec<u32>) -> Self {
        let (end, ended) = channel();
        let turning = thread::spawn(move || {
            while ended.recv_timeout(TURN) == Err(RecvTimeoutError::Timeout) {
                places = turned(&places);
                // The threads have ended, which the lab finds out by itself, or the host took a CPU
                // away, and they stay where they are.
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

/// Moves each thread to the next CPU in use. Threads that shared a CPU share the next, so all still
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
