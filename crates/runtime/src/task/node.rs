//! Dependences between tasks: the count of a task, the list of its waiters, and their release.
//! README.md in this folder has the protocol and the reasons for the orderings.
#![expect(unsafe_code, reason = "lists run through the nodes of other tasks")]

use std::ptr::NonNull;

use crate::costs::Label;
use crate::job::{Head, JobRef};
use crate::scope::ScopeCore;
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::trace::TaskId;

/// The beginning of a task with dependences: a line of the cache. Loom's atomics are longer: for it
/// a node has 1,024 bytes, and begins at a multiple of that.
#[cfg_attr(not(loom), repr(C, align(64)))]
#[cfg_attr(loom, repr(C, align(1024)))]
pub struct Node {
    pub head: Head,
    pub scope: NonNull<ScopeCore>,
    waiters: Waiters,
    waits_for: AtomicU32,
    /// The task's name, for its cost.
    pub label: Label,
    links: [Link; INLINE],
    #[expect(clippy::box_collection, reason = "a word where three would not fit into the line")]
    more: Option<Box<Vec<OwnedLink>>>,
}

/// Predecessors of a task that need no memory of their own. For loom one, so that its models have
/// links of both sorts.
const INLINE: usize = if cfg!(loom) { 1 } else { 3 };
/// More than a task can wait for: its count while it is being created.
const CREATING: u32 = 1 << 31;

/// A place in the list of a predecessor: the one after it.
#[derive(Default)]
#[repr(transparent)]
struct Link(AtomicU64);

/// One that is not in the node of its task.
#[repr(C)]
struct OwnedLink {
    link: Link,
    owner: NonNull<Node>,
}

// SAFETY: an owner is followed only by the thread that has taken the link out of a list; see
// `Waiters`.
unsafe impl Send for OwnedLink {}
// SAFETY: as above.
unsafe impl Sync for OwnedLink {}

/// The address of a link; its lowest bit says that it is an [`OwnedLink`]. 0: none.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LinkRef(u64);

const OWNED: u64 = 1;
/// Addresses have so many bits, on the processors that there are, unless a program asks for more.
const ADDRESS_BITS: u32 = 48;
const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

impl LinkRef {
    const NONE: Self = Self(0);

    /// # Safety
    /// The link is in a list that the caller has taken, and its task has not been released by it.
    unsafe fn follow(self) -> (Self, NonNull<Node>) {
        let address = (self.0 & !OWNED) as usize;
        let link = std::ptr::with_exposed_provenance::<Link>(address);
        // SAFETY: a link stays until its task has been released by the owners of all lists that it
        // is in.
        let next = Self(unsafe { &*link }.0.load(Ordering::Relaxed));
        let owner = if self.0 & OWNED != 0 {
            // SAFETY: as above; the bit says what it is.
            unsafe { &*link.cast::<OwnedLink>() }.owner
        } else {
            // Inline links are in the first line of their node, which begins there.
            let node =
                std::ptr::with_exposed_provenance_mut::<Node>(address & !(align_of::<Node>() - 1));
            // SAFETY: not null, for there is a link in it.
            unsafe { NonNull::new_unchecked(node) }
        };
        (next, owner)
    }
}

/// The generation of a node (upper 16 bits) and the first link of its list.
#[derive(Default)]
#[repr(transparent)]
struct Waiters(AtomicU64);

/// A task as handles remember it: a node, and which of the tasks that have been in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskRef {
    node: NonNull<Node>,
    generation: u16,
}

// SAFETY: a name of a task; what is done with its node is unsafe by itself.
unsafe impl Send for TaskRef {}

impl TaskRef {
    /// As the trace knows it.
    pub fn id(self) -> TaskId {
        TaskId::new(self.node.addr().get(), self.generation)
    }

    /// The task that is in a node.
    ///
    /// # Safety
    /// It is not done, and is not going to be before this returns.
    pub unsafe fn of(node: NonNull<Node>) -> Self {
        // SAFETY: nodes stay as long as their pool.
        let word = unsafe { &(*node.as_ptr()).waiters }.0.load(Ordering::Relaxed);
        Self { node, generation: (word >> ADDRESS_BITS) as u16 }
    }

    /// The job that runs it, once it is ready.
    pub const fn job(self) -> JobRef {
        JobRef::new(self.node.cast())
    }

    /// True if the task is done; what it wrote is seen then.
    ///
    /// # Safety
    /// The task's pool is still there.
    pub unsafe fn is_done(self) -> bool {
        // SAFETY: nodes stay as long as their pool; of one that is in use again only the atomics
        // are looked at.
        let waiters = unsafe { &(*self.node.as_ptr()).waiters };
        (waiters.0.load(Ordering::Acquire) >> ADDRESS_BITS) as u16 != self.generation
    }
}

/// A task that is being created: its node, and how many tasks it has been made to wait for.
pub struct Creation {
    node: NonNull<Node>,
    waits_for: u32,
}

