//! Models of the task's word alone, with plain numbers in the place of what it guards: loom reports every
//! access to them that the word does not order.

use super::*;
use crate::engine::sync_shim::{Arc, both_ways, thread};
use crate::engine::task::loom::Plain;

/// A task that has been polled once and waits.
fn cold() -> Arc<State> {
    let state = Arc::new(State::new());
    assert_eq!(state.start(), Start::Poll);
    assert_eq!(state.pending(), Pending::Cold);
    state
}

/// Runs the task whose wake gave the caller its `Hot`, until it is cold.
fn run(state: &State, future: &Plain) {
    loop {
        assert_eq!(state.start(), Start::Poll);
        future.write();
        match state.pending() {
            Pending::Cold => return,
            Pending::Requeue => {}
            Pending::RequeueFollowed => panic!("nothing follows"),
            Pending::Cancel => panic!("nothing aborts"),
        }
    }
}

/// Two threads wake a cold task, and the one that makes it hot polls it on the spot: never two at a time, and
/// each poll finds the future as the one before left it.
#[test]
fn the_future_belongs_to_one_runner_at_a_time() {
    both_ways(|way| {
        let (state, future) = (cold(), Plain::new());
        let wake = |state: &State, future: &Plain| {
            if state.wake() == Wake::Schedule {
                run(state, future);
            }
        };
        let other = {
            let (state, future) = (state.clone(), future.clone());
            thread::spawn(move || wake(&state, &future))
        };
        way.here();
        wake(&state, &future);
        other.join().expect("no panic");
        assert!((1..=2).contains(&future.read()));
    });
}

/// A wake and an abort of a cold task make one `Hot` between them, and that one is not polled.
#[test]
fn a_wake_and_an_abort_make_one_hot() {
    both_ways(|way| {
        let state = cold();
        let aborter = {
            let state = state.clone();
            thread::spawn(move || state.abort())
        };
        way.here();
        let woken = state.wake();
        let aborted = aborter.join().expect("no panic");
        assert!((woken == Wake::Schedule) != (aborted == Wake::Schedule), "{woken:?} {aborted:?}");
        assert_eq!((state.start(), state.start_marked()), (Start::Marked, Marked::Cancel));
    });
}

/// A detached task completes while a waker is used up and another one is dropped: the last of the three frees
/// the cell, alone, and after the accesses of the other two.
#[test]
fn the_last_of_three_frees_what_all_have_used() {
    ::loom::model(|| {
        let (state, cell) = (Arc::new(State::new()), Plain::new());
        assert_eq!(state.drop_join(), DropJoin::Released);
        state.add_ref();
        state.add_ref();
        let waker = {
            let (state, cell) = (state.clone(), cell.clone());
            thread::spawn(move || {
                cell.read();
                match state.wake_owned() {
                    None => cell.write(),
                    Some(Wake::Nothing | Wake::Noted) => {}
                    Some(Wake::Schedule | Wake::ScheduleFollowed) => {
                        panic!("the task is hot or complete")
                    }
                }
            })
        };
        let dropper = {
            let (state, cell) = (state.clone(), cell.clone());
            thread::spawn(move || {
                cell.read();
                if state.release() == Released::Free {
                    cell.write();
                }
            })
        };
        assert_eq!(state.start(), Start::Poll);
        cell.read();
        assert_eq!(state.complete(), Complete::OutputUnwanted);
        if state.complete_detached() == Released::Free {
            cell.write();
        }
        waker.join().expect("no panic");
        dropper.join().expect("no panic");
        assert_eq!(cell.read(), 1);
    });
}

/// The JoinHandle takes the slot of the join waker back, to change it, while the task completes: it is
/// written by the handle or read by the task.
#[test]
fn the_slot_of_the_join_waker_changes_hands_both_ways() {
    both_ways(|way| {
        let (state, slot) = (Arc::new(State::new()), Plain::new());
        slot.write();
        assert_eq!(state.flip_join_waker(), Poll::Pending);
        let task = {
            let (state, slot) = (state.clone(), slot.clone());
            thread::spawn(move || {
                assert_eq!(state.start(), Start::Poll);
                match state.complete() {
                    Complete::WakeJoiner => {
                        let woken = slot.read();
                        assert_eq!(state.joiner_woken(), Some(Released::Nothing));
                        Some(woken)
                    }
                    Complete::Released(Released::Nothing) => None,
                    other => panic!("the handle is there: {other:?}"),
                }
            })
        };
        way.here();
        let changed = state.flip_join_waker().is_pending().then(|| slot.write());
        let given = changed.is_some() && state.flip_join_waker().is_pending();
        let woken = task.join().expect("no panic");
        let wakes = match (changed, given) {
            (None, _) => Some(1),
            // It became complete while the slot was the handle's, which knows that it need not wait.
            (Some(()), false) => None,
            (Some(()), true) => Some(2),
        };
        assert_eq!(woken, wakes, "the waker that the task calls is the last one given to it");
        assert!(state.is_complete());
    });
}

