//! Models of the comings and goings: a worker that leaves, and the end of them all.

use super::*;
use crate::engine::blocking::AroundThread;
use crate::engine::scheduler::loom::{bounded, close, last_of, scheduler, worker};
use crate::engine::scheduler::threads::ThreadConfig;
use crate::engine::sync_shim::atomic::AtomicUsize;
use crate::engine::sync_shim::{Condvar, Mutex};
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::thread_name::ThreadName;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A task that is never ready: its drops are counted, and its waker is left here.
struct Waiting {
    drops: Arc<AtomicUsize>,
    slot: Arc<Mutex<Option<Waker>>>,
}

impl Waiting {
    fn new() -> Self {
        Self { drops: Arc::new(AtomicUsize::new(0)), slot: Arc::new(Mutex::new(None)) }
    }

    fn future(&self) -> impl Future<Output = ()> + Send + 'static {
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (counted, slot) = (Counted(self.drops.clone()), self.slot.clone());
        poll_fn(move |cx| {
            let _ = &counted;
            *slot.lock() = Some(cx.waker().clone());
            Poll::Pending
        })
    }

    fn waker(&self) -> Waker {
        self.slot.lock().take().expect("polled once")
    }

    fn drops(&self) -> usize {
        self.drops.load(Ordering::Relaxed)
    }
}

fn is_cancelled(mut join: JoinHandle<()>) -> bool {
    let polled = Pin::new(&mut join).poll(&mut Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(Err(error)) if error.is_cancelled())
}

/// A task is woken while its home worker, the only one, leaves: it ends up in the injector, where the next
/// worker finds it, and not in a channel that no thread empties.
#[test]
fn a_wake_beside_a_leaving_worker_is_not_left_in_its_channel() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let (leaver, waiting) = (worker(&shared, 0), Waiting::new());
        let (task, join) = new_send_task(waiting.future(), &shared, Location::caller());
        task.run(&leaver);
        let waker = waiting.waker();
        let other = thread::spawn(move || waker.wake());
        shared.size.set_regular(0);
        assert_eq!(work_until_surplus(&shared, &leaver, 0), ControlFlow::Continue(()));
        other.join().expect("no panic");
        assert!(shared.slots.get(0).channel.is_empty());
        let task = shared.queues.injector.pop().expect("it was woken");
        shared.cancel(task);
        assert!(is_cancelled(join));
    });
}

/// A worker leaves with tasks in all its queues, and its peer runs dry at the same time: the peer steals
/// them, or takes them from the injector, and runs each once.
#[test]
fn what_a_leaving_worker_had_is_run_by_the_one_that_stays() {
    bounded(|way| {
        let shared = scheduler(2);
        let left = Arc::new(AtomicUsize::new(2));
        let leaver = worker(&shared, 1);
        let joins: Vec<_> = (0..2)
            .map(|i| {
                let (task, join) =
                    new_send_task(last_of(&shared, &left), &shared, Location::caller());
                if i == 0 {
                    leaver.spawned(task)
                } else {
                    leaver.woken(task)
                }
                join
            })
            .collect();
        shared.size.set_regular(1);
        let leaving = {
            let shared = shared.clone();
            thread::spawn(move || {
                // Made here: a worker is its thread's alone.
                assert_eq!(work_until_surplus(&shared, &leaver, 1), ControlFlow::Continue(()));
                leaver.leave();
            })
        };
        way.here();
        worker(&shared, 0).work();
        leaving.join().expect("no panic");
        assert!(joins.iter().all(JoinHandle::is_finished));
        assert_eq!(left.load(Ordering::Relaxed), 0);
    });
}

/// A task is spawned from outside while the last worker ends: the worker finds it, or its spawner cancels it;
/// the worker does not end before one of the two has happened.
#[test]
fn a_task_spawned_beside_the_end_is_cancelled() {
    bounded(|way| {
        let shared = scheduler(1);
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.spawn(std::future::pending::<()>(), Location::caller()))
        };
        way.here();
        close(&shared, 1);
        shared.worker_ends(0);
        assert!(shared.shutdown.is_drained());
        let join = other.join().expect("no panic");
        assert!(is_cancelled(join));
        assert_eq!((shared.alive_tasks(), shared.shared_queue_len()), (0, 0));
    });
}

