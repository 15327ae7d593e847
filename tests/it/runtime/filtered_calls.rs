//! Filters of system calls, as containers and sandboxes have them. All that a newer kernel would give fails,
//! with the errors that such filters return, and everything works without it.

use crate::process::unix::refuse_with;
use crate::support::guard::{guarded, workers};
use crate::support::loopback::{bounded, pattern, tcp_pair};
use crate::support::process::alone;
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::process::Command;
use liten::runtime::Handle;
use nix::libc;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The calls that liten makes, or that a crate below it does, and that are missing from old kernels or from
/// the lists of calls which filters let through.
const NEWER: [libc::c_long; 9] = [
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_sched_getattr,
    libc::SYS_sched_setattr,
    libc::SYS_sched_getaffinity,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_epoll_pwait2,
    libc::SYS_close_range,
];

/// Timers, sockets and a child process, beside tasks that compute, so that the watchdog and spares work, too.
async fn all_of_it() {
    let ended = Arc::new(AtomicBool::new(false));
    let computing: Vec<_> = (0..4)
        .map(|_| {
            let ended = ended.clone();
            liten::spawn(async move {
                while !ended.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_millis(2) {}
                    liten::task::yield_now().await;
                }
            })
        })
        .collect();
    for length in (1..=20).map(Duration::from_millis) {
        let begun = Instant::now();
        liten::time::sleep(length).await;
        assert!(begun.elapsed() >= length);
    }

    let (mut client, mut server) = tcp_pair().await;
    let data = pattern(1 << 20);
    let sent = data.clone();
    let sender = liten::spawn(async move {
        client.write_all(&sent).await.unwrap();
        client.close().await.unwrap();
    });
    let mut received = Vec::new();
    server.read_to_end(&mut received).await.unwrap();
    sender.await.unwrap();
    assert!(received == data);

    let output = Command::new("echo").arg("hello").output().await.unwrap();
    assert_eq!(output.stdout, b"hello\n");
    let mut child = Command::new("sleep").arg("100").stdin(Stdio::null()).spawn().unwrap();
    child.kill().await.unwrap();
    assert!(!child.wait().await.unwrap().success());

    let metrics = Handle::current().metrics();
    assert!(metrics.cpu_limits().to_string().contains("processor"));
    ended.store(true, Ordering::Relaxed);
    for task in computing {
        task.await.unwrap();
    }
}

fn works_without(test: &str, error: libc::c_int) {
    guarded(|| {
        alone(&format!("runtime::filtered_calls::{test}"), || {
            NEWER.into_iter().for_each(|call| refuse_with(call, error));
            workers(2).block_on(bounded(all_of_it()));
        });
    });
}

#[test]
fn all_of_it_works_where_newer_calls_are_not_known() {
    works_without("all_of_it_works_where_newer_calls_are_not_known", libc::ENOSYS);
}

#[test]
fn all_of_it_works_where_newer_calls_are_not_allowed() {
    works_without("all_of_it_works_where_newer_calls_are_not_allowed", libc::EPERM);
}
