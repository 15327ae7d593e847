//! What the system refuses: descriptors and threads. The call that needed one says so, everything else goes
//! on, no thread turns in circles, and when there is room again all is as before.
//!
//! Limits are those of a process, so each test has one of its own.

use crate::scheduler::idle::assert_idle;
use crate::scheduler::steal::occupy;
use crate::signals::listeners::raise;
use crate::support::guard::{guarded, named, until};
use crate::support::loopback::{bounded, tcp_pair};
use crate::support::probe::{Bell, Count, OnDrop, Polls};
use crate::support::process::{
    alone_with, clocks, descriptors, have_clocks, threads, until_threads_are,
};
use futures_util::StreamExt;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, TcpSocket, TcpStream, UdpSocket, UnixListener, UnixStream};
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::signal::unix::{SignalKind, signal};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::cell::Cell;
use std::fs::{File, read_link};
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const EMFILE: i32 = 24;

/// Runs a test of this file in a process of its own, with environment variables.
fn alone(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    guarded(|| alone_with(&format!("runtime::system_limits::{test}"), variables, body));
}

pub(crate) fn limit(what: Resource, count: u64) {
    let (_, hard) = getrlimit(what).unwrap();
    setrlimit(what, count.min(hard), hard).unwrap();
}

/// Takes all descriptors that are left but `free` of them; dropping it gives them back.
pub(crate) fn hoard(free: usize) -> Vec<File> {
    let mut hoard = Vec::new();
    // Again if one was a file in which a runtime reads limits: it is about to be free.
    while hoard.is_empty() || !all_stay() {
        while let Ok(file) = File::open("/dev/null") {
            hoard.push(file);
        }
    }
    assert!(hoard.len() >= free);
    hoard.truncate(hoard.len() - free);
    hoard
}

/// Whether all descriptors are taken, and none by a file of the system's.
fn all_stay() -> bool {
    let (most, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let stays = |target: PathBuf| !target.starts_with("/proc") && !target.starts_with("/sys");
    (0..most).all(|number| read_link(format!("/proc/self/fd/{number}")).is_ok_and(stays))
}

#[track_caller]
fn assert_too_many<T>(result: io::Result<T>) {
    assert_eq!(result.map(drop).unwrap_err().raw_os_error(), Some(EMFILE));
}

/// A connection that was there before the trouble began; one byte goes there and back.
struct Echo(TcpStream);

impl Echo {
    async fn start() -> Self {
        let (client, mut server) = tcp_pair().await;
        drop(liten::spawn(async move {
            let mut byte = [0];
            while server.read_exact(&mut byte).await.is_ok() {
                server.write_all(&byte).await.unwrap();
            }
        }));
        Self(client)
    }

    /// Tasks, sockets and timers do what they always do.
    async fn assert_all_goes_on(&mut self) {
        self.0.write_all(b"x").await.unwrap();
        self.0.read_exact(&mut [0]).await.unwrap();
        liten::time::sleep(Duration::from_micros(500)).await;
        assert_eq!(liten::spawn(async { 42 }).await.unwrap(), 42);
    }
}

/// What the server of the next test tells.
#[derive(Clone, Default)]
struct Told {
    failures: Count,
    /// There was no descriptor for a connection.
    lacking: Bell,
    /// The connections that there are may be answered.
    go: Bell,
}

/// Accepts `count` connections, answers each, and closes it. Out of descriptors, it waits for the end of a
/// connection.
async fn serve(listener: TcpListener, count: usize, told: Told) {
    let (end, mut ended) = liten::sync::mpsc::unbounded_channel();
    for _ in 0..count {
        let mut stream = loop {
            match listener.accept().await {
                Ok((stream, _)) => break stream,
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(EMFILE));
                    told.failures.add();
                    told.lacking.ring();
                    ended.recv().await.unwrap();
                }
            }
        };
        let (end, go) = (end.clone(), told.go.clone());
        drop(liten::spawn(async move {
            go.wait().await;
            let mut byte = [0];
            stream.read_exact(&mut byte).await.unwrap();
            stream.write_all(&byte).await.unwrap();
            drop(stream);
            // The server has accepted all, and gone, when the last ones end.
            let _ = end.send(());
        }));
    }
}