/// A cold task is woken while the last worker ends: whichever thread makes it hot, it is cancelled, its
/// future is dropped once, and the worker waits for it.
#[test]
fn a_wake_beside_the_end_is_waited_for() {
    bounded(|way| {
        let shared = scheduler(1);
        let (last, waiting) = (worker(&shared, 0), Waiting::new());
        let join = shared.spawn(waiting.future(), Location::caller());
        shared.queues.injector.pop().expect("just spawned").run(&last);
        let waker = waiting.waker();
        let other = thread::spawn(move || waker.wake());
        way.here();
        close(&shared, 1);
        shared.worker_ends(0);
        assert_eq!((shared.alive_tasks(), waiting.drops()), (0, 1));
        other.join().expect("no panic");
        assert!(is_cancelled(join));
    });
}

/// Two workers end, and a thread waits for the end: the later of the two says so, once every task is
/// complete, and the wait is over.
#[test]
fn the_last_of_two_workers_ends_the_wait() {
    bounded(|way| {
        let shared = scheduler(2);
        let waiting = Waiting::new();
        let join = shared.spawn(waiting.future(), Location::caller());
        close(&shared, 2);
        let others: Vec<_> = (0..2)
            .map(|index| {
                let shared = shared.clone();
                thread::spawn(move || shared.worker_ends(index))
            })
            .collect();
        way.here();
        assert!(shared.wait_for_tasks(None));
        assert_eq!((shared.alive_tasks(), waiting.drops()), (0, 1));
        assert!(is_cancelled(join));
        for other in others {
            other.join().expect("no panic");
        }
    });
}

/// The destructors of two cold tasks wait for each other, and two workers end: neither has both tasks in its
/// hands, and neither has gone while one of them was on its way.
#[test]
fn destructors_may_wait_for_each_other() {
    struct Meets(Arc<(Mutex<usize>, Condvar)>);
    impl Drop for Meets {
        fn drop(&mut self) {
            let (missing, changed) = &*self.0;
            let mut missing = missing.lock();
            *missing -= 1;
            changed.notify_all();
            while *missing > 0 {
                changed.wait(&mut missing);
            }
        }
    }
    // Cold, or in the channel of the worker that ran them.
    for woken in [false, true] {
        bounded(move |way| {
            let shared = scheduler(2);
            let (first, meeting) = (worker(&shared, 0), Arc::new((Mutex::new(2), Condvar::new())));
            for _ in 0..2 {
                let (meets, waiting) = (Meets(meeting.clone()), Waiting::new());
                let future = waiting.future();
                drop(shared.spawn(
                    async move {
                        let _meets = meets;
                        future.await;
                    },
                    Location::caller(),
                ));
                shared.queues.injector.pop().expect("just spawned").run(&first);
                let waker = waiting.waker();
                if woken {
                    waker.wake();
                }
            }
            close(&shared, 2);
            let other = {
                let shared = shared.clone();
                thread::spawn(move || shared.worker_ends(1))
            };
            way.here();
            shared.worker_ends(0);
            other.join().expect("no panic");
            assert!(shared.shutdown.is_drained());
        });
    }
}

/// A task is spawned from outside while the runtime is closed and its last worker ends: its destructor runs
/// on the worker, or on the thread that spawned it, and not on the one that closes.
#[test]
fn a_close_leaves_the_destructors_to_the_workers() {
    /// Counts its destructors on this thread: a panic in one would go to the JoinHandle.
    struct Counted(thread::ThreadId, Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            let here = thread::current().id() == self.0;
            self.1.fetch_add(usize::from(here), Ordering::Relaxed);
        }
    }
    bounded(|way| {
        let shared = scheduler(1);
        shared.size.count_in();
        let here = Arc::new(AtomicUsize::new(0));
        let counted = Counted(thread::current().id(), here.clone());
        let spawner = {
            let shared = shared.clone();
            let future = async move {
                let _counted = counted;
                std::future::pending::<()>().await;
            };
            thread::spawn(move || drop(shared.spawn(future, Location::caller())))
        };
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                // Under the lock, or the model would read an old value for ever.
                let is_closed = || {
                    let _threads = shared.threads.list.lock();
                    shared.shutdown.is_closed()
                };
                while !is_closed() {
                    thread::yield_now();
                }
                shared.worker_ends(0);
            })
        };
        way.here();
        shared.close();
        spawner.join().expect("no panic");
        worker.join().expect("no panic");
        assert!(shared.shutdown.is_drained());
        assert_eq!(here.load(Ordering::Relaxed), 0, "destructors on the thread that closes");
    });
}

