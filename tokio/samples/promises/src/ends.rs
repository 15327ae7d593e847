//! What is left of children when their runtime ends; and values of a `watch` channel that are borrowed twice.

use crate::current_thread;
use rustix::process::Signal;
use std::fs;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::process::Command;
use tokio::runtime::{Builder, LocalRuntime};
use tokio::sync::watch;
use tokio::task::yield_now;

pub(crate) fn keep_all() {
    a_child_that_the_end_of_its_runtime_kills_leaves_nothing();
    a_value_can_be_borrowed_twice_while_a_sender_waits();
    a_child_outlives_the_runtime_that_has_started_it();
    a_child_has_slices_of_the_usual_length();
    a_local_runtime_that_would_block_async_code_panics();
    work_that_a_destructor_gives_to_the_pool_runs();
    work_that_waits_for_a_thread_at_the_end_runs();
    children_that_die_with_the_thread_that_started_them_live();
}

/// The system kills such a child when that thread ends, and not when the process does. The tasks that compute
/// have a runtime of liten's start more workers for a while.
fn children_that_die_with_the_thread_that_started_them_live() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (stop, children) = (Arc::new(AtomicBool::new(false)), 10);
    for _ in 0..6 {
        let stop = stop.clone();
        runtime.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(3) {}
                yield_now().await;
            }
        });
    }
    let mut started: Vec<_> = (0..children)
        .map(|_| {
            let mut command = Command::new("sleep");
            command.arg("100").kill_on_drop(true);
            // SAFETY: one system call, which may be made after a fork.
            unsafe {
                command.pre_exec(|| {
                    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
                    Ok(())
                });
            }
            let start = async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                command.spawn().expect("a child")
            };
            runtime.block_on(runtime.spawn(start)).expect("no panic")
        })
        .collect();
    stop.store(true, Ordering::Relaxed);
    // The other workers have long been gone by then.
    thread::sleep(Duration::from_secs(1));
    let ended = started.iter_mut().filter_map(|child| child.try_wait().expect("it can be asked"));
    assert_eq!(ended.count(), 0, "of {children} children");
}

/// The tasks of a runtime without workers are dropped before its pool ends.
fn work_that_a_destructor_gives_to_the_pool_runs() {
    struct GivesWork(Arc<AtomicUsize>);

    impl Drop for GivesWork {
        fn drop(&mut self) {
            let ran = self.0.clone();
            tokio::task::spawn_blocking(move || ran.fetch_add(1, Ordering::Relaxed));
        }
    }

    let ran = Arc::new(AtomicUsize::new(0));
    let runtime = current_thread();
    let waits = GivesWork(ran.clone());
    runtime.spawn(async move {
        let _waits = waits;
        pending::<()>().await;
    });
    runtime.block_on(yield_now());
    drop(runtime);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

/// Workers have short ones. Not every system shows them.
fn a_child_has_slices_of_the_usual_length() {
    let length = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("se.slice"))?;
        line.rsplit(':').next()?.trim().parse::<u64>().ok()
    };
    let of_this_thread = || length(&fs::read_to_string("/proc/thread-self/sched").ok()?);
    let usual = of_this_thread();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let child = runtime.expect("a runtime").block_on(async {
        let task = tokio::spawn(async {
            // After a sleep of the worker at the latest, it has chosen.
            tokio::time::sleep(Duration::from_millis(5)).await;
            Command::new("cat").arg("/proc/self/sched").output().await
        });
        task.await.expect("no panic").expect("a child")
    });
    let printed = String::from_utf8(child.stdout).expect("it is text");
    assert_eq!(length(&printed), usual.filter(|_| child.status.success()));
}

/// The threads of the pool do it before they end. What was aborted is not done.
fn work_that_waits_for_a_thread_at_the_end_runs() {
    let ran = Arc::new(AtomicUsize::new(0));
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).max_blocking_threads(1).build().expect("a runtime");
    runtime.spawn_blocking(|| thread::sleep(Duration::from_millis(100)));
    for number in 0..10 {
        let ran = ran.clone();
        let work = runtime.spawn_blocking(move || ran.fetch_add(1, Ordering::Relaxed));
        if number == 3 {
            work.abort();
        }
    }
    drop(runtime);
    assert_eq!(ran.load(Ordering::Relaxed), 9);
}

/// It is waited for in another one, before and after the end of the first one.
fn a_child_outlives_the_runtime_that_has_started_it() {
    let (first, second) = (current_thread(), current_thread());
    let start = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::piped());
        let mut child = first.block_on(async { command.spawn().expect("a child") });
        let stdin = child.stdin.take();
        (child, stdin)
    };
    let ((mut one, of_one), (mut two, of_two)) = (start("read l; exit 6"), start("read l; exit 7"));
    let one = second.spawn(async move { one.wait().await });
    second.block_on(yield_now());
    drop(first);
    second.block_on(yield_now());
    drop((of_one, of_two));
    let code = |status: std::io::Result<ExitStatus>| status.expect("it can be waited for").code();
    assert_eq!(code(second.block_on(one).expect("no panic")), Some(6));
    assert_eq!(code(second.block_on(two.wait())), Some(7));
}

/// As a runtime of another kind does.
fn a_local_runtime_that_would_block_async_code_panics() {
    for ends in [drop, |local: LocalRuntime| local.shutdown_timeout(Duration::from_secs(5))] {
        let panics = current_thread().block_on(async {
            let local = LocalRuntime::new().expect("a runtime");
            catch_unwind(AssertUnwindSafe(|| ends(local)))
        });
        let panic = panics.expect_err("it would block");
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).expect("a text");
        assert!(text.contains("Cannot drop a runtime"), "{text}");
    }
    current_thread().block_on(async {
        LocalRuntime::new().expect("a runtime").shutdown_background();
    });
}

/// Without any further call that has to do with children. Does not hold on tokio, where it stays a zombie.
fn a_child_that_the_end_of_its_runtime_kills_leaves_nothing() {
    let workers = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    for runtime in [current_thread(), workers.expect("a runtime")] {
        let mut child = {
            let _entered = runtime.enter();
            Command::new("sleep").arg("100").kill_on_drop(true).spawn().expect("a child")
        };
        let process = format!("/proc/{}", child.id().expect("it lives"));
        drop(runtime.spawn(async move { child.wait().await }));
        runtime.block_on(yield_now());
        drop(runtime);
        let begin = Instant::now();
        while fs::exists(&process).expect("it can be asked") {
            assert!(begin.elapsed() < Duration::from_secs(20), "a zombie");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Does not hold on tokio, where the second borrow waits for the sender, and the sender for the first one.
fn a_value_can_be_borrowed_twice_while_a_sender_waits() {
    let (sender, receiver) = watch::channel(0_u64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                sender.send_modify(|value| *value += 1);
            }
        });
        for _ in 0..1_000 {
            let first = receiver.borrow();
            thread::yield_now();
            assert_eq!(*first, *receiver.borrow());
        }
        stop.store(true, Ordering::Relaxed);
    });
}