#[test]
fn a_server_out_of_descriptors_waits_without_turning_and_serves_all_in_the_end() {
    const CLIENTS: usize = 40;
    const FREE: usize = 3;
    let test = "a_server_out_of_descriptors_waits_without_turning_and_serves_all_in_the_end";
    let body = || {
        limit(Resource::RLIMIT_NOFILE, 256);
        let (runtime, told) = (named(2, "emfile"), Told::default());
        // The first timer takes a descriptor: not one of those that are counted below.
        runtime.block_on(have_clocks(1));
        let listener = runtime.block_on(async { TcpListener::bind("127.0.0.1:0").await }).unwrap();
        let address = listener.local_addr().unwrap();
        // The system connects them, whether or not a program accepts them.
        let connect = |_| {
            let mut client = std::net::TcpStream::connect(address).unwrap();
            client.write_all(b"x").unwrap();
            client
        };
        let clients: Vec<_> = (0..CLIENTS).map(connect).collect();
        let hoard = hoard(FREE);
        let (serving, polls) = Polls::of(serve(listener, CLIENTS, told.clone()));
        let serving = runtime.spawn(serving);
        runtime.block_on(told.lacking.wait());

        // More connections wait than there are descriptors for, and no thread runs in circles over that. To
        // look takes descriptors too.
        limit(Resource::RLIMIT_NOFILE, 300);
        let before = polls.get();
        assert_idle(&["emfile"], Duration::from_millis(300));
        assert_eq!((polls.get(), told.failures.get()), (before, 1));
        limit(Resource::RLIMIT_NOFILE, 256);

        told.go.ring();
        runtime.block_on(bounded(serving)).unwrap();
        for mut client in clients {
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"x");
        }
        // An attempt per connection, and one per connection that had to end first.
        assert!(told.failures.get() <= CLIENTS - FREE, "{} failures", told.failures.get());
        assert!(polls.get() <= 4 * CLIENTS, "{} polls", polls.get());
        drop(hoard);
    };
    alone(test, &[], body);
}

/// A program that takes the error for one that passes by at once: it tries again without a pause of its own.
#[test]
fn a_loop_that_only_repeats_accept_tries_a_hundred_times_a_second() {
    let test = "a_loop_that_only_repeats_accept_tries_a_hundred_times_a_second";
    let body = || {
        limit(Resource::RLIMIT_NOFILE, 256);
        let runtime = named(2, "care");
        runtime.block_on(have_clocks(1));
        let path = std::env::temp_dir().join(format!("liten-careless-{}", std::process::id()));
        let (tcp, unix) = runtime.block_on(async {
            let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
            (tcp, UnixListener::bind(&path).unwrap())
        });
        let clients = (
            std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap(),
            std::os::unix::net::UnixStream::connect(&path).unwrap(),
        );
        std::fs::remove_file(&path).unwrap();
        let hoard = hoard(0);
        let (begun, failures) = (Instant::now(), [const { Cell::new(0_usize) }; 4]);
        runtime.block_on(bounded(async {
            // On a busy machine the time may be over before the first attempt.
            let until = async |which: usize| {
                liten::time::sleep(Duration::from_millis(100)).await;
                while failures[which].get() == 0 {
                    liten::time::sleep(Duration::from_millis(1)).await;
                }
            };
            let repeat = async |which: usize| loop {
                let error = match which {
                    0 => tcp.accept().await.map(drop),
                    1 => unix.accept().await.map(drop),
                    2 => tcp.incoming().next().await.unwrap().map(drop),
                    _ => unix.incoming().next().await.unwrap().map(drop),
                };
                assert_too_many(error);
                failures[which].set(failures[which].get() + 1);
            };
            for which in 0..4 {
                liten::select! {
                    () = until(which) => {}
                    () = repeat(which) => {}
                }
            }
        }));
        let failures = failures.map(Cell::into_inner);
        let most = begun.elapsed().as_millis() as usize / 10 + 4;
        assert!(failures.iter().all(|&count| count > 0), "{failures:?}");
        assert!(failures.iter().sum::<usize>() <= most, "{failures:?} of {most}");
        drop((hoard, clients));
        let (stream, _) = runtime.block_on(bounded(tcp.accept())).unwrap();
        drop(stream);
        runtime.block_on(bounded(unix.accept())).unwrap();
    };
    alone(test, &[], body);
}

