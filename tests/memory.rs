//! What tasks have allocated and not given back is known by place, about. And no block loses what is in it.
//!
//! A test binary of its own, because it replaces the allocator.
#![allow(unsafe_code)]

use liten::insight::{TrackingAllocator, memory_by_place};
use liten::runtime::{Builder, Runtime};
use std::alloc::{self, GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;
use std::sync::Mutex;

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator::system();

/// The figures are those of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn workers() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

/// What the tasks of a place in this file have allocated, in MB.
fn megabytes(place: &Location<'_>) -> f64 {
    let all = memory_by_place();
    let found = all.iter().find(|memory| memory.spawned_at().is_some_and(|at| at == place));
    found.map_or(0.0, |memory| memory.bytes() as f64 / 1e6)
}

/// Runs `work` in a task; returns where that was spawned.
#[track_caller]
fn in_a_task<T: Send + 'static>(
    runtime: &Runtime,
    work: impl FnOnce() -> T + Send + 'static,
) -> (T, &'static Location<'static>) {
    (runtime.block_on(runtime.spawn(async { work() })).unwrap(), Location::caller())
}

/// So many blocks of `size` bytes.
fn blocks(count: usize, size: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| vec![7; size]).collect()
}

#[test]
fn what_is_kept_is_told_by_the_place_of_the_task_that_has_allocated_it() {
    let _alone = ALONE.lock();
    let runtime = workers();
    let (small, of_small) = in_a_task(&runtime, || blocks(400_000, 100));
    let (large, of_large) = in_a_task(&runtime, || blocks(20, 4_000_000));
    let (gone, of_none) = in_a_task(&runtime, || drop(blocks(400_000, 100)));
    // An error of five times the standard deviation of such a sample.
    let small_now = megabytes(of_small);
    // A `Vec` of `Vec`s has 24 bytes for each of them.
    assert!((small_now - 49.6).abs() < 13.0, "{small_now}");
    assert!((megabytes(of_large) - 80.0).abs() < 1.0, "{:?}", memory_by_place());
    // What the runtime keeps of a task may have been noted.
    assert!(megabytes(of_none) < 1.0);
    drop((small, gone));
    assert!(megabytes(of_small) < 1.0, "given back on another thread");
    drop(large);
    assert!(megabytes(of_large) < 1.0);
}

#[test]
fn a_vector_that_grows_is_told_with_what_it_has_now() {
    let _alone = ALONE.lock();
    let runtime = workers();
    let grow = || {
        let mut all = Vec::new();
        (0..32_000_000_u32).for_each(|byte| all.push(byte as u8));
        all
    };
    let (mut grown, place) = in_a_task(&runtime, grow);
    assert!(grown.iter().zip(0_u32..).all(|(&byte, index)| byte == index as u8));
    let before = megabytes(place);
    assert!(
        (before - grown.capacity() as f64 / 1e6).abs() < 1.0,
        "{before} of {}",
        grown.capacity()
    );
    grown.truncate(1_000);
    grown.shrink_to_fit();
    assert!(megabytes(place) < 2.0);
    assert!(grown.iter().zip(0_u32..).all(|(&byte, index)| byte == index as u8));
}

#[test]
fn what_other_threads_allocate_is_of_no_task() {
    let _alone = ALONE.lock();
    let of_none =
        || memory_by_place().iter().find(|it| it.spawned_at().is_none()).map(|it| it.bytes());
    let before = of_none().unwrap_or(0);
    let kept = blocks(10, 5_000_000);
    assert!((of_none().unwrap() - before) as f64 > 45e6);
    drop(kept);
    let runtime = workers();
    let job = runtime.spawn_blocking(|| blocks(10, 5_000_000));
    let kept = runtime.block_on(job).unwrap();
    assert!((of_none().unwrap() - before) as f64 > 45e6);
    drop(kept);
}

/// A number that is different each time.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 33) as usize
}

/// An allocator that has no memory for a while. A block must come back with the layout with which it was
/// allocated.
struct Strict;

thread_local! {
    static HAS_MEMORY: Cell<bool> = const { Cell::new(true) };
}

static LAYOUTS: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

