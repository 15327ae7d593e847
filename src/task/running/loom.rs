//! Models of the note: a reader never pairs one poll's id with another one's place.

use super::{Running, RunningTask};
use crate::sync_shim::{Arc, thread};
use crate::task::id::TaskId;
use std::panic::Location;

/// Two tasks whose notes must not be mixed.
fn tasks() -> [RunningTask; 2] {
    let id = |bits| TaskId::from_bits(bits).expect("not 0");
    [RunningTask::new(id(1), Location::caller()), RunningTask::new(id(2), elsewhere())]
}

/// Another place than the caller's.
fn elsewhere() -> &'static Location<'static> {
    Location::caller()
}

/// Polls of two tasks, one after the other, and a look at any time: it sees one of them, whole, or nothing.
#[test]
fn a_look_sees_one_poll_or_none() {
    ::loom::model(|| {
        let (note, [first, second]) = (Arc::new(Running::new()), tasks());
        assert_ne!(first.spawned_at(), second.spawned_at());
        let owner = {
            let note = note.clone();
            thread::spawn(move || {
                for task in [first, second, first] {
                    note.write(task);
                    note.end();
                }
            })
        };
        let seen = note.read();
        assert!(seen.is_none_or(|seen| seen == first || seen == second), "{seen:?}");
        owner.join().expect("no panic");
        assert_eq!((note.read(), note.polls()), (None, 3));
    });
}

/// A worker that is stuck is named, whoever looks, once the start of its poll can be seen at all.
#[test]
fn who_sees_the_count_of_a_lasting_poll_sees_its_task() {
    ::loom::model(|| {
        let (note, [first, second]) = (Arc::new(Running::new()), tasks());
        let owner = {
            let note = note.clone();
            thread::spawn(move || {
                note.write(first);
                note.end();
                note.write(second);
            })
        };
        let (count, seen) = (note.polls(), note.read());
        // Not an earlier task than the count: its end came before.
        assert!(count < 2 || seen.is_none_or(|seen| seen == second), "{count}: {seen:?}");
        owner.join().expect("no panic");
        assert_eq!(note.read(), Some(second));
    });
}
