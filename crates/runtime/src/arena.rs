//! Blocks for tasks, in few sizes. Each worker has its own stock, and a block is used again as soon
//! as its task has run.
//!
//! Tasks are often created by one worker and run by another, which then has the block. So stocks
//! are in *magazines* of 64 blocks (Bonwick and Adams, "Magazines and vmem", USENIX 2001). A worker
//! with two full magazines moves one to the [`SharedBlocks`] of the pool (the paper's depot), and a
//! worker with none takes one there: one lock in 64 blocks. Magazines are lists of addresses: the
//! next block is known without a look into any.
//!
//! Memory goes back to the system when the pool ends, not before: the protocol of task nodes relies
//! on blocks that stay (task/README.md). A worker with many pending tasks has them in huge pages: a
//! chain's tasks are far apart, and each on a page of its own would be one more miss of the TLB.
#![expect(unsafe_code, reason = "an allocator")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};

use rustix::mm::{Advice, madvise};

/// The use and the size of a block. Blocks of one class are never used as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class(usize);

/// Every block begins on a line of the cache.
pub const ALIGN: usize = 64;
/// Bytes of the blocks of each class: first those of independent tasks, then those of tasks with
/// dependences. A line of the cache apart, so that less than a line is left over. The last are
/// batches of independent tasks.
const SIZES: [usize; 9] = [64, 128, 192, 256, 128, 192, 256, 320, 1088];
const INDEPENDENT: std::ops::Range<usize> = 0..4;
const DEPENDENT: std::ops::Range<usize> = 4..8;
const BATCH: std::ops::Range<usize> = 8..9;
/// Blocks in a full magazine.
const FULL: usize = 64;
/// How many blocks before it is needed one is brought into the cache: some tens of nanoseconds
/// each, together as long as a miss of the last cache.
const AHEAD: usize = 4;
/// Bytes taken from the system at a time: enough that asking does not count, little enough for
/// small programs.
const CHUNK: usize = 256 << 10;
/// Bytes taken at a time by an arena that has had as much already: a huge page of x86, and of Arm
/// with pages of 4 KiB.
const HUGE: usize = 2 << 20;

impl Class {
    /// The class for an independent task of this layout. None: it is too large.
    pub const fn independent(layout: Layout) -> Option<Self> {
        Self::fitting(layout, INDEPENDENT)
    }

    /// The class for a task with dependences of this layout. None: it is too large.
    pub const fn dependent(layout: Layout) -> Option<Self> {
        Self::fitting(layout, DEPENDENT)
    }

    /// The class for batches of tasks, which have this layout.
    pub const fn batch(layout: Layout) -> Self {
        match Self::fitting(layout, BATCH) {
            Some(class) => class,
            None => panic!("a batch has to fit into its class"),
        }
    }

    const fn fitting(layout: Layout, among: std::ops::Range<usize>) -> Option<Self> {
        let mut class = among.start;
        while class < among.end {
            if layout.size() <= SIZES[class] && layout.align() <= ALIGN {
                return Some(Self(class));
            }
            class += 1;
        }
        None
    }
}

/// Blocks that are not in use, and how many: the first so many.
struct Magazine {
    count: usize,
    blocks: [MaybeUninit<NonNull<u8>>; FULL],
}

impl Magazine {
    fn empty() -> Box<Self> {
        Box::new(Self { count: 0, blocks: [MaybeUninit::uninit(); FULL] })
    }

    /// Takes the block that was put in last.
    #[inline]
    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.count = self.count.checked_sub(1)?;
        // A magazine that another worker has filled has its blocks all over the place, each a miss;
        // but the next ones are known.
        if let Some(ahead) = self.count.checked_sub(AHEAD) {
            // SAFETY: it is below the count.
            prefetch(unsafe { self.blocks[ahead].assume_init() }, bytes);
        }
        // SAFETY: it was below the count.
        Some(unsafe { self.blocks[self.count].assume_init() })
    }

    /// Puts a block into a magazine that is not full.
    #[inline]
    fn give(&mut self, block: NonNull<u8>) {
        self.blocks[self.count].write(block);
        self.count += 1;
    }
}