// SAFETY: hands the calls on.
unsafe impl GlobalAlloc for Strict {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !HAS_MEMORY.get() {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        LAYOUTS.lock().unwrap().insert(block.addr(), layout);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        assert_eq!(LAYOUTS.lock().unwrap().remove(&block.addr()), Some(layout));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[test]
fn a_block_that_cannot_grow_is_as_it_was_and_all_come_back_with_their_layouts() {
    let _alone = ALONE.lock();
    let (allocator, mut seed) = (TrackingAllocator::new(Strict), 3);
    for _ in 0..20_000 {
        let size = 1 + next(&mut seed) % (1 << (1 + next(&mut seed) % 18));
        let layout = Layout::from_size_align(size, 1 << (next(&mut seed) % 4)).unwrap();
        let larger = 1 + next(&mut seed) % (1 << (1 + next(&mut seed) % 18));
        // SAFETY: the layouts are those of the block, and it is as long as they say.
        unsafe {
            let mut block = allocator.alloc(layout);
            block.write_bytes(7, size);
            HAS_MEMORY.set(false);
            assert!(allocator.realloc(block, layout, larger).is_null());
            HAS_MEMORY.set(true);
            assert!(std::slice::from_raw_parts(block, size).iter().all(|&byte| byte == 7));
            block = allocator.realloc(block, layout, larger);
            let kept = std::slice::from_raw_parts(block, size.min(larger));
            assert!(kept.iter().all(|&byte| byte == 7));
            allocator.dealloc(block, Layout::from_size_align(larger, layout.align()).unwrap());
        }
    }
    assert!(LAYOUTS.lock().unwrap().is_empty());
}

struct Block {
    start: *mut u8,
    layout: Layout,
    byte: u8,
}

// SAFETY: nothing else points to it.
unsafe impl Send for Block {}

impl Block {
    fn new(seed: &mut u64) -> Self {
        // Sizes of all orders, and alignments to above those of what is noted.
        let size = 1 + next(seed) % (1 << (next(seed) % 20));
        let layout = Layout::from_size_align(size, 1 << (next(seed) % 13)).unwrap();
        let byte = next(seed) as u8;
        // SAFETY: the size is not 0.
        let start = unsafe {
            if byte & 1 == 0 { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) }
        };
        assert!(!start.is_null() && start.addr() % layout.align() == 0);
        let block = Self { start, layout, byte };
        assert!(byte & 1 != 0 || block.bytes().iter().all(|&it| it == 0));
        // SAFETY: it is that long.
        unsafe { start.write_bytes(byte, size) };
        block
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: it is that long, and has been written, or was zeroed.
        unsafe { std::slice::from_raw_parts(self.start, self.layout.size()) }
    }

    fn resize(&mut self, size: usize) {
        let kept = size.min(self.layout.size());
        // SAFETY: it was allocated with this layout, and the size is not 0.
        self.start = unsafe { alloc::realloc(self.start, self.layout, size) };
        assert!(!self.start.is_null() && self.start.addr() % self.layout.align() == 0);
        self.layout = Layout::from_size_align(size, self.layout.align()).unwrap();
        // SAFETY: so much of it is the same as before.
        let same = unsafe { std::slice::from_raw_parts(self.start, kept) };
        assert!(same.iter().all(|&it| it == self.byte));
        // SAFETY: it is that long.
        unsafe { self.start.write_bytes(self.byte, size) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        assert!(self.bytes().iter().all(|&it| it == self.byte));
        // SAFETY: it was allocated with this layout.
        unsafe { alloc::dealloc(self.start, self.layout) };
    }
}

#[test]
fn blocks_of_all_sizes_and_alignments_keep_what_is_written() {
    const THREADS: u64 = 4;
    let _alone = ALONE.lock();
    let shared = Mutex::new(Vec::<Block>::new());
    let work = |mut seed: u64| {
        for _ in 0..5_000 {
            let mut block = Block::new(&mut seed);
            if next(&mut seed) % 3 == 0 {
                block.resize(1 + next(&mut seed) % (1 << (next(&mut seed) % 20)));
            }
            // So that blocks are given back by other threads than those that have allocated them.
            let mut shared = shared.lock().unwrap();
            shared.push(block);
            let other = next(&mut seed) % shared.len();
            let other = if shared.len() > 64 { Some(shared.swap_remove(other)) } else { None };
            drop(shared);
            drop(other);
        }
    };
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|seed| {
            drop(scope.spawn({
                let work = &work;
                move || work(seed)
            }))
        })
    });
}