#[test]
fn sockets_that_find_no_descriptor_are_an_error_and_work_later() {
    let test = "sockets_that_find_no_descriptor_are_an_error_and_work_later";
    let body = || {
        limit(Resource::RLIMIT_NOFILE, 256);
        let runtime = named(2, "nosock");
        runtime.block_on(have_clocks(1));
        runtime.block_on(bounded(async {
            let mut echo = Echo::start().await;
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // The pool's thread is there, and the resolver has read its files once.
            let name = ("localhost", address.port());
            drop(TcpStream::connect(name).await.unwrap());
            listener.accept().await.unwrap();
            let before = descriptors();

            let hoard = hoard(0);
            for _ in 0..50 {
                assert_too_many(TcpStream::connect(address).await);
                assert_too_many(TcpListener::bind("127.0.0.1:0").await);
                assert_too_many(UdpSocket::bind("127.0.0.1:0").await);
                assert_too_many(TcpSocket::new_v4());
                assert_too_many(UnixStream::pair());
                assert_too_many(UnixStream::connect("/no/such/place").await);
                assert_too_many(UnixListener::bind("/no/such/place"));
                assert!(TcpStream::connect(name).await.is_err());
                echo.assert_all_goes_on().await;
            }
            drop(hoard);

            // The runtime may be reading the limits of the process at the moment.
            until(|| descriptors() <= before);
            let mut client = TcpStream::connect(address).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            client.write_all(b"x").await.unwrap();
            server.read_exact(&mut [0]).await.unwrap();
            echo.assert_all_goes_on().await;
        }));
    };
    alone(test, &[], body);
}

/// A program out of descriptors is one that its users want to end. The process keeps sockets for the first
/// runtime that listens then; the next one finds none, and says so.
#[test]
fn a_program_out_of_descriptors_can_begin_to_listen_for_signals() {
    let test = "a_program_out_of_descriptors_can_begin_to_listen_for_signals";
    let body = || {
        limit(Resource::RLIMIT_NOFILE, 256);
        let (first, second) = (named(2, "sig1"), LocalRuntime::new().unwrap());
        first.block_on(have_clocks(1));
        let hoard = hoard(0);
        first.block_on(bounded(async {
            for _ in 0..2 {
                let mut listener = signal(SignalKind::user_defined1()).unwrap();
                raise(SignalKind::user_defined1());
                listener.recv().await.unwrap();
            }
        }));
        second.block_on(async { assert_too_many(signal(SignalKind::user_defined1())) });
        drop(hoard);
        second.block_on(bounded(async {
            let mut listener = signal(SignalKind::user_defined1()).unwrap();
            raise(SignalKind::user_defined1());
            listener.recv().await.unwrap();
        }));
    };
    alone(test, &[], body);
}