/// A waker is cloned in a poll, cloned again by a thread that then drops both of its own, and its last clone
/// wakes. A third thread that looks finds the task stuck at no time before the last waker is gone.
#[test]
fn a_task_with_a_waker_is_never_stuck() {
    both_ways(|way| {
        let state = Arc::new(State::new());
        let other = {
            let state = state.clone();
            thread::spawn(move || state.cold_wakers() == Some(0))
        };
        assert_eq!(state.start(), Start::Poll);
        // The poll's waker is cloned.
        state.add_ref();
        assert_eq!(state.pending(), Pending::Cold);
        way.here();
        let holder = {
            let state = state.clone();
            thread::spawn(move || {
                // A clone of it; then the first one is dropped.
                state.add_ref();
                assert_eq!(state.release(), Released::Nothing);
                state.wake_owned()
            })
        };
        assert_eq!(holder.join().expect("no panic"), Some(Wake::Schedule));
        assert_eq!(state.cold_wakers(), None, "queued");
        assert!(!other.join().expect("no panic"), "there was a waker all the time");
    });
}

/// A task is polled twice while another thread marks it, reads what the last poll has left, and finds it
/// still marked: what it has read was left by the last poll, and no poll was under way.
#[test]
fn a_seen_task_has_been_cold_all_the_time() {
    ::loom::model(|| {
        let (state, note) = (Arc::new(State::new()), Arc::new(AtomicUsize::new(0)));
        assert_eq!(state.start(), Start::Poll);
        // Ordering: Release and Acquire, as for the note in a link.
        note.store(1, Ordering::Release);
        assert_eq!(state.pending(), Pending::Cold);
        let runner = {
            let (state, note) = (state.clone(), note.clone());
            thread::spawn(move || {
                for round in 2..4 {
                    assert_eq!(state.wake(), Wake::Schedule);
                    assert_eq!(state.start(), Start::Poll);
                    note.store(0, Ordering::Release);
                    note.store(round, Ordering::Release);
                    assert_eq!(state.pending(), Pending::Cold);
                }
            })
        };
        let mark = state.mark();
        let first = note.load(Ordering::Acquire);
        let second = note.load(Ordering::Acquire);
        if mark != Mark::Hot && state.mark() == Mark::Old {
            assert!(first != 0 && first == second, "{first} {second}");
        }
        runner.join().expect("no panic");
    });
}

/// The runner of a task marks it in a poll, another thread wakes it, and a third one aborts it or wants it
/// traced: one `Hot` is made at a time, no request is lost, and the mark is there at the next start.
#[test]
fn a_mark_is_found_by_whatever_starts_the_task_next() {
    for is_aborted in [false, true] {
        both_ways(move |way| {
            let state = Arc::new(State::new());
            assert_eq!(state.start(), Start::Poll);
            let others = [true, false].map(|is_wake| {
                let state = state.clone();
                thread::spawn(move || match is_wake {
                    true => state.wake(),
                    false if is_aborted => state.abort(),
                    false => state.trace(),
                })
            });
            way.here();
            assert_eq!(state.follow(Some(3)), None);
            let pending = state.pending();
            let [woken, asked] = others.map(|other| other.join().expect("no panic"));
            assert_ne!(woken, Wake::Schedule, "the mark is there");
            let is_hot = |&&wake: &&Wake| matches!(wake, Wake::Schedule | Wake::ScheduleFollowed);
            let hots = [woken, asked].iter().filter(is_hot).count();
            match pending {
                Pending::Cold => assert_eq!(hots, 1, "{woken:?} {asked:?}"),
                Pending::RequeueFollowed | Pending::Cancel => assert_eq!(hots, 0),
                Pending::Requeue => panic!("the mark is there"),
            }
            assert_eq!(state.followed(), Some(3));
            if pending == Pending::Cancel {
                return;
            }
            assert_eq!(state.start(), Start::Marked);
            let expected = if is_aborted { (false, Marked::Cancel) } else { (true, Marked::Trace) };
            assert_eq!((state.ends_wait(), state.start_marked()), expected);
        });
    }
}