impl Creation {
    /// Makes a node in a block.
    ///
    /// # Safety
    /// The block is large enough for a node and the closure behind it, the caller's, and zeroed
    /// when it was first used; it has only been used for nodes.
    pub unsafe fn begin(block: NonNull<u8>, head: Head, scope: &ScopeCore, label: Label) -> Self {
        let node = block.cast::<Node>();
        let it = node.as_ptr();
        let scope = NonNull::from_ref(scope);
        // SAFETY: the block is ours; `waiters` is left as it is, for others may look at it: a
        // generation, and no list.
        unsafe {
            (&raw mut (*it).head).write(head);
            (&raw mut (*it).scope).write(scope);
            (&raw mut (*it).waits_for).write(AtomicU32::new(CREATING));
            (&raw mut (*it).label).write(label);
            (&raw mut (*it).more).write(None);
        }
        it.expose_provenance();
        Self { node, waits_for: 0 }
    }

    /// The task as it will be remembered.
    pub fn task(&self) -> TaskRef {
        // SAFETY: it cannot be done before its creation has ended.
        unsafe { TaskRef::of(self.node) }
    }

    /// The task waits for another one, unless that is done (or is this one).
    ///
    /// # Safety
    /// The pool that the other task is of is still there, and this task's.
    pub unsafe fn wait_for(&mut self, other: TaskRef) {
        // SAFETY: as the caller promises.
        if other.node == self.node || unsafe { other.is_done() } {
            return;
        }
        let link = self.link();
        let address = (link.0 & !OWNED) as usize;
        // SAFETY: our own link, which is in no list.
        let next = unsafe { &(*std::ptr::with_exposed_provenance::<Link>(address)).0 };
        // SAFETY: as in `is_done`.
        let waiters = unsafe { &(*other.node.as_ptr()).waiters.0 };
        let mut word = waiters.load(Ordering::Acquire);
        while (word >> ADDRESS_BITS) as u16 == other.generation {
            next.store(word & ADDRESS, Ordering::Relaxed);
            let with_link = word & !ADDRESS | link.0;
            match waiters.compare_exchange_weak(
                word,
                with_link,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    self.waits_for += 1;
                    return;
                }
                Err(changed) => word = changed,
            }
        }
    }

    /// A link that is in no list: of those in the node while there are any.
    fn link(&mut self) -> LinkRef {
        let it = self.node.as_ptr();
        let used = self.waits_for as usize;
        if used < INLINE {
            // SAFETY: our node; the link is in no list, so no other thread looks at it.
            let link = unsafe { &raw mut (*it).links[used] };
            return LinkRef(link.expose_provenance() as u64);
        }
        // SAFETY: no other thread looks at `more`, only at the links in it, and they do not move:
        // see `reserve`.
        let more = unsafe { &mut (*it).more };
        let Some(more) = more else { unreachable!("`reserve` comes before the first link") };
        if more.len() + INLINE == used {
            more.push(OwnedLink { link: Link::default(), owner: self.node });
        }
        let link = &raw const more[used - INLINE];
        LinkRef(link.expose_provenance() as u64 | OWNED)
    }

    /// Before the first link: the task will wait for so many others at most.
    pub fn reserve(&mut self, others: usize) {
        if others > INLINE {
            let more = Box::new(Vec::with_capacity(others - INLINE));
            // SAFETY: our node, and nothing in it yet.
            unsafe { (&raw mut (*self.node.as_ptr()).more).write(Some(more)) };
        }
    }

    /// Ends the creation. True: there is no task left to wait for, so the caller has to make this
    /// one ready.
    pub fn end(self) -> bool {
        if self.waits_for == 0 {
            return true;
        }
        let open = CREATING - self.waits_for;
        // SAFETY: our node until this; from then on it belongs to the thread that brings its count
        // to 0.
        unsafe { &(*self.node.as_ptr()).waits_for }.fetch_sub(open, Ordering::AcqRel) == open
    }
}

impl Node {
    /// The task in this node is done: calls `ready` with each of those that waited for nothing but
    /// it. The node is the caller's, to be used again.
    ///
    /// # Safety
    /// The caller has run the task; this is called once.
    pub unsafe fn finish(this: NonNull<Self>, mut ready: impl FnMut(NonNull<Self>)) {
        let it = this.as_ptr();
        // SAFETY: the task has been released, so no list has its links any more.
        drop(unsafe { (&raw mut (*it).more).replace(None) });
        // SAFETY: our node.
        let waiters = unsafe { &(*it).waiters.0 };
        let generation = waiters.load(Ordering::Relaxed) >> ADDRESS_BITS;
        let next_generation = generation.wrapping_add(1) << ADDRESS_BITS;
        let mut link = LinkRef(waiters.swap(next_generation, Ordering::AcqRel) & ADDRESS);
        while link != LinkRef::NONE {
            // SAFETY: in the list that was taken; followed before its task is released.
            let (next, waiter) = unsafe { link.follow() };
            // SAFETY: the waiter counts on us until this.
            if unsafe { &(*waiter.as_ptr()).waits_for }.fetch_sub(1, Ordering::AcqRel) == 1 {
                ready(waiter);
            }
            link = next;
        }
    }
}

