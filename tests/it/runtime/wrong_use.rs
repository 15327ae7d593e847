//! Wrong use: what is refused, with which words, and pointing at which line.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::process::{alone, alone_with, child, is_child};
#[cfg(target_os = "linux")]
use liten::io::AsyncWriteExt;
use liten::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::task::{JoinSet, LocalExecutor, LocalSet};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

#[track_caller]
fn names<T>(built: io::Result<T>, option: &str) {
    let error = built.err().expect("it is refused");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains(option), "{error}");
}

#[test]
fn options_out_of_bounds_are_refused_by_name() {
    guarded(|| {
        type Set = fn(&mut Builder) -> &mut Builder;
        let cases: [(Set, &str); 8] = [
            (|builder| builder.worker_threads(0), "worker_threads"),
            (|builder| builder.worker_threads(usize::MAX), "worker_threads"),
            (|builder| builder.max_worker_threads(0), "max_worker_threads"),
            (|builder| builder.max_worker_threads(usize::MAX), "max_worker_threads"),
            (|builder| builder.worker_threads(5).max_worker_threads(4), "max_worker_threads"),
            (|builder| builder.max_blocking_threads(0), "max_blocking_threads"),
            (|builder| builder.thread_name("a\0b"), "thread_name"),
            (|builder| builder.name(" "), "name"),
        ];
        for (set, option) in cases {
            names(set(Builder::new_multi_thread().worker_threads(1)).build(), option);
        }
        let mut local = Builder::new_current_thread();
        names(local.worker_threads(2).build_local(), "worker_threads");
        names(
            Builder::new_current_thread().max_blocking_threads(0).build_local(),
            "max_blocking_threads",
        );
    });
}

/// A refused build leaves nothing behind, and the builder may be used again.
#[test]
fn a_builder_may_be_corrected_and_used_again() {
    guarded(|| {
        let mut builder = Builder::new_multi_thread();
        assert!(builder.worker_threads(0).build().is_err());
        for count in [1, 2] {
            let runtime = builder.worker_threads(count).build().unwrap();
            assert_eq!(runtime.metrics().num_workers(), count);
        }
    });
}

const VARIABLE: &str = "LITEN_WORKER_THREADS";

#[test]
fn the_variable_sets_the_number_of_workers() {
    let test = "runtime::wrong_use::the_variable_sets_the_number_of_workers";
    guarded(|| {
        alone_with(test, &[(VARIABLE, "3")], || {
            assert_eq!(Runtime::new().unwrap().metrics().num_workers(), 3);
            // What the program says counts more.
            assert_eq!(workers(2).metrics().num_workers(), 2);
        });
    });
}

#[test]
fn a_variable_that_is_no_number_is_refused_by_name() {
    let test = "runtime::wrong_use::a_variable_that_is_no_number_is_refused_by_name";
    guarded(|| {
        for value in ["0", "abc", "", "-1", "1.5", "99999999999999999999"] {
            alone_with(test, &[(VARIABLE, value)], || {
                names(Runtime::new(), VARIABLE);
                assert_eq!(workers(2).metrics().num_workers(), 2, "not asked for");
                let said = catch_unwind(|| liten::block_on(async {})).unwrap_err();
                assert!(said.downcast_ref::<String>().unwrap().contains(VARIABLE));
            });
            if is_child() {
                break;
            }
        }
    });
}

const SPARES: &str = "LITEN_MAX_SPARE_WORKERS";

#[test]
fn the_variable_sets_the_number_of_spare_workers() {
    let test = "runtime::wrong_use::the_variable_sets_the_number_of_spare_workers";
    guarded(|| {
        alone_with(test, &[(SPARES, " 7")], || {
            let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
            drop(occupy(&runtime, 8));
            // What the program says counts more.
            let runtime = workers(1);
            let blocked = occupy(&runtime, 1);
            let waits = runtime.spawn(async {});
            let limit = "at most 0 spare workers may run";
            until(|| runtime.handle().dump().to_string().contains(limit));
            assert!(!waits.is_finished());
            drop(blocked);
        });
    });
}

