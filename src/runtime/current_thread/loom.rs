//! Models of threads that want to drive: one sleeps in the driver beside a foreign spawn, two and three hand
//! the driving over.

use super::*;
use crate::engine::park::Parker;
use crate::engine::park::loom::waker_of;
use crate::engine::scheduler::Sleeps;
use crate::engine::sync_shim::{Mutex, thread};
use crate::engine::wakers::loom::Awaited;
use crate::observe::simulation::Simulation;
use crate::runtime::Id;
use crate::runtime::block_on::block_on;
use crate::runtime::block_on::loom::forget_habit;
use crate::runtime::watched::WatchedRoot;
use std::panic::Location;
use std::task::{Context, Waker};

fn new() -> CurrentThread {
    CurrentThread::new(Driver::new(1).expect("a selector"))
}

fn block_on_root<F: Future>(runtime: &CurrentThread, root: F) -> F::Output {
    let around = AroundSleeps { sleeps: &Sleeps::default(), hooks: None };
    let watched = WatchedRoot::new(Id::next(), Location::caller(), Simulation::NONE);
    block_on!(root: F, watched, |root| runtime.block_on(around, &|| true, root))
}

/// Spawns a task that wakes what waits for `awaited`.
fn spawn_waker(local: &Arc<LocalShared>, awaited: &Awaited) {
    let awaited = awaited.clone();
    drop(local.spawn_send(async move { awaited.wake() }, Location::caller()));
}

/// Another thread spawns while the one in `block_on` runs dry and goes to sleep in the driver: the task is
/// run.
#[test]
fn a_foreign_spawn_wakes_the_thread_that_drives() {
    ::loom::model(|| {
        let runtime = new();
        let awaited = Awaited::new();
        let other = {
            let (local, awaited) = (runtime.local().clone(), awaited.clone());
            thread::spawn(move || spawn_waker(&local, &awaited))
        };
        block_on_root(&runtime, awaited.wait());
        other.join().expect("no panic");
        runtime.close();
    });
}

/// Two threads block on the runtime at a time, and one root needs a task that only a thread which drives
/// runs: it is run, whichever thread drives first.
#[test]
fn the_driving_is_handed_over() {
    ::loom::model(|| {
        forget_habit();
        let runtime = Arc::new(new());
        let awaited = Awaited::new();
        spawn_waker(runtime.local(), &awaited);
        let other = {
            let runtime = runtime.clone();
            thread::spawn(move || block_on_root(&runtime, std::future::ready(1)))
        };
        block_on_root(&runtime, awaited.wait());
        assert_eq!(other.join().expect("no panic"), 1);
        runtime.close();
    });
}

/// The first in line is told to drive while its root becomes ready: it leaves, and the second one drives,
/// which has been told, too.
#[test]
fn a_root_that_is_ready_when_it_is_told_to_drive_leaves_it_to_the_next() {
    ::loom::model(|| {
        let runtime = Arc::new(new());
        let executor = runtime.line.lock().take().expect("not driven yet");
        let driving = Driving::begin(&runtime, executor);
        let leaves = {
            let runtime = runtime.clone();
            let mut first = Box::pin(async move { runtime.wait_in_line().await });
            assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            thread::spawn(move || drop(first))
        };
        let waits = {
            let runtime = runtime.clone();
            thread::spawn(move || {
                // As `CurrentThread::wait`, without its root.
                let (parker, mut line) = (Parker::new(), pin!(runtime.wait_in_line()));
                let waker = waker_of(&parker);
                loop {
                    match line.as_mut().poll(&mut Context::from_waker(&waker)) {
                        Poll::Ready(executor) => return drop(Driving::begin(&runtime, executor)),
                        Poll::Pending => parker.park(),
                    }
                }
            })
        };
        drop(driving);
        leaves.join().expect("no panic");
        waits.join().expect("no panic");
        runtime.close();
    });
}

/// A thread waits until no task is alive while another one, which drives, runs the last task: it is told.
#[test]
fn a_thread_that_waits_for_the_last_task_is_told() {
    ::loom::model(|| {
        forget_habit();
        let runtime = Arc::new(new());
        drop(runtime.local().spawn_send(async {}, Location::caller()));
        let waits = {
            let runtime = runtime.clone();
            thread::spawn(move || block_on::run(pin!(runtime.wait_until_quiet()), None))
        };
        let mut polled = false;
        let root = poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        });
        block_on_root(&runtime, root);
        waits.join().expect("no panic");
        assert!(runtime.quiet.lock().is_empty());
        runtime.close();
    });
}

/// Others of which `awake` roots are awake, and whether there is blocking work.
fn others(awake: usize, work: bool) -> (Arc<AwakeThreads>, Arc<Mutex<bool>>) {
    let others = Arc::new(AwakeThreads::new(Driver::new(1).expect("a selector")));
    (0..awake).for_each(|_| others.add());
    (others, Arc::new(Mutex::new(work)))
}

/// A root of another thread begins work and sleeps until it is done, while the thread that drives looks:
/// there is no moment without both.
#[test]
fn the_clock_stands_when_a_root_begins_work() {
    ::loom::model(|| {
        let (others, work) = others(1, false);
        let root = {
            let (others, work) = (others.clone(), work.clone());
            thread::spawn(move || {
                *work.lock() = true;
                others.remove();
            })
        };
        assert!(!look(&others, &|| !*work.lock()).all);
        root.join().expect("no panic");
    });
}

/// Work ends, after it has woken its root; that one begins more and sleeps again.
#[test]
fn the_clock_stands_from_one_work_to_the_next() {
    ::loom::model(|| {
        let (others, work) = others(0, true);
        let root = {
            let (others, work) = (others.clone(), work.clone());
            thread::spawn(move || {
                others.add();
                *work.lock() = false;
                *work.lock() = true;
                others.remove();
            })
        };
        assert!(!look(&others, &|| !*work.lock()).all);
        root.join().expect("no panic");
    });
}
