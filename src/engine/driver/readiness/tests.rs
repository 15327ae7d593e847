use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use mio::Interest;

use super::{Direction, LISTED_WAITERS, Readiness, Ready, ReadyEvent, ReadyFuture};
use crate::engine::task::waker::tests::{of_a_task, tracing};
use crate::engine::wakers::LINE_STEP;
use crate::engine::wakers::tests::Count;

const READ: Interest = Interest::READABLE;
const WRITE: Interest = Interest::WRITABLE;
const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// A source of which `WouldBlock` has been seen in both directions.
fn drained() -> Readiness {
    let readiness = Readiness::new(BOTH);
    for direction in [Direction::Read, Direction::Write] {
        readiness.clear_would_block(readiness.current(BOTH), direction);
    }
    readiness
}

fn dispatch(readiness: &Readiness, ready: Ready) {
    let mut wakes = Vec::new();
    readiness.set(ready, &mut wakes);
    wakes.into_iter().for_each(Waker::wake);
}

fn poll(readiness: &Readiness, waker: &Waker, direction: Direction) -> Option<ReadyEvent> {
    match readiness.poll_ready(&mut Context::from_waker(waker), direction) {
        Poll::Ready(event) => Some(event.unwrap()),
        Poll::Pending => None,
    }
}

fn poll_future(waiting: &mut Pin<&mut ReadyFuture<'_>>, waker: &Waker) -> Option<Ready> {
    match waiting.as_mut().poll(&mut Context::from_waker(waker)) {
        Poll::Ready(event) => Some(event.unwrap().ready),
        Poll::Pending => None,
    }
}

/// The waker of a traced poll equals none that is in the line, though its clone does.
#[test]
fn a_traced_poll_leaves_no_second_waker() {
    let (readiness, waker) = (drained(), of_a_task());
    for traced in [false, true, true, false] {
        let polled = match traced {
            true => poll(&readiness, &tracing(&waker), Direction::Read),
            false => poll(&readiness, &waker, Direction::Read),
        };
        assert!(polled.is_none());
        assert_eq!(readiness.waiters.lock().of(Direction::Read).len(), 1);
    }
    let mut wakes = Vec::new();
    readiness.set(Ready::READABLE, &mut wakes);
    assert!(wakes.len() == 1 && wakes[0].will_wake(&waker), "an ordinary one");
}

#[test]
fn at_first_every_direction_of_interest_is_worth_a_try() {
    assert_eq!(Readiness::new(BOTH).current(BOTH).ready, Ready::READABLE | Ready::WRITABLE);
    assert_eq!(Readiness::new(READ).current(BOTH).ready, Ready::READABLE);
    assert_eq!(Readiness::new(WRITE).current(BOTH).ready, Ready::WRITABLE);
    assert!(drained().current(BOTH).ready.is_empty());
}

#[test]
fn an_event_before_any_task_waits_is_remembered() {
    let readiness = drained();
    dispatch(&readiness, Ready::READABLE);
    let (count, waker) = Count::new();
    assert!(poll(&readiness, &waker, Direction::Read).unwrap().ready.is_readable());
    assert_eq!(poll_future(&mut pin!(readiness.ready(READ)), &waker), Some(Ready::READABLE));
    assert!(poll(&readiness, &waker, Direction::Write).is_none());
    assert_eq!(count.get(), 0);
}

#[test]
fn all_waiters_of_a_direction_are_woken_and_no_others() {
    let readiness = drained();
    let counts: Vec<_> = (0..6).map(|_| Count::new()).collect();
    for (_, waker) in &counts[0..2] {
        assert!(poll(&readiness, waker, Direction::Read).is_none());
    }
    assert!(poll(&readiness, &counts[2].1, Direction::Write).is_none());
    let mut futures = [READ, BOTH, WRITE].map(|interest| Box::pin(readiness.ready(interest)));
    for (waiting, (_, waker)) in futures.iter_mut().zip(&counts[3..]) {
        assert!(poll_future(&mut waiting.as_mut(), waker).is_none());
    }
    let woken = || counts.iter().map(|(count, _)| count.get()).collect::<Vec<_>>();

    dispatch(&readiness, Ready::READABLE);
    assert_eq!(woken(), [1, 1, 0, 1, 1, 0]);
    // No task has polled again, so none is woken again.
    dispatch(&readiness, Ready::READABLE);
    assert_eq!(woken(), [1, 1, 0, 1, 1, 0]);
    dispatch(&readiness, Ready::WRITABLE);
    assert_eq!(woken(), [1, 1, 1, 1, 1, 1]);

    drop(futures);
    assert!(readiness.waiters.lock().is_empty());
}

