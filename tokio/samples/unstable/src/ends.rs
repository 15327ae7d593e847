//! A task that panics ends the runtime, or the set.

use crate::{current_thread, panics};
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::task::{Context, RawWaker, RawWakerVTable, Waker};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime, UnhandledPanic};
use tokio::task::{LocalSet, spawn_local, yield_now};

/// More than run in one turn.
const MANY: usize = 1_000;

pub(crate) fn all() {
    a_runtime();
    later_calls();
    tasks_that_are_left();
    a_set();
    a_set_that_is_awaited();
    tasks_that_are_left_in_a_set();
    a_waker_that_spawns_when_it_is_cloned();
}

pub(crate) fn ending() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap()
}

pub(crate) fn ending_set() -> LocalSet {
    let mut set = LocalSet::new();
    set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    set
}

/// Counts its end.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Futures that wait for ever, and how many of them were dropped.
fn many() -> (Arc<AtomicUsize>, impl Iterator<Item = impl Future<Output = ()> + Send + 'static>) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let futures = (0..MANY).map(move |_| {
        let counted = Counted(counted.clone());
        async move {
            let _counted = counted;
            pending::<()>().await;
        }
    });
    (dropped, futures)
}

fn a_runtime() {
    let runtime = ending();
    let ended = panics(|| {
        runtime.block_on(async {
            tokio::spawn(async { panic!("on purpose") });
            pending::<()>().await;
        })
    });
    println!("ended {ended}");
    let later = runtime.spawn(async {});
    drop(runtime);
    println!("cancelled {}", current_thread().block_on(later).unwrap_err().is_cancelled());
}

/// The future of a later call is polled once, as the runtime looks after that whether it has ended. A call of
/// the handle does not run the runtime, so it looks at nothing.
fn later_calls() {
    let runtime = ending();
    drop(runtime.spawn(async { panic!("on purpose") }));
    println!("ended {}", panics(|| runtime.block_on(pending::<()>())));
    println!("a later call {}", runtime.block_on(async { 7 }));
    println!("a later call that waits {}", panics(|| runtime.block_on(pending::<()>())));
    println!(
        "a call of the handle {}",
        runtime.handle().block_on(async {
            yield_now().await;
            8
        })
    );
}

fn tasks_that_are_left() {
    let runtime = ending();
    let (dropped, futures) = many();
    futures.for_each(|future| drop(runtime.spawn(future)));
    // They wait when it panics.
    drop(runtime.spawn(async {
        (0..20).for_each(|_| drop(tokio::spawn(yield_now())));
        yield_now().await;
        panic!("on purpose")
    }));
    let ended = panics(|| runtime.block_on(pending::<()>()));
    println!("ended {ended}, dropped {}", dropped.load(Relaxed));
}

fn a_set() {
    let (runtime, set) = (current_thread(), ending_set());
    set.spawn_local(async { panic!("on purpose") });
    println!("the set ended {}", panics(|| runtime.block_on(set.run_until(pending::<()>()))));
    println!("a later call {}", runtime.block_on(set.run_until(async { 7 })));
    let waits = panics(|| runtime.block_on(set.run_until(pending::<()>())));
    println!("a later call that waits {waits}");
    println!("a later task is cancelled {}", {
        let task = set.spawn_local(async {});
        runtime.block_on(task).unwrap_err().is_cancelled()
    });
}

/// The task that panics is the last one, so that nothing is left to wait for.
fn a_set_that_is_awaited() {
    let (runtime, mut set) = (current_thread(), ending_set());
    set.spawn_local(async { panic!("on purpose") });
    println!("an awaited set ended {}", panics(|| runtime.block_on(&mut set)));
    println!("and again {}", panics(|| runtime.block_on(&mut set)));
    let (first, ending) = (current_thread(), ending_set());
    ending.spawn_local(async {
        yield_now().await;
        panic!("on purpose")
    });
    ending.spawn_local(pending::<()>());
    println!("an awaited set with another task ended {}", panics(|| first.block_on(ending)));
}

fn tasks_that_are_left_in_a_set() {
    for awaited in [false, true] {
        let (runtime, mut set) = (current_thread(), ending_set());
        let (dropped, futures) = many();
        futures.for_each(|future| drop(set.spawn_local(future)));
        set.spawn_local(async {
            yield_now().await;
            panic!("on purpose")
        });
        let ended = match awaited {
            true => panics(|| runtime.block_on(&mut set)),
            false => panics(|| runtime.block_on(set.run_until(pending::<()>()))),
        };
        println!("the set ended {ended}, dropped {}", dropped.load(Relaxed));
    }
}

/// Spawns into the set that the thread has entered.
static SPAWNS: RawWakerVTable = RawWakerVTable::new(
    |_| {
        drop(spawn_local(async {}));
        RawWaker::new(std::ptr::null(), &SPAWNS)
    },
    |_| {},
    |_| {},
    |_| {
        drop(spawn_local(async {}));
    },
);

/// On a thread of its own, so that one that waits for itself is a failure.
fn a_waker_that_spawns_when_it_is_cloned() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let set = ending_set();
        let entered = set.enter();
        // SAFETY: the functions use nothing of the pointer.
        let waker = unsafe { Waker::new(std::ptr::null(), &SPAWNS) };
        let polled = {
            let mut run = pin!(set.run_until(pending::<()>()));
            let mut poll = || run.as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
            poll() && poll()
        };
        drop((waker, entered));
        done.send(polled).unwrap();
    });
    println!("a waker spawns {:?}", is_done.recv_timeout(Duration::from_secs(20)));
}
