//! Models of the readiness protocol: every interleaving that loom can tell apart, on the production
//! code.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ::loom::sync::Mutex;
use ::loom::thread;

use mio::Interest;

use super::{Direction, Readiness, Ready};
use crate::engine::sync_shim::{block_on, both_ways};
use crate::engine::wakers::tests::Count;

fn both() -> Interest {
    Interest::READABLE.add(Interest::WRITABLE)
}

/// A source of which `WouldBlock` has been seen, so that nothing is ready.
fn drained() -> Arc<Readiness> {
    let readiness = Readiness::new(both());
    for direction in [Direction::Read, Direction::Write] {
        let event = readiness.current(both());
        readiness.clear_would_block(event, direction);
    }
    Arc::new(readiness)
}

/// The dispatch of an event; the wakers are called after the lock is left.
fn dispatch(readiness: &Readiness, ready: Ready) {
    let mut wakes = Vec::new();
    readiness.set(ready, &mut wakes);
    wakes.into_iter().for_each(Waker::wake);
}

/// Without the second look under the lock the waiter sleeps for ever: loom reports the deadlock.
#[test]
fn event_against_a_new_poll_waiter() {
    ::loom::model(|| {
        let readiness = drained();
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::READABLE)
        });
        let waiting = std::future::poll_fn(|cx| readiness.poll_ready(cx, Direction::Read));
        assert!(block_on(waiting).unwrap().ready.is_readable());
        driver.join().unwrap();
    });
}

/// As above for a future, whose place is in no list when the future is gone.
#[test]
fn event_against_a_new_future() {
    ::loom::model(|| {
        let readiness = drained();
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::READABLE)
        });
        assert!(block_on(readiness.ready(both())).unwrap().ready.is_readable());
        driver.join().unwrap();
        assert!(readiness.waiters.lock().is_empty());
    });
}

/// The driver goes while a waiter queues: the wait ends with an error.
#[test]
fn shutdown_against_a_new_waiter() {
    ::loom::model(|| {
        let readiness = drained();
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || {
                let mut wakes = Vec::new();
                readiness.shutdown(&mut wakes);
                wakes.into_iter().for_each(Waker::wake);
            }
        });
        assert!(block_on(readiness.ready(Interest::READABLE)).is_err());
        driver.join().unwrap();
    });
}

/// The reader has acted on the first event and clears it while the second one is written. Without
/// the tick the second one would be wiped out and the read after it would never come.
#[test]
fn clear_never_removes_a_newer_event() {
    ::loom::model(|| {
        let readiness = drained();
        dispatch(&readiness, Ready::READABLE);
        let first = readiness.current(Interest::READABLE);
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::READABLE)
        });
        readiness.clear_would_block(first, Direction::Read);
        driver.join().unwrap();
        assert!(readiness.current(Interest::READABLE).ready.is_readable());
    });
}

/// The whole loop of an edge-triggered reader: it asks for readiness, reads, and clears when there
/// is nothing to read, while data and the events about it come. Had it ever cleared too much, it
/// would wait for ever.
#[test]
fn a_reader_gets_everything_that_is_sent() {
    ::loom::model(|| {
        let readiness = drained();
        let socket = Arc::new(Mutex::new(0));
        let driver = thread::spawn({
            let (readiness, socket) = (readiness.clone(), socket.clone());
            move || {
                for _ in 0..2 {
                    *socket.lock().unwrap() += 1;
                    dispatch(&readiness, Ready::READABLE);
                }
            }
        });
        let mut received = 0;
        while received < 2 {
            let event = block_on(readiness.ready(Interest::READABLE)).unwrap();
            let read = std::mem::take(&mut *socket.lock().unwrap());
            if read == 0 {
                readiness.clear_would_block(event, Direction::Read);
            }
            received += read;
        }
        driver.join().unwrap();
    });
}

/// A future leaves while the event takes the wakers: its place is taken out once, and its neighbour is
/// woken in any case.
#[test]
fn drop_of_a_future_against_an_event() {
    ::loom::model(|| {
        let readiness = drained();
        let stays = Arc::new(Count::default());
        let leaves = Arc::new(Count::default());

        let mut staying = pin!(readiness.ready(Interest::READABLE));
        let staying_waker = Waker::from(stays.clone());
        assert!(staying.as_mut().poll(&mut Context::from_waker(&staying_waker)).is_pending());
        let leaving_waker = Waker::from(leaves.clone());

        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::READABLE)
        });
        {
            let mut leaving = pin!(readiness.ready(Interest::READABLE));
            let polled = leaving.as_mut().poll(&mut Context::from_waker(&leaving_waker));
            assert!(matches!(polled, Poll::Pending | Poll::Ready(Ok(_))));
        }
        driver.join().unwrap();

        assert!(readiness.waiters.lock().is_empty(), "a future that left is still there");
        assert_eq!(stays.get(), 1);
        assert!(leaves.get() <= 1);
        drop(leaving_waker);
        assert_eq!(Arc::strong_count(&leaves), 1, "a waker of a waiter that left is kept");
    });
}

