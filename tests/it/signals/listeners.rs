//! Listeners for signals: each gets each signal, none is lost, in any number of runtimes.
//!
//! A handler is the whole process's, so each test has a process of its own.

#![allow(unsafe_code)]

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::{bounded, poll_once};
use crate::support::probe::Count;
use crate::support::process::{alone, child, is_child};
use liten::future::StreamExt;
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::signal::ctrl_c;
use liten::signal::unix::{Signal, SignalKind, signal};
use std::future::{Future, poll_fn};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

const USR1: SignalKind = SignalKind::user_defined1();

/// Sends this thread a signal, whose handler has run when this returns.
pub(crate) fn raise(signal: SignalKind) {
    // SAFETY: it sends a signal; every test that does has a handler for it.
    assert_eq!(unsafe { libc::raise(signal.as_raw_value()) }, 0);
}

/// Has another process send this one a signal; whichever thread the system likes handles it, soon.
fn send(name: &str) {
    let mut kill = Command::new("kill");
    assert!(
        kill.args([&format!("-{name}"), &std::process::id().to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Sends this process a signal, which any of its threads may handle; it is handled soon.
fn send_process(signal: SignalKind) {
    // SAFETY: as in `raise`.
    assert_eq!(unsafe { libc::kill(libc::getpid(), signal.as_raw_value()) }, 0);
}

async fn received(listener: &mut Signal) {
    assert_eq!(bounded(listener.recv()).await, Some(()));
}

/// Whether nothing has come that the listener was not told of.
async fn is_quiet(listener: &mut Signal) -> bool {
    poll_once(&mut pin!(listener.recv())).await.is_none()
}

#[test]
fn every_listener_gets_the_signal() {
    let body = || {
        workers(2).block_on(async {
            let mut listeners: Vec<_> = (0..10).map(|_| signal(USR1).unwrap()).collect();
            let mut other = signal(SignalKind::user_defined2()).unwrap();
            let tasks: Vec<_> = (0..10)
                .map(|_| {
                    let mut listener = signal(USR1).unwrap();
                    liten::spawn(async move { received(&mut listener).await })
                })
                .collect();
            raise(USR1);
            for listener in &mut listeners {
                received(listener).await;
                assert!(is_quiet(listener).await, "one signal, one notice");
            }
            for task in tasks {
                bounded(task).await.unwrap();
            }
            assert!(is_quiet(&mut other).await, "another kind of signal");
            raise(SignalKind::user_defined2());
            received(&mut other).await;
        });
    };
    guarded(|| alone("signals::listeners::every_listener_gets_the_signal", body));
}

/// The tasks race for the bytes in the socket: the one that comes second finds it empty, and must notice all
/// the same.
#[test]
fn tasks_that_share_a_kind_miss_nothing() {
    let body = || {
        const TASKS: usize = 8;
        let runtime = workers(2);
        let counts: Vec<Count> = (0..TASKS).map(|_| Count::default()).collect();
        for count in &counts {
            let count = count.clone();
            let mut listener = runtime.block_on(async { signal(USR1).unwrap() });
            runtime.spawn(async move {
                while listener.recv().await.is_some() {
                    count.add();
                }
            });
        }
        let (begin, mut rounds) = (Instant::now(), 0);
        // Fewer on a busy machine.
        while rounds < 200 || (rounds < 5_000 && begin.elapsed() < Duration::from_secs(20)) {
            rounds += 1;
            raise(USR1);
            while counts.iter().any(|count| count.get() < rounds) {
                std::thread::yield_now();
            }
        }
        // From another process, on whichever thread.
        send("USR1");
        until(|| counts.iter().all(|count| count.get() == rounds + 1));
    };
    guarded(|| alone("signals::listeners::tasks_that_share_a_kind_miss_nothing", body));
}

#[test]
fn a_signal_between_two_waits_is_kept() {
    let body = || {
        workers(2).block_on(async {
            let mut listener = signal(USR1).unwrap();
            assert!(is_quiet(&mut listener).await);
            raise(USR1);
            received(&mut listener).await;
            for _ in 0..3 {
                raise(USR1);
            }
            received(&mut listener).await;
            // A wait that is given up takes nothing.
            drop(listener.recv());
            raise(USR1);
            received(&mut listener).await;

            let mut late = signal(USR1).unwrap();
            assert!(is_quiet(&mut late).await, "what came before it is not for it");
            raise(USR1);
            assert_eq!(bounded(late.next()).await, Some(()), "a listener is a stream");
        });
    };
    guarded(|| alone("signals::listeners::a_signal_between_two_waits_is_kept", body));
}

/// What the runtime's threads do between two listeners.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    /// This thread blocks, and other threads may wait for events.
    Blocks,
    /// Some thread waits for events, and has them.
    Waits,
}

impl Meanwhile {
    async fn pass(self) {
        let time = Duration::from_millis(1);
        match self {
            Self::Nothing => {}
            Self::Blocks => std::thread::sleep(time),
            Self::Waits => liten::time::sleep(time).await,
        }
    }
}

/// Runs it as the root of a runtime with one thread, as that of one with workers, and as a task.
fn everywhere<F: Future<Output = ()> + Send + 'static>(make: impl Fn() -> F) {
    LocalRuntime::new().unwrap().block_on(make());
    let runtime = workers(2);
    runtime.block_on(make());
    runtime.block_on(runtime.spawn(make())).unwrap();
}

/// As `ctrl_c` in a loop does, which drops a listener and makes the next one when other work is done.
#[test]
fn a_signal_between_two_listeners_is_kept() {
    let body = || {
        everywhere(|| async {
            drop(signal(USR1).unwrap());
            for meanwhile in [Meanwhile::Nothing, Meanwhile::Blocks, Meanwhile::Waits] {
                between_two_listeners(meanwhile).await;
            }
        });
    };
    guarded(|| alone("signals::listeners::a_signal_between_two_listeners_is_kept", body));
}

async fn between_two_listeners(meanwhile: Meanwhile) {
    raise(USR1);
    meanwhile.pass().await;
    let mut next = signal(USR1).unwrap();
    received(&mut next).await;
    assert!(is_quiet(&mut next).await, "one signal, one notice: {meanwhile:?}");

    raise(USR1);
    meanwhile.pass().await;
    drop(next);
    meanwhile.pass().await;
    let mut next = signal(USR1).unwrap();
    received(&mut next).await;
    assert!(is_quiet(&mut next).await, "it came after the last look of the one before");

    raise(USR1);
    meanwhile.pass().await;
    let mut second = signal(USR1).unwrap();
    received(&mut second).await;
    received(&mut next).await;
    let mut third = signal(USR1).unwrap();
    assert!(is_quiet(&mut third).await, "the others were told, in this task");
    drop((second, third));

    // Another runtime's listener comes and goes in between.
    drop(next);
    raise(USR1);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            LocalRuntime::new().unwrap().block_on(async {
                let mut other = signal(USR1).unwrap();
                received(&mut other).await;
                assert!(is_quiet(&mut other).await, "no other was told of it");
            });
        });
    });
    meanwhile.pass().await;
    received(&mut signal(USR1).unwrap()).await;
}

