//! Processes that are started while the runtime runs: what comes after a fork concerns the child alone.
//!
//! A child shares the poller and the sockets with its parent, but has none of its threads. So it may end,
//! become another program, or make a runtime of its own; nothing of the parent's runtime is promised to it.

#![allow(unsafe_code)]

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::{bounded, poll_once, tcp_pair};
use crate::support::probe::{Bell, Count};
use crate::support::process::alone;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a child does after the fork.
#[derive(Clone, Copy)]
enum Then {
    Exec,
    Exit,
}

/// Forks, lets the child do that, and waits for its end. A command with a function to run in the child is
/// always a fork and an exec; others may take a shorter way.
fn fork(then: Then) {
    let mut command = Command::new("true");
    // SAFETY: the function makes one system call that may be made after a fork, or none.
    unsafe {
        command.pre_exec(move || match then {
            Then::Exec => Ok(()),
            Then::Exit => libc::_exit(7),
        });
    }
    let code = command.status().unwrap().code();
    assert_eq!(code, Some(if matches!(then, Then::Exec) { 0 } else { 7 }));
}

/// Forks, and has the child do that; checks that it came to its end in time.
#[cfg(target_os = "linux")]
fn in_a_child(body: impl FnOnce()) {
    // SAFETY: what comes after it in the child needs the allocator, which glibc and musl hand over intact,
    // and what this library promises. Nothing of the test harness is used there.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: one system call; its signal ends a child that hangs.
        unsafe { libc::alarm(30) };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
        // SAFETY: one system call. The copies that the child has of the parent's things stay as they are.
        unsafe { libc::_exit(i32::from(!ended)) };
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: a child of ours that no other code waits for, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child hangs (14) or has panicked (256)");
}

/// Sockets, timers, jobs and tasks, round after round, until the bell rings.
async fn work(rounds: Count, stop: Bell) {
    let (mut client, mut server) = tcp_pair().await;
    let echo = liten::spawn(async move {
        let mut byte = [0];
        while server.read(&mut byte).await.unwrap() == 1 {
            server.write_all(&byte).await.unwrap();
        }
    });
    while !stop.is_rung() {
        client.write_all(b"x").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
        liten::time::sleep(Duration::from_micros(100)).await;
        assert_eq!(liten::spawn_blocking(|| 42).await.unwrap(), 42);
        rounds.add();
    }
    drop(client);
    echo.await.unwrap();
}

#[test]
fn a_child_that_execs_or_exits_at_once_disturbs_nothing() {
    guarded(|| {
        let (runtime, stop) = (workers(2), Bell::default());
        let counts: Vec<Count> = (0..4).map(|_| Count::default()).collect();
        let tasks: Vec<_> =
            counts.iter().map(|count| runtime.spawn(work(count.clone(), stop.clone()))).collect();
        let all_go_on = || {
            let before: Vec<_> = counts.iter().map(Count::get).collect();
            // The round under way, and a whole one after it.
            until(|| counts.iter().zip(&before).all(|(count, before)| count.get() > before + 1));
        };
        for _ in 0..5 {
            for then in [Then::Exec, Then::Exit] {
                // By a thread that the runtime does not know, a root, a task and a job.
                fork(then);
                all_go_on();
                runtime.block_on(async { fork(then) });
                all_go_on();
                runtime.block_on(runtime.spawn(async move { fork(then) })).unwrap();
                all_go_on();
                runtime.block_on(runtime.spawn_blocking(move || fork(then))).unwrap();
                all_go_on();
            }
        }
        stop.ring();
        for task in tasks {
            runtime.block_on(bounded(task)).unwrap();
        }
    });
}

/// Descriptors close with the exec: what the parent closes is closed, although the child lives.
#[test]
fn a_program_inherits_no_descriptor() {
    let body = || {
        let runtime = workers(2);
        let (mut client, server, listener) = runtime.block_on(async {
            let (client, server) = tcp_pair().await;
            (client, server, TcpListener::bind("127.0.0.1:0").await.unwrap())
        });
        // Ends with its input.
        let mut cat = Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = cat.spawn().unwrap();
        // When it answers its exec is over, and with it the copies that it has until then.
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"x").unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        #[cfg(target_os = "linux")]
        assert_eq!(poller_parts(child.id()), 0, "the child has parts of the poller");

        let address = listener.local_addr().unwrap();
        drop((server, listener));
        assert_eq!(runtime.block_on(bounded(async { client.read(&mut [0]).await })).unwrap(), 0);
        assert!(std::net::TcpStream::connect(address).is_err(), "the child listens");
        #[cfg(target_os = "linux")]
        assert!(poller_parts(std::process::id()) > 0, "they are not found");
        drop(child.stdin.take());
        child.wait().unwrap();
    };
    guarded(|| alone("runtime::fork::a_program_inherits_no_descriptor", body));
}

