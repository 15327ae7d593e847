//! Models of the cold registry: shutdown finds each waiting task, and none that has ended.

use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::sync_shim::{both_ways, thread};
use crate::engine::task::loom::{Leaf, Queue, Waiting, leaf, poll_once};
use std::task::Poll;

/// A registered task completes while shutdown closes the registry: it ends once, with its output or as
/// cancelled, and has left the registry.
#[test]
fn a_task_that_completes_during_the_close_ends_once() {
    both_ways(|way| {
        let Waiting { queue, mut join, flag, slot, drops } = Waiting::new();
        flag.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        let closer = {
            let queue = queue.clone();
            thread::spawn(move || {
                let found = queue.registry.close();
                assert!(found.is_empty(), "the task is hot or complete");
            })
        };
        way.here();
        queue.run();
        closer.join().expect("no panic");
        match poll_once(&mut join) {
            Poll::Ready(Ok(7)) => {}
            Poll::Ready(Err(error)) => assert!(error.is_cancelled()),
            _ => panic!("the task has run"),
        }
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_eq!(queue.registry.len(), 0);
    });
}

/// Tasks enter and leave one registry from two threads, as stolen ones do: each leaves its own place, and
/// a task that still waits is found.
#[test]
fn a_task_that_leaves_takes_no_other_one_along() {
    ::loom::model(|| {
        let queue = Queue::new();
        let (first, flag, slot, _) = leaf();
        let (second, _flag, other_slot, drops) = leaf();
        let ends = queue.spawn(first);
        queue.run();
        let mut stays = queue.spawn(second);
        let hot = queue.hot.lock().pop_front().expect("just spawned");
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || hot.run(&*queue))
        };
        flag.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        queue.run();
        runner.join().expect("no panic");
        assert!(ends.is_finished());
        assert_eq!(queue.registry.len(), 1);
        queue.registry.close().into_iter().for_each(|task| task.cancel(&*queue, None));
        assert!(matches!(poll_once(&mut stays), Poll::Ready(Err(error)) if error.is_cancelled()));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        other_slot.lock().take();
    });
}

/// A task ends, and its memory is taken back, while another thread lists: it is seen whole, or not at all.
#[test]
fn a_task_that_ends_while_tasks_are_listed_is_seen_whole_or_not_at_all() {
    both_ways(|way| {
        let queue = Queue::new();
        let (leaf, flag, slot, _) = leaf();
        let join = queue.spawn(leaf);
        let id = join.id();
        drop(join);
        queue.run();
        flag.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        let lister = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut list = Vec::new();
                assert_eq!(queue.registry.list(0, true, &mut list), None);
                list
            })
        };
        way.here();
        queue.run();
        let list = lister.join().expect("no panic");
        assert!(list.len() <= 1, "there is one task");
        for entry in list {
            let seen = (entry.task.id(), entry.future_size, entry.name);
            assert_eq!(seen, (id, size_of::<Leaf>(), None));
        }
        assert_eq!(queue.registry.len(), 0);
    });
}