/// The loop of a program that also does other things, each of them longer than a signal takes.
#[test]
fn every_ctrl_c_beside_other_work_is_told() {
    let body = || {
        everywhere(|| async {
            for meanwhile in [Meanwhile::Blocks, Meanwhile::Waits] {
                for _ in 0..40 {
                    // Given up for the other work.
                    assert!(poll_once(&mut pin!(ctrl_c())).await.is_none());
                    send_process(SignalKind::interrupt());
                    meanwhile.pass().await;
                    bounded(ctrl_c()).await.unwrap();
                }
            }
        });
    };
    guarded(|| alone("signals::listeners::every_ctrl_c_beside_other_work_is_told", body));
}

/// Workers that each wait for a signal to stop, some of them at work when it comes.
#[test]
fn a_task_between_two_listeners_is_told_although_others_were() {
    let body = || {
        let runtime = workers(2);
        runtime.block_on(async {
            let (told, listening) = (Count::default(), Count::default());
            let others: Vec<_> = (0..3)
                .map(|lasts| {
                    let (told, mut lasting) = (told.clone(), signal(USR1).unwrap());
                    let listening = listening.clone();
                    liten::spawn(async move {
                        // A task that has never listened would begin behind what others were told of.
                        drop(signal(USR1).unwrap());
                        listening.add();
                        loop {
                            match lasts {
                                0 => received(&mut lasting).await,
                                _ => received(&mut signal(USR1).unwrap()).await,
                            }
                            told.add();
                        }
                    })
                })
                .collect();
            drop(signal(USR1).unwrap());
            liten::spawn(async { drop(signal(USR1).unwrap()) }).await.unwrap();
            while listening.get() < 3 {
                liten::task::yield_now().await;
            }
            for round in 1..=20 {
                raise(USR1);
                while told.get() < 3 * round {
                    liten::task::yield_now().await;
                }
                // They have made their next ones.
                liten::time::sleep(Duration::from_millis(1)).await;
                let new = liten::spawn(async {
                    let mut listener = signal(USR1).unwrap();
                    assert!(is_quiet(&mut listener).await, "a new task, and others were told");
                });
                new.await.unwrap();
                let mut next = signal(USR1).unwrap();
                received(&mut next).await;
                assert!(is_quiet(&mut next).await, "one signal, one notice");
            }
            assert_eq!(told.get(), 60, "one signal, one notice for each");
            others.iter().for_each(liten::task::JoinHandle::abort);
        });
    };
    let test = "signals::listeners::a_task_between_two_listeners_is_told_although_others_were";
    guarded(|| alone(test, body));
}

