//! What runs before what, and when timers are due.

use crate::{current_thread, paused, show};
use std::cell::RefCell;
use std::future::pending;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::LocalRuntime;
use tokio::task::{JoinSet, LocalSet, spawn_local, yield_now};
use tokio::time::{Instant, advance, sleep};

pub(crate) fn show_all() {
    yields();
    sleep_of_parts_of_a_millisecond();
    return_of_advance();
    spawn_local_in_a_set();
}

fn words(list: &[u32]) -> String {
    list.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn yields() {
    let order = current_thread().block_on(async {
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        for number in 1..=3 {
            let order = order.clone();
            tasks.spawn(async move {
                yield_now().await;
                order.lock().expect("no panic").push(number);
            });
        }
        while tasks.join_next().await.is_some() {}
        words(&order.lock().expect("no panic"))
    });
    show("yields", order);
}

/// With the clock paused, so that it says when the timer was due.
fn sleep_of_parts_of_a_millisecond() {
    let slept = paused().block_on(async {
        let begin = Instant::now();
        sleep(Duration::from_micros(1_500)).await;
        begin.elapsed().as_micros()
    });
    show("sleep_of_parts_of_a_millisecond", format!("1500 µs took {slept} µs"));
}

fn return_of_advance() {
    let has_run = paused().block_on(async {
        let has_run = Arc::new(AtomicBool::new(false));
        let runs = has_run.clone();
        drop(tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            // A task that this wakes in turn would be later still.
            runs.store(true, Ordering::Relaxed);
        }));
        yield_now().await;
        advance(Duration::from_secs(2)).await;
        has_run.load(Ordering::Relaxed)
    });
    show("return_of_advance", if has_run { "after the task" } else { "before the task" });
}

/// Into the set, whose end drops the task, or into the runtime, which goes on.
fn spawn_local_in_a_set() {
    struct Says(Rc<RefCell<bool>>);

    impl Drop for Says {
        fn drop(&mut self) {
            *self.0.borrow_mut() = true;
        }
    }

    let runtime = LocalRuntime::new().expect("a runtime");
    let is_dropped = Rc::new(RefCell::new(false));
    let says = Says(is_dropped.clone());
    let set = LocalSet::new();
    runtime.block_on(set.run_until(async move {
        let task = spawn_local(async move {
            drop(spawn_local(async move {
                let _says = says;
                pending::<()>().await;
            }));
        });
        task.await.expect("no panic");
        yield_now().await;
    }));
    drop(set);
    let place = if *is_dropped.borrow() { "into the set" } else { "into the runtime" };
    show("spawn_local_in_a_set", place);
}
