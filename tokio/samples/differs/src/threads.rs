//! Workers, their threads and their numbers.

use crate::{WHILE, one_worker, show, text_or_panic};
use rustix::process::Signal;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::runtime::Builder;
use tokio::task::block_in_place;

pub(crate) fn show_all() {
    thread_names();
    a_blocked_worker();
    thread_of_a_child();
    worker_numbers();
    event_interval();
}

fn thread_names() {
    let name = async { thread::current().name().unwrap_or("none").to_owned() };
    let runtime = one_worker();
    show("thread_names", runtime.block_on(runtime.spawn(name)).expect("no panic"));
}

/// Whether the one worker runs another task meanwhile.
fn a_blocked_worker() {
    let runtime = one_worker();
    let has_run = Arc::new(AtomicBool::new(false));
    let seen = has_run.clone();
    let blocks = runtime.spawn(async move {
        let runs = seen.clone();
        drop(tokio::spawn(async move { runs.store(true, Ordering::Relaxed) }));
        thread::sleep(WHILE);
        seen.load(Ordering::Relaxed)
    });
    let meanwhile = runtime.block_on(blocks).expect("no panic");
    show("a_blocked_worker", if meanwhile { "others run" } else { "others wait" });
}

/// The child asks to die with the thread that has started it, which has been in `block_in_place`.
fn thread_of_a_child() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).thread_keep_alive(WHILE / 10).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let started = runtime.spawn(async {
        block_in_place(|| thread::sleep(WHILE / 3));
        let mut command = Command::new("sleep");
        command.arg("100").kill_on_drop(true);
        // SAFETY: one system call, which may be made after a fork.
        unsafe {
            command.pre_exec(|| {
                rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
                Ok(())
            });
        }
        command.spawn().expect("a child")
    });
    let ended = runtime.block_on(async {
        let mut child = started.await.expect("no panic");
        tokio::time::sleep(2 * WHILE).await;
        child.try_wait().expect("it can be asked").is_some()
    });
    show("thread_of_a_child", if ended { "the child has died" } else { "the child lives" });
}

fn worker_numbers() {
    let runtime = one_worker();
    let steals = || runtime.metrics().worker_total_busy_duration(7).as_nanos();
    show("worker_numbers", text_or_panic(steals));
}

/// Whether a task that wakes itself for so long that `event_interval` is never over keeps a socket waiting.
fn event_interval() {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.event_interval(u32::MAX).enable_all().build().expect("a runtime");
    let is_read = Arc::new(AtomicBool::new(false));
    let seen = is_read.clone();
    let was_read = runtime.block_on(async move {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        let reader = tokio::spawn(async move {
            ours.read_u8().await.expect("a byte");
            is_read.store(true, Ordering::Relaxed);
        });
        // It waits by then.
        tokio::time::sleep(Duration::from_millis(10)).await;
        theirs.try_write(b"x").expect("there is room");
        let begin = Instant::now();
        let turns = tokio::spawn(poll_fn(move |cx| {
            if seen.load(Ordering::Relaxed) || begin.elapsed() > WHILE {
                return Poll::Ready(seen.load(Ordering::Relaxed));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        let was_read = turns.await.expect("no panic");
        reader.await.expect("no panic");
        was_read
    });
    show("event_interval", if was_read { "the socket is read" } else { "the socket waits" });
}
