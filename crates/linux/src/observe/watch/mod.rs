//! What real threads do, as it happens: starts and ends, and, where the kernel tells, every time
//! one gets a core or leaves it.
//!
//! A [`Watcher`] follows one program with everything that it forks, running processes, a cgroup, or
//! the machine. It learns what they do from the best source that is allowed:
//!
//! | source | starts, ends, execs | switches | wake-ups, and by whom | takes |
//! | --- | --- | --- | --- | --- |
//! | perf's records | all, within some 50 us | all, with whether the thread could have gone on | if asked for | nothing for one's own programs where `kernel.perf_event_paranoid` is 2 or less; otherwise, for others' programs, for the machine and for cgroups, `CAP_PERFMON`. Wake-ups: `CAP_PERFMON` and a readable tracefs |
//! | the proc connector | all, within some 50 us | no | no | `CAP_NET_ADMIN` before Linux 6.6, then nothing; the first pid namespace |
//! | `/proc` at an interval | of those that live longer than the interval | no | no | nothing |
//!
//! **Perf** is asked to count nothing: its events exist for the records beside the counts. To
//! follow processes there are two ways. Each thread carries events, two for each core, and its
//! children inherit them: other threads of the machine pay nothing, but a followed one pays for
//! each event as it starts and ends. Or perf tells of all threads and we pick out those that
//! descend from the ones we began with: then all pay for each switch. The second is for machines of
//! many cores; see [`Options::wide`].
//!
//! **What it costs** (`cargo bench -p evenkeel-linux --bench watch`; a virtual machine of two
//! cores, Linux 6.18, medians): the watched pay 1.3 us for each time on a core, 1.1 us if perf
//! tells of all threads, and another 0.4 us with wake-ups; a thread that comes and goes pays some
//! 20 us, of which 2 us for each event that it carries and the rest for waking the watcher twice.
//! The watcher pays 50 ns for each record. A program that switches 10,000 times a second so loses
//! about a hundredth of a core: a caller that needs no switches turns them off
//! ([`Options::switches`]), and the program pays a third of that.
//!
//! **What to rely on**, whatever the source:
//! - Times never run backwards, and effects come after their causes: a start before all else of a
//!   thread.
//! - A thread starts once and ends once. Its end says that it has left its core: no [`Seen::Left`]
//!   comes with it, nor after it.
//! - A thread whose leaving of a core was lost has left it when it is next seen on another;
//!   [`Watcher::missed`] says that records were lost.
//! - A thread that a loss kept from us is found by looking into `/proc` then, among the followed
//!   processes and their children; threads that began and ended within the loss are not known.
//! - [`Seen::Started`] is of a thread that may run; [`Seen::Found`] says whether it may, as read
//!   from `/proc` once the source told of it: most threads that are there already sleep, and no
//!   source tells of them before they wake.
//! - `parent` is `None` where the source does not tell it: the connector names the parent of the
//!   thread's process.
//!
//! **The odd cases.** If another thread than the first calls exec, it takes over the first one's
//! number, and no source says what became of its own: it is told as ended, the first as started
//! again if it had ended, and as on the caller's core. A program with other rights (set-user-id,
//! set-group-id, or one that may be run but not read) loses perf's events as it begins, which the
//! records show as its end: a thread that ends within a tenth of a second of exec is looked for,
//! and given new events if that is allowed, or looked for at an interval if not. Between the two,
//! microseconds, it may fork unseen. A process whose parent has ended stays in sight of perf and
//! the connector; a caller that polls must be a subreaper. Numbers are those of our own pid
//! namespace, for programs that make one of their own too. A thread that moves into a watched
//! cgroup is told when it first runs, one that moves out within a second. A core that was off when
//! the watcher began is watched from when it comes on if threads carry the events, and not if perf
//! tells of all threads: then begin anew.

mod connector;
mod options;
mod perf;
mod poll_set;
pub(crate) mod proc;
mod record;
mod seen;
mod tasks;
mod tracepoint;
mod watcher;

pub use options::{Options, Source, WatchError};
pub use proc::Doing;
pub use seen::{Cpu, Seen, Tid, Waker};
pub use watcher::{Watcher, now};
