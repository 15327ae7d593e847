//! How long a task is ready before a poll.

use crate::current_thread;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

pub(crate) fn all() {
    a_task_that_is_woken_while_it_runs();
    a_timer_whose_runtime_has_ended();
}

/// With the other kind of timers it is ready, and a task that waits for it is woken.
fn a_timer_whose_runtime_has_ended() {
    let build = || {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).enable_alt_timer().build().unwrap()
    };
    let plain = current_thread();
    for end in [drop, Runtime::shutdown_background] {
        let runtime = build();
        let timer =
            runtime.spawn(async { Box::pin(tokio::time::sleep(Duration::from_secs(3600))) });
        let timer = plain.block_on(timer).unwrap();
        let waits = plain.spawn(timer);
        plain.block_on(tokio::task::yield_now());
        end(runtime);
        println!("the timer of a runtime that has ended {:?}", plain.block_on(waits));
    }
}

/// It is ready from the end of that poll on.
fn a_task_that_is_woken_while_it_runs() {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let told = waits.clone();
    let runtime = Builder::new_current_thread()
        .track_task_schedule_latency()
        .on_before_task_poll(move |task| told.lock().unwrap().push(task.schedule_latency()))
        .build()
        .unwrap();
    let rest = runtime.block_on(async {
        let mut rest = None;
        let task = poll_fn(move |cx| match rest {
            Some(rest) => Poll::Ready(rest),
            None => {
                cx.waker().wake_by_ref();
                let woken = Instant::now();
                std::thread::sleep(Duration::from_millis(300));
                rest = Some(woken.elapsed());
                Poll::Pending
            }
        });
        tokio::spawn(task).await.unwrap()
    });
    let waits = waits.lock().unwrap();
    let [_, Some(wait)] = waits[..] else { panic!("{waits:?}") };
    println!("the rest of the poll counts {}", wait >= rest);
}
