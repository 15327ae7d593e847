//! A `Runtime` without workers: the threads in `block_on` run its tasks, one of them at a time.

use crate::support::guard::{guarded, until};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Report};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime, RuntimeFlavor};
use liten::task::{block_in_place, spawn_local, spawn_pinned, yield_now};
use liten::time::{Instant, sleep};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

mod ends;
mod hand_over;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn current_thread() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// A task that says on which thread its last poll was.
async fn thread_after<F: Future>(wait: F) -> ThreadId {
    wait.await;
    thread::current().id()
}

fn message(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    message(catch_unwind(AssertUnwindSafe(f)).map(drop).expect_err("no panic"))
}

#[test]
fn tasks_run_on_the_thread_that_drives() {
    guarded(|| {
        let (runtime, here) = (current_thread(), thread::current().id());
        let spawned_before = runtime.spawn(async { thread::current().id() });
        let spawned_inside = runtime.block_on(async {
            let inner =
                liten::spawn(async { liten::spawn(async { thread::current().id() }).await });
            inner.await.unwrap().unwrap()
        });
        assert_eq!(spawned_inside, here);
        assert_eq!(runtime.block_on(spawned_before).unwrap(), here);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn it_has_no_threads_but_those_of_blocking_work() {
    guarded(|| {
        let runtime = Builder::new_current_thread().thread_name("ctnone").build().unwrap();
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            let echo = liten::spawn(async move {
                let mut buffer = [0; 1];
                sleep(MS).await;
                server.read_exact(&mut buffer).await.unwrap();
                server.write_all(&buffer).await.unwrap();
            });
            client.write_all(b"x").await.unwrap();
            client.read_exact(&mut [0; 1]).await.unwrap();
            echo.await.unwrap();
            assert_eq!(crate::support::process::threads("ctnone").len(), 0);
            liten::spawn_blocking(|| ()).await.unwrap();
            assert_eq!(crate::support::process::threads("ctnone").len(), 1);
        });
    });
}

#[test]
fn tasks_wait_while_no_thread_drives() {
    guarded(|| {
        let (runtime, report) = (current_thread(), Report::default());
        let task = runtime.spawn(report.spy());
        let handle = runtime.handle().clone();
        let alone = thread::spawn(move || {
            let foreign = handle.spawn(async { thread::current().id() });
            // Polls its own future and nothing else.
            handle.block_on(async {
                for _ in 0..1_000 {
                    yield_now().await;
                }
            });
            assert!(!foreign.is_finished());
            foreign
        });
        let foreign = alone.join().unwrap();
        assert_eq!((report.polls(), runtime.metrics().global_queue_depth()), (0, 2));
        assert_eq!(runtime.block_on(foreign).unwrap(), thread::current().id());
        assert_eq!(report.polls(), 1, "those that were spawned first run first");
        report.end();
        report.waker().unwrap().wake();
        assert_eq!(report.polls(), 1, "woken, and not run");
        assert_eq!(runtime.block_on(task).unwrap(), 2);
    });
}

#[test]
fn other_threads_spawn_and_wake_while_it_sleeps() {
    guarded(|| {
        let (runtime, here) = (current_thread(), thread::current().id());
        let handle = runtime.handle().clone();
        let (bell, ends) = (Bell::default(), Bell::default());
        let waits = runtime.spawn({
            let bell = bell.clone();
            async move { thread_after(bell.wait()).await }
        });
        let beside = thread::spawn({
            let ends = ends.clone();
            move || {
                until(|| bell.waiting() == 1);
                // It is in the poller by now, or on its way.
                for pause in [0, 0, 1, 5] {
                    thread::sleep(Duration::from_millis(pause));
                    let task = handle.spawn(async { thread::current().id() });
                    assert_eq!(handle.block_on(task).unwrap(), here);
                }
                bell.ring();
                ends.ring();
            }
        });
        runtime.block_on(ends.wait());
        assert_eq!(runtime.block_on(waits).unwrap(), here);
        beside.join().unwrap();
    });
}

#[test]
fn a_handle_drives_nothing_but_its_own_future() {
    guarded(|| {
        let runtime = current_thread();
        let here = thread::current().id();
        assert_eq!(runtime.handle().block_on(async { 1 }), 1);
        let (handle, ends) = (runtime.handle().clone(), Bell::default());
        let beside = thread::spawn({
            let ends = ends.clone();
            move || {
                let root = handle.block_on(async {
                    // Its timer fires, and its task runs, because another thread drives.
                    sleep(MS).await;
                    let task = liten::spawn(thread_after(yield_now())).await.unwrap();
                    (task, thread::current().id())
                });
                ends.ring();
                root
            }
        });
        runtime.block_on(ends.wait());
        let (task, root) = beside.join().unwrap();
        assert_eq!(task, here);
        assert_ne!(root, here);
    });
}

#[test]
fn tasks_run_first_in_first_out() {
    guarded(|| {
        let (runtime, log) = (current_thread(), Arc::new(Mutex::new(Vec::new())));
        let note = |number: usize| {
            let log = log.clone();
            async move {
                for round in 0..3 {
                    log.lock().unwrap().push((round, number));
                    yield_now().await;
                }
            }
        };
        drop(runtime.spawn(note(0)));
        runtime.block_on(async {
            let tasks = [1, 2, 3].map(|number| liten::spawn(note(number)));
            // One pause of the root is a turn of each task, as in tokio.
            yield_now().await;
            assert_eq!(log.lock().unwrap().len() % 4, 0);
            assert_ne!(log.lock().unwrap().len(), 0);
            for task in tasks {
                task.await.unwrap();
            }
        });
        let expected: Vec<_> = (0..3).flat_map(|round| (0..4).map(move |n| (round, n))).collect();
        assert_eq!(*log.lock().unwrap(), expected);
    });
}

#[test]
fn neither_the_root_nor_the_sockets_starve_beside_tasks_that_never_rest() {
    guarded(|| {
        let (runtime, end) = (current_thread(), Arc::new(AtomicBool::new(false)));
        let busy = |_| {
            let end = end.clone();
            runtime.spawn(async move {
                while !end.load(Ordering::Relaxed) {
                    yield_now().await;
                }
            })
        };
        let tasks: Vec<_> = (0..3).map(busy).collect();
        runtime.block_on(async {
            let (mut client, mut server) = tcp_pair().await;
            sleep(MS).await;
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0; 1]).await.unwrap();
            end.store(true, Ordering::Relaxed);
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

#[test]
fn blocking_work_has_threads_of_its_own() {
    guarded(|| {
        let (runtime, here) = (current_thread(), thread::current().id());
        let before = runtime.spawn_blocking(|| thread::current().id());
        runtime.block_on(async {
            assert_ne!(before.await.unwrap(), here);
            let job = liten::spawn_blocking(|| {
                let task = Handle::current().spawn(async { thread::current().id() });
                Handle::current().block_on(task).unwrap()
            });
            assert_eq!(job.await.unwrap(), here, "the task runs on the thread that drives");
        });
    });
}

#[test]
fn blocking_in_place_is_refused_everywhere_with_words_that_help() {
    guarded(|| {
        let (runtime, bell) = (current_thread(), Bell::default());
        let helps = |text: &str| {
            let said = text.contains("block_in_place") && text.contains("current-thread runtime");
            assert!(said && text.contains("use spawn_blocking"), "{text}");
        };
        helps(&panic_of(|| runtime.block_on(async { block_in_place(|| ()) })));
        let task = runtime.spawn(async { block_in_place(|| ()) });
        let error = runtime.block_on(task).unwrap_err();
        helps(&message(error.into_panic()));
        thread::scope(|scope| {
            let driving = scope.spawn(|| runtime.block_on(bell.wait()));
            until(|| bell.waiting() == 1);
            // In a root that waits in line.
            helps(&panic_of(|| runtime.block_on(async { block_in_place(|| ()) })));
            bell.ring();
            driving.join().unwrap();
        });
        assert_eq!(runtime.block_on(runtime.spawn_blocking(|| block_in_place(|| 1))).unwrap(), 1);
    });
}

#[test]
fn blocking_on_a_runtime_inside_of_it_is_refused() {
    guarded(|| {
        let (runtime, bell) = (Arc::new(current_thread()), Bell::default());
        let refused = |text: &str| assert!(text.contains("block_on called inside"), "{text}");
        refused(&panic_of(|| runtime.block_on(async { runtime.block_on(async {}) })));
        refused(&panic_of(|| runtime.block_on(async { liten::block_on(async {}) })));
        let inner = runtime.clone();
        let task = runtime.spawn(async move { inner.block_on(async {}) });
        refused(&message(runtime.block_on(task).unwrap_err().into_panic()));
        thread::scope(|scope| {
            let driving = scope.spawn(|| runtime.block_on(bell.wait()));
            until(|| bell.waiting() == 1);
            refused(&panic_of(|| runtime.block_on(async { runtime.block_on(async {}) })));
            bell.ring();
            driving.join().unwrap();
        });
    });
}

/// Calls `f` when it is woken.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// The thread that drives calls the wakers of timers between two polls. While one of them blocks, no other
/// thread can take the driving over.
#[test]
fn blocking_on_a_runtime_in_a_waker_that_it_calls_is_refused() {
    guarded(|| {
        let (runtime, said) = (Arc::new(current_thread()), Arc::new(Mutex::new(Vec::new())));
        let waker = Waker::from(Arc::new(Calls({
            let (runtime, said) = (Arc::downgrade(&runtime), said.clone());
            move || {
                let runtime = runtime.upgrade().unwrap();
                let texts = [
                    catch_unwind(AssertUnwindSafe(|| runtime.block_on(async {}))),
                    catch_unwind(AssertUnwindSafe(|| runtime.handle().block_on(async {}))),
                    catch_unwind(AssertUnwindSafe(|| runtime.block_until_completion())),
                ];
                let text = |caught: Result<(), _>| caught.map_err(message);
                said.lock().unwrap().extend(texts.map(text));
            }
        })));
        runtime.block_on(async {
            // On a busy machine a short time may be over before the poll.
            let mut length = MS;
            let _timer = loop {
                let mut timer = Box::pin(sleep(length));
                if timer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                    break timer;
                }
                length *= 2;
            };
            while said.lock().unwrap().is_empty() {
                sleep(MS).await;
            }
        });
        let said = said.lock().unwrap();
        let refused = |said: &Result<(), String>| {
            said.as_ref().is_err_and(|text| text.contains("called inside a task"))
        };
        assert!(said.len() == 3 && said.iter().all(refused), "{said:?}");
        assert_eq!(runtime.block_on(async { 1 }), 1);
    });
}

#[test]
fn tasks_that_are_not_send_have_no_place_on_it() {
    guarded(|| {
        let (runtime, here) = (current_thread(), thread::current().id());
        let text = panic_of(|| runtime.block_on(async { drop(spawn_local(async {})) }));
        assert!(text.contains("outside of a `task::LocalSet`"), "{text}");
        runtime.block_on(async {
            let pinned = || spawn_pinned(|| thread_after(sleep(MS)));
            let first = pinned().await.unwrap();
            assert_ne!(first, here);
            assert_eq!(pinned().await.unwrap(), first);
        });
    });
}

#[test]
fn a_clock_that_stands_still_jumps_when_all_wait() {
    guarded(|| {
        let runtime = Builder::new_current_thread().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let start = Instant::now();
            let task = liten::spawn(async move {
                sleep(HOUR).await;
                start.elapsed()
            });
            sleep(HOUR / 2).await;
            assert_eq!(start.elapsed(), HOUR / 2);
            assert_eq!(task.await.unwrap(), HOUR);
            // Blocking work holds it up.
            let (work, ends) = mpsc::channel::<()>();
            let job = liten::spawn_blocking(move || ends.recv());
            let mut timer = std::pin::pin!(sleep(HOUR));
            for _ in 0..100 {
                let polled = poll_fn(|cx| Poll::Ready(timer.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
                yield_now().await;
            }
            drop(work);
            assert!(job.await.unwrap().is_err());
            liten::time::advance(HOUR).await;
            timer.await;
            assert_eq!(start.elapsed(), 2 * HOUR);
            liten::time::resume();
        });
        let start = std::time::Instant::now();
        runtime.block_on(async { sleep(MS).await });
        assert!(start.elapsed() >= MS);
    });
}

/// Threads that do not drive are not idle either while they run something.
#[test]
fn a_clock_that_stands_still_waits_for_roots_of_other_threads() {
    // Runs `run` with a root that blocks its thread until it is released.
    let held_up_by = |run: &(dyn Fn(&Runtime, Blocker) + Sync)| {
        let runtime = &Builder::new_current_thread().start_paused(true).build().unwrap();
        let (blocks, entered) = (Bell::default(), Bell::default());
        let released = &AtomicBool::new(false);
        thread::scope(|scope| {
            let (release, wait) = mpsc::channel();
            let blocker = Blocker { starts: blocks.clone(), wait };
            let drives = entered.clone();
            scope.spawn(move || {
                runtime.block_on(async {
                    drives.ring();
                    blocks.wait().await;
                    sleep(HOUR).await;
                    assert!(released.load(Ordering::SeqCst), "the clock has jumped");
                });
            });
            until(|| entered.is_rung());
            let starts = blocker.starts.clone();
            scope.spawn(move || run(runtime, blocker));
            until(|| starts.is_rung());
            // In time for the jump that must not come.
            thread::sleep(MS * 20);
            released.store(true, Ordering::SeqCst);
            release.send(()).unwrap();
        });
    };
    guarded(|| {
        held_up_by(&|runtime, blocker| runtime.block_on(blocker.root()));
        held_up_by(&|runtime, blocker| runtime.handle().block_on(blocker.root()));
        held_up_by(&|runtime, blocker| {
            let task = runtime.spawn_pinned(|| blocker.root());
            smol::block_on(task).unwrap();
        });
    });
}

struct Blocker {
    starts: Bell,
    wait: mpsc::Receiver<()>,
}

impl Blocker {
    async fn root(self) {
        self.starts.ring();
        self.wait.recv().unwrap();
    }
}

/// A pinned task is polled by a thread of its own. What the advance has woken there has run when it returns.
///
/// An advance waits for a tenth of a second at most, and promises nothing after that. So a round in which it
/// takes half as long proves nothing, and there is another one.
#[test]
fn an_advanced_clock_waits_for_pinned_tasks() {
    const ROUNDS: usize = 20;
    guarded(|| {
        let runtime = Builder::new_current_thread().start_paused(true).build().unwrap();
        let mut proven = 0;
        for _ in 0..10 * ROUNDS {
            let (sleeps, ended) = (Bell::default(), Arc::new(AtomicBool::new(false)));
            runtime.block_on(async {
                let task = runtime.spawn_pinned({
                    let (sleeps, ended) = (sleeps.clone(), ended.clone());
                    move || async move {
                        let timer = sleep(HOUR);
                        sleeps.ring();
                        timer.await;
                        // Long enough to be overtaken.
                        thread::sleep(MS);
                        ended.store(true, Ordering::SeqCst);
                    }
                });
                // Blocks the root, so that the clock does not jump before.
                until(|| sleeps.is_rung());
                let begin = std::time::Instant::now();
                liten::time::advance(HOUR).await;
                let has_ended = ended.load(Ordering::SeqCst);
                if begin.elapsed() < MS * 50 {
                    assert!(has_ended, "the advance has overtaken it");
                    proven += 1;
                }
                task.await.unwrap();
            });
            if proven == ROUNDS {
                break;
            }
        }
        assert!(proven > 0, "each advance takes long");
    });
}

/// A root that never waits does not hold up an advance for ever.
#[test]
fn an_advanced_clock_waits_for_no_root_that_does_not_rest() {
    guarded(|| {
        let runtime = &Builder::new_current_thread().start_paused(true).build().unwrap();
        let (starts, (release, wait)) = (Bell::default(), mpsc::channel());
        let blocker = Blocker { starts: starts.clone(), wait };
        thread::scope(|scope| {
            scope.spawn(move || runtime.handle().block_on(blocker.root()));
            until(|| starts.is_rung());
            runtime.block_on(liten::time::advance(HOUR));
            release.send(()).unwrap();
        });
    });
}

#[test]
fn a_clock_may_be_stopped_at_any_time() {
    guarded(|| {
        let runtime = current_thread();
        runtime.block_on(async {
            liten::time::pause();
            let start = Instant::now();
            liten::spawn(sleep(HOUR)).await.unwrap();
            assert_eq!(start.elapsed(), HOUR);
        });
    });
}

#[test]
fn it_says_of_which_kind_it_is() {
    guarded(|| {
        let flavor = || async { Handle::current().runtime_flavor() };
        assert_eq!(current_thread().block_on(flavor()), RuntimeFlavor::CurrentThread);
        assert_eq!(LocalRuntime::new().unwrap().block_on(flavor()), RuntimeFlavor::CurrentThread);
        let many = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        assert_eq!(many.block_on(flavor()), RuntimeFlavor::MultiThread);
        assert_eq!(many.block_on(many.spawn(flavor())).unwrap(), RuntimeFlavor::MultiThread);
    });
}

#[test]
fn it_has_numbers() {
    guarded(|| {
        let (runtime, bell) = (current_thread(), Bell::default());
        let metrics = runtime.metrics();
        assert_eq!((metrics.num_workers(), metrics.num_spare_workers()), (1, 0));
        let waits = runtime.spawn({
            let bell = bell.clone();
            async move { bell.wait().await }
        });
        let runs = runtime.spawn({
            let metrics = metrics.clone();
            async move { metrics.running_tasks().iter().map(|task| task.id()).collect::<Vec<_>>() }
        });
        let id = runs.id();
        assert_eq!((metrics.num_alive_tasks(), metrics.global_queue_depth()), (2, 2));
        assert_eq!(runtime.block_on(runs).unwrap(), [id]);
        assert_eq!((metrics.num_alive_tasks(), metrics.num_cold_tasks()), (1, 1));
        assert_eq!((metrics.worker_poll_count(0), metrics.worker_poll_count(1)), (2, 0));
        bell.ring();
        runtime.block_on(waits).unwrap();
        assert_eq!((metrics.num_alive_tasks(), metrics.worker_poll_count(0)), (0, 3));
    });
}

#[test]
fn a_number_of_workers_is_refused() {
    guarded(|| {
        let named = |error: std::io::Error| {
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("current-thread runtime has no workers"), "{error}");
        };
        named(Builder::new_current_thread().worker_threads(1).build().unwrap_err());
        named(current_thread().handle().set_worker_threads(1).unwrap_err());
    });
}
