//! The feature `tokio-context`: what knows tokio only runs in liten's tasks, whatever comes and goes around
//! it. A binary of its own, because the feature is off in the others.

#[path = "../../it/support/guard.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod guard;
#[path = "../../it/support/process.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod process;

#[path = "tokio_context/ends.rs"]
mod ends;
#[path = "tokio_context/nested.rs"]
mod nested;

use guard::{guarded, workers};
use liten::runtime::{Builder, LocalRuntime};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, Id, RuntimeFlavor};

/// The runtime of tokio that the calling thread is in.
fn here() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

/// The helper, as a task sees it.
fn helper() -> Id {
    liten::block_on(async { here() }).expect("the feature is on")
}

/// A socket, a timer and a task of tokio's; all of them have to come to an end.
async fn assert_tokio_works() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).await.unwrap();
        stream.write_all(&text).await.unwrap();
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"there and back").await.unwrap();
    client.shutdown().await.unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "there and back");
    server.await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let never = std::future::pending::<()>();
    assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
    assert_eq!(tokio::task::spawn_blocking(|| 42).await.unwrap(), 42);
    assert!(tokio::fs::metadata(".").await.unwrap().is_dir());
}

#[test]
fn every_thread_of_a_runtime_is_in_the_context() {
    guarded(|| {
        let (expected, seen) = (Some(helper()), std::sync::Arc::new(Mutex::new(Vec::new())));
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).max_spare_workers(1);
        for hook in [Builder::on_thread_start, Builder::on_thread_stop] {
            let seen = seen.clone();
            hook(&mut builder, move || seen.lock().unwrap().push(here()));
        }
        let runtime = builder.build().unwrap();
        assert_eq!(here(), None, "not for having made one");
        assert_eq!(runtime.block_on(async { here() }), expected);
        assert_eq!(runtime.block_on(runtime.spawn(async { here() })).unwrap(), expected);
        assert_eq!(runtime.block_on(runtime.spawn_blocking(here)).unwrap(), expected);
        // The second task runs on a spare worker, because the first one waits for it.
        let (sender, receiver) = mpsc::channel();
        let waits = runtime.spawn(async move { receiver.recv().unwrap() });
        let spare = runtime.spawn(async move { sender.send(here()).unwrap() });
        assert_eq!(runtime.block_on(waits).unwrap(), expected);
        runtime.block_on(spare).unwrap();
        {
            let _entered = runtime.enter();
            assert_eq!(here(), expected);
        }
        assert_eq!(here(), None);
        drop(runtime);
        // The worker, the spare and the thread of the pool, at the start and at the end.
        assert_eq!(*seen.lock().unwrap(), vec![expected; 6]);
    });
}

#[test]
fn a_local_runtime_is_in_the_context_while_it_runs() {
    guarded(|| {
        let (expected, runtime) = (Some(helper()), LocalRuntime::new().unwrap());
        let task = runtime.spawn_local(async { here() });
        assert_eq!(runtime.block_on(async { (here(), task.await.unwrap()) }), (expected, expected));
        let task = runtime.spawn_local(async { here() });
        runtime.block_until_completion();
        assert_eq!(runtime.block_on(task).unwrap(), expected);
        assert_eq!(runtime.block_on(runtime.handle().spawn_blocking(here)).unwrap(), expected);
        assert_eq!(here(), None);
        runtime.block_on(assert_tokio_works());
    });
}

#[test]
fn sockets_timers_and_tasks_of_tokio_work_in_tasks() {
    guarded(|| {
        let runtime = workers(2);
        let tasks: Vec<_> = (0..50).map(|_| runtime.spawn(assert_tokio_works())).collect();
        runtime.block_on(async {
            assert_tokio_works().await;
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
}

/// What tokio's sockets wake is polled by liten's workers, and by no other thread.
#[test]
fn tasks_stay_on_the_workers() {
    guarded(|| {
        let runtime = Builder::new_multi_thread().thread_name("mine").build().unwrap();
        let task = runtime.spawn(async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_micros(100)).await;
                let thread = std::thread::current();
                assert!(thread.name().unwrap().starts_with("mine-"), "{:?}", thread.name());
            }
            tokio::spawn(async { std::thread::current().name().map(str::to_owned) }).await.unwrap()
        });
        assert_eq!(runtime.block_on(task).unwrap().as_deref(), Some("liten-tokio"));
    });
}

/// Handlers of `axum::serve` are such tasks.
#[test]
fn what_tokio_spawns_finds_no_runtime_of_liten_around_it() {
    guarded(|| {
        workers(2).block_on(async {
            let task = tokio::spawn(async { drop(liten::spawn(async {})) });
            let error = task.await.expect_err("there is no runtime");
            assert!(error.is_panic());
            let handle = liten::runtime::Handle::current();
            let task = tokio::spawn(async move { handle.spawn(async { 7 }).await });
            assert_eq!(task.await.unwrap().unwrap(), 7);
        });
    });
}

/// A task of the helper's, and one of liten's; crates ask for the flavor first.
#[test]
fn block_in_place_works_on_both_sides() {
    guarded(|| {
        let runtime = workers(2);
        let body = || async {
            assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::MultiThread);
            // No other thread is there to drive what this waits for.
            tokio::task::block_in_place(|| Handle::current().block_on(assert_tokio_works()));
        };
        runtime.block_on(runtime.spawn(body())).unwrap();
        runtime.block_on(async { tokio::spawn(body()).await.unwrap() });
        runtime
            .block_on(runtime.spawn_blocking(|| {
                Handle::current().block_on(assert_tokio_works());
            }))
            .unwrap();
    });
}

/// Features are additive: what holds without this one holds with it.
#[test]
fn the_guard_has_the_traits_that_it_has_without_the_feature() {
    fn check<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe + Unpin>() {}
    check::<liten::runtime::EnterGuard<'static>>();
    check::<liten::runtime::Runtime>();
    check::<Builder>();
}

#[test]
fn a_runtime_may_do_without() {
    guarded(|| {
        process::alone("a_runtime_may_do_without", || {
            let runtime = Builder::new_multi_thread().tokio_context(false).build().unwrap();
            let local = Builder::new_current_thread().tokio_context(false).build_local().unwrap();
            assert_eq!(runtime.block_on(runtime.spawn(async { here() })).unwrap(), None);
            assert_eq!(runtime.block_on(runtime.spawn_blocking(here)).unwrap(), None);
            assert_eq!(runtime.block_on(async { here() }), None);
            assert_eq!(local.block_on(async { here() }), None);
            let error = runtime.block_on(runtime.spawn(async { drop(tokio::spawn(async {})) }));
            let error = error.unwrap_err().to_string();
            // Through the package named `tokio` the hint would be wrong: it has no such feature.
            let hint = error.contains("`Builder::tokio_context`");
            assert_eq!(hint, !cfg!(feature = "tokio-name"), "{error}");
            #[cfg(target_os = "linux")]
            assert_eq!(process::thread_names("liten-tokio"), [""; 0], "it was not wanted");
            // Beside a runtime that does not.
            assert!(workers(1).block_on(async { here() }).is_some());
            assert_eq!(runtime.block_on(async { here() }), None);
        });
    });
}
