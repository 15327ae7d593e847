//! What is left of children when their runtime ends; and values of a `watch` channel that are borrowed twice.

use crate::current_thread;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::process::Command;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::yield_now;

pub(crate) fn keep_all() {
    a_child_that_the_end_of_its_runtime_kills_leaves_nothing();
    a_value_can_be_borrowed_twice_while_a_sender_waits();
}

/// Without any further call that has to do with children. Does not hold on tokio, where it stays a zombie.
fn a_child_that_the_end_of_its_runtime_kills_leaves_nothing() {
    let workers = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    for runtime in [current_thread(), workers.expect("a runtime")] {
        let mut child = {
            let _entered = runtime.enter();
            Command::new("sleep").arg("100").kill_on_drop(true).spawn().expect("a child")
        };
        let process = format!("/proc/{}", child.id().expect("it lives"));
        drop(runtime.spawn(async move { child.wait().await }));
        runtime.block_on(yield_now());
        drop(runtime);
        let begin = Instant::now();
        while fs::exists(&process).expect("it can be asked") {
            assert!(begin.elapsed() < Duration::from_secs(20), "a zombie");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Does not hold on tokio, where the second borrow waits for the sender, and the sender for the first one.
fn a_value_can_be_borrowed_twice_while_a_sender_waits() {
    let (sender, receiver) = watch::channel(0_u64);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                sender.send_modify(|value| *value += 1);
            }
        });
        for _ in 0..1_000 {
            let first = receiver.borrow();
            thread::yield_now();
            assert_eq!(*first, *receiver.borrow());
        }
        stop.store(true, Ordering::Relaxed);
    });
}
