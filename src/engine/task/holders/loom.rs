//! Models of the table of locks: a lock is never shown with the holder of another one.

use super::*;
use crate::engine::sync_shim::{Arc, thread};

/// Two locks take turns in one place, each entered with its holder, while a third thread looks for both.
#[test]
fn a_lock_has_its_own_holder_or_none() {
    ::loom::model(|| {
        let empty = Entry { lock: AtomicUsize::new(0), holder: AtomicU64::new(0) };
        let entries = Arc::new([empty]);
        let holders: [_; 2] = std::array::from_fn(|_| Some(TaskId::next()));
        let waits = |index: usize| {
            let (entries, holder) = (entries.clone(), word(holders[index], true));
            move || {
                let table = Holders(&*entries);
                table.enter(index + 1, holder);
                table.leave(index + 1);
            }
        };
        let other = thread::spawn(waits(1));
        let looks = {
            let entries = entries.clone();
            thread::spawn(move || [1, 2].map(|lock| Holders(&*entries).find(lock)))
        };
        waits(0)();
        other.join().expect("no panic");
        let found = looks.join().expect("no panic");
        for (found, holder) in found.into_iter().zip(holders) {
            assert!(found.is_none_or(|found| Some(found.task) == holder && found.is_certain));
        }
    });
}