/// A signal that comes while no task listens is for the task that listens next.
#[test]
fn a_signal_that_no_task_was_told_of_is_told_to_a_new_task() {
    let body = || {
        let runtime = workers(2);
        let listen = || async {
            let mut listener = signal(USR1).unwrap();
            received(&mut listener).await;
            is_quiet(&mut listener).await
        };
        runtime.block_on(async { drop(signal(USR1).unwrap()) });
        for _ in 0..10 {
            raise(USR1);
            runtime.block_on(Meanwhile::Waits.pass());
            assert!(runtime.block_on(runtime.spawn(listen())).unwrap(), "one signal, one notice");
        }
    };
    let test = "signals::listeners::a_signal_that_no_task_was_told_of_is_told_to_a_new_task";
    guarded(|| alone(test, body));
}

/// One pair of sockets per runtime, which is closed with it, also if a listener lives on.
#[test]
fn all_kinds_of_signals_share_two_descriptors() {
    let body = || {
        let kinds = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::quit(),
            SignalKind::user_defined2(),
            SignalKind::window_change(),
        ];
        let listen = || kinds.map(|kind| signal(kind).unwrap());
        let first = workers(1);
        let before = open_descriptors();
        let mut listeners = first.block_on(async { listen() });
        assert_eq!(open_descriptors() - before, 2);
        for (kind, listener) in kinds.into_iter().zip(&mut listeners) {
            raise(kind);
            first.block_on(received(listener));
        }
        assert!(listeners.iter_mut().all(|listener| first.block_on(is_quiet(listener))));

        let before = open_descriptors();
        let mut outlive = Vec::new();
        for _ in 0..10 {
            let (with_workers, local) = (workers(1), LocalRuntime::new().unwrap());
            outlive.extend(with_workers.block_on(async { listen() }));
            outlive.extend(local.block_on(async { listen() }));
        }
        assert_eq!(open_descriptors(), before, "their runtimes have ended");
        raise(kinds[0]);
        first.block_on(received(&mut listeners[0]));
        first.block_on(received(&mut outlive[0]));
    };
    guarded(|| alone("signals::listeners::all_kinds_of_signals_share_two_descriptors", body));
}

/// A thousand tasks that wait for one kind are not woken by the others.
#[test]
fn a_signal_wakes_no_listener_of_another_kind() {
    let body = || {
        workers(1).block_on(async {
            let (polls, mut other) = (Count::default(), signal(USR1).unwrap());
            let (counted, mut waits) = (polls.clone(), signal(SignalKind::hangup()).unwrap());
            let task = liten::spawn(poll_fn(move |cx| {
                counted.add();
                waits.poll_recv(cx)
            }));
            while polls.get() == 0 {
                liten::task::yield_now().await;
            }
            for _ in 0..100 {
                raise(USR1);
                received(&mut other).await;
            }
            assert_eq!(polls.get(), 1);
            raise(SignalKind::hangup());
            assert_eq!(bounded(task).await.unwrap(), Some(()));
        });
    };
    guarded(|| alone("signals::listeners::a_signal_wakes_no_listener_of_another_kind", body));
}

/// More than fit into the socket, so the handler finds it full.
#[test]
fn a_burst_is_at_least_one_signal_after_the_last() {
    let body = || {
        workers(2).block_on(async {
            let mut listener = signal(USR1).unwrap();
            for _ in 0..2_000 {
                raise(USR1);
            }
            received(&mut listener).await;
            assert!(is_quiet(&mut listener).await, "all were before the wait, so they were one");
            for _ in 0..3 {
                raise(USR1);
                received(&mut listener).await;
            }
        });
    };
    guarded(|| alone("signals::listeners::a_burst_is_at_least_one_signal_after_the_last", body));
}

