//! Reads sensors at an interval.

use std::io;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_machine::Nanos;
use rustix::time::{ClockId, clock_gettime};

use super::reading::{Reading, Sensor};
use super::series::Series;

/// Sensors, and what they have said so far.
#[derive(Clone, Debug)]
pub struct Meter {
    /// The sensors.
    pub sensors: Vec<Sensor>,
    /// What each has said.
    pub series: Vec<Series>,
}

impl Meter {
    /// Of these, which have said nothing yet.
    pub fn new(sensors: Vec<Sensor>) -> Self {
        let series = vec![Series::default(); sensors.len()];
        Self { sensors, series }
    }

    /// Reads all of them, and says what they read. Each reading has the time of its own middle, by
    /// `CLOCK_MONOTONIC`: some sensors take milliseconds to answer.
    pub fn sample(&mut self) -> Vec<Option<Reading>> {
        let read = |(sensor, series): (&Sensor, &mut Series)| {
            let before = now();
            let reading = sensor.read().ok();
            series.add(Nanos(before.0.midpoint(now().0)), reading);
            reading
        };
        self.sensors.iter().zip(&mut self.series).map(read).collect()
    }
}

/// `CLOCK_MONOTONIC`.
fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// A thread that samples until it is told to end.
#[derive(Debug)]
pub struct Sampler {
    end: mpsc::Sender<()>,
    thread: JoinHandle<Meter>,
}

impl Sampler {
    /// Samples before it returns, so that what comes after is covered however long the thread takes
    /// to get a core, and from then on at each multiple of the interval; a multiple that is missed
    /// is left out.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(sensors: Vec<Sensor>, interval: Nanos) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let interval = interval.0.max(1);
        let mut meter = Meter::new(sensors);
        let began = now();
        meter.sample();
        let life = move || loop {
            let since = now().saturating_sub(began).0;
            let wait = interval - since % interval;
            let is_over = ended.recv_timeout(Duration::from_nanos(wait))
                != Err(mpsc::RecvTimeoutError::Timeout);
            meter.sample();
            if is_over {
                return meter;
            }
        };
        let thread = thread::Builder::new().name("sensors".to_owned()).spawn(life)?;
        Ok(Self { end, thread })
    }

    /// Samples a last time, and ends.
    ///
    /// # Errors
    /// The thread has panicked.
    pub fn finish(self) -> io::Result<Meter> {
        // A thread that has ended already is joined all the same.
        let _ = self.end.send(());
        self.thread
            .join()
            .map_err(|_| io::Error::other("the thread that reads sensors has panicked"))
    }
}
