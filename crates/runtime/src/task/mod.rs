//! Tasks with dependences: what a task reads and writes says which earlier ones it waits for.
#![expect(unsafe_code, reason = "tasks are in blocks, and are called through a pointer")]

mod accesses;
mod data;
mod declared;
mod handle;
mod node;
mod record;

use std::alloc::Layout;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::arena::Class;
use crate::central::OnlineTasks;
use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::scope::{Scope, ScopeCore};
use crate::trace::What;
use crate::worker::Worker;

pub use accesses::Accesses;
pub use data::{Data, Reading, Writing};
pub use declared::{Declared, Own};
pub use handle::{Domain, Handle, Part, Regions, Resource};

pub use record::{Mode, Record};

pub use node::TaskRef;
use node::{Creation, Node};

/// A task that has not been created: what it reads and writes is being said. See [`Scope::task`].
#[must_use = "a task is created by `run`"]
pub struct Task<'a, 'scope, 'env, E = Infallible> {
    scope: &'a Scope<'scope, 'env, E>,
    accesses: Accesses<'a>,
    label: Label,
}

impl<'scope, 'env, E> Scope<'scope, 'env, E> {
    /// A task that runs after those before it that conflict with it: that write what it reads or
    /// writes, or read what it writes.
    ///
    /// ```
    /// let (a, b) = (evenkeel_runtime::Handle::new(), evenkeel_runtime::Handle::new());
    /// evenkeel_runtime::Pool::new()?.scope(|s| {
    ///     s.task().writes(&a).run(|| println!("first"));
    ///     s.task().reads(&a).writes(&b).run(|| println!("second"));
    ///     s.task().updates(&b).label("last").run(|| println!("third"));
    /// });
    /// # Ok::<(), evenkeel_runtime::PoolError>(())
    /// ```
    #[inline]
    pub const fn task<'a>(&'a self) -> Task<'a, 'scope, 'env, E> {
        Task { scope: self, accesses: Accesses::NONE, label: Label(0) }
    }
}

impl<'a, 'scope, E> Task<'a, 'scope, '_, E> {
    /// It reads this: it waits for the task that wrote it last.
    #[inline]
    pub fn reads(mut self, resource: &'a (impl Resource + ?Sized)) -> Self {
        self.accesses.add(resource, Mode::Reads);
        self
    }

    /// It writes this: it waits for the task that wrote it last, and all that have read it since.
    #[inline]
    pub fn writes(mut self, resource: &'a (impl Resource + ?Sized)) -> Self {
        self.accesses.add(resource, Mode::Writes);
        self
    }

    /// It reads and writes this: it waits as one that writes it.
    #[inline]
    pub fn updates(mut self, resource: &'a (impl Resource + ?Sized)) -> Self {
        self.accesses.add(resource, Mode::Writes);
        self
    }

    /// Its name in traces. Its cost is learnt with that of others of the same name
    /// ([`crate::Pool::costs`]), and a slow core leaves it to a faster one that would end it
    /// sooner.
    #[inline]
    pub fn label(mut self, name: &'static str) -> Self {
        self.label = self.scope.worker.label(name);
        self
    }

    /// Creates it. It runs when nothing is left that it waits for, perhaps at once, on any worker.
    #[inline]
    pub fn run<F: FnOnce() + Send + 'scope>(self, f: F) {
        if self.accesses.is_empty() && self.label == Label::default() {
            return self.scope.spawn(f);
        }
        if !self.accesses.are_of_data() {
            return self.submit(f);
        }
        let declared = self.scope.core.declared.and(&Own::of(&self.accesses));
        let f: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || declared.during(f));
        self.submit(f);
    }

    #[inline]
    fn submit<F: FnOnce() + Send + 'scope>(self, f: F) {
        match Closure::<F>::CLASS {
            Some(class) => self.create(class, f),
            None => {
                let boxed: Box<dyn FnOnce() + Send + 'scope> = Box::new(f);
                self.submit(boxed);
            }
        }
    }

    /// Creates it as one that may fail: see [`crate::Pool::try_scope`].
    pub fn try_run<F: FnOnce() -> Result<(), E> + Send + 'scope>(self, f: F)
    where
        E: Send,
    {
        let f = self.scope.failing(f);
        self.run(f);
    }

    #[inline]
    fn create<F: FnOnce() + Send + 'scope>(self, class: Class, f: F) {
        let (core, worker) = (self.scope.core, self.scope.worker);
        let domain = self.scope.domain.get_or_init(Domain::new);
        // SAFETY: this is the scope's thread; each record is used before the next is asked for.
        let record = |handle: &'a Handle| unsafe { handle.record(domain) };

        worker.credits.spend(core, worker);
        let block = worker.arena.take(class, &worker.registry().shared_blocks);
        let head = Head { run: Closure::<F>::run };
        // SAFETY: a block of a class for nodes that this closure fits into.
        let mut creation = unsafe { Creation::begin(block, head, core, self.label) };
        // SAFETY: in the same block, behind the node.
        unsafe { (&raw mut (*block.cast::<Closure<F>>().as_ptr()).closure).write(f) };
        if let Some(online) = &worker.registry().online {
            online.created(creation.task(), &self.before(domain));
        }
        creation.reserve(
            self.accesses.handles().map(|(handle, mode)| record(handle).before(mode).len()).sum(),
        );
        for (handle, mode) in self.accesses.handles() {
            let record = record(handle);
            // SAFETY: siblings are of one pool, in which we are.
            record.before(mode).iter().for_each(|&before| unsafe { creation.wait_for(before) });
            if let Some(recorder) = worker.recorder() {
                let after = creation.task().id();
                record
                    .before(mode)
                    .iter()
                    .for_each(|before| recorder.must_wait(before.id(), after));
            }
            // SAFETY: as above.
            record.add(creation.task(), mode, |reader| unsafe { reader.is_done() });
        }
        let task = creation.task();
        if creation.end() {
            match &worker.registry().online {
                None => worker.push(JobRef::new(block.cast())),
                Some(online) => online.ready(worker, task),
            }
        }
    }

    /// The tasks that it waits for, done or not.
    #[cold]
    fn before(&self, domain: &Domain) -> Vec<TaskRef> {
        let mut before = Vec::new();
        for (handle, mode) in self.accesses.handles() {
            // SAFETY: this is the scope's thread; the record is used before the next is asked for.
            before.extend_from_slice(unsafe { handle.record(domain) }.before(mode));
        }
        before
    }
}

