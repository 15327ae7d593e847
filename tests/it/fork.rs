//! Processes that are started while the runtime runs: what comes after a fork concerns the child alone.
//!
//! A child shares the poller and the sockets with its parent, but has none of its threads. So it may end or
//! become another program, and nothing else of the runtime is promised to it.

#![allow(unsafe_code)]

use crate::guard::{guarded, until, workers};
use crate::loopback::{bounded, tcp_pair};
use crate::probe::{Bell, Count};
use crate::process::alone;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::TcpListener;
use std::os::unix::process::CommandExt;
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
    guarded(|| alone("fork::a_program_inherits_no_descriptor", body));
}

/// How many descriptors of a process are of the kinds that a poller is made of.
#[cfg(target_os = "linux")]
fn poller_parts(process: u32) -> usize {
    let folder = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = folder.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("anon_inode:")).count()
}