#[test]
fn an_error_concerns_both_directions() {
    let readiness = drained();
    let (reader, read_waker) = Count::new();
    let (writer, write_waker) = Count::new();
    assert!(poll(&readiness, &read_waker, Direction::Read).is_none());
    assert!(poll(&readiness, &write_waker, Direction::Write).is_none());
    dispatch(&readiness, Ready::ERROR | Ready::READABLE | Ready::WRITABLE);
    assert_eq!((reader.get(), writer.get()), (1, 1));
    // One of them looks and blocks; the other still has its try, and so has a task that asks for errors.
    let event = poll(&readiness, &read_waker, Direction::Read).unwrap();
    readiness.clear_would_block(event, Direction::Read);
    assert!(poll(&readiness, &read_waker, Direction::Read).is_none());
    assert!(poll(&readiness, &write_waker, Direction::Write).is_some());
    assert!(readiness.current(Ready::ERROR).ready.is_error());
}

#[test]
fn urgent_data_and_errors_are_waited_for_and_forgotten_apart() {
    for bit in [Ready::PRIORITY, Ready::ERROR] {
        let readiness = drained();
        let (count, waker) = Count::new();
        let mut waiting = pin!(readiness.ready(bit));
        assert!(poll_future(&mut waiting, &waker).is_none());
        dispatch(&readiness, Ready::READABLE | Ready::WRITABLE);
        assert_eq!(count.get(), 0, "it is about data");
        dispatch(&readiness, Ready::READABLE | bit);
        assert_eq!(count.get(), 1);
        // A reader and a writer that find nothing take nothing from it, and it nothing from them.
        readiness.clear_would_block(readiness.current(READ), Direction::Read);
        assert_eq!(poll_future(&mut waiting, &waker), Some(bit));
        readiness.clear_bits(readiness.current(bit), bit);
        assert!(poll_future(&mut waiting, &waker).is_none());
        assert_eq!(readiness.current(BOTH).ready, Ready::WRITABLE);
        dispatch(&readiness, bit);
        readiness.clear_bits(readiness.current(bit), Ready::PRIORITY | Ready::ERROR);
        assert_eq!(readiness.current(Ready::ALL_BITS).ready, Ready::WRITABLE);
    }
}

#[test]
fn a_clear_of_urgent_data_is_void_once_a_newer_event_has_come() {
    let readiness = drained();
    dispatch(&readiness, Ready::PRIORITY);
    let first = readiness.current(Ready::PRIORITY);
    dispatch(&readiness, Ready::PRIORITY);
    readiness.clear_bits(first, Ready::PRIORITY);
    assert!(readiness.current(Ready::PRIORITY).ready.is_priority());
}

/// The read stops at the mark, short, and more is there. It is over when a read finds nothing, whether the
/// urgent data itself has been fetched or not.
#[test]
fn a_short_read_proves_nothing_while_there_is_a_mark() {
    let readiness = drained();
    dispatch(&readiness, Ready::READABLE | Ready::PRIORITY);
    readiness.clear_bits(readiness.current(Ready::PRIORITY), Ready::PRIORITY);
    readiness.clear_data(readiness.current(READ), Direction::Read);
    assert_eq!(readiness.current(READ).ready, Ready::READABLE);
    readiness.clear_would_block(readiness.current(READ), Direction::Read);
    dispatch(&readiness, Ready::READABLE);
    readiness.clear_data(readiness.current(READ), Direction::Read);
    assert!(readiness.current(READ).ready.is_empty());
}

#[test]
fn a_task_that_polls_often_is_stored_once() {
    let readiness = drained();
    let (count, waker) = Count::new();
    let mut waiting = pin!(readiness.ready(READ));
    for _ in 0..1_000 {
        assert!(poll(&readiness, &waker, Direction::Read).is_none());
        assert!(poll_future(&mut waiting, &waker).is_none());
    }
    // The test's own two, one per kind of waiter.
    assert_eq!(Arc::strong_count(&count), 4);
    dispatch(&readiness, Ready::READABLE);
    assert_eq!(count.get(), 2);
}

#[test]
fn a_future_that_moved_wakes_its_new_task_only() {
    let readiness = drained();
    let (old, old_waker) = Count::new();
    let (new, new_waker) = Count::new();
    let mut waiting = pin!(readiness.ready(READ));
    assert!(poll_future(&mut waiting, &old_waker).is_none());
    assert!(poll_future(&mut waiting, &new_waker).is_none());
    dispatch(&readiness, Ready::READABLE);
    assert_eq!((old.get(), new.get()), (0, 1));
}