// The address of an inline link tells its owner.
const _: () = assert!(size_of::<Node>() == align_of::<Node>());

/// Every interleaving, within bounds: `make race` runs them.
#[cfg(all(test, loom))]
mod models {
    use std::alloc::{Layout, alloc, dealloc};
    use std::sync::Arc;

    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;

    /// A block with a node in it. Its task was done long ago.
    struct Block(NonNull<Node>);

    // SAFETY: as blocks of the arena.
    unsafe impl Send for Block {}
    // SAFETY: as above.
    unsafe impl Sync for Block {}

    impl Block {
        fn new() -> Self {
            // SAFETY: the layout is not empty.
            let block =
                NonNull::new(unsafe { alloc(Layout::new::<Node>()) }.cast::<Node>()).unwrap();
            // SAFETY: the block is ours. Loom's atomics cannot be made of zeroes.
            unsafe {
                (&raw mut (*block.as_ptr()).waiters).write(Waiters(AtomicU64::new(0)));
                (&raw mut (*block.as_ptr()).links).write(Default::default());
            }
            Self(block)
        }

        fn begin(&self) -> Creation {
            unsafe fn never(_: NonNull<Head>, _: &crate::worker::Worker) {}
            // SAFETY: the scope is not followed here.
            let scope = unsafe { NonNull::<ScopeCore>::dangling().as_ref() };
            // SAFETY: a block of our own with a node in it.
            unsafe { Creation::begin(self.0.cast(), Head { run: never }, scope, Label(0)) }
        }

        /// True if `other` became ready.
        fn finish(&self, other: &Self) -> bool {
            let mut ready = false;
            // SAFETY: called once for a task.
            unsafe {
                Node::finish(self.0, |node| {
                    assert!(node == other.0 && !ready);
                    ready = true;
                });
            }
            ready
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            // SAFETY: made by `new`; what is in it has been taken out, or is loom's.
            unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<Node>()) }
        }
    }

    fn model(f: impl Fn() + Sync + Send + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(f);
    }

    /// Tasks `a` and `b` write what `c` reads; they are done while `c` is being created. `c`
    /// becomes ready once, and sees what they wrote.
    #[test]
    fn a_task_that_waits_for_two_becomes_ready_once_and_sees_what_they_wrote() {
        model(|| {
            let blocks = Arc::new([Block::new(), Block::new(), Block::new()]);
            let written = Arc::new([UnsafeCell::new(0), UnsafeCell::new(0)]);
            let before = [0, 1].map(|i| {
                let creation = blocks[i].begin();
                let task = creation.task();
                assert!(creation.end());
                task
            });
            let look = |written: &[UnsafeCell<i32>; 2]| {
                // SAFETY: what is being checked: both have been written, and no thread writes any
                // more.
                written.iter().for_each(|it| assert_eq!(it.with(|it| unsafe { *it }), 1));
            };
            let runners = [0, 1].map(|i| {
                let (blocks, written) = (Arc::clone(&blocks), Arc::clone(&written));
                thread::spawn(move || {
                    // SAFETY: this task alone writes it.
                    written[i].with_mut(|it| unsafe { *it = 1 });
                    let ready = blocks[i].finish(&blocks[2]);
                    if ready {
                        look(&written);
                    }
                    usize::from(ready)
                })
            });
            let mut creation = blocks[2].begin();
            creation.reserve(2);
            // SAFETY: the blocks stay.
            before.iter().for_each(|&task| unsafe { creation.wait_for(task) });
            let ready = creation.end();
            if ready {
                look(&written);
            }
            let times = usize::from(ready)
                + runners.into_iter().map(|it| it.join().unwrap()).sum::<usize>();
            assert_eq!(times, 1);
            assert!(!blocks[2].finish(&blocks[0]));
        });
    }

    /// The block of a task that is done is used again while another task is made to wait for the
    /// first: it does not wait for the second.
    #[test]
    fn a_task_does_not_wait_for_a_stranger_in_the_block_of_one_that_is_done() {
        model(|| {
            let blocks = Arc::new([Block::new(), Block::new()]);
            let creation = blocks[0].begin();
            let first = creation.task();
            assert!(creation.end());
            let runner = {
                let blocks = Arc::clone(&blocks);
                thread::spawn(move || {
                    let ready = blocks[0].finish(&blocks[1]);
                    assert!(blocks[0].begin().end());
                    ready
                })
            };
            let mut creation = blocks[1].begin();
            creation.reserve(1);
            // SAFETY: the blocks stay.
            unsafe { creation.wait_for(first) };
            let ready = creation.end();
            assert!(runner.join().unwrap() != ready);
            // The other task ends last, without waiters.
            assert!(!blocks[0].finish(&blocks[1]) && !blocks[1].finish(&blocks[0]));
        });
    }
}