/// A scheduler whose slot 0 has a thread that lives `life`, a worker that works, and none that should.
fn with_thread(life: impl FnOnce(&Arc<Shared>) + Send + 'static) -> Arc<Shared> {
    let shared = scheduler(1);
    // Held until the thread is in the list: as when it is started.
    let mut threads = shared.threads.list.lock();
    shared.size.set_regular(0);
    shared.size.count_in();
    threads.make_room(0);
    threads.occupied[0] = true;
    let own = shared.clone();
    threads.workers[0] = Some(thread::spawn(move || life(&own)));
    drop(threads);
    shared
}

/// The thread of slot 0 as a worker that leaves.
fn left(shared: &Arc<Shared>) -> Parker {
    worker(shared, 0).leave()
}

/// Counts worker 0 in, as `resize` does: its thread goes on, or is called back.
fn call_back(shared: &Arc<Shared>) {
    let mut threads = shared.threads.list.lock();
    shared.size.set_regular(1);
    shared.occupy(&mut threads, 0).expect("no thread is started");
}

fn join_thread(shared: &Shared) {
    let thread = shared.threads.list.lock().workers[0].take();
    thread.expect("it was started").join().expect("no panic");
}

/// A surplus worker is asked to stay, to leave, and to stay again: in the end its thread works. A wake that
/// was meant for the worker reaches the thread when it rests, and does not end that.
#[test]
fn a_worker_that_is_asked_to_stay_rests_and_is_called_back_or_stays() {
    bounded(|way| {
        let shared = with_thread(|shared| {
            loop {
                assert_eq!(rest(shared, 0, &left(shared)), ControlFlow::Continue(()));
                let threads = shared.threads.list.lock();
                assert!(threads.occupied[0], "it was not called back");
                if shared.size.staying() == 1 {
                    return;
                }
            }
        });
        shared.unpark(0);
        way.here();
        call_back(&shared);
        {
            let _threads = shared.threads.list.lock();
            shared.size.set_regular(0);
        }
        shared.unpark_surplus(1);
        call_back(&shared);
        join_thread(&shared);
        assert_eq!(shared.size.alive(), 1);
    });
}

/// The runtime is closed while a worker that left is about to rest, and other workers are alive: its thread
/// ends.
#[test]
fn a_thread_that_rests_ends_with_the_runtime() {
    bounded(|way| {
        let shared = with_thread(|shared| {
            assert_eq!(rest(shared, 0, &left(shared)), ControlFlow::Break(()));
        });
        shared.size.count_in();
        way.here();
        shared.close();
        join_thread(&shared);
        assert_eq!(shared.size.alive(), 1);
        assert_eq!(shared.slots.get(0).thread(), NO_THREAD);
    });
}

/// The same, but the thread is called back before: it is the last worker, so it drains.
#[test]
fn a_thread_that_is_called_back_has_its_part_in_the_end() {
    bounded(|way| {
        let shared = with_thread(|shared| {
            if rest(shared, 0, &left(shared)) == ControlFlow::Continue(()) {
                let back = worker(shared, 0);
                assert_eq!(work_until_surplus(shared, &back, 0), ControlFlow::Break(()));
            }
        });
        way.here();
        call_back(&shared);
        shared.close();
        join_thread(&shared);
        assert_eq!(shared.size.alive(), 0);
        assert!(shared.shutdown.is_drained());
    });
}

/// The watchdog and a worker that blocks in place need a spare at the same time, and there is a thread that
/// rests: it is called back once, and no other is started.
#[test]
fn two_that_need_a_spare_call_one_thread_back_once() {
    bounded(|way| {
        let shared = with_thread(|shared| {
            assert_eq!(rest(shared, 0, &left(shared)), ControlFlow::Continue(()));
        });
        // No thread is to be started: the slot has one.
        let around: AroundThread = Arc::new(|_| unreachable!("a second thread in the slot"));
        shared.set_thread_setup(ThreadSetup {
            config: ThreadConfig { name: ThreadName::Prefix(String::new()), stack_size: None },
            around: around.clone(),
            inside: around,
            sleep_hooks: None,
            max_spares: 1,
            replaces_blocked: false,
        });
        // Before that its slot is not free, and the watchdog would have to look again.
        while shared.threads.list.lock().occupied[0] {
            thread::yield_now();
        }
        let watchdog = {
            let shared = shared.clone();
            thread::spawn(move || shared.start_spare().expect("no thread is started"))
        };
        way.here();
        shared.add_spare(shared.threads.list.lock()).expect("no thread is started");
        watchdog.join().expect("no panic");
        join_thread(&shared);
        assert_eq!((shared.size.alive(), shared.size.spares()), (1, 1));
    });
}