#[test]
fn a_future_can_wait_again_after_a_wake_that_came_to_nothing() {
    let readiness = drained();
    let (count, waker) = Count::new();
    let mut waiting = pin!(readiness.ready(READ));
    assert!(poll_future(&mut waiting, &waker).is_none());
    for round in 1..4 {
        dispatch(&readiness, Ready::READABLE);
        assert_eq!(count.get(), round);
        // Another task was faster.
        readiness.clear_would_block(readiness.current(READ), Direction::Read);
        assert!(poll_future(&mut waiting, &waker).is_none());
    }
    assert!(!readiness.waiters.lock().is_empty());
}

#[test]
fn a_crowded_line_is_swept_of_wakers_that_have_been_called() {
    let readiness = drained();
    let gone: Vec<_> = (0..LINE_STEP).map(|_| Count::new()).collect();
    for (_, waker) in &gone {
        assert!(poll(&readiness, waker, Direction::Read).is_none());
    }
    assert_eq!(readiness.waiters.lock().len(), LINE_STEP);
    let (stays, waker) = Count::new();
    assert!(poll(&readiness, &waker, Direction::Read).is_none());
    assert!(gone.iter().all(|(count, _)| count.get() == 1));
    assert_eq!((readiness.waiters.lock().len(), stays.get()), (1, 0));
}

/// Each wake leads to another poll, as with real tasks: that must come to an end.
#[test]
fn a_crowd_settles() {
    let readiness = drained();
    let tasks: Vec<_> = (0..5 * LINE_STEP).map(|_| Count::new()).collect();
    for event in 0..3 {
        let mut polls = vec![0; tasks.len()];
        loop {
            let due: Vec<_> = (0..tasks.len()).filter(|&i| tasks[i].0.get() >= polls[i]).collect();
            if due.is_empty() {
                break;
            }
            for i in due {
                polls[i] = tasks[i].0.get() + 1;
                assert!(poll(&readiness, &tasks[i].1, Direction::Read).is_none());
            }
            assert!(polls.iter().sum::<usize>() < 100 * tasks.len(), "they wake each other");
        }
        assert_eq!(readiness.waiters.lock().len(), tasks.len());
        let before: Vec<_> = tasks.iter().map(|(count, _)| count.get()).collect();
        dispatch(&readiness, Ready::READABLE);
        let woken = |i: usize| tasks[i].0.get() - before[i];
        assert!((0..tasks.len()).all(|i| woken(i) == 1), "in round {event}");
        readiness.clear_would_block(readiness.current(READ), Direction::Read);
    }
}

#[test]
fn futures_that_wait_are_not_bounded_and_leave_in_any_order() {
    let readiness = drained();
    let (count, waker) = Count::new();
    let mut waiting: Vec<_> = (0..200).map(|_| Box::pin(readiness.ready(READ))).collect();
    for waiting in &mut waiting {
        assert!(poll_future(&mut waiting.as_mut(), &waker).is_none());
    }
    let mut index = 0;
    waiting.retain(|_| {
        index += 1;
        index % 3 == 0
    });
    dispatch(&readiness, Ready::READ_CLOSED);
    assert_eq!(count.get(), waiting.len());
    drop(waiting);
    assert!(readiness.waiters.lock().is_empty());
    assert_eq!(Arc::strong_count(&count), 2);
}

#[test]
fn a_clear_is_void_once_a_newer_event_has_come() {
    let readiness = drained();
    dispatch(&readiness, Ready::READABLE);
    let first = readiness.current(READ);
    dispatch(&readiness, Ready::READABLE);
    readiness.clear_data(first, Direction::Read);
    readiness.clear_would_block(first, Direction::Read);
    assert_eq!(readiness.current(READ).ready, Ready::READABLE);
    readiness.clear_data(readiness.current(READ), Direction::Read);
    assert!(readiness.current(READ).ready.is_empty());
}

#[test]
fn a_clear_leaves_the_other_direction_alone() {
    let readiness = Readiness::new(BOTH);
    readiness.clear_would_block(readiness.current(READ), Direction::Read);
    assert_eq!(readiness.current(BOTH).ready, Ready::WRITABLE);
    // No event came in between, so the tick of the first look is still good.
    readiness.clear_data(readiness.current(WRITE), Direction::Write);
    assert!(readiness.current(BOTH).ready.is_empty());
}

