//! In which function of the program a thread is blocked.

use super::culprits::{page_of, until_said};
use super::requests::body;
use crate::support::guard::{guarded, until, workers};
use liten::insight::{BlockedCall, Finding};
use liten::runtime::{Handle, LocalRuntime};
use liten::task::spawn_local;
use liten::time::sleep;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Looks until a finding has a call.
fn found(handle: &Handle, call: impl Fn(&Finding) -> Option<BlockedCall>) -> (BlockedCall, String) {
    let began = Instant::now();
    loop {
        let dump = handle.dump();
        let mut findings = dump.findings().into_iter();
        if let Some(found) =
            findings.find_map(|found| call(&found).map(|call| (call, found.to_string())))
        {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{dump}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn assert_is(call: &BlockedCall, sentence: &str, function: &str, callee: &str) {
    assert!(call.function().ends_with(function), "{call:?}");
    assert!(call.callee().is_some_and(|name| name.contains(callee)), "{call:?}");
    assert!(sentence.contains(&format!(", called by {call}")), "{sentence}");
    // Without debug information there are names alone.
    if let Some(file) = call.file() {
        assert!(file.ends_with("blocked_calls.rs") && call.line().is_some(), "{call:?}");
    }
}

#[inline(never)]
fn writes_the_log(log: &Mutex<u32>) {
    *log.lock().unwrap() += 1;
}

#[test]
fn a_worker_that_waits_for_a_lock_is_told_with_the_function_that_locks() {
    let runtime = workers(2);
    let log = Arc::new(Mutex::new(0));
    let held = log.lock().unwrap();
    let of_task = log.clone();
    let task = runtime.spawn(async move { writes_the_log(&of_task) });
    let (call, sentence) = found(runtime.handle(), |finding| match finding {
        Finding::BlockedWorker { call, .. } => call.clone(),
        _ => None,
    });
    drop(held);
    runtime.block_on(task).unwrap();
    assert_is(&call, &sentence, "writes_the_log", "lock");
}

#[inline(never)]
fn waits_for_the_end(end: &Mutex<()>) {
    drop(end.lock());
}

#[test]
fn an_old_job_is_told_with_the_function_that_it_is_in() {
    let runtime = workers(2);
    let end = Arc::new(Mutex::new(()));
    let (stop, theirs) = (end.lock().unwrap(), end.clone());
    let job = runtime.spawn_blocking(move || waits_for_the_end(&theirs));
    // It is told because a task waits for its end, and it waits for a lock.
    let job = runtime.spawn(async move { job.await.unwrap() });
    let (call, sentence) = found(runtime.handle(), |finding| match finding {
        Finding::OldJob { oldest, .. } => oldest.call(),
        _ => None,
    });
    drop(stop);
    runtime.block_on(job).unwrap();
    assert_is(&call, &sentence, "waits_for_the_end", "lock");
}

#[inline(never)]
fn reads_the_device(mut device: UnixStream) {
    _ = device.read(&mut [0; 8]);
}

#[test]
fn a_task_that_keeps_the_only_thread_is_told_with_the_function_that_reads() {
    guarded(|| {
        let (device, end) = UnixStream::pair().unwrap();
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            let runtime = LocalRuntime::new().unwrap();
            tell.send(runtime.handle().clone()).unwrap();
            runtime
                .block_on(async { spawn_local(async { reads_the_device(device) }).await.unwrap() });
        });
        let page = page_of(&told.recv().unwrap());
        until_said(
            &page,
            &["has kept the thread of its executor", ", called by ", "reads_the_device"],
        );
        drop(end);
        thread.join().unwrap();
    });
}

/// Holds the lock until the other side of the device says something. Returns whether it has.
#[inline(never)]
fn reports(log: &Mutex<u32>, mut device: &UnixStream) -> bool {
    let _held = log.lock().unwrap();
    device.read(&mut [0]).is_ok_and(|count| count > 0)
}

/// Beside one that is in the same system call all the time.
#[test]
fn a_job_that_has_held_the_lock_of_slow_polls_is_told_with_what_it_did() {
    guarded(|| {
        let runtime = workers(2);
        let page = page_of(runtime.handle());
        let log = Arc::new(Mutex::new(0));
        let ((device, mut other_side), (idle, end)) =
            (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        let of_job = log.clone();
        let jobs = [
            runtime.spawn_blocking(move || {
                while reports(&of_job, &device) {
                    thread::sleep(Duration::from_millis(100));
                }
            }),
            runtime.spawn_blocking(move || reads_the_device(idle)),
        ];
        let task = runtime.spawn(async move {
            loop {
                writes_the_log(&log);
                sleep(Duration::from_millis(5)).await;
            }
        });
        until(|| {
            // For so long the job holds the lock.
            thread::sleep(Duration::from_millis(400));
            other_side.write_all(&[1]).unwrap();
            let text = body(&page, "/text");
            let held =
                text.split_once(", and went on when the poll did: perhaps it held the lock: ");
            held.is_some_and(|(_, does)| does.lines().next().unwrap().contains("reports"))
        });
        task.abort();
        drop((other_side, end));
        for job in jobs {
            runtime.block_on(job).unwrap();
        }
    });
}

/// Computes until `end`, and does so in no other function.
#[inline(never)]
fn computes(end: &AtomicBool) -> u64 {
    let mut sum = 0_u64;
    while !end.load(Ordering::Relaxed) {
        // The clock is no system call here. Sanitizers let signals come when such a function is called.
        sum = sum.wrapping_add(u64::from(Instant::now().elapsed().subsec_nanos()));
    }
    sum
}

#[test]
fn a_worker_that_computes_is_told_with_the_function_that_it_is_seen_in() {
    let runtime = workers(2);
    let end = Arc::new(AtomicBool::new(false));
    let of_task = end.clone();
    let task = runtime.spawn(async move { computes(&of_task) });
    let (call, sentence) = found(runtime.handle(), |finding| match finding {
        Finding::BlockedWorker { call, .. } => call.clone(),
        _ => None,
    });
    end.store(true, Ordering::Relaxed);
    runtime.block_on(task).unwrap();
    assert!(call.function().ends_with("computes"), "{call:?}");
    // What it calls at that moment comes behind the function.
    let (_, seen) = sentence.split_once(", seen in ").expect(&sentence);
    assert!(seen.starts_with(call.function()), "{seen}");
}
