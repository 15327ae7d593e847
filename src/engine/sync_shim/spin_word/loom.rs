//! Models of the word: one thread at a time is the holder, it sees what the last one did, and a thread that
//! waits becomes the holder.

use super::SpinWord;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, thread};

/// A sum that a holder reads, and writes back with one more.
struct Sum(AtomicUsize);

impl Sum {
    fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    fn add_one(&self) {
        // Ordering: Relaxed, because the word alone orders the holders: one that does not see the last one's
        // sum, or is not alone, loses what the other one has added.
        let seen = self.0.load(Ordering::Relaxed);
        self.0.store(seen + 1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        // Ordering: Relaxed, the threads were joined.
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn each_holder_is_alone_and_sees_what_the_last_one_did() {
    ::loom::model(|| {
        let shared = Arc::new((SpinWord::new(), Sum::new()));
        let others = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.lock();
                shared.1.add_one();
                shared.0.unlock();
            })
        });
        for other in others {
            other.join().expect("no panic");
        }
        assert_eq!(shared.1.get(), 2);
        assert!(!shared.0.is_locked());
    });
}

/// A thread that does not wait is refused, or it is the holder as any other.
#[test]
fn an_attempt_races_with_a_holder() {
    ::loom::model(|| {
        let shared = Arc::new((SpinWord::new(), Sum::new()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.lock();
            theirs.1.add_one();
            theirs.0.unlock();
        });
        let had_it = shared.0.try_lock();
        if had_it {
            shared.1.add_one();
            shared.0.unlock();
        }
        other.join().expect("no panic");
        assert_eq!(shared.1.get(), 1 + usize::from(had_it));
        assert!(shared.0.try_lock(), "it was released");
    });
}