/// The driver's clock is made when a deadline first ends a sleep. Without a descriptor for it the poller's
/// timeout ends the sleep, and the first one that finds one has a clock.
#[test]
fn timers_that_find_no_descriptor_end_all_the_same_and_take_one_later() {
    let test = "timers_that_find_no_descriptor_end_all_the_same_and_take_one_later";
    let body = || {
        limit(Resource::RLIMIT_NOFILE, 256);
        let (many, one) = (named(2, "noclk"), LocalRuntime::new().unwrap());
        let nap = || async {
            for _ in 0..20 {
                let begin = Instant::now();
                liten::time::sleep(Duration::from_micros(700)).await;
                assert!(begin.elapsed() >= Duration::from_micros(700), "early");
            }
        };
        // The driver of the first one may sleep with a deadline when it likes.
        let others = || {
            let clocks = clocks();
            descriptors() - clocks
        };
        let before = others();
        let hoard = hoard(0);
        many.block_on(nap());
        one.block_on(nap());
        drop(hoard);
        until(|| others() <= before);
        many.block_on(have_clocks(1));
        one.block_on(have_clocks(2));
        many.block_on(nap());
        one.block_on(nap());
    };
    alone(test, &[], body);
}

/// With each number of descriptors, from none to enough for a driver.
#[test]
fn a_runtime_that_finds_no_descriptor_leaves_none_behind_and_disturbs_no_other() {
    let test = "a_runtime_that_finds_no_descriptor_leaves_none_behind_and_disturbs_no_other";
    let body = || {
        limit(Resource::RLIMIT_NOFILE, 256);
        let other = named(2, "other");
        other.block_on(have_clocks(1));
        let mut echo = other.block_on(Echo::start());
        let (before, count) = (descriptors(), threads("").len());
        let (mut failed, mut made) = (0, 0);
        for free in 0..8 {
            let hoard = hoard(free);
            for _ in 0..10 {
                let results = [
                    Builder::new_multi_thread().worker_threads(2).build().map(drop),
                    LocalRuntime::new().map(drop),
                ];
                for result in results {
                    match result {
                        Ok(()) => made += 1,
                        Err(error) => {
                            assert_eq!(error.raw_os_error(), Some(EMFILE));
                            failed += 1;
                        }
                    }
                }
            }
            other.block_on(bounded(echo.assert_all_goes_on()));
            drop(hoard);
            // The other runtime may be reading the limits of the process at the moment.
            until(|| descriptors() <= before);
            until_threads_are("", count);
        }
        assert!(failed > 0 && made > 0, "{failed} failed, {made} made");
    };
    alone(test, &[], body);
}

/// So large that address space is what threads lack, and memory for anything else is not.
const STACK: usize = 64 << 20;

/// One arena: glibc would take address space for one per thread.
pub(crate) const ONE_ARENA: &[(&str, &str)] = &[("MALLOC_ARENA_MAX", "1")];

fn big_stacks() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.thread_stack_size(STACK).thread_name("bigst");
    builder
}

/// Leaves address space for so many threads, and half a one for everything else.
fn leave_room_for(threads: usize) {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').next().unwrap().parse().unwrap();
    let bytes = pages * 4096 + threads * STACK + STACK / 2;
    limit(Resource::RLIMIT_AS, bytes as u64);
}

/// All of `count` workers run tasks at the same time.
fn assert_work(runtime: &Runtime, count: usize) {
    assert_eq!(runtime.metrics().num_workers(), count);
    assert_eq!(occupy(runtime, count).len(), count);
}

#[test]
fn workers_that_find_no_thread_are_an_error_and_the_others_work_on() {
    let test = "workers_that_find_no_thread_are_an_error_and_the_others_work_on";
    let body = || {
        let runtime = big_stacks().worker_threads(1).build().unwrap();
        // The driver thread comes with the first task.
        assert_work(&runtime, 1);
        until_threads_are("bigst", 2);
        leave_room_for(2);
        for _ in 0..10 {
            assert!(runtime.handle().set_worker_threads(8).is_err());
            assert_work(&runtime, 3);
        }
        // A worker that comes has the thread of one that has left.
        for count in [1, 3, 2, 3, 1] {
            runtime.handle().set_worker_threads(count).unwrap();
            assert_work(&runtime, count);
            until_threads_are("bigst", 4);
        }
        leave_room_for(5);
        runtime.handle().set_worker_threads(8).unwrap();
        assert_work(&runtime, 8);
        drop(runtime);
        until_threads_are("bigst", 0);
    };
    alone(test, ONE_ARENA, body);
}

