//! Ids that do not exist are refused before the mechanism sees them, and each directive has its
//! method.

use evenkeel_policy::Tier;

use super::*;

/// Records its calls. Threads 0 and 1 are placed; there are two cores.
#[derive(Default)]
struct Notes {
    queues: usize,
    said: Vec<String>,
}

impl Directed for Notes {
    fn queue_count(&self) -> usize {
        self.queues
    }
    fn core_count(&self) -> usize {
        2
    }
    fn is_placed(&self, thread: ThreadId) -> bool {
        thread.0 < 2
    }
    fn make_queue(&mut self, clock: Clock) {
        self.queues += 1;
        self.said.push(format!("make {clock:?}"));
    }
    fn assign(&mut self, thread: ThreadId, queue: QueueId) {
        self.said.push(format!("assign {} {}", thread.0, queue.0));
    }
    fn order(&mut self, thread: ThreadId, order: Order) {
        self.said.push(format!("order {} {order:?}", thread.0));
    }
    fn charge(&mut self, thread: ThreadId, charge: PerKind<u32>) {
        self.said.push(format!("charge {} {}", thread.0, charge.0[0]));
    }
    fn slice(&mut self, thread: ThreadId, slice: Rc<Slice>) {
        self.said.push(format!("slice {} {}", thread.0, slice.time.0[0].0));
    }
    fn serve(&mut self, core: CoreId, service: Service) {
        let queues: Vec<u32> = service.queues().map(|queue| queue.0).collect();
        self.said.push(format!("serve {} {queues:?} {:?}", core.0, service.adopt()));
    }
    fn host(&mut self, core: CoreId, guests: Guests) {
        self.said.push(format!("host {} {:?}", core.0, guests.queues()));
    }
    fn prefer(&mut self, queue: QueueId, cores: Vec<CoreId>) {
        self.said.push(format!("prefer {} {cores:?}", queue.0));
    }
    fn preemption(&mut self, queue: QueueId, preemption: Option<Preemption>) {
        self.said.push(format!("preemption {} {}", queue.0, preemption.is_some()));
    }
    fn sleeper(&mut self, queue: QueueId, credit: u64) {
        self.said.push(format!("sleeper {} {credit}", queue.0));
    }
    fn swap(&mut self, a: ThreadId, b: ThreadId) {
        self.said.push(format!("swap {} {}", a.0, b.0));
    }
    fn hand_over(&mut self, thread: ThreadId, core: CoreId) {
        self.said.push(format!("hand over {} {}", thread.0, core.0));
    }
    fn preempt(&mut self, core: CoreId) {
        self.said.push(format!("preempt {}", core.0));
    }
    fn timer(&mut self, period: Nanos) {
        self.said.push(format!("timer {}", period.0));
    }
}

/// Carries out a directive with one queue. Returns the calls, or the unknown id.
fn said(directive: Directive) -> Result<Vec<String>, Unknown> {
    let mut notes = Notes { queues: 1, ..Notes::default() };
    let carried = carry_out(&mut notes, directive);
    assert!(carried.is_ok() || notes.said.is_empty(), "a refused directive has no effect");
    carried.map(|()| notes.said)
}

const NO_THREAD: ThreadId = ThreadId(2);
const NO_QUEUE: QueueId = QueueId(1);
const NO_CORE: CoreId = CoreId(2);

