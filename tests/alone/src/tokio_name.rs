//! The words that programs read which know this crate as `tokio`.

use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::sync::{Mutex, RwLock, Semaphore, broadcast, mpsc, oneshot};
use liten::task::{JoinSet, block_in_place, spawn_local, yield_now};
use liten::time::{Duration, Instant, sleep, sleep_until, timeout};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Waker};

const NOTE: &str = " (this `tokio` is liten's)";

fn current_thread() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime")
}

fn message(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("no panic");
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref().cloned()).expect("a text")
}

/// Polls once, outside a runtime.
fn poll<F: Future>(future: F) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

/// What panics outside a runtime.
const OUTSIDE: &[(&str, fn())] = &[
    ("spawn", || drop(liten::spawn(async {}))),
    ("spawn_blocking", || drop(liten::spawn_blocking(|| ()))),
    ("spawn_local", || drop(spawn_local(async {}))),
    ("spawn in a JoinSet", || drop(JoinSet::new().spawn(async {}))),
    ("Handle::current", || drop(Handle::current())),
    ("task::id", || _ = liten::task::id()),
    ("sleep", || poll(sleep(Duration::from_secs(1)))),
    ("pause", liten::time::pause),
    ("interval of nothing", || drop(liten::time::interval(Duration::ZERO))),
    ("mpsc::channel(0)", || drop(mpsc::channel::<()>(0))),
    ("mpsc::channel, too large", || drop(mpsc::channel::<()>(usize::MAX))),
    ("broadcast::channel(0)", || drop(broadcast::channel::<()>(0))),
    ("broadcast::channel, too large", || drop(broadcast::channel::<()>(usize::MAX))),
    ("RwLock without readers", || _ = RwLock::with_max_readers((), 0)),
    ("RwLock with too many readers", || _ = RwLock::with_max_readers((), u32::MAX)),
    ("constant RwLock without readers", || _ = RwLock::const_with_max_readers((), 0)),
    ("constant RwLock with too many", || _ = RwLock::const_with_max_readers((), u32::MAX)),
    ("Semaphore", || _ = Semaphore::new(usize::MAX)),
    ("constant Semaphore", || _ = Semaphore::const_new(usize::MAX)),
    ("add_permits", || Semaphore::new(1).add_permits(Semaphore::MAX_PERMITS)),
    ("permits of two semaphores", || {
        let (one, other) = (Semaphore::new(1), Semaphore::new(1));
        let permit = one.try_acquire().expect("a permit");
        { permit }.merge(other.try_acquire().expect("a permit"));
    }),
];

/// What panics in async code, or in a runtime.
const INSIDE: &[(&str, fn())] = &[
    ("block_on", || current_thread().block_on(async {})),
    ("block_in_place", || block_in_place(|| ())),
    ("blocking_lock", || drop(Mutex::new(()).blocking_lock())),
    ("resume", liten::time::resume),
    ("paused twice", || {
        liten::time::pause();
        liten::time::pause();
    }),
];

fn assert_noted(table: &[(&str, fn())]) {
    for (what, f) in table {
        let message = message(f);
        assert!(message.ends_with(NOTE), "{what}: {message}");
    }
}

#[test]
fn a_panic_outside_a_runtime_says_whose_tokio_this_is() {
    assert_noted(OUTSIDE);
}

#[test]
fn a_panic_in_async_code_says_whose_tokio_this_is() {
    for row in INSIDE {
        current_thread().block_on(async { assert_noted(std::slice::from_ref(row)) });
    }
}

#[test]
fn a_panic_over_what_was_used_up_says_whose_tokio_this_is() {
    let runtime = current_thread();
    let (_sender, mut receiver) = oneshot::channel::<()>();
    drop(_sender);
    let twice = || {
        runtime.block_on(async { drop((&mut receiver).await) });
        runtime.block_on(async { drop((&mut receiver).await) });
    };
    assert!(message(twice).ends_with(NOTE));
    let mut task = runtime.spawn(async {});
    let twice = || {
        drop(runtime.block_on(&mut task));
        drop(runtime.block_on(&mut task));
    };
    assert!(message(twice).ends_with(NOTE));
    let task = runtime.spawn(pending::<()>());
    task.abort();
    let error = runtime.block_on(task).expect_err("aborted");
    assert!(message(|| drop(error.into_panic())).ends_with(NOTE));
    let all = async {
        let mut set = JoinSet::new();
        set.spawn(pending::<()>()).abort();
        set.join_all().await
    };
    assert!(message(|| drop(runtime.block_on(all))).ends_with(NOTE));
}

#[test]
fn a_task_for_another_thread_s_runtime_is_refused_in_tokio_s_words() {
    let runtime = LocalRuntime::new().expect("a runtime");
    let handle = runtime.handle().clone();
    let refused = std::thread::spawn(move || {
        let _entered = handle.enter();
        message(|| drop(spawn_local(async {})))
    });
    let message = refused.join().expect("caught");
    assert!(
        message.starts_with("Local tasks can only be spawned on a LocalRuntime from the thread")
    );
    assert!(message.ends_with(NOTE), "{message}");
}

#[test]
fn a_timer_of_a_runtime_that_has_ended_panics_in_tokio_s_words() {
    let runtime = current_thread();
    let far = Instant::now() + Duration::from_secs(3_600);
    let entered = runtime.enter();
    let timer = sleep_until(far);
    drop(entered);
    let handle = runtime.handle().clone();
    drop(runtime);
    let message = message(|| handle.block_on(timer));
    assert!(message.starts_with("A Tokio 1.x context was found, but it is being shutdown."));
    assert!(message.ends_with(NOTE), "{message}");
}

#[test]
fn the_error_of_a_task_is_shown_as_tokio_shows_it() {
    let runtime = current_thread();
    let shown = |task: liten::task::JoinHandle<()>| {
        let id = task.id();
        let error = runtime.block_on(task).expect_err("no output");
        (error.to_string(), format!("{error:?}"), id)
    };
    let (display, debug, id) = shown(runtime.spawn(async { panic!("{}", "two \"words\"") }));
    assert_eq!(display, format!("task {id} panicked with message \"two \\\"words\\\"\""));
    assert_eq!(debug, format!("JoinError::Panic(Id({id}), \"two \\\"words\\\"\", ...)"));
    let (display, debug, id) = shown(runtime.spawn(async { std::panic::panic_any(5) }));
    assert_eq!(display, format!("task {id} panicked"));
    assert_eq!(debug, format!("JoinError::Panic(Id({id}), ...)"));
    let aborted = runtime.spawn(async { yield_now().await });
    aborted.abort();
    let (display, debug, id) = shown(aborted);
    assert_eq!(display, format!("task {id} was cancelled"));
    assert_eq!(debug, format!("JoinError::Cancelled(Id({id}))"));
}

/// liten's advice to crates that look for tokio would be wrong here.
#[test]
fn a_task_that_finds_no_runtime_gets_no_advice_about_features() {
    let runtime = current_thread();
    let cry = "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
    let task = runtime.spawn(async move { panic!("{cry}") });
    let error = runtime.block_on(task).expect_err("it panics");
    assert!(error.to_string().ends_with(&format!("{cry}\"")), "{error}");
}

#[test]
fn a_time_limit_that_was_reached_is_shown_as_tokio_shows_it() {
    let late = async { timeout(Duration::from_millis(1), pending::<()>()).await };
    let elapsed = current_thread().block_on(late).expect_err("it never ends");
    assert_eq!(elapsed.to_string(), "deadline has elapsed");
}