#[test]
fn the_end_of_the_stream_survives_a_short_read() {
    let readiness = drained();
    dispatch(&readiness, Ready::READABLE | Ready::READ_CLOSED);
    let (_, waker) = Count::new();
    let event = poll(&readiness, &waker, Direction::Read).unwrap();
    readiness.clear_data(event, Direction::Read);
    let event = poll(&readiness, &waker, Direction::Read).unwrap();
    assert_eq!(event.ready, Ready::READ_CLOSED);
}

#[test]
fn would_block_refutes_a_closed_side() {
    let readiness = drained();
    dispatch(&readiness, Ready::WRITABLE | Ready::WRITE_CLOSED | Ready::ERROR);
    let (_, waker) = Count::new();
    let event = poll(&readiness, &waker, Direction::Write).unwrap();
    readiness.clear_would_block(event, Direction::Write);
    assert!(poll(&readiness, &waker, Direction::Write).is_none());
}

/// The one that waits for urgent data is told of the end once, and readers go on seeing it.
#[test]
fn the_end_is_told_apart_to_those_that_wait_for_urgent_data() {
    let readiness = drained();
    let urgent = Ready::PRIORITY | Ready::PRIORITY_CLOSED;
    let (count, waker) = Count::new();
    let mut waiting = pin!(readiness.ready(urgent));
    assert!(poll_future(&mut waiting, &waker).is_none());
    dispatch(&readiness, Ready::READ_CLOSED);
    assert_eq!(count.get(), 1);
    assert_eq!(poll_future(&mut waiting, &waker), Some(Ready::READ_CLOSED));
    readiness.clear_bits(readiness.current(urgent), urgent);
    assert!(poll_future(&mut waiting, &waker).is_none());
    assert_eq!(readiness.current(READ).ready, Ready::READ_CLOSED);
    // A reader that finds nothing has seen no end, so no other task has to be told of one.
    dispatch(&readiness, Ready::READ_CLOSED);
    readiness.clear_would_block(readiness.current(READ), Direction::Read);
    assert!(poll_future(&mut waiting, &waker).is_none());
}

#[test]
fn a_wait_past_an_event_needs_another_one() {
    let readiness = drained();
    dispatch(&readiness, Ready::READ_CLOSED);
    let past = readiness.current(BOTH);
    let (count, waker) = Count::new();
    let mut waiting = pin!(readiness.ready_past(Some(past), BOTH));
    assert!(poll_future(&mut waiting, &waker).is_none());
    // It is about nothing that is waited for.
    dispatch(&readiness, Ready::PRIORITY);
    assert_eq!(count.get(), 0);
    dispatch(&readiness, Ready::WRITABLE);
    assert_eq!(count.get(), 1);
    assert_eq!(poll_future(&mut waiting, &waker), Some(Ready::WRITABLE | Ready::READ_CLOSED));
    let mut wakes = Vec::new();
    let past = readiness.current(BOTH);
    let mut waiting = pin!(readiness.ready_past(Some(past), BOTH));
    assert!(poll_future(&mut waiting, &waker).is_none());
    readiness.shutdown(&mut wakes);
    let ended = waiting.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(ended, Poll::Ready(Err(_))));
}

#[test]
fn shutdown_ends_every_wait_with_an_error() {
    let readiness = drained();
    let (count, waker) = Count::new();
    let cx = &mut Context::from_waker(&waker);
    let mut waiting = pin!(readiness.ready(BOTH));
    assert!(readiness.poll_ready(cx, Direction::Read).is_pending());
    assert!(readiness.poll_ready(cx, Direction::Write).is_pending());
    assert!(waiting.as_mut().poll(cx).is_pending());

    let mut wakes = Vec::new();
    readiness.shutdown(&mut wakes);
    assert_eq!((wakes.len(), count.get()), (3, 0));
    assert!(matches!(readiness.poll_ready(cx, Direction::Read), Poll::Ready(Err(_))));
    assert!(matches!(waiting.as_mut().poll(cx), Poll::Ready(Err(_))));
    // Not even readiness that is known keeps a wait from failing.
    dispatch(&readiness, Ready::WRITABLE);
    let Poll::Ready(Err(error)) = readiness.poll_ready(cx, Direction::Write) else {
        panic!("waits although the driver is gone");
    };
    assert_eq!(error.to_string(), "the runtime that drives this source has been shut down");
    drop(wakes);
}