/// How many descriptors of a process are of the kinds that a poller is made of.
#[cfg(target_os = "linux")]
fn poller_parts(process: u32) -> usize {
    let folder = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = folder.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("anon_inode:")).count()
}

/// A child that goes on makes a runtime of its own, whatever the parent's threads were in the middle of.
#[cfg(target_os = "linux")]
#[test]
fn a_child_of_a_busy_parent_may_make_a_runtime() {
    let body = || {
        let (runtime, stop) = (workers(1), Bell::default());
        let (handle, stopped) = (runtime.handle().clone(), stop.clone());
        // Another thread allocates what the worker frees.
        let busy = std::thread::spawn(move || {
            while !stopped.is_rung() {
                (0..256_u64).for_each(|i| drop(handle.spawn(async move { i })));
                until(|| handle.metrics().num_alive_tasks() < 2_000);
            }
        });
        for _ in 0..100 {
            in_a_child(|| {
                let tasks = |i| liten::spawn(async move { i });
                workers(1).block_on(async {
                    for task in (0..300_u64).map(tasks).collect::<Vec<_>>() {
                        task.await.unwrap();
                    }
                });
            });
        }
        stop.ring();
        busy.join().unwrap();
    };
    guarded(|| alone("runtime::fork::a_child_of_a_busy_parent_may_make_a_runtime", body));
}

/// The parent has not asked for it yet, and may still.
#[cfg(target_os = "linux")]
#[test]
fn a_child_is_not_told_of_a_signal_to_its_parent() {
    use liten::signal::unix::{SignalKind, signal};

    let listen = || signal(SignalKind::hangup()).unwrap();
    let body = move || {
        let runtime = workers(1);
        let mut listener = runtime.block_on(async { listen() });
        let raise = || {
            // SAFETY: it sends a signal, for which there is a handler.
            assert_eq!(unsafe { libc::raise(libc::SIGHUP) }, 0);
        };
        raise();
        in_a_child(|| {
            workers(1).block_on(async {
                let mut listener = listen();
                assert!(poll_once(&mut pin!(listener.recv())).await.is_none());
                raise();
                assert_eq!(bounded(listener.recv()).await, Some(()));
            });
        });
        assert_eq!(runtime.block_on(bounded(listener.recv())), Some(()));
    };
    guarded(|| alone("runtime::fork::a_child_is_not_told_of_a_signal_to_its_parent", body));
}

/// Has the standard input of this process come from a new pair of sockets; returns the other end.
#[cfg(target_os = "linux")]
fn replace_stdin() -> std::os::unix::net::UnixStream {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    // SAFETY: the process is the test's own, and nothing else reads from its standard input.
    let replaced = unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&reader), 0) };
    assert_eq!(replaced, 0);
    writer
}

/// The parent's thread that reads the standard input is not there in the child: neither while it waits for
/// a request, nor while it reads and has std's lock.
#[cfg(target_os = "linux")]
#[test]
fn a_child_reads_the_standard_input_though_its_parent_has() {
    use crate::support::process::threads;
    use std::io::Write;

    fn read_two() -> [u8; 2] {
        let mut bytes = [0; 2];
        liten::block_on(bounded(liten::io::stdin().read_exact(&mut bytes))).unwrap();
        bytes
    }
    let child = || {
        in_a_child(|| {
            for bytes in [*b"cd", *b"ef"] {
                replace_stdin().write_all(&bytes).unwrap();
                assert_eq!(read_two(), bytes);
            }
            in_a_child(|| {
                replace_stdin().write_all(b"gh").unwrap();
                assert_eq!(read_two(), *b"gh");
            });
        });
    };
    let body = || {
        let mut writer = replace_stdin();
        writer.write_all(b"ab").unwrap();
        assert_eq!(read_two(), *b"ab");
        child();

        let reader = || threads("liten-stdin").pop().unwrap().sleeps;
        until(|| reader() > 0);
        let before = reader();
        let never = liten::time::timeout(Duration::from_millis(1), async {
            liten::io::stdin().read(&mut [0]).await
        });
        assert!(liten::block_on(never).is_err());
        // Awake for the request and asleep again, in the read.
        until(|| reader() > before);
        child();
    };
    guarded(|| {
        alone("runtime::fork::a_child_reads_the_standard_input_though_its_parent_has", body)
    });
}
