//! Models of blocking work as tasks.

use super::*;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{both_ways, thread};
use std::panic::Location;
use std::task::Waker;

fn job<T: Send + 'static>(
    f: impl FnOnce() -> T + Send + 'static,
) -> (BlockingJob, JoinHandle<T>, Arc<BlockingTasks>) {
    let tasks = BlockingTasks::new();
    let (task, join) = new_send_task(Once(Some(f)), &tasks, Location::caller());
    (BlockingJob::new(task, &tasks, false), join, tasks)
}

/// A job is aborted while a thread of the pool starts it: it has run, and its handle has what it returned,
/// or it has not, and its handle says so. Nothing asks its scheduler, which has no queue.
#[test]
fn an_aborted_job_has_run_or_says_that_it_has_not() {
    both_ways(|way| {
        let ran = Arc::new(AtomicBool::new(false));
        let seen = ran.clone();
        let (job, mut join, _tasks) = job(move || seen.store(true, Ordering::Relaxed));
        let pool_thread = thread::spawn(move || job.run());
        way.here();
        join.abort();
        pool_thread.join().expect("no panic");
        match Pin::new(&mut join).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => assert!(ran.load(Ordering::Relaxed)),
            Poll::Ready(Err(error)) => {
                assert!(error.is_cancelled() && !ran.load(Ordering::Relaxed));
            }
            Poll::Pending => panic!("the job has ended"),
        }
    });
}
