//! What ends: loops over what is always ready, and what would wait for itself.

use crate::{current_thread, message};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::runtime::{Builder, LocalRuntime, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub(crate) fn keep_all() {
    ends(a_loop_over_a_passed_deadline_lets_a_sender_run());
    ends(a_loop_over_a_sleep_that_has_elapsed_lets_a_task_run());
    ends(a_timeout_stays_elapsed());
    ends(an_operation_that_was_interrupted_is_not_repeated());
    ends(a_runtime_that_is_dropped_in_async_code_waits_for_nothing());
    ends(tasks_of_a_set_come_in_the_order_of_their_ends());
    ends(a_task_with_a_hundred_ready_channels_lets_others_run());
    a_duration_beyond_the_clock_is_no_limit();
}

/// As a map of streams asks them: each of them once, until one has something.
async fn a_task_with_a_hundred_ready_channels_lets_others_run() {
    let mut channels: Vec<_> = (0..100).map(|_| mpsc::unbounded_channel()).collect();
    for number in 0..100_000 {
        channels[number % 100].0.send(number).expect("it is open");
    }
    let other = tokio::spawn(async {});
    let mut taken = 0;
    while !other.is_finished() {
        poll_fn(|cx| {
            let ready = channels.iter_mut().any(|(_, channel)| channel.poll_recv(cx).is_ready());
            if ready { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        taken += 1;
        assert!(taken <= 1_000, "the task has not yielded");
    }
}

/// It needs no runtime, and a clock that stands still does not jump to its end.
fn a_duration_beyond_the_clock_is_no_limit() {
    let mut paused = Builder::new_current_thread();
    paused.enable_all().start_paused(true).build().expect("a runtime").block_on(async {
        let centuries = Duration::from_secs(60 * 60 * 24 * 365 * 200);
        assert!(timeout(Duration::MAX, sleep(centuries)).await.is_ok());
    });
    let unlimited = timeout(Duration::MAX, pending::<()>());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pin!(unlimited).poll(&mut cx).is_pending());
}

/// Runs it to its end, on a thread of its own, because it may never yield.
fn ends(test: impl Future<Output = ()> + Send + 'static) {
    let (done, is_done) = channel();
    let thread = thread::spawn(move || {
        current_thread().block_on(test);
        done.send(()).expect("it is waited for");
    });
    if is_done.recv_timeout(Duration::from_secs(30)).is_ok() || thread.is_finished() {
        thread.join().expect("no panic");
    } else {
        panic!("it turns for ever");
    }
}

async fn a_loop_over_a_passed_deadline_lets_a_sender_run() {
    let past = Instant::now();
    sleep(Duration::from_millis(20)).await;
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(async move { sender.send(()).await });
    while timeout_at(past, receiver.recv()).await.is_err() {}
    // A future that uses the budget up before it returns is timed out all the same.
    let greedy = poll_fn(|cx| {
        while let Poll::Ready(()) = pin!(tokio::task::consume_budget()).poll(cx) {}
        Poll::<()>::Pending
    });
    assert!(timeout(Duration::from_millis(20), greedy).await.is_err());
}

async fn a_loop_over_a_sleep_that_has_elapsed_lets_a_task_run() {
    let mut elapsed = pin!(sleep(Duration::from_millis(1)));
    elapsed.as_mut().await;
    let task = tokio::spawn(async {});
    while !task.is_finished() {
        elapsed.as_mut().await;
    }
}

async fn a_timeout_stays_elapsed() {
    let mut late = Box::pin(timeout(Duration::from_millis(5), pending::<()>()));
    let first = late.as_mut().await;
    let second = poll_fn(|cx| Poll::Ready(late.as_mut().poll(cx))).await;
    assert!(first.is_err() && matches!(second, Poll::Ready(Err(_))));
}

async fn a_runtime_that_is_dropped_in_async_code_waits_for_nothing() {
    for limit in [None, Some(Duration::from_secs(3600))] {
        let (end, may_end) = channel::<()>();
        let runtime = Runtime::new().expect("a runtime");
        runtime.spawn_blocking(move || may_end.recv());
        let end_it = || match limit {
            None => drop(runtime),
            Some(limit) => runtime.shutdown_timeout(limit),
        };
        assert!(message(end_it).starts_with("Cannot drop a runtime"));
        drop(end);
    }
    let (end, may_end) = channel::<()>();
    let local = LocalRuntime::new().expect("a runtime");
    local.spawn_blocking(move || may_end.recv());
    assert!(message(|| drop(local)).starts_with("Cannot drop a runtime"));
    drop(end);
}

async fn tasks_of_a_set_come_in_the_order_of_their_ends() {
    let mut set = JoinSet::new();
    set.spawn(async {
        sleep(Duration::from_millis(20)).await;
        'a'
    });
    set.spawn(async { 'b' });
    sleep(Duration::from_millis(50)).await;
    assert_eq!(set.join_all().await, ['b', 'a']);
}

async fn an_operation_that_was_interrupted_is_not_repeated() {
    let (one, _other) = UnixStream::pair().expect("a pair");
    let mut calls = 0;
    let interrupted = one.async_io(tokio::io::Interest::WRITABLE, || {
        calls += 1;
        Err::<(), _>(std::io::ErrorKind::Interrupted.into())
    });
    let error = interrupted.await.expect_err("it was passed on");
    assert_eq!((error.kind(), calls), (std::io::ErrorKind::Interrupted, 1));
}
