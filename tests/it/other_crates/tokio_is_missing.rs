//! Crates that look for tokio where there is none: the panic says what to do about it. The feature
//! `tokio-context` is off here.

use crate::support::guard::{guarded, workers};
use crate::support::process::{child, is_child};
use liten::runtime::LocalRuntime;
use liten::task::{JoinError, JoinHandle};
use std::time::Duration;

const TOKIO: &str =
    "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
const HINT: &str = "enable liten's feature `tokio-context`";

async fn sleep() {
    tokio::time::sleep(Duration::ZERO).await;
}

/// Panics when it is dropped, unless there is tokio.
struct SpawnsAtTheEnd;

impl Drop for SpawnsAtTheEnd {
    fn drop(&mut self) {
        drop(tokio::spawn(async {}));
    }
}

#[track_caller]
fn assert_hints(error: JoinError) {
    for text in [error.to_string(), format!("{error:?}")] {
        assert!(text.contains(TOKIO), "{text}");
        assert_eq!(text.matches(HINT).count(), 1, "{text}");
    }
    let payload = error.into_panic();
    let message = payload.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap();
    assert!(message.contains(TOKIO), "{message}");
}

#[test]
fn the_join_error_says_what_to_enable() {
    guarded(|| {
        let runtime = workers(2);
        let tasks: [JoinHandle<()>; 6] = [
            runtime.spawn(sleep()),
            runtime.spawn(async { drop(tokio::spawn(async {})) }),
            runtime.spawn(async {
                tokio::net::TcpStream::connect("127.0.0.1:1").await.unwrap();
            }),
            runtime.spawn(async {
                let _dropped = SpawnsAtTheEnd;
                liten::task::yield_now().await;
            }),
            runtime.spawn_blocking(|| drop(tokio::runtime::Handle::current())),
            // The hint comes from the inner error here, once.
            runtime.spawn(async { liten::spawn(sleep()).await.unwrap() }),
        ];
        for task in tasks {
            assert_hints(runtime.block_on(task).unwrap_err());
        }
        let local = LocalRuntime::new().unwrap();
        let task = local.spawn_local(sleep());
        assert_hints(local.block_on(task).unwrap_err());
    });
}

#[test]
fn other_panics_have_nothing_added() {
    guarded(|| {
        let runtime = workers(1);
        let error = runtime.block_on(runtime.spawn(async { panic!("no tokio") })).unwrap_err();
        assert!(error.to_string().ends_with(" panicked: no tokio"), "{error}");
        let error =
            runtime.block_on(runtime.spawn(async { std::panic::panic_any(7) })).unwrap_err();
        assert!(error.to_string().ends_with(" panicked"), "{error}");
    });
}

/// The second argument of a process of the next test.
const WHERE: &str = "LITEN_TEST_WHERE";

fn cry(place: &str) {
    let runtime = workers(2);
    match place {
        "tasks" => {
            let tasks: Vec<_> = (0..10).map(|_| runtime.spawn(sleep())).collect();
            for task in tasks {
                // The result is not looked at.
                while !task.is_finished() {
                    std::thread::yield_now();
                }
            }
        }
        "blocking" => {
            drop(runtime.block_on(runtime.spawn_blocking(|| drop(tokio::spawn(async {})))))
        }
        "root" => runtime.block_on(sleep()),
        "local" => LocalRuntime::new().unwrap().block_on(sleep()),
        other => runtime.block_on(async { panic!("{other}: no tokio") }),
    }
}

/// The panic hook has printed the message; what to do follows it, once per process.
#[test]
fn standard_error_says_it_once() {
    let name = "other_crates::tokio_is_missing::standard_error_says_it_once";
    guarded(|| {
        if is_child() {
            return cry(&std::env::var(WHERE).unwrap());
        }
        let cases = [("tasks", true), ("blocking", true), ("root", false), ("local", false)];
        for (place, success) in cases {
            let output = child(name, &[(WHERE, place)]).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), success, "{place}: {errors}");
            assert!(errors.contains(TOKIO), "{place}: {errors}");
            assert_eq!(errors.matches(HINT).count(), 1, "{place}: {errors}");
        }
        let output = child(name, &[(WHERE, "elsewhere")]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("elsewhere: no tokio") && !errors.contains(HINT), "{errors}");
    });
}