#[test]
fn a_number_of_spare_workers_that_is_none_is_refused_by_name() {
    let test = "runtime::wrong_use::a_number_of_spare_workers_that_is_none_is_refused_by_name";
    guarded(|| {
        for value in ["abc", "", "-1", "1.5", "4097"] {
            alone_with(test, &[(SPARES, value)], || {
                names(Runtime::new(), SPARES);
                let value = std::env::var(SPARES).unwrap();
                names(Runtime::new(), &format!("{value:?}"));
                assert_eq!(workers(2).metrics().num_workers(), 2, "not asked for");
                assert!(LocalRuntime::new().is_ok(), "it has none");
            });
            if is_child() {
                break;
            }
        }
    });
}

/// Without a thread there is no runtime, and nothing of it is left; a pool alone may do without.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_made_are_an_error() {
    // More than there is address space for.
    const STACK: usize = 1 << 60;
    let test = "runtime::wrong_use::threads_that_cannot_be_made_are_an_error";
    guarded(|| {
        alone(test, || {
            let counts = || {
                (crate::support::process::threads("").len(), crate::support::process::descriptors())
            };
            let before = counts();
            let mut builder = Builder::new_multi_thread();
            assert!(builder.worker_threads(2).thread_stack_size(STACK).build().is_err());
            assert_eq!(counts(), before);
            let local =
                Builder::new_current_thread().thread_stack_size(STACK).build_local().unwrap();
            local.block_on(async {
                // Each says what the system says.
                let os = std::thread::Builder::new().stack_size(STACK).spawn(|| {}).unwrap_err();
                let says = |error: &dyn std::fmt::Display| {
                    assert!(error.to_string().contains(&os.to_string()), "{error}");
                };
                let error = liten::spawn_blocking(|| {}).await.unwrap_err();
                assert!(error.is_cancelled());
                says(&error);
                says(&liten::net::lookup_host("localhost:1").await.map(drop).unwrap_err());
                let mut out = liten::io::stdout();
                let written = out.write_all(b"lost").await;
                says(&written.and(out.flush().await).unwrap_err());
                let error = liten::fs::read("/dev/null").await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Other, "no poll function says WouldBlock");
                says(&error);
                assert_eq!(liten::task::spawn_local(async { 42 }).await.unwrap(), 42);
            });
        });
    });
}

/// In a process that may have few descriptors, and has used them up.
#[cfg(target_os = "linux")]
#[test]
fn descriptors_that_cannot_be_had_are_an_error() {
    let test = "runtime::wrong_use::descriptors_that_cannot_be_had_are_an_error";
    guarded(|| {
        if !is_child() {
            let inner = child(test, &[]);
            let mut limited = std::process::Command::new("sh");
            limited.args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""]).arg(inner.get_program());
            limited
                .args(inner.get_args())
                .envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))));
            let output = limited.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            return;
        }
        let mut hoard = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            hoard.push(file);
        }
        for free in 0..3 {
            assert!(workers_or_error(1).is_err(), "with {free} descriptors");
            assert!(LocalRuntime::new().is_err(), "with {free} descriptors");
            assert!(catch_unwind(|| liten::block_on(async {})).is_err(), "with {free} descriptors");
            hoard.pop();
        }
        drop(hoard);
        assert_eq!(liten::block_on(async { liten::spawn(async { 42 }).await.unwrap() }), 42);
    });
}

#[cfg(target_os = "linux")]
fn workers_or_error(count: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(count).build()
}

/// What a panic said, and the line it pointed at.
fn caught<T>(f: impl FnOnce() -> T) -> (String, String, u32) {
    let seen = Arc::new(Mutex::new(None));
    let place = Arc::clone(&seen);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let location = info.location().unwrap();
        *place.lock().unwrap() = Some((location.file().to_owned(), location.line()));
    }));
    let result = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(hook);
    let payload = result.err().expect("it panics");
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    let (file, line) = seen.lock().unwrap().take().unwrap();
    (text.unwrap(), file, line)
}

/// Asserts that the expression panics, says so, and points at this line.
macro_rules! points_here {
    ($words:expr, $call:expr) => {{
        let (text, file, line) = caught(|| $call);
        assert!(text.contains($words), "{text}");
        assert_eq!((file.as_str(), line), (file!(), line!()), "{}", stringify!($call));
    }};
}

fn poll_once<F: Future>(future: F) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

