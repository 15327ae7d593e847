//! A model of the table of locks: a lock is never shown with the holder of another one.

use super::*;
use crate::engine::sync_shim::{Arc, both_ways, thread};

/// Two locks take turns in one place, each entered with its holder, while another thread looks for both.
#[test]
fn a_lock_has_its_own_holder_or_none() {
    both_ways(|way| {
        let empty = Entry { lock: AtomicUsize::new(0), holder: AtomicU64::new(0) };
        let entries = Arc::new([empty]);
        let holders: [_; 2] = std::array::from_fn(|_| TaskId::next());
        let waits = {
            let entries = entries.clone();
            thread::spawn(move || {
                let table = Holders(&*entries);
                table.enter(1, word(Some(holders[0]), true));
                table.leave(1);
                table.enter(2, word(Some(holders[1]), true));
            })
        };
        way.here();
        let found = [2, 1].map(|lock| Holders(&*entries).find(lock));
        waits.join().expect("no panic");
        for (found, holder) in found.into_iter().zip([holders[1], holders[0]]) {
            assert!(found.is_none_or(|found| found.task == holder && found.is_certain));
        }
        assert!(Holders(&*entries).find(2).is_some());
    });
}
