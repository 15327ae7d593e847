//! Models of the notes: while a waker is taken from where the note says, no walk says that it lies there for
//! good.

use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, both_ways, thread};
use crate::engine::task::loom::{Queue, poll_once};
use crate::engine::task::waker::set_place;
use std::future::Future;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::task::{Poll, Waker};

type Shared<F> = Arc<Mutex<Option<Pin<Box<F>>>>>;

/// A task has left two wakers: one in no place of ours, and one with what it waits for by its note, a future
/// that other threads reach, too. Another thread does `take`, which takes the second waker away, while a walk
/// looks at the task, and the first waker is called at last. `make` makes the future, which belongs to
/// another queue.
///
/// `take` must not end the wait: nothing says then that the waker which is left is the one of the note.
pub(crate) fn a_taken_waker_is_not_relied_upon<F>(make: fn(&Arc<Queue>) -> F, take: fn(&Shared<F>))
where
    F: Future + Send + 'static,
{
    both_ways(move |way| {
        let (queue, others) = (Queue::new(), Queue::new());
        let awaited: Shared<F> = Arc::new(Mutex::new(Some(Box::pin(make(&others)))));
        let (slot, is_over) =
            (Arc::new(Mutex::new(None::<Waker>)), Arc::new(AtomicBool::new(false)));
        let task = {
            let (awaited, slot, is_over) = (awaited.clone(), slot.clone(), is_over.clone());
            queue.spawn(std::future::poll_fn(move |cx| {
                if is_over.load(Ordering::Relaxed) {
                    return Poll::Ready(());
                }
                *slot.lock() = Some(cx.waker().clone());
                let mut awaited = awaited.lock();
                assert!(awaited.as_mut().expect("not taken").as_mut().poll(cx).is_pending());
                set_place(cx.waker(), NonZeroU16::MIN);
                Poll::Pending
            }))
        };
        queue.run();
        let taker = {
            let awaited = awaited.clone();
            thread::spawn(move || take(&awaited))
        };
        way.here();
        let walk = |marks| {
            let mut list = Vec::new();
            assert_eq!(queue.registry.list(0, marks, &mut list), None);
            assert_eq!(list.len(), 1, "it waits");
            list.remove(0)
        };
        let seen = walk(true);
        assert!(!seen.is_note_reliable, "with {:?} wakers", seen.wakers);
        taker.join().expect("no panic");
        let seen = walk(false);
        assert_eq!((seen.note, seen.wakers), (None, Some(1)));
        is_over.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        queue.run();
        assert!(task.is_finished());
        drop(awaited.lock().take());
        others.run();
    });
}

/// A task gives a handle away that it has polled, and the handle is dropped.
#[test]
fn a_dropped_handle_takes_the_note_along() {
    a_taken_waker_is_not_relied_upon(
        |queue| queue.spawn(async {}),
        |handle| drop(handle.lock().take()),
    );
}

/// As above, and another task polls the handle.
#[test]
fn a_handle_that_another_task_polls_takes_the_note_along() {
    a_taken_waker_is_not_relied_upon(
        |queue| queue.spawn(async {}),
        |handle| {
            let mut handle = handle.lock();
            assert!(poll_once(handle.as_mut().expect("not dropped")).is_pending());
        },
    );
}

/// A handle is dropped while the task that has polled it is woken by another waker, runs and ends: the note
/// is looked for in a task that is queued, is being polled, or is complete.
#[test]
fn a_dropped_handle_leaves_a_task_alone_that_runs() {
    both_ways(|way| {
        let (queue, others) = (Queue::new(), Queue::new());
        let handle = Arc::new(Mutex::new(Some(others.spawn(async {}))));
        let slot = Arc::new(Mutex::new(None::<Waker>));
        let mut task = {
            let (handle, slot, mut polls) = (handle.clone(), slot.clone(), 0);
            queue.spawn(std::future::poll_fn(move |cx| {
                polls += 1;
                if polls == 2 {
                    return Poll::Ready(polls);
                }
                *slot.lock() = Some(cx.waker().clone());
                let mut handle = handle.lock();
                assert!(Pin::new(handle.as_mut().expect("not dropped")).poll(cx).is_pending());
                Poll::Pending
            }))
        };
        queue.run();
        let dropper = thread::spawn(move || drop(handle.lock().take()));
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        way.here();
        queue.run();
        dropper.join().expect("no panic");
        assert!(matches!(poll_once(&mut task), Poll::Ready(Ok(2))));
        assert_eq!(queue.registry.len(), 0);
        others.run();
    });
}
