use super::{
    DEPOTS, LARGEST, MOST_CELLS, User, allocate, cells, chains_kept, class_of, layout_of, release,
    trim_here, trim_some,
};
use std::alloc::Layout;
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

struct Memory(NonNull<u8>);

// SAFETY: memory that nothing else knows of.
unsafe impl Send for Memory {}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).unwrap()
}

/// Allocates one and fills it, so that an overlap with another one is seen by [`free`].
fn filled(size: usize, byte: u8) -> Memory {
    let memory = allocate(layout(size));
    // SAFETY: `size` bytes of our own.
    unsafe { memory.write_bytes(byte, size) };
    Memory(memory)
}

fn free(memory: Memory, size: usize, byte: u8) {
    // SAFETY: as in `filled`, which has initialised them.
    let bytes = unsafe { std::slice::from_raw_parts(memory.0.as_ptr(), size) };
    assert!(bytes.iter().all(|&b| b == byte));
    // SAFETY: from `allocate` with the same layout, and not used any more.
    unsafe { release(memory.0, layout(size)) };
}

#[test]
fn each_kept_size_fits_its_class_and_the_step_below_does_not() {
    for size in (16..=LARGEST).step_by(8) {
        let class = class_of(layout(size)).unwrap();
        assert!(layout_of(class).size() >= size && layout_of(class).size() < size + 16);
    }
    assert_eq!(class_of(layout(LARGEST + 8)), None);
    assert_eq!(class_of(Layout::from_size_align(64, 16).unwrap()), None);
}

#[test]
fn what_is_freed_is_used_again() {
    let first = filled(488, 1);
    let address = first.0;
    free(first, 488, 1);
    let second = filled(488, 2);
    assert_eq!(second.0, address);
    free(second, 488, 2);
}

#[test]
fn cells_never_overlap_whatever_is_kept_where() {
    let _user = User::new();
    for size in [64, 88, 128, 504, 512] {
        let kept = class_of(layout(size)).map_or(10, |class| chains_kept(class) * cells(class));
        // Some must go back to the allocator.
        let crowd = kept + 10 * MOST_CELLS;
        for round in 0..3_u8 {
            let all: Vec<_> = (0..crowd).map(|_| filled(size, round)).collect();
            let addresses: HashSet<_> = all.iter().map(|memory| memory.0).collect();
            assert_eq!(addresses.len(), crowd);
            all.into_iter().for_each(|memory| free(memory, size, round));
        }
    }
}

#[test]
fn one_thread_may_allocate_and_another_one_free() {
    const COUNT: usize = 100_000;
    let (send, received) = mpsc::sync_channel::<(Memory, usize)>(1_000);
    let consumer = thread::spawn(move || {
        received.into_iter().map(|(memory, size)| free(memory, size, size as u8)).count()
    });
    for index in 0..COUNT {
        let size = 64 + index % 5 * 24;
        send.send((filled(size, size as u8), size)).unwrap();
    }
    drop(send);
    assert_eq!(consumer.join().unwrap(), COUNT);
}

/// How many chains the depot for cells of this size has.
fn chains(size: usize) -> usize {
    DEPOTS[class_of(layout(size)).unwrap()].lock().0.len()
}

/// One class that no other test here uses, because tests run side by side; but each of them may empty all.
#[test]
fn what_a_burst_leaves_is_given_back() {
    let user = User::new();
    let size = 248;
    let burst = || {
        let all: Vec<_> = (0..1_000).map(|_| filled(size, 6)).collect();
        all.into_iter().for_each(|memory| free(memory, size, 6));
    };
    burst();
    while trim_some() {}
    assert_eq!(chains(size), 0);
    user.end();
    // No longer a user; others may be there, for which it is kept.
    user.end();
    burst();
    while trim_some() {}
    trim_here();
    assert_eq!(chains(size), 0);
    burst();
}

/// In a forked child a thread may hold it that does not exist there, so it would hold it for ever.
#[test]
fn a_depot_that_another_thread_holds_is_not_waited_for() {
    let _user = User::new();
    let size = 312;
    let held = DEPOTS[class_of(layout(size)).unwrap()].lock();
    let (send, ended) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        // More than a thread keeps, both ways, so the depot is asked each time that a chain is full or empty;
        // and once more when the thread ends.
        for _ in 0..2 {
            let all: Vec<_> = (0..4 * MOST_CELLS).map(|_| filled(size, 5)).collect();
            all.into_iter().for_each(|memory| free(memory, size, 5));
        }
        drop(send);
    });
    let end = ended.recv_timeout(Duration::from_secs(30));
    assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected), "the thread waits for the depot");
    until_it_ends(other);
    drop(held);
}

/// The destructors of its thread-locals included.
fn until_it_ends(thread: thread::JoinHandle<()>) {
    let (send, ended) = mpsc::channel();
    thread::spawn(move || send.send(thread.join().is_ok()));
    assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true), "the thread does not end");
}