/// Brings the lines of a block into this core's cache, if the compiler has an instruction for it.
#[inline]
pub fn prefetch(block: NonNull<u8>, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(ALIGN) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about an address inside a block, which changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(block.as_ptr().add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (block, bytes);
}

/// The blocks and the memory that all workers of a pool share.
#[derive(Default)]
pub struct SharedBlocks {
    #[expect(clippy::vec_box, reason = "they change hands as they are, under a lock")]
    full: [Mutex<Vec<Box<Magazine>>>; SIZES.len()],
    chunks: Mutex<Vec<Chunk>>,
}

// SAFETY: blocks in here, and chunks, have no other owner; the lists of them are behind mutexes.
unsafe impl Send for SharedBlocks {}
// SAFETY: as above.
unsafe impl Sync for SharedBlocks {}

/// Memory that blocks are cut from.
struct Chunk {
    at: NonNull<u8>,
    layout: Layout,
}

impl Chunk {
    /// Zeroed: a node's first generation is 0, and its list of waiters is empty. None: the system
    /// has not so much.
    fn new(bytes: usize) -> Option<Self> {
        let align = if bytes == HUGE { HUGE } else { ALIGN };
        let Ok(layout) = Layout::from_size_align(bytes, align) else {
            unreachable!("a power of two, and bytes are a multiple of it")
        };
        // SAFETY: the layout is not empty.
        let at = NonNull::new(unsafe { alloc(layout) })?;
        if bytes == HUGE {
            // Before it is touched. A kernel without huge pages has small ones.
            // SAFETY: it changes nothing that can be seen.
            let _ = unsafe { madvise(at.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
        }
        // SAFETY: so many bytes are there.
        unsafe { at.write_bytes(0, bytes) };
        Some(Self { at, layout })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this layout. The pool is at its end: no task is left that
        // could be in a block.
        unsafe { dealloc(self.at.as_ptr(), self.layout) }
    }
}

impl SharedBlocks {
    /// Memory for an arena that has had so many bytes already, and its size in bytes.
    fn chunk(&self, had: usize) -> (*mut u8, usize) {
        let huge = if had >= HUGE { Chunk::new(HUGE) } else { None };
        let Some(chunk) = huge.or_else(|| Chunk::new(CHUNK)) else {
            handle_alloc_error(Layout::new::<[u8; CHUNK]>())
        };
        let it = (chunk.at.as_ptr(), chunk.layout.size());
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
        it
    }
}

/// One worker's blocks of one class.
struct Stock {
    /// Taken from and given to.
    loaded: RefCell<Box<Magazine>>,
    /// Full or empty.
    spare: RefCell<Box<Magazine>>,
    /// The rest of the last chunk: address and bytes.
    rest: Cell<(*mut u8, usize)>,
    /// Bytes of all its chunks.
    had: Cell<usize>,
}

/// The blocks of one worker.
pub struct Arena([Stock; SIZES.len()]);

// SAFETY: free blocks belong to the arena that has them in stock, whatever its thread.
unsafe impl Send for Arena {}

impl Default for Arena {
    fn default() -> Self {
        let stock = |_| Stock {
            loaded: RefCell::new(Magazine::empty()),
            spare: RefCell::new(Magazine::empty()),
            rest: Cell::new((null_mut(), 0)),
            had: Cell::new(0),
        };
        Self(std::array::from_fn(stock))
    }
}

impl Arena {
    /// Takes a block of this class, with its old contents.
    #[inline]
    pub fn take(&self, class: Class, shared_blocks: &SharedBlocks) -> NonNull<u8> {
        let stock = &self.0[class.0];
        let block = stock.loaded.borrow_mut().take(SIZES[class.0]);
        block.unwrap_or_else(|| Self::refill(stock, class, shared_blocks))
    }

    /// Puts a block back.
    ///
    /// # Safety
    /// It was taken with the same class in the same pool, and what was in it is not looked at any
    /// more (but for what the protocol of nodes says).
    #[inline]
    pub unsafe fn give(&self, class: Class, block: NonNull<u8>, shared_blocks: &SharedBlocks) {
        let stock = &self.0[class.0];
        let mut loaded = stock.loaded.borrow_mut();
        if loaded.count == FULL {
            Self::unload(stock, &mut loaded, class, shared_blocks);
        }
        loaded.give(block);
    }

    /// Makes room in a full magazine.
    #[cold]
    fn unload(
        stock: &Stock,
        loaded: &mut Box<Magazine>,
        class: Class,
        shared_blocks: &SharedBlocks,
    ) {
        let mut spare = stock.spare.borrow_mut();
        std::mem::swap(loaded, &mut spare);
        if loaded.count > 0 {
            let full = std::mem::replace(loaded, Magazine::empty());
            shared_blocks.full[class.0].lock().unwrap_or_else(PoisonError::into_inner).push(full);
        }
    }

    #[cold]
    fn refill(stock: &Stock, class: Class, shared_blocks: &SharedBlocks) -> NonNull<u8> {
        let mut loaded = stock.loaded.borrow_mut();
        std::mem::swap(&mut *loaded, &mut *stock.spare.borrow_mut());
        if loaded.count == 0 {
            // The lock is not to be held while the empty one is given back.
            let full =
                shared_blocks.full[class.0].lock().unwrap_or_else(PoisonError::into_inner).pop();
            full.into_iter().for_each(|full| *loaded = full);
        }
        if let Some(block) = loaded.take(SIZES[class.0]) {
            return block;
        }
        let size = SIZES[class.0];
        let (mut at, mut bytes) = stock.rest.get();
        if bytes < size {
            (at, bytes) = shared_blocks.chunk(stock.had.get());
            stock.had.set(stock.had.get() + bytes);
        }
        // SAFETY: at least `size` bytes are left in the chunk.
        stock.rest.set((unsafe { at.add(size) }, bytes - size));
        // SAFETY: inside a chunk, and so not null.
        unsafe { NonNull::new_unchecked(at) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_block_is_had_by_one_at_a_time_and_used_again() {
        let (shared_blocks, maker, runner) =
            (SharedBlocks::default(), Arena::default(), Arena::default());
        let class = Class::independent(Layout::new::<[u64; 9]>()).unwrap();
        let mut seen = HashSet::new();
        for _ in 0..20 {
            let blocks: Vec<_> = (0..1_000).map(|_| maker.take(class, &shared_blocks)).collect();
            let addresses: HashSet<_> = blocks.iter().map(|block| block.addr()).collect();
            assert_eq!(addresses.len(), 1_000);
            assert!(addresses.iter().all(|address| address.get() % ALIGN == 0));
            seen.extend(addresses);
            // SAFETY: taken above.
            blocks
                .into_iter()
                .for_each(|block| unsafe { runner.give(class, block, &shared_blocks) });
        }
        // The runner keeps two magazines; all other blocks are used again.
        assert!(seen.len() <= 1_000 + 2 * FULL, "{}", seen.len());
    }

    #[test]
    fn all_that_is_given_back_is_taken_again() {
        let (shared_blocks, arena) = (SharedBlocks::default(), Arena::default());
        let class = Class::dependent(Layout::new::<u64>()).unwrap();
        // A full loaded magazine, a full spare, and one that went to the shared blocks.
        let take =
            || (0..3 * FULL + 5).map(|_| arena.take(class, &shared_blocks)).collect::<HashSet<_>>();
        let blocks = take();
        // SAFETY: taken above.
        blocks.iter().for_each(|&block| unsafe { arena.give(class, block, &shared_blocks) });
        assert_eq!(take(), blocks);
    }

    #[test]
    fn an_arena_that_has_had_much_gets_more_in_huge_pages() {
        let (shared_blocks, maker) = (SharedBlocks::default(), Arena::default());
        let class = Class::independent(Layout::new::<u64>()).unwrap();
        let addresses: HashSet<_> =
            (0..100_000).map(|_| maker.take(class, &shared_blocks).addr().get()).collect();
        assert_eq!(addresses.len(), 100_000);
        let chunks = shared_blocks.chunks.lock().unwrap();
        assert_eq!(
            chunks.iter().map(|chunk| chunk.layout.size()).collect::<Vec<_>>(),
            [[CHUNK; 8].as_slice(), &[HUGE; 3]].concat()
        );
        assert!(
            chunks
                .iter()
                .all(|chunk| chunk.layout.size() == CHUNK || chunk.at.addr().get() % HUGE == 0)
        );
        let is_inside = |chunk: &Chunk, address| {
            (chunk.at.addr().get()..=chunk.at.addr().get() + chunk.layout.size() - 64)
                .contains(&address)
        };
        assert!(
            addresses
                .into_iter()
                .all(|address| chunks.iter().any(|chunk| is_inside(chunk, address)))
        );
        // A kernel without huge pages has nothing of them.
        if std::fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap() {
            chunks
                .iter()
                .filter(|chunk| chunk.layout.size() == HUGE)
                .for_each(|chunk| assert!(is_advised(chunk)));
        }
    }

    /// True if the kernel was asked for huge pages here (`hg` among the flags of its mapping).
    fn is_advised(chunk: &Chunk) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        for line in maps.lines() {
            if let Some((start, end)) = line.split(' ').next().and_then(|it| it.split_once('-')) {
                let bound = |hex| usize::from_str_radix(hex, 16).unwrap();
                is_here = (bound(start)..bound(end)).contains(&chunk.at.addr().get());
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_here) {
                return flags.split(' ').any(|flag| flag == "hg");
            }
        }
        false
    }

    #[test]
    fn what_is_too_large_or_aligned_too_far_has_no_class() {
        assert!(Class::independent(Layout::new::<[u64; 33]>()).is_none());
        assert!(Class::dependent(Layout::from_size_align(64, 128).unwrap()).is_none());
        assert_ne!(
            Class::independent(Layout::new::<u64>()),
            Class::dependent(Layout::new::<u64>())
        );
    }
}