/// A future is polled with another waker, as after a move to another task, while an event comes: it
/// finds the event, or the new waker is called.
#[test]
fn a_future_that_changes_its_waker_is_not_forgotten() {
    both_ways(|way| {
        let readiness = drained();
        let (old, new) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let mut waiting = pin!(readiness.ready(Interest::READABLE));
        let waker = Waker::from(old);
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::READABLE)
        });
        way.here();
        let waker = Waker::from(new.clone());
        let polled = waiting.as_mut().poll(&mut Context::from_waker(&waker));
        driver.join().unwrap();
        assert_eq!(polled.is_pending(), new.get() == 1);
    });
}

/// The reader clears what it has used up while the driver goes: the shutdown stays written down.
#[test]
fn clear_never_removes_the_shutdown() {
    both_ways(|way| {
        let readiness = drained();
        dispatch(&readiness, Ready::READABLE);
        let event = readiness.current(Interest::READABLE);
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || readiness.shutdown(&mut Vec::new())
        });
        way.here();
        readiness.clear_would_block(event, Direction::Read);
        driver.join().unwrap();
        let mut waiting = pin!(readiness.ready(Interest::READABLE));
        let polled = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Err(_))));
    });
}

/// One event and waiters of both kinds and directions: those of its direction are woken, the writer sleeps on
/// and is woken by its own.
#[test]
fn an_event_wakes_its_direction_while_the_other_one_queues() {
    both_ways(|way| {
        let readiness = drained();
        let (reader, writer) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let waker = Waker::from(reader.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(readiness.poll_ready(&mut cx, Direction::Read).is_pending());
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::READABLE)
        });
        way.here();
        let waker = Waker::from(writer.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(readiness.poll_ready(&mut cx, Direction::Write).is_pending());
        driver.join().unwrap();
        assert_eq!((reader.get(), writer.get()), (1, 0));
        dispatch(&readiness, Ready::WRITABLE);
        assert_eq!((reader.get(), writer.get()), (1, 1));
    });
}

/// A source looked as if it had come to its end, but has not. A reader finds nothing, asks the system about
/// it and clears the bit, while the end comes in truth: it is seen.
#[test]
fn an_end_that_comes_beside_the_question_is_kept() {
    both_ways(|way| {
        let readiness = drained();
        dispatch(&readiness, Ready::READ_CLOSED);
        let has_ended = Arc::new(Mutex::new(false));
        let driver = thread::spawn({
            let (readiness, has_ended) = (readiness.clone(), has_ended.clone());
            move || {
                *has_ended.lock().unwrap() = true;
                dispatch(&readiness, Ready::READ_CLOSED);
            }
        });
        way.here();
        let event = readiness.current(Interest::READABLE);
        let reads_the_end = *has_ended.lock().unwrap();
        if !reads_the_end {
            let is_still_closed = *has_ended.lock().unwrap();
            let kept = if is_still_closed { Direction::Read.closed() } else { Ready::EMPTY };
            readiness.clear_bits(event, Direction::Read.all().without(kept));
        }
        driver.join().unwrap();
        assert!(readiness.current(Interest::READABLE).ready.is_read_closed());
    });
}

/// An operation has found nothing, although a bit is set that stays: it waits for the next event, finds it
/// if it comes meanwhile, and does not turn.
#[test]
fn a_wait_past_an_event_ends_with_the_next_one() {
    ::loom::model(|| {
        let readiness = drained();
        dispatch(&readiness, Ready::READ_CLOSED);
        let past = readiness.current(both());
        let driver = thread::spawn({
            let readiness = readiness.clone();
            move || dispatch(&readiness, Ready::WRITABLE)
        });
        let event = block_on(readiness.ready_past(Some(past), both())).unwrap();
        assert!(event.ready.is_writable(), "it was told of the old event");
        driver.join().unwrap();
    });
}
