//! Signals interrupt the system calls of all threads again and again; nothing notices.
//!
//! On Linux, a process that is stopped and continued finds its calls in the poller interrupted, although it
//! has no handler for any signal. A handler that was installed without `SA_RESTART` interrupts all other
//! calls too.

#![allow(unsafe_code)]

use crate::support::guard::{guarded, named, workers};
use crate::support::loopback::{pattern, tcp_pair};
use crate::support::process::{alone, child, is_child, threads};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::LocalRuntime;
use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many interruptions the child waits for.
const ENOUGH: usize = 50;

#[test]
fn a_storm_of_signals_disturbs_nothing() {
    guarded(|| {
        if is_child() {
            return work_until_disturbed_enough();
        }
        let mut child =
            child("signals::interrupted_calls::a_storm_of_signals_disturbs_nothing", &[]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Ends by itself when the process is gone.
        let storm = "while kill -STOP $0 2>/dev/null; do kill -CONT $0; sleep 0.001; done";
        let mut sender =
            Command::new("sh").args(["-c", storm, &child.id().to_string()]).spawn().unwrap();
        let status = child.wait().unwrap();
        sender.kill().unwrap();
        sender.wait().unwrap();
        assert!(status.success());
    });
}

/// A poller of our own, to know that the signals arrive: mio does not hide that a poll was interrupted.
fn count_interruptions(count: Arc<AtomicUsize>) {
    let mut poll = mio::Poll::new().unwrap();
    let mut events = mio::Events::with_capacity(1);
    while count.load(Ordering::SeqCst) < ENOUGH {
        match poll.poll(&mut events, Some(Duration::from_secs(30))) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                count.fetch_add(1, Ordering::SeqCst)
            }
            other => panic!("not interrupted: {other:?}"),
        };
    }
}

extern "C" fn do_nothing(_: libc::c_int) {}

/// From now on the signal interrupts what the thread that it is sent to is doing.
fn handle(signal: libc::c_int) {
    // SAFETY: all zero is a valid action without flags; a function that does nothing may be called anywhere.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = do_nothing as *const () as usize;
        libc::sigaction(signal, &action, std::ptr::null_mut())
    };
    assert_eq!(installed, 0);
}

/// Sends the signal to one thread of this process, if it is still there.
fn send(signal: libc::c_int, thread: u32) {
    // SAFETY: the signal has a handler, and a thread that does not exist is an error and nothing else.
    unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, signal) };
}

/// Every thread: workers that park and workers that poll, the driver's, those of the blocking pool, roots.
#[test]
fn handlers_that_interrupt_every_thread_disturb_nothing() {
    let body = || {
        handle(libc::SIGUSR1);
        let (runtime, count) = (named(3, "sig"), Arc::new(AtomicUsize::new(0)));
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let counted = Arc::clone(&count);
        let counting = thread("sig-count").spawn(move || count_interruptions(counted)).unwrap();
        let (handle, theirs) = (runtime.handle().clone(), Arc::clone(&count));
        let root = thread("sig-root").spawn(move || handle.block_on(work(theirs))).unwrap();
        let tasks: Vec<_> = (0..2).map(|_| runtime.spawn(work(Arc::clone(&count)))).collect();
        while !(counting.is_finished() && root.is_finished()) {
            for thread in threads("sig") {
                send(libc::SIGUSR1, thread.id);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        root.join().unwrap();
        counting.join().unwrap();
    };
    let test = "signals::interrupted_calls::handlers_that_interrupt_every_thread_disturb_nothing";
    guarded(|| alone(test, body));
}

fn work_until_disturbed_enough() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let counting = std::thread::spawn(move || count_interruptions(counted));
    let theirs = Arc::clone(&count);
    let local = std::thread::spawn(move || {
        LocalRuntime::new().unwrap().block_on(work(theirs));
    });
    workers(2).block_on(async { liten::spawn(work(count)).await.unwrap() });
    local.join().unwrap();
    counting.join().unwrap();
}

async fn work(count: Arc<AtomicUsize>) {
    let data = pattern(100_000);
    while count.load(Ordering::SeqCst) < ENOUGH {
        let (mut client, mut server) = tcp_pair().await;
        let mut received = vec![0; data.len()];
        let (sent, got) = liten::join!(client.write_all(&data), server.read_exact(&mut received));
        sent.unwrap();
        got.unwrap();
        assert!(received == data, "the bytes differ");
        let start = Instant::now();
        liten::time::sleep(Duration::from_millis(2)).await;
        assert!(start.elapsed() >= Duration::from_millis(2));
        assert_eq!(liten::spawn_blocking(|| 42).await.unwrap(), 42);
    }
}