/// Asserts that the future of the expression panics when it is polled, and names this line as the place
/// where it was made: a poll has no caller.
macro_rules! names_here {
    ($call:expr) => {{
        let (text, ..) = caught(|| poll_once($call));
        assert!(text.contains(OUTSIDE), "{text}");
        assert!(text.contains(&format!("{}:{}:", file!(), line!())), "{text}");
    }};
}

const OUTSIDE: &str = "outside a runtime: use #[liten::main], Runtime::enter, or Handle::spawn";

/// In a process of its own, because there is one panic hook per process.
#[test]
fn use_outside_a_runtime_panics_and_points_at_the_caller() {
    guarded(|| {
        alone("runtime::wrong_use::use_outside_a_runtime_panics_and_points_at_the_caller", || {
            points_here!(OUTSIDE, drop(liten::spawn(async {})));
            points_here!(OUTSIDE, drop(liten::spawn_blocking(|| {})));
            points_here!(OUTSIDE, Handle::current());
            names_here!(liten::time::sleep(Duration::ZERO));
            names_here!(liten::time::sleep_until(liten::time::Instant::now()));
            names_here!(liten::time::timeout(Duration::ZERO, std::future::pending::<()>()));
            let mut interval = (liten::time::interval(Duration::from_secs(1)), line!());
            let (text, ..) = caught(|| poll_once(interval.0.tick()));
            assert!(text.contains(&format!("{}:{}:", file!(), interval.1)), "{text}");
            names_here!(TcpListener::bind("127.0.0.1:0"));
            names_here!(TcpStream::connect("127.0.0.1:1"));
            names_here!(UdpSocket::bind("127.0.0.1:0"));
            names_here!(TcpSocket::new_v4().unwrap().connect(([127, 0, 0, 1], 1).into()));
            names_here!(liten::net::lookup_host("127.0.0.1:1"));
            names_here!(liten::net::lookup_host("localhost:1"));
            #[cfg(unix)]
            names_here!(liten::net::UnixStream::connect("/nowhere"));
            points_here!(OUTSIDE, drop(JoinSet::new().spawn(async {})));
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            points_here!(OUTSIDE, UdpSocket::from_std(socket));
            let outside = "`spawn_local` called from outside of a `task::LocalSet`";
            points_here!(outside, drop(liten::task::spawn_local(async {})));
            points_here!("outside a task", liten::task::id());
            points_here!("must not be zero", liten::time::interval(Duration::ZERO));
            let error = Handle::try_current().unwrap_err();
            assert!(error.to_string().contains(OUTSIDE), "{error}");
        });
    });
}

/// What of the rest of the interface panics over a mistake of its caller.
#[test]
fn wrong_use_panics_and_points_at_the_caller() {
    liten::task_local! { static KEY: u32; }
    guarded(|| {
        alone("runtime::wrong_use::wrong_use_panics_and_points_at_the_caller", || {
            let (runtime, set) = (Builder::new_current_thread().build().unwrap(), LocalSet::new());
            runtime.block_on(async {
                points_here!(INSIDE, runtime.block_on(async {}));
                points_here!(INSIDE, set.block_on(&runtime, async {}));
                let only = "can call blocking only when running on the multi-threaded runtime";
                points_here!(only, liten::task::block_in_place(|| {}));
                points_here!("not frozen", liten::time::resume());
                liten::time::pause();
                points_here!("already frozen", liten::time::pause());
                let pending = liten::spawn(std::future::pending::<()>());
                pending.abort();
                let aborted = pending.await.unwrap_err();
                points_here!("did not panic", aborted.into_panic());
            });
            let now = liten::time::Instant::now();
            points_here!("must not be zero", liten::time::interval_at(now, Duration::ZERO));
            points_here!("outside a scope", KEY.with(|_| ()));
            points_here!("outside a scope", KEY.get());
            KEY.sync_scope(1, || {
                KEY.with(|_| points_here!("inside its own", KEY.sync_scope(2, || ())));
            });
            points_here!("room for one byte", liten::io::duplex(0));
            points_here!("", liten::sync::mpsc::channel::<()>(0));
            points_here!("", liten::sync::broadcast::channel::<()>(0));
            points_here!("", liten::sync::Semaphore::new(usize::MAX));
        });
    });
}