/// The steady state of a connection: wait, event, wait again. The vectors must have grown to their
/// size at once.
#[test]
fn events_do_not_make_anything_grow() {
    let readiness = drained();
    let wakers: Vec<_> = (0..4).map(|_| Count::new().1).collect();
    // As the driver's list, it has room from the beginning.
    let mut wakes = Vec::with_capacity(2 * wakers.len());
    let mut round = || {
        let mut waiting = pin!(readiness.ready(BOTH));
        for waker in &wakers {
            assert!(poll(&readiness, waker, Direction::Read).is_none());
            assert!(poll_future(&mut waiting, waker).is_none());
        }
        readiness.set(Ready::READABLE, &mut wakes);
        wakes.drain(..).for_each(Waker::wake);
        readiness.clear_would_block(readiness.current(READ), Direction::Read);
        (wakes.capacity(), readiness.waiters.lock().capacity())
    };
    let first = round();
    for _ in 0..1_000 {
        assert_eq!(round(), first);
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn a_source_and_a_future_that_waits_for_it_are_small() {
    // With the counts of its `Arc` and the word of the allocator, a block of 160 bytes.
    assert!(size_of::<Readiness>() <= 136);
    assert!(size_of::<ReadyFuture<'_>>() <= 72);
}

#[test]
fn a_lone_waiter_per_direction_allocates_nothing() {
    let readiness = drained();
    let (_, waker) = Count::new();
    for _ in 0..10 {
        assert!(poll(&readiness, &waker, Direction::Read).is_none());
        assert!(poll(&readiness, &waker, Direction::Write).is_none());
        dispatch(&readiness, Ready::READABLE | Ready::WRITABLE);
        readiness.clear_would_block(readiness.current(BOTH), Direction::Read);
        readiness.clear_would_block(readiness.current(BOTH), Direction::Write);
    }
    assert_eq!(readiness.waiters.lock().capacity(), 0);
}

/// A task's own code, run by the drop of its waker, may wait for the same source.
struct WaitsWhenDropped(Arc<Readiness>);

impl Wake for WaitsWhenDropped {
    fn wake(self: Arc<Self>) {}
}

impl Drop for WaitsWhenDropped {
    fn drop(&mut self) {
        // Nothing ever makes it writable here, so this wait takes the lock.
        let mut waiting = pin!(self.0.ready(WRITE));
        assert!(poll_future(&mut waiting, Waker::noop()).is_none());
    }
}

#[test]
fn wakers_are_dropped_outside_the_lock() {
    let readiness = Arc::new(drained());
    let nested = || Waker::from(Arc::new(WaitsWhenDropped(readiness.clone())));
    {
        let mut waiting = pin!(readiness.ready(READ));
        assert!(poll_future(&mut waiting, &nested()).is_none());
        // Replaces the first one, and is itself dropped with the future.
        assert!(poll_future(&mut waiting, &nested()).is_none());
    }
    for _ in 0..=LINE_STEP {
        assert!(poll(&readiness, &nested(), Direction::Read).is_none());
    }
    dispatch(&readiness, Ready::READABLE);
}

#[test]
fn readiness_prints_the_names_of_its_bits() {
    assert_eq!(format!("{:?}", Ready::READABLE | Ready::ERROR), "READABLE | ERROR");
    assert_eq!(format!("{:?}", Ready::EMPTY), "EMPTY");
    assert!(Ready::default().is_empty());
    let closed = Ready::READ_CLOSED | Ready::WRITE_CLOSED | Ready::PRIORITY;
    assert!(closed.is_readable() && closed.is_writable() && closed.is_priority());
}

#[test]
fn of_very_many_waiters_the_first_are_listed() {
    let readiness = drained();
    let wakers: Vec<_> = (0..10).map(|_| Count::new().1).collect();
    for waker in &wakers {
        assert!(poll(&readiness, waker, Direction::Read).is_none());
    }
    let mut futures: Vec<_> = (0..1_000).map(|_| Box::pin(readiness.ready(WRITE))).collect();
    for future in &mut futures {
        assert!(poll_future(&mut future.as_mut(), Waker::noop()).is_none());
    }
    let (mut readers, mut writers) = (0, 0);
    readiness.each_waiter(|_, ready| match ready.is_readable() {
        true => readers += 1,
        false => writers += 1,
    });
    assert_eq!((readers, writers), (10, LISTED_WAITERS - 10));
    futures.truncate(3);
    let mut all = 0;
    readiness.each_waiter(|_, _| all += 1);
    assert_eq!(all, 13);
}
