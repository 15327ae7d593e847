//! The reactor under executors of another make, which turn it when they have nothing to do.

use component::scripted::ScriptedHost;
use futures_concurrency::prelude::*;
use liten::wasi::{Host, Reactor};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(5);

/// Polls `future`, and turns `reactor` before it waits: the waker that the executor brought is called in
/// there, so the executor polls again.
async fn turning<H: Host, F: Future>(reactor: &Reactor<H>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() {
            assert!(reactor.turn(None) > 0, "a task waits");
        }
        polled
    })
    .await
}

#[test]
fn the_block_on_of_another_crate_waits_through_it() {
    let reactor = Reactor::new();
    let start = Instant::now();
    let sleep = async |n: u32| reactor.wait_for(reactor.host().clock(STEP * n)).await;
    let both = async { (sleep(1), sleep(2)).join().await };
    futures_lite::future::block_on(turning(&reactor, both));
    assert!(start.elapsed() >= 2 * STEP);
    assert!(reactor.is_empty());
}

/// An executor of tasks, in fifty lines.
#[derive(Default)]
struct Tasks {
    queue: RefCell<VecDeque<Rc<Task>>>,
}

struct Task {
    future: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Tasks {
    fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let task = Task { future: RefCell::new(Some(Box::pin(future))), woken };
        self.queue.borrow_mut().push_back(Rc::new(task));
    }

    /// Runs what is ready, until nothing is; returns whether tasks are left.
    fn run(&self) -> bool {
        let mut idle = 0;
        while idle < self.queue.borrow().len() {
            let task = self.queue.borrow_mut().pop_front().expect("it is not empty");
            if !task.woken.0.swap(false, Ordering::SeqCst) {
                idle += 1;
                self.queue.borrow_mut().push_back(task);
                continue;
            }
            idle = 0;
            let waker = Waker::from(task.woken.clone());
            let mut future = task.future.take().expect("polled by this loop only");
            if future.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Pending {
                task.future.replace(Some(future));
                self.queue.borrow_mut().push_back(task);
            }
        }
        idle > 0
    }
}

#[test]
fn an_executor_with_tasks_turns_it_when_it_is_idle() {
    let host = ScriptedHost::new();
    let reactor = Reactor::with_host(host.clone());
    let tasks = Rc::new(Tasks::default());
    let log: Rc<RefCell<Vec<u32>>> = Rc::default();
    for n in [3, 1, 2] {
        let (reactor, log, tasks_inside) = (reactor.clone(), log.clone(), tasks.clone());
        tasks.spawn(async move {
            reactor.wait_for(reactor.host().clock(STEP * n)).await;
            log.borrow_mut().push(n);
            let (again, log) = (reactor.clone(), log.clone());
            tasks_inside.spawn(async move {
                again.wait_for(again.host().clock(STEP * 10 * n)).await;
                log.borrow_mut().push(10 * n);
            });
        });
    }
    while tasks.run() {
        assert!(reactor.turn(None) > 0);
    }
    assert_eq!(*log.borrow(), [1, 2, 3, 10, 20, 30]);
    assert_eq!((reactor.len(), host.alive()), (0, 0));
}
