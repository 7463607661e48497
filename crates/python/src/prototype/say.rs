//! What a policy in Python answers: its methods are the contract's directives.

use std::sync::{Mutex, PoisonError};

use evenkeel_machine::{CoreId, MAX_KINDS, Nanos, PerKind};
use evenkeel_policy::{
    Choose, Clock, Directive, Directives, Order, Preemption, QueueId, Slice, Start, ThreadId, Tier,
    View,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

/// Most queues of guests of a core, by the contract.
const MOST_GUESTS: usize = 8;

/// A directive to come. Directives themselves share what they have within one thread.
type Deferred = Box<dyn FnOnce(&mut Directives) + Send>;

/// Collects directives. A thread, a queue or a core that does not exist raises IndexError.
#[pyclass(frozen, module = "evenkeel")]
pub struct Say {
    said: Mutex<Said>,
    cores: u32,
    threads: u32,
    kinds: usize,
}

struct Said {
    all: Vec<Deferred>,
    /// Queues made, now and before.
    queues: u32,
}

impl Say {
    /// With nothing said, where so many queues have been made.
    pub fn new(view: &View<'_>, queues: u32) -> Self {
        Self {
            said: Mutex::new(Said { all: Vec::new(), queues }),
            cores: view.cores.len() as u32,
            threads: view.threads.len() as u32,
            kinds: view.machine.kinds.len(),
        }
    }

    /// Says all of it, and tells how many queues there are then.
    pub fn tell(&self, say: &mut Directives) -> u32 {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        for deferred in said.all.drain(..) {
            deferred(say);
        }
        said.queues
    }

    fn say(&self, deferred: impl FnOnce(&mut Directives) + Send + 'static) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).all.push(Box::new(deferred));
    }

    fn thread_id(&self, id: u32) -> PyResult<ThreadId> {
        known("thread", id, self.threads).map(ThreadId)
    }

    fn core_id(&self, id: u32) -> PyResult<CoreId> {
        known("core", id, self.cores).map(CoreId)
    }

    fn queue_id(&self, id: u32) -> PyResult<QueueId> {
        let queues = self.said.lock().unwrap_or_else(PoisonError::into_inner).queues;
        known("queue", id, queues).map(QueueId)
    }

    fn queue_ids(&self, ids: Vec<u32>) -> PyResult<Vec<QueueId>> {
        ids.into_iter().map(|id| self.queue_id(id)).collect()
    }

    /// A value for each kind; the last one stands for kinds that the machine does not have.
    fn by_kind<T: Copy>(&self, what: &str, values: &[T]) -> PyResult<PerKind<T>> {
        match values.last() {
            Some(last) if values.len() == self.kinds => {
                Ok(PerKind(std::array::from_fn::<T, MAX_KINDS, _>(|kind| {
                    values.get(kind).copied().unwrap_or(*last)
                })))
            }
            _ => Err(PyValueError::new_err(format!(
                "{what}: {} values found, expected one for each of {} kinds of core",
                values.len(),
                self.kinds
            ))),
        }
    }
}

/// An id that exists.
fn known(what: &str, id: u32, count: u32) -> PyResult<u32> {
    if id < count {
        return Ok(id);
    }
    Err(PyIndexError::new_err(format!("no {what} {id}: there are {count}")))
}

fn expected<T>(what: &str, found: &str, words: &str) -> PyResult<T> {
    Err(PyValueError::new_err(format!("{what} '{found}' found, expected {words}")))
}

/// The longest period of a timer, nanoseconds: times do not overflow. Ours.
const LONGEST_PERIOD: u64 = 366 * 24 * 3_600 * 1_000_000_000;
/// The shortest slice, nanoseconds: beside the cost of a switch a run of shorter ones has no end.
/// Ours.
const LEAST_SLICE: f64 = 1_000.0;

/// A slice: nanoseconds, or a list of them by kind.
fn times(ns: &Bound<'_, PyAny>) -> PyResult<Vec<Nanos>> {
    let several = ns.extract::<Vec<f64>>().or_else(|_| ns.extract::<f64>().map(|one| vec![one]));
    let is_slice = |ns: &f64| *ns >= LEAST_SLICE && *ns < Nanos::MAX.0 as f64;
    match several {
        Ok(all) if !all.is_empty() && all.iter().all(is_slice) => {
            Ok(all.into_iter().map(|ns| Nanos(ns as u64)).collect())
        }
        _ => {
            let words = format!("nanoseconds, {LEAST_SLICE} or more, or a list of them by kind");
            expected("slice", &ns.repr()?.to_string(), &words)
        }
    }
}

/// Where virtual time starts: "keep", "floor", or a time.
#[derive(FromPyObject)]
enum StartAt {
    At(u64),
    Word(String),
}

#[pymethods]
impl Say {
    /// Makes a queue and gives its number. Its clock: "shared" by all such queues, or its "own".
    #[pyo3(signature = (clock="shared"))]
    fn make_queue(&self, clock: &str) -> PyResult<u32> {
        let clock = match clock {
            "shared" => Clock::Shared,
            "own" => Clock::Own,
            other => return expected("clock", other, "shared or own"),
        };
        self.say(move |say| {
            say.make_queue(clock);
        });
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.queues += 1;
        Ok(said.queues - 1)
    }

    /// The thread waits in this queue when runnable.
    fn assign(&self, thread: u32, queue: u32) -> PyResult<()> {
        let (thread, queue) = (self.thread_id(thread)?, self.queue_id(queue)?);
        self.say(move |say| say.assign(thread, queue));
        Ok(())
    }

    /// Its place in its queue is by virtual time, which grows with time on cores / weight.
    #[pyo3(signature = (thread, weight=1024, start=StartAt::Word("keep".to_owned())))]
    fn order_virtual_time(&self, thread: u32, weight: u32, start: StartAt) -> PyResult<()> {
        let start = match start {
            StartAt::At(at) => Start::At(at),
            StartAt::Word(word) if word == "keep" => Start::Keep,
            StartAt::Word(word) if word == "floor" => Start::Floor,
            StartAt::Word(word) => return expected("start", &word, "keep, floor or a time"),
        };
        self.order(thread, Order::VirtualTime { weight, start })
    }

    /// Its place is by a deadline, put off by `renew` when a slice is used up, and by `postpone`
    /// for its own core, its cluster, and others. Nanoseconds.
    #[pyo3(signature = (thread, at, renew, postpone=[0, 0, 0]))]
    fn order_deadline(&self, thread: u32, at: u64, renew: u64, postpone: [u64; 3]) -> PyResult<()> {
        let (at, renew, postpone) = (Nanos(at), Nanos(renew), postpone.map(Nanos));
        self.order(thread, Order::Deadline { at, renew, postpone })
    }

    /// Its place is by a number, which grows by `step` when a slice is used up.
    #[pyo3(signature = (thread, key, step=0))]
    fn order_fixed(&self, thread: u32, key: u64, step: u64) -> PyResult<()> {
        self.order(thread, Order::Fixed { key, step })
    }

    /// Its place is by arrival.
    fn order_arrival(&self, thread: u32) -> PyResult<()> {
        self.order(thread, Order::Arrival)
    }

    /// How fast its virtual time grows on each kind, of 1024.
    fn charge(&self, thread: u32, by_kind: Vec<u32>) -> PyResult<()> {
        let thread = self.thread_id(thread)?;
        let charge = self.by_kind("charge", &by_kind)?;
        self.say(move |say| say.charge(thread, charge));
        Ok(())
    }

    /// How long it runs once picked: nanoseconds, the same or a list by kind.
    #[pyo3(signature = (thread, ns, divided_to=None, carry=false, batch=1))]
    fn slice(
        &self,
        thread: u32,
        ns: &Bound<'_, PyAny>,
        divided_to: Option<u64>,
        carry: bool,
        batch: u32,
    ) -> PyResult<()> {
        let thread = self.thread_id(thread)?;
        let time = match times(ns)?.as_slice() {
            [one] => PerKind::all(*one),
            several => self.by_kind("slice", several)?,
        };
        if batch == 0 {
            return expected("batch", "0", "1 or more");
        }
        let slice = Slice { time, divided_to: divided_to.map(Nanos), carry, batch };
        self.say(move |say| say.slice(thread, slice));
        Ok(())
    }

    /// The tiers, lists of queues, that the core takes threads from, in order. No tiers: the
    /// core is not used. Within a tier it chooses by "least_key" or "most_loaded".
    #[pyo3(signature = (core, tiers, choose="least_key", adopt=None))]
    fn serve(
        &self,
        core: u32,
        tiers: Vec<Vec<u32>>,
        choose: &str,
        adopt: Option<u32>,
    ) -> PyResult<()> {
        let core = self.core_id(core)?;
        let choose = match choose {
            "least_key" => Choose::LeastKey,
            "most_loaded" => Choose::MostLoaded,
            other => return expected("choose", other, "least_key or most_loaded"),
        };
        let tier = |ids| Ok(Tier { queues: self.queue_ids(ids)?, choose });
        let tiers = tiers.into_iter().map(tier).collect::<PyResult<Vec<Tier>>>()?;
        let adopt = adopt.map(|queue| self.queue_id(queue)).transpose()?;
        self.say(move |say| say.serve(core, tiers, adopt));
        Ok(())
    }

    /// Threads of these queues may be guests of the core: where they are ahead by more than
    /// `behind`, in keys of the queue.
    fn host(&self, core: u32, guests: Vec<u32>, behind: u64) -> PyResult<()> {
        let core = self.core_id(core)?;
        let guests = self.queue_ids(guests)?;
        if guests.len() > MOST_GUESTS {
            let found = format!("{} queues", guests.len());
            return expected("guests", &found, &format!("at most {MOST_GUESTS}"));
        }
        self.say(move |say| say.host(core, guests, behind));
        Ok(())
    }

    /// The order in which idle cores are tried when a thread arrives in the queue.
    fn prefer(&self, queue: u32, cores: Vec<u32>) -> PyResult<()> {
        let queue = self.queue_id(queue)?;
        let cores = cores.into_iter().map(|core| self.core_id(core)).collect::<PyResult<_>>()?;
        self.say(move |say| say.prefer(queue, cores));
        Ok(())
    }

    /// A thread that arrives preempts one whose key is greater by more than a margin; None: never.
    #[pyo3(signature = (queue, margin, synchronous=true))]
    fn preemption(&self, queue: u32, margin: Option<u64>, synchronous: bool) -> PyResult<()> {
        let queue = self.queue_id(queue)?;
        let preemption = margin.map(|margin| Preemption { margin, synchronous });
        self.say(move |say| say.say(Directive::Preemption(queue, preemption)));
        Ok(())
    }

    /// How far below its queue's floor a thread that wakes may start, nanoseconds of virtual time.
    fn sleeper(&self, queue: u32, credit: u64) -> PyResult<()> {
        let queue = self.queue_id(queue)?;
        self.say(move |say| say.say(Directive::Sleeper(queue, credit)));
        Ok(())
    }

    /// Two threads trade cores, if both run.
    fn swap(&self, a: u32, b: u32) -> PyResult<()> {
        let (a, b) = (self.thread_id(a)?, self.thread_id(b)?);
        self.say(move |say| say.swap(a, b));
        Ok(())
    }

    /// The thread runs on this core next.
    #[pyo3(name = "move")]
    fn move_to(&self, thread: u32, core: u32) -> PyResult<()> {
        let (thread, core) = (self.thread_id(thread)?, self.core_id(core)?);
        self.say(move |say| say.move_to(thread, core));
        Ok(())
    }

    /// The core's thread goes back to its queue, and the core picks again.
    fn preempt(&self, core: u32) -> PyResult<()> {
        let core = self.core_id(core)?;
        self.say(move |say| say.preempt(core));
        Ok(())
    }

    /// Period of the event "timer", nanoseconds; 0: no timer.
    fn timer(&self, period: u64) -> PyResult<()> {
        if period > LONGEST_PERIOD {
            return expected("timer", &period.to_string(), "nanoseconds, at most a year of them");
        }
        self.say(move |say| say.timer(Nanos(period)));
        Ok(())
    }
}

impl Say {
    fn order(&self, thread: u32, order: Order) -> PyResult<()> {
        let thread = self.thread_id(thread)?;
        self.say(move |say| say.order(thread, order));
        Ok(())
    }
}