/// Ends a task that a policy behind a lock has placed.
///
/// # Safety
/// As for [`Node::finish`].
#[cold]
unsafe fn finish_at(online: &OnlineTasks, node: NonNull<Node>, worker: &Worker) {
    // SAFETY: it has not been finished.
    let task = unsafe { TaskRef::of(node) };
    let mut released = Vec::new();
    // SAFETY: as the caller promises; a released task is ours to be made ready, and is not done
    // before.
    unsafe { Node::finish(node, |ready| released.push(TaskRef::of(ready))) };
    online.done(worker, task, &released);
}

/// A node with the closure behind it.
#[repr(C)]
struct Closure<F> {
    node: Node,
    closure: F,
}

impl<F: FnOnce() + Send> Closure<F> {
    const CLASS: Option<Class> = Class::dependent(Layout::new::<Self>());

    /// # Safety
    /// The head is that of a `Closure<F>` in a block of `CLASS` that is ready and has not been run.
    unsafe fn run(head: NonNull<Head>, worker: &Worker) {
        let (this, node) = (head.cast::<Self>(), head.cast::<Node>());
        // SAFETY: no other thread looks at these two.
        let (scope, label) = unsafe { ((*node.as_ptr()).scope, (*node.as_ptr()).label) };
        // SAFETY: the scope waits for this task, which is counted until `gain`.
        let scope: &ScopeCore = unsafe { scope.as_ref() };
        if label != Label::default()
            && !scope.is_cancelled()
            && worker.declines_task(JobRef::new(head), label)
        {
            return;
        }
        // SAFETY: this is the one time that the closure is taken out.
        let closure = unsafe { (&raw const (*this.as_ptr()).closure).read() };
        worker.credits.switch_to(scope, worker);
        let called = catch_unwind(AssertUnwindSafe(|| {
            if scope.is_cancelled() {
                return drop(closure);
            }
            let _time = worker.time(label, || {
                // SAFETY: it is done when it is finished, below.
                What::Task(label, unsafe { TaskRef::of(node) }.id())
            });
            scope.declared.during(closure);
        }));
        if let Err(payload) = called {
            scope.panicked(payload);
        }
        worker.counts.tasks.add(1);
        match &worker.registry().online {
            // SAFETY: run, by us.
            None => unsafe {
                Node::finish(node, |ready| worker.push_next(JobRef::new(ready.cast())))
            },
            // SAFETY: as above.
            Some(online) => unsafe { finish_at(online, node, worker) },
        }
        if let Some(class) = Self::CLASS {
            // SAFETY: made with this class by `create`, and finished.
            unsafe { worker.arena.give(class, head.cast(), &worker.registry().shared_blocks) };
        }
        worker.credits.gain(scope, worker);
    }
}
