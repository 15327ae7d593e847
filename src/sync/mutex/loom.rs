//! Models of the locks: the data is reached by one alone, and a lock is passed on by a future that gives up.

use super::*;
use crate::engine::sync_shim::{UnsafeCell, thread};
use crate::sync::RwLock;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A number whose every access loom watches.
struct Watched(UnsafeCell<u32>);

// SAFETY: loom reports it if two threads reach it at the same time.
#[allow(unsafe_code)]
unsafe impl Send for Watched {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Watched {}

impl Watched {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self) {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        self.0.with(|number| unsafe { *number })
    }
}

/// What a holder of the lock did is seen by the next one, whichever way it came to the lock.
#[test]
fn a_mutex_excludes_and_is_handed_over() {
    ::loom::model(|| {
        let lock = Arc::new(Mutex::new(Watched::new()));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || lock.blocking_lock().add())
        };
        lock.blocking_lock().add();
        other.join().expect("no panic");
        assert_eq!(lock.try_lock().expect("unlocked").get(), 2);
    });
}

/// The first of two futures gives up while the lock is handed to it: the second one gets it.
#[test]
fn a_future_that_gives_up_passes_the_lock_on() {
    ::loom::model(|| {
        let lock = Arc::new(Mutex::new(Watched::new()));
        let cx = &mut Context::from_waker(Waker::noop());
        let held = lock.try_lock().expect("unlocked");
        let mut first = Box::pin(lock.clone().lock_owned());
        assert!(first.as_mut().poll(cx).is_pending());
        let mut second = pin!(lock.lock());
        assert!(second.as_mut().poll(cx).is_pending());
        let gives_up = thread::spawn(move || drop(first));
        held.add();
        drop(held);
        gives_up.join().expect("no panic");
        let Poll::Ready(guard) = second.poll(cx) else { panic!("the lock went with the first") };
        assert_eq!(guard.get(), 1);
    });
}

/// A writer that becomes a reader lets the others read what it wrote, and no writer in between.
#[test]
fn a_downgraded_lock_is_read_before_it_is_written_again() {
    ::loom::model(|| {
        let lock = Arc::new(RwLock::with_max_readers(Watched::new(), 2));
        let writes = lock.try_write().expect("unlocked");
        let other = {
            let lock = lock.clone();
            thread::spawn(move || lock.blocking_write().add())
        };
        writes.add();
        let reads = writes.downgrade();
        assert_eq!(reads.get(), 1);
        drop(reads);
        other.join().expect("no panic");
        assert_eq!(lock.try_read().expect("unlocked").get(), 2);
    });
}

/// A reader and a writer meet: the writer waits for the reader, or the reader for the writer.
#[test]
fn a_reader_and_a_writer_exclude_each_other() {
    ::loom::model(|| {
        let lock = Arc::new(RwLock::with_max_readers(Watched::new(), 2));
        let writer = {
            let lock = lock.clone();
            thread::spawn(move || lock.blocking_write().add())
        };
        let read = lock.blocking_read().get();
        assert!(read <= 1);
        writer.join().expect("no panic");
        assert_eq!(lock.try_read().expect("unlocked").get(), 1);
    });
}
