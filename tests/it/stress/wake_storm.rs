//! A storm of wakes over many tasks and all workers: each of them counts, none twice.

use crate::support::guard::{within, workers};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

const TASKS: usize = 1_000;
const THREADS: usize = 4;
const WAKES: usize = 10_000_000;
/// Half of the wakes of a task come from threads outside, the other half from another task.
const FROM_OUTSIDE: usize = WAKES / 2 / TASKS;

/// One task's letter box. What has been put in is announced by a wake, so the task has to find it all.
#[derive(Default)]
struct Postbox {
    waker: std::sync::OnceLock<Waker>,
    from_outside: AtomicUsize,
    from_task: AtomicUsize,
    polled: AtomicBool,
}

impl Postbox {
    fn wake(&self) {
        self.waker.get().expect("all tasks have been polled").wake_by_ref();
    }
}

/// Each task passes on what it gets from outside to the task after it, one wake per letter.
async fn receive(boxes: Arc<Vec<Postbox>>, index: usize) -> (usize, usize) {
    let (own, next) = (&boxes[index], &boxes[(index + 1) % TASKS]);
    let (mut outside, mut task) = (0, 0);
    poll_fn(|cx| {
        assert!(!own.polled.swap(true, Ordering::Acquire), "polled by two threads at once");
        own.waker.get_or_init(|| cx.waker().clone());
        let letters = own.from_outside.swap(0, Ordering::SeqCst);
        outside += letters;
        for _ in 0..letters {
            next.from_task.fetch_add(1, Ordering::SeqCst);
            next.wake();
        }
        task += own.from_task.swap(0, Ordering::SeqCst);
        own.polled.store(false, Ordering::Release);
        if outside >= FROM_OUTSIDE && task >= FROM_OUTSIDE {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    (outside, task)
}

#[test]
fn every_wake_of_a_storm_arrives() {
    within(Duration::from_secs(150), || {
        let runtime = workers(4);
        let boxes: Arc<Vec<Postbox>> = Arc::new((0..TASKS).map(|_| Postbox::default()).collect());
        let tasks: Vec<_> =
            (0..TASKS).map(|index| runtime.spawn(receive(Arc::clone(&boxes), index))).collect();
        crate::support::guard::until(|| boxes.iter().all(|own| own.waker.get().is_some()));
        let threads: Vec<_> = (0..THREADS)
            .map(|part| {
                let boxes = Arc::clone(&boxes);
                thread::spawn(move || {
                    for round in 0..FROM_OUTSIDE / THREADS {
                        for step in 0..TASKS {
                            // Each thread in an order of its own.
                            let own = &boxes[(step * 7 + part * 250 + round) % TASKS];
                            own.from_outside.fetch_add(1, Ordering::SeqCst);
                            own.wake();
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        runtime.block_on(async {
            for task in tasks {
                assert_eq!(task.await.unwrap(), (FROM_OUTSIDE, FROM_OUTSIDE));
            }
        });
        for own in boxes.iter() {
            own.wake();
            assert_eq!(own.from_outside.load(Ordering::SeqCst), 0);
            assert_eq!(own.from_task.load(Ordering::SeqCst), 0);
        }
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}
