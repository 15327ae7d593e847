//! What comes and goes: runtimes, threads, processes, descriptors. The helper stays, and nothing is lost.
#![allow(unsafe_code)]

use crate::guard::{guarded, workers};
use crate::process::alone;
use crate::{assert_tokio_works, here};
use liten::runtime::{EnterGuard, Handle, LocalRuntime};
use std::cell::RefCell;
use std::future::pending;
use std::io::Read;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

#[test]
#[cfg(target_os = "linux")]
fn a_thousand_runtimes_share_one_helper() {
    use crate::guard::until;
    use crate::process::{descriptors, thread_names, threads, until_threads_are};

    let body = || {
        let first = workers(1);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let outlives = {
            let _entered = first.enter();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                receiver.await.unwrap()
            })
        };
        drop(first);
        until_threads_are("liten-worker", 0);
        let (before, count) = (descriptors(), threads("").len());
        for round in 0..1_000 {
            if round % 2 == 0 {
                let runtime = workers(1);
                let timer = runtime.spawn(async { tokio::time::sleep(Duration::ZERO).await });
                runtime.block_on(timer).unwrap();
            } else {
                let runtime = LocalRuntime::new().unwrap();
                runtime.block_on(async { tokio::time::sleep(Duration::ZERO).await });
            }
        }
        // The helper may still be about to drop the last waker, which keeps a poller.
        until(|| (descriptors(), threads("").len()) == (before, count));
        assert_eq!(thread_names("liten-tokio"), ["liten-tokio"]);
        sender.send(42).unwrap();
        assert_eq!(liten::block_on(outlives).unwrap(), 42, "it goes on without its runtime");
    };
    guarded(|| alone("ends::a_thousand_runtimes_share_one_helper", body));
}

#[test]
fn runtimes_that_begin_at_the_same_time_share_one_helper() {
    let body = || {
        let barrier = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let barrier = barrier.clone();
                thread::spawn(move || {
                    barrier.wait();
                    workers(1).block_on(async { here().unwrap() })
                })
            })
            .collect();
        let mut helpers: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        helpers.dedup();
        assert_eq!(helpers.len(), 1);
    };
    guarded(|| alone("ends::runtimes_that_begin_at_the_same_time_share_one_helper", body));
}

/// A task that waits for tokio's sockets and timers is dropped with its runtime, and what it owns closes.
#[test]
fn the_end_of_a_runtime_drops_what_waits_for_the_helper() {
    guarded(|| {
        let runtime = workers(2);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..20 {
            drop(runtime.spawn(async move {
                let stream = tokio::net::TcpStream::connect(address).await.unwrap();
                let _timer =
                    tokio::time::timeout(Duration::from_secs(600), stream.readable()).await;
                pending::<()>().await;
            }));
        }
        let accepted: Vec<_> = (0..20).map(|_| listener.accept().unwrap().0).collect();
        // Some of them may not be cold yet; that must not matter.
        drop(runtime);
        for mut stream in accepted {
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
    });
}

/// tokio's thread-local has gone before the runtime, or its guard, that another thread-local keeps.
#[test]
fn a_runtime_and_a_guard_may_live_in_a_thread_local() {
    thread_local! {
        static RUNTIME: LocalRuntime = LocalRuntime::new().unwrap();
        static ENTERED: RefCell<Option<EnterGuard<'static>>> = const { RefCell::new(None) };
    }
    let body = || {
        let runtime = workers(1);
        let handle: &'static Handle = Box::leak(Box::new(runtime.handle().clone()));
        let local = || {
            RUNTIME.with(|runtime| {
                runtime.spawn_local(pending::<()>());
                runtime.block_on(assert_tokio_works());
            })
        };
        let enter = || {
            ENTERED.with(|entered| {
                let mut entered = entered.borrow_mut();
                *entered = Some(handle.enter());
            });
            assert!(here().is_some());
        };
        thread::spawn(local).join().unwrap();
        thread::spawn(enter).join().unwrap();
        runtime.block_on(assert_tokio_works());
    };
    guarded(|| alone("ends::a_runtime_and_a_guard_may_live_in_a_thread_local", body));
}

/// A child has none of its parent's threads, and so no helper; if it makes a runtime, it gets one.
#[test]
#[cfg(unix)]
fn a_forked_child_that_goes_on_has_a_helper_of_its_own() {
    use crate::guard::until;

    let body = || {
        let runtime = workers(2);
        runtime.block_on(assert_tokio_works());
        // SAFETY: the child uses nothing that its parent's other threads could be in the middle of: they
        // wait for something to do. It ends without destructors, and by a signal if it hangs.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no handler is installed, so the signal ends the process.
            unsafe { libc::alarm(30) };
            let ended = std::panic::catch_unwind(|| {
                let own = workers(2);
                own.block_on(own.spawn(assert_tokio_works())).unwrap();
                liten::runtime::Runtime::new().unwrap().block_on(assert_tokio_works());
            });
            // SAFETY: it ends the process.
            unsafe { libc::_exit(if ended.is_ok() { 7 } else { 1 }) };
        }
        assert!(child > 0);
        let mut status = 0;
        until(|| {
            // SAFETY: the child is ours, and the status is there to be written.
            let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
            assert!(ended >= 0);
            ended == child
        });
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
        runtime.block_on(runtime.spawn(assert_tokio_works())).unwrap();
    };
    guarded(|| alone("ends::a_forked_child_that_goes_on_has_a_helper_of_its_own", body));
}

/// Without a thread or a descriptor for the helper there is no runtime, but an error; later there is one.
#[test]
#[cfg(target_os = "linux")]
fn a_helper_that_cannot_be_made_is_an_error() {
    use crate::process::{alone_with, descriptors, threads, until_threads_are};
    use liten::runtime::Builder;
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use std::fs::File;

    let body = || {
        let (before, count) = (descriptors(), threads("").len());
        let (_, hard) = getrlimit(Resource::RLIMIT_AS).unwrap();
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
        // Less than a stack, and enough for everything else.
        setrlimit(Resource::RLIMIT_AS, pages * 4096 + (1 << 20), hard).unwrap();
        let mut errors: Vec<_> = (0..5).map(|_| LocalRuntime::new().unwrap_err()).collect();
        setrlimit(Resource::RLIMIT_AS, hard, hard).unwrap();
        let error = errors.pop().unwrap();
        assert!(error.to_string().contains("`tokio-context`"), "{error}");
        assert_eq!(descriptors(), before);
        until_threads_are("", count);

        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 64, hard).unwrap();
        let mut hoard: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        let mut without = Builder::new_current_thread();
        without.tokio_context(false);
        // Until there is enough for liten's own poller, and so nothing for the helper's.
        while without.build_local().is_err() {
            assert_eq!(LocalRuntime::new().unwrap_err().raw_os_error(), Some(libc::EMFILE));
            hoard.pop().expect("with all descriptors there it works");
        }
        assert_eq!(LocalRuntime::new().unwrap_err().raw_os_error(), Some(libc::EMFILE));
        drop(hoard);
        assert_eq!(descriptors(), before);
        until_threads_are("", count);
        workers(2).block_on(assert_tokio_works());
    };
    let test = "ends::a_helper_that_cannot_be_made_is_an_error";
    guarded(|| alone_with(test, &[("MALLOC_ARENA_MAX", "1")], body));
}