#[test]
fn a_directive_becomes_one_call() {
    let (thread, queue, core) = (ThreadId(1), QueueId(0), CoreId(1));
    let slice = Rc::new(Slice::of(Nanos(5)));
    let cases = [
        (Directive::MakeQueue(Clock::Own), "make Own"),
        (Directive::Assign(thread, queue), "assign 1 0"),
        (Directive::AssignAll([(thread, queue)].into()), "assign 1 0"),
        (Directive::Order(thread, Order::Arrival), "order 1 Arrival"),
        (Directive::Charge(thread, PerKind::all(7)), "charge 1 7"),
        (Directive::Slice(thread, slice), "slice 1 5"),
        (Directive::Host { core, guests: vec![queue], behind: 3 }, "host 1 [QueueId(0)]"),
        (Directive::Prefer(queue, vec![core]), "prefer 0 [CoreId(1)]"),
        (Directive::Preemption(queue, None), "preemption 0 false"),
        (Directive::Sleeper(queue, 9), "sleeper 0 9"),
        (Directive::Swap(ThreadId(0), thread), "swap 0 1"),
        (Directive::Move(thread, core), "hand over 1 1"),
        (Directive::Preempt(core), "preempt 1"),
        (Directive::Timer(Nanos(4)), "timer 4"),
    ];
    for (directive, expected) in cases {
        assert_eq!(said(directive).unwrap(), [expected]);
    }
}

#[test]
fn what_does_not_exist_is_refused_by_its_name() {
    let (thread, queue, core) = (ThreadId(0), QueueId(0), CoreId(0));
    let slice = Rc::new(Slice::of(Nanos(5)));
    let cases = [
        (Directive::Assign(NO_THREAD, queue), Unknown::Thread(NO_THREAD)),
        (Directive::Assign(thread, NO_QUEUE), Unknown::Queue(NO_QUEUE)),
        (Directive::Order(NO_THREAD, Order::Arrival), Unknown::Thread(NO_THREAD)),
        (Directive::Charge(NO_THREAD, PerKind::all(1)), Unknown::Thread(NO_THREAD)),
        (Directive::Slice(NO_THREAD, slice), Unknown::Thread(NO_THREAD)),
        (
            Directive::Serve { core: NO_CORE, tiers: Vec::new(), adopt: None },
            Unknown::Core(NO_CORE),
        ),
        (Directive::Host { core: NO_CORE, guests: Vec::new(), behind: 0 }, Unknown::Core(NO_CORE)),
        (Directive::Prefer(NO_QUEUE, Vec::new()), Unknown::Queue(NO_QUEUE)),
        (Directive::Preemption(NO_QUEUE, None), Unknown::Queue(NO_QUEUE)),
        (Directive::Sleeper(NO_QUEUE, 0), Unknown::Queue(NO_QUEUE)),
        (Directive::Swap(thread, NO_THREAD), Unknown::Thread(NO_THREAD)),
        (Directive::Swap(NO_THREAD, thread), Unknown::Thread(NO_THREAD)),
        (Directive::Move(NO_THREAD, core), Unknown::Thread(NO_THREAD)),
        (Directive::Move(thread, NO_CORE), Unknown::Core(NO_CORE)),
        (Directive::Preempt(NO_CORE), Unknown::Core(NO_CORE)),
    ];
    for (directive, expected) in cases {
        assert_eq!(said(directive).unwrap_err(), expected);
    }
}

#[test]
fn lists_lose_what_does_not_exist_and_keep_the_rest() {
    let (thread, queue, core) = (ThreadId(0), QueueId(0), CoreId(1));
    let pairs = [(thread, NO_QUEUE), (NO_THREAD, queue), (thread, queue)];
    assert_eq!(said(Directive::AssignAll(pairs.into())).unwrap(), ["assign 0 0"]);
    let tiers = vec![Tier::least_key([NO_QUEUE, queue])];
    let serve = Directive::Serve { core, tiers, adopt: Some(NO_QUEUE) };
    assert_eq!(said(serve).unwrap(), ["serve 1 [0] None"]);
    let host = Directive::Host { core, guests: vec![NO_QUEUE], behind: 0 };
    assert_eq!(said(host).unwrap(), ["host 1 []"]);
    let prefer = Directive::Prefer(queue, vec![NO_CORE, core]);
    assert_eq!(said(prefer).unwrap(), ["prefer 0 [CoreId(1)]"]);
}

#[test]
fn a_thread_does_not_trade_places_with_itself() {
    assert!(said(Directive::Swap(ThreadId(1), ThreadId(1))).unwrap().is_empty());
}