const INSIDE: &str = "block_on called inside a task";

#[test]
fn blocking_inside_a_task_panics_and_points_at_the_caller() {
    guarded(|| {
        alone("runtime::wrong_use::blocking_inside_a_task_panics_and_points_at_the_caller", || {
            let (runtime, other) = (workers(1), workers(1));
            let local = LocalRuntime::new().unwrap();
            let handles =
                [runtime.handle().clone(), other.handle().clone(), local.handle().clone()];
            let task = runtime.spawn(async move {
                points_here!(INSIDE, liten::block_on(async {}));
                for handle in handles {
                    points_here!(INSIDE, handle.block_on(async {}));
                }
                points_here!(INSIDE, other.block_on(async {}));
                let what = "block_until_completion called inside a task";
                points_here!(what, other.block_until_completion());
                other
            });
            drop(runtime.block_on(task).unwrap());
            local.block_on(async {
                points_here!(INSIDE, liten::block_on(async {}));
                points_here!(INSIDE, local.block_on(async {}));
                points_here!("block_until_completion", local.block_until_completion());
                let executor = LocalExecutor::new();
                let task =
                    executor.spawn(async { points_here!(INSIDE, liten::block_on(async {})) });
                executor.run(task).await.unwrap();
            });
            // The message gives advice, and the runtime goes on.
            let task = runtime.spawn(async { caught(|| liten::block_on(async {})).0 });
            assert!(runtime.block_on(task).unwrap().contains("use .await"));
        });
    });
}

/// Stricter than `block_on`: a root must not wait for what it may have to send itself.
#[test]
fn waiting_for_a_message_in_async_code_panics_and_points_at_the_caller() {
    const ASYNC: &str = "blocking_recv called in async code";
    let receiver = || liten::sync::oneshot::channel::<()>().1;
    guarded(|| {
        alone(
            "runtime::wrong_use::waiting_for_a_message_in_async_code_panics_and_points_at_the_caller",
            || {
                let (runtime, local) = (workers(1), LocalRuntime::new().unwrap());
                let current = Builder::new_current_thread().build().unwrap();
                let task =
                    runtime.spawn(async move { points_here!(ASYNC, receiver().blocking_recv()) });
                runtime.block_on(task).unwrap();
                runtime.block_on(async { points_here!(ASYNC, receiver().blocking_recv()) });
                current.block_on(async { points_here!(ASYNC, receiver().blocking_recv()) });
                current
                    .handle()
                    .block_on(async { points_here!(ASYNC, receiver().blocking_recv()) });
                local.block_on(async { points_here!(ASYNC, receiver().blocking_recv()) });
                assert!(
                    receiver().blocking_recv().is_err(),
                    "on this thread, when nothing is polled"
                );
            },
        );
    });
}

/// The root is no task: there another runtime may be blocked on.
#[test]
fn blocking_inside_a_root_is_allowed() {
    guarded(|| {
        let (outer, inner) = (workers(1), workers(1));
        let answer =
            outer.block_on(async { inner.block_on(async { liten::spawn(async { 42 }).await }) });
        assert_eq!(answer.unwrap(), 42);
    });
}

/// A program that panics in its main future ends with a message, and does not hang.
#[test]
fn a_panic_in_the_root_of_a_program_ends_it() {
    let test = "runtime::wrong_use::a_panic_in_the_root_of_a_program_ends_it";
    guarded(|| {
        if is_child() {
            liten::block_on(async {
                drop(liten::spawn(std::future::pending::<()>()));
                panic!("the program fails");
            });
        }
        let output = child(test, &[]).output().unwrap();
        assert!(!output.status.success());
        let text = [output.stdout, output.stderr].concat();
        assert!(String::from_utf8_lossy(&text).contains("the program fails"));
    });
}

#[test]
fn tasks_that_use_the_runtime_of_another_thread_are_told_apart() {
    guarded(|| {
        // A thread that has entered may use it; when the guard is gone it may not.
        let runtime = workers(1);
        let handle = runtime.handle().clone();
        std::thread::spawn(move || {
            let guard = handle.enter();
            let task = liten::spawn(async { 1 });
            until(|| task.is_finished());
            drop(guard);
            assert!(Handle::try_current().is_err());
        })
        .join()
        .unwrap();
    });
}
