//! Models of the note: a reader never pairs one poll's id with another one's place.

use super::{Running, RunningTask};
use crate::engine::sync_shim::{Arc, thread};
use crate::engine::task::TaskId;
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

/// A look at any time, by a thread that nothing orders after the polls. (The looking thread is the spawned
/// one, so that the polls come first in the first order that is tried: then each load may return what has
/// been there before. With the threads changed about, loom would try few orders, because the count is
/// loaded twice.)
fn look_at(
    note: &Arc<Running>,
    check: impl FnOnce(u64, Option<RunningTask>) + Send + 'static,
) -> thread::JoinHandle<()> {
    let note = note.clone();
    thread::spawn(move || check(note.polls(), note.read()))
}

/// Polls of two tasks, one after the other, and a look at any time: it sees one of them, whole, or nothing.
#[test]
fn a_look_sees_one_poll_or_none() {
    ::loom::model(|| {
        let (note, [first, second]) = (Arc::new(Running::new()), tasks());
        assert_ne!(first.spawned_at(), second.spawned_at());
        let look = look_at(&note, move |_, seen| {
            assert!(seen.is_none_or(|seen| seen == first || seen == second), "{seen:?}");
        });
        for task in [first, second] {
            note.begin(task);
            note.end();
        }
        look.join().expect("no panic");
        assert_eq!((note.read(), note.polls()), (None, 2));
    });
}

/// A worker that is stuck is named, whichever thread looks, once the start of its poll can be seen at all.
#[test]
fn the_count_of_a_lasting_poll_shows_its_task() {
    ::loom::model(|| {
        let (note, [first, second]) = (Arc::new(Running::new()), tasks());
        let look = look_at(&note, move |count, seen| {
            // Not an earlier task than the count: its end came before.
            assert!(count < 2 || seen.is_none_or(|seen| seen == second), "{count}: {seen:?}");
        });
        note.begin(first);
        note.end();
        note.begin(second);
        look.join().expect("no panic");
        assert_eq!(note.read(), Some(second));
    });
}