/// Some of the workers have their threads when the system gives no more.
#[test]
fn a_runtime_that_finds_too_few_threads_ends_those_that_it_has() {
    let test = "a_runtime_that_finds_too_few_threads_ends_those_that_it_has";
    let body = || {
        let (before, count) = (descriptors(), threads("").len());
        for room in 0..4 {
            leave_room_for(room);
            for _ in 0..5 {
                assert!(big_stacks().worker_threads(8).build().is_err());
                assert_eq!(descriptors(), before);
                until_threads_are("", count);
            }
        }
        leave_room_for(9);
        assert_work(&big_stacks().worker_threads(8).build().unwrap(), 8);
    };
    alone(test, ONE_ARENA, body);
}

#[test]
fn a_job_that_finds_no_thread_is_cancelled_or_waits_for_one_that_is_there() {
    let test = "a_job_that_finds_no_thread_is_cancelled_or_waits_for_one_that_is_there";
    let body = || {
        let runtime = big_stacks().worker_threads(1).build().unwrap();
        let dropped = Count::default();
        leave_room_for(0);
        for round in 1..=10 {
            let guard = OnDrop(dropped.clone());
            let job = runtime.spawn_blocking(move || drop(guard));
            assert!(runtime.block_on(bounded(job)).unwrap_err().is_cancelled());
            assert_eq!(dropped.get(), round);
            // Names are looked up on the pool.
            let connecting = runtime.block_on(async {
                let name = "localhost:1".to_owned();
                bounded(TcpStream::connect(name)).await
            });
            assert_ne!(connecting.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        }
        assert_eq!(runtime.metrics().num_blocking_threads(), 0);

        leave_room_for(1);
        let (release, released) = mpsc::channel::<()>();
        let first = runtime.spawn_blocking(move || released.recv());
        let others: Vec<_> = (0..10).map(|i| runtime.spawn_blocking(move || i)).collect();
        assert_eq!(runtime.metrics().num_blocking_threads(), 1);
        drop(release);
        runtime.block_on(bounded(async {
            assert!(first.await.unwrap().is_err());
            for (i, job) in others.into_iter().enumerate() {
                assert_eq!(job.await.unwrap(), i);
            }
        }));

        // With room again there are as many threads as jobs.
        leave_room_for(4);
        let barrier = Arc::new(std::sync::Barrier::new(4));
        let jobs: Vec<_> = (0..4)
            .map(|_| {
                let barrier = Arc::clone(&barrier);
                runtime.spawn_blocking(move || barrier.wait().is_leader())
            })
            .collect();
        runtime.block_on(bounded(async {
            for job in jobs {
                job.await.unwrap();
            }
        }));
    };
    alone(test, ONE_ARENA, body);
}

/// There is one thread for pinned tasks, and no second one: both tasks are on the first.
#[test]
fn pinned_tasks_share_the_threads_that_there_are() {
    let test = "pinned_tasks_share_the_threads_that_there_are";
    let body = || {
        let runtime = big_stacks().worker_threads(4).build().unwrap();
        let (end, mut ended) = liten::sync::mpsc::channel::<()>(1);
        let begun = Count::default();
        let theirs = begun.clone();
        let first = runtime.spawn_pinned(move || async move {
            theirs.add();
            assert_eq!(ended.recv().await, None);
        });
        until(|| begun.get() == 1);
        leave_room_for(0);
        for _ in 0..5 {
            let second = runtime.spawn_pinned(|| async { std::thread::current().id() });
            runtime.block_on(second).unwrap();
        }
        leave_room_for(8);
        drop(end);
        runtime.block_on(first).unwrap();
        let tasks: Vec<_> =
            (0..20).map(|number| runtime.spawn_pinned(move || async move { number })).collect();
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 190);
    };
    alone(test, ONE_ARENA, body);
}