#[test]
fn listeners_that_are_dropped_leave_no_descriptor_and_no_default_action() {
    let body = || {
        workers(2).block_on(async {
            let mut first = signal(USR1).unwrap();
            let before = open_descriptors();
            for _ in 0..1_000 {
                drop(signal(USR1).unwrap());
                drop(signal(SignalKind::hangup()).unwrap());
                assert!(poll_once(&mut pin!(ctrl_c())).await.is_none());
            }
            assert_eq!(open_descriptors(), before);
            let many: Vec<_> = (0..1_000).map(|_| signal(USR1).unwrap()).collect();
            assert_eq!(open_descriptors(), before, "a thousand listeners share what one has");
            raise(USR1);
            drop(many);
            received(&mut first).await;
            drop(first);
            // The process would end.
            for signal in [USR1, SignalKind::hangup(), SignalKind::interrupt()] {
                raise(signal);
            }
            let mut again = signal(USR1).unwrap();
            received(&mut again).await;
            assert!(is_quiet(&mut again).await);
        });
    };
    let test =
        "signals::listeners::listeners_that_are_dropped_leave_no_descriptor_and_no_default_action";
    guarded(|| alone(test, body));
}

/// Without what a runtime opens when it likes: its clock, and files in which it reads limits.
fn open_descriptors() -> usize {
    let of_runtime = |target: &Path| {
        let places = ["/proc", "/sys", "anon_inode:[timerfd]"];
        places.iter().any(|place| target.starts_with(place))
    };
    let is_counted = |path: &PathBuf| match path.read_link() {
        Ok(target) => !of_runtime(&target),
        // Closed meanwhile; elsewhere than on Linux they are no links.
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    let entries = std::fs::read_dir("/dev/fd").unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(is_counted).count()
}

#[test]
fn listeners_of_every_runtime_get_the_signal() {
    let body = || {
        let listener = |runtime: &Runtime| runtime.block_on(async { signal(USR1).unwrap() });
        let (first, second) = (workers(1), workers(1));
        let (mut of_first, mut of_second) = (listener(&first), listener(&second));
        // One that no thread drives.
        let local = LocalRuntime::new().unwrap();
        let mut of_local = local.block_on(async { signal(USR1).unwrap() });
        let round = |of_first: &mut Signal, of_second: &mut Signal| {
            raise(USR1);
            first.block_on(received(of_first));
            second.block_on(received(of_second));
        };
        for _ in 0..20 {
            round(&mut of_first, &mut of_second);
        }
        local.block_on(async {
            received(&mut of_local).await;
            assert!(is_quiet(&mut of_local).await);
        });

        // A runtime that ends takes nothing from the others, and its listeners go on in them.
        let mut listener_of_first = listener(&first);
        let task = second.spawn(async move { received(&mut listener_of_first).await });
        drop(first);
        assert!(second.block_on(is_quiet(&mut of_first)));
        for _ in 0..20 {
            raise(USR1);
            second.block_on(received(&mut of_second));
            second.block_on(received(&mut of_first));
        }
        second.block_on(bounded(task)).unwrap();
        drop(of_first);
        let third = workers(1);
        let mut of_third = listener(&third);
        raise(USR1);
        third.block_on(received(&mut of_third));
        second.block_on(received(&mut of_second));
        // Where it is waited for, and not where it was made: no thread drives that one.
        for _ in 0..20 {
            raise(USR1);
            second.block_on(received(&mut of_third));
            second.block_on(received(&mut of_local));
        }
        raise(USR1);
        local.block_on(received(&mut of_third));
    };
    guarded(|| alone("signals::listeners::listeners_of_every_runtime_get_the_signal", body));
}

/// A handle's `block_on` drives nothing, so the runtime that the listener is waited for in reports none.
#[test]
fn a_listener_is_told_while_any_of_its_runtimes_is_driven() {
    let body = || {
        let driven = workers(1);
        let mut listener = driven.block_on(async { signal(USR1).unwrap() });
        let undriven = Builder::new_current_thread().build().unwrap();
        for _ in 0..20 {
            let (waits, is_waiting) = mpsc::channel();
            thread::scope(|threads| {
                threads.spawn(|| {
                    undriven.handle().block_on(bounded(poll_fn(|cx| {
                        let poll = listener.poll_recv(cx);
                        if poll.is_pending() {
                            waits.send(()).unwrap();
                        }
                        poll
                    })))
                });
                is_waiting.recv().unwrap();
                raise(USR1);
            });
        }
    };
    let test = "signals::listeners::a_listener_is_told_while_any_of_its_runtimes_is_driven";
    guarded(|| alone(test, body));
}

#[test]
fn a_signal_that_was_counted_is_told_although_the_runtime_has_ended() {
    let body = || {
        let runtime = workers(1);
        let mut listener = runtime.block_on(async { signal(USR1).unwrap() });
        raise(USR1);
        drop(runtime);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(listener.poll_recv(&mut cx), Poll::Ready(Some(())));
        assert_eq!(
            listener.poll_recv(&mut cx),
            Poll::Ready(None),
            "there is no runtime to go on in"
        );
        LocalRuntime::new().unwrap().block_on(async {
            assert!(is_quiet(&mut listener).await);
            raise(USR1);
            received(&mut listener).await;
        });
    };
    let test =
        "signals::listeners::a_signal_that_was_counted_is_told_although_the_runtime_has_ended";
    guarded(|| alone(test, body));
}

/// A program with a runtime for each round of its work. The listener of a round is the first one of its
/// runtime.
#[test]
fn a_signal_between_two_runtimes_is_told_in_the_next() {
    let body = || {
        drop(workers(1).block_on(async { signal(USR1).unwrap() }));
        for local in [true, false] {
            raise(USR1);
            let round = async {
                let mut listener = signal(USR1).unwrap();
                received(&mut listener).await;
                assert!(is_quiet(&mut listener).await, "one signal, one notice");
            };
            if local {
                LocalRuntime::new().unwrap().block_on(round);
            } else {
                let runtime = workers(1);
                runtime.block_on(runtime.spawn(round)).unwrap();
            }
        }
    };
    let test = "signals::listeners::a_signal_between_two_runtimes_is_told_in_the_next";
    guarded(|| alone(test, body));
}

#[test]
fn what_cannot_be_listened_for_is_an_error() {
    guarded(|| {
        workers(1).block_on(async {
            for number in [-1, 0, libc::SIGKILL, libc::SIGSTOP, libc::SIGSEGV, libc::SIGFPE, 4_711]
            {
                let error = signal(SignalKind::from_raw(number)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{number}: {error}");
            }
        });
        assert_eq!(SignalKind::from(libc::SIGINT), SignalKind::interrupt());
        assert_eq!(libc::c_int::from(SignalKind::terminate()), libc::SIGTERM);
    });
}

#[test]
#[should_panic(expected = "outside a runtime")]
fn listening_outside_a_runtime_panics() {
    let _ = signal(USR1);
}

/// Ctrl-c ends a program that does not wait for it, and is what a program waits for otherwise; again and
/// again, and only from the first poll on.
#[test]
fn ctrl_c_is_waited_for_from_the_first_poll_on() {
    let test = "signals::listeners::ctrl_c_is_waited_for_from_the_first_poll_on";
    guarded(|| {
        if is_child() {
            // A shell that has started the tests in the background of a shell without job control has let
            // them ignore this one. SAFETY: the default action is no handler, and no code has installed one
            // yet.
            unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
            return wait_for_ctrl_c(std::env::var_os("LITEN_TEST_POLL").is_some());
        }
        for polls in [false, true] {
            let mut command = child(test, if polls { &[("LITEN_TEST_POLL", "1")] } else { &[] });
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut lines = lines.map_while(Result::ok);
            let mut interrupt = |told: &str| {
                assert!(lines.any(|line| line.ends_with(told)), "not told: {told}");
                let mut kill = Command::new("kill");
                assert!(kill.args(["-INT", &child.id().to_string()]).status().unwrap().success());
            };
            if polls {
                interrupt("waiting");
                interrupt("once more");
            } else {
                interrupt("not waiting");
            }
            // To the end, or the child could not write.
            lines.for_each(drop);
            let status = child.wait().unwrap();
            assert_eq!(status.success(), polls, "{status}");
            assert_eq!(status.signal(), (!polls).then_some(libc::SIGINT));
        }
    });
}

fn wait_for_ctrl_c(polls: bool) {
    let tell = |what: &str| {
        println!("{what}");
        std::io::stdout().flush().unwrap();
    };
    workers(1).block_on(async {
        let mut waiting = pin!(ctrl_c());
        if !polls {
            tell("not waiting");
            return std::future::pending().await;
        }
        assert!(poll_once(&mut waiting).await.is_none());
        tell("waiting");
        bounded(waiting).await.unwrap();
        let mut again = pin!(ctrl_c());
        assert!(poll_once(&mut again).await.is_none());
        tell("once more");
        bounded(again).await.unwrap();
    });
}
