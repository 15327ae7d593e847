//! Models of the queue: every job is run, cancelled or given back, exactly once, and every thread ends.
//!
//! loom knows no time. A timeout is a wait that gives up the lock and takes it again, which is what a wait
//! looks like whose time is over at once; loom puts everything that can happen in between in between.
//!
//! Where a thread waits without a timeout, the last job closes the queue. So a lost signal shows as a
//! deadlock: nothing else would ever end that thread.

use super::Job;
use super::LockedState;
use super::pool_state::Submitted;
use crate::engine::sync_shim::{Arc, both_ways, thread};
// Not loom's: the counts are read after every thread was joined, and each modelled access multiplies the
// states.
use std::sync::atomic::{AtomicUsize, Ordering};

struct Model {
    locked: LockedState<Counted>,
    /// The number of jobs; the last of them closes the queue.
    close_after: usize,
    /// The close cancels no job that was queued.
    must_run: bool,
    run: AtomicUsize,
    cancelled: AtomicUsize,
    refused: AtomicUsize,
}

struct Counted {
    model: Arc<Model>,
    must_run: bool,
}

impl Job for Counted {
    fn run(self) {
        if self.model.run.fetch_add(1, Ordering::Relaxed) + 1 == self.model.close_after {
            self.model.locked.close();
        }
    }

    fn cancel(self) {
        self.model.cancelled.fetch_add(1, Ordering::Relaxed);
    }

    fn must_run(&self) -> bool {
        self.must_run
    }
}

#[derive(Clone, Copy)]
enum Patience {
    /// Waits for a signal.
    Endless,
    /// Waits for a signal, but its time is over when it comes.
    Late,
    /// Every wait times out.
    None,
}

impl Model {
    fn new(max_threads: usize, close_after: usize) -> Arc<Self> {
        Self::with(max_threads, close_after, false)
    }

    fn with(max_threads: usize, close_after: usize, must_run: bool) -> Arc<Self> {
        Arc::new(Self {
            locked: LockedState::new(max_threads),
            close_after,
            must_run,
            run: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        })
    }

    /// A thread of the pool.
    fn serve(&self, patience: Patience) {
        let locked = &self.locked;
        locked.serve(|mut state| match patience {
            Patience::Endless => {
                locked.work.wait(&mut state);
                (state, false)
            }
            Patience::Late => {
                locked.work.wait(&mut state);
                (state, true)
            }
            Patience::None => {
                drop(state);
                (locked.state.lock(), true)
            }
        });
    }

    /// How many jobs were run, cancelled and refused; checks that nothing is left.
    fn ends(&self) -> [usize; 3] {
        assert!(self.locked.wait_for_threads(0, None));
        let state = self.locked.state.lock();
        let counts = state.counts(|_| ());
        assert_eq!((counts.threads, counts.idle_threads, counts.queued), (0, 0, 0));
        assert!(state.has_no_job());
        [&self.run, &self.cancelled, &self.refused].map(|count| count.load(Ordering::Relaxed))
    }
}

/// Submits as `Pool::spawn` does; returns the thread if it started one.
fn submit(model: &Arc<Model>, patience: Patience) -> Option<thread::JoinHandle<()>> {
    submit_one(model, patience, model.must_run)
}

fn submit_one(
    model: &Arc<Model>,
    patience: Patience,
    must_run: bool,
) -> Option<thread::JoinHandle<()>> {
    let mut state = model.locked.state.lock();
    match state.submit(Counted { model: model.clone(), must_run }) {
        Submitted::Signal => {
            model.locked.work.notify_one();
        }
        Submitted::Queued => {}
        Submitted::Start(_) => {
            let model = model.clone();
            return Some(thread::spawn(move || model.serve(patience)));
        }
        Submitted::Closed(_) => {
            model.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
    None
}

/// The second job comes while the only thread waits, times out, or has ended: it is run in every case.
#[test]
fn a_job_and_the_end_of_the_idle_time_at_once() {
    loom::model(|| {
        let model = Model::new(1, usize::MAX);
        let first = submit(&model, Patience::None).expect("the first job starts a thread");
        let second = submit(&model, Patience::None);
        first.join().expect("no panic");
        if let Some(second) = second {
            second.join().expect("no panic");
        }
        assert_eq!(model.ends(), [2, 0, 0]);
    });
}

/// A signal goes to a thread whose idle time is over at that moment, while another one sleeps on.
#[test]
fn a_signal_that_meets_a_timeout_is_not_lost() {
    let mut builder = loom::model::Builder::new();
    // Without a bound this one takes fifteen seconds; two preemptions suffice to lose a signal.
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let model = Model::new(2, 3);
        let first = submit(&model, Patience::Late).expect("the first job starts a thread");
        let second = submit(&model, Patience::Endless);
        let third = submit(&model, Patience::Endless);
        for thread in [Some(first), second, third].into_iter().flatten() {
            thread.join().expect("no panic");
        }
        assert_eq!(model.ends(), [3, 0, 0]);
    });
}

/// Two callers and one thread that never times out: nothing but their signals can bring it to the jobs.
#[test]
fn two_callers_and_one_sleeping_thread() {
    loom::model(|| {
        let model = Model::new(1, 3);
        let first = submit(&model, Patience::Endless).expect("the first job starts a thread");
        let other = {
            let model = model.clone();
            thread::spawn(move || assert!(submit(&model, Patience::Endless).is_none()))
        };
        assert!(submit(&model, Patience::Endless).is_none());
        other.join().expect("no panic");
        first.join().expect("no panic");
        assert_eq!(model.ends(), [3, 0, 0]);
    });
}

/// A job, a close and a waiting thread: one end for the job, and the thread is gone when the wait is over.
#[test]
fn a_job_and_the_close_at_once() {
    loom::model(|| {
        let model = Model::new(1, usize::MAX);
        let first = submit(&model, Patience::Endless).expect("the first job starts a thread");
        let closer = {
            let model = model.clone();
            thread::spawn(move || {
                model.locked.close();
                assert!(model.locked.wait_for_threads(0, None));
            })
        };
        assert!(submit(&model, Patience::Endless).is_none());
        closer.join().expect("no panic");
        first.join().expect("no panic");
        assert_eq!(model.ends().iter().sum::<usize>(), 2);
    });
}

/// As above, with jobs that must run: what was queued is run by the thread that is there, which ends then,
/// and a caller that waits for the thread has waited for the jobs.
#[test]
fn a_job_that_must_run_and_the_close_at_once() {
    loom::model(|| {
        let model = Model::with(1, usize::MAX, true);
        let first = submit(&model, Patience::Endless).expect("the first job starts a thread");
        let closer = {
            let model = model.clone();
            thread::spawn(move || {
                model.locked.close();
                assert!(model.locked.wait_for_threads(0, None));
                model.run.load(Ordering::Relaxed)
            })
        };
        assert!(submit(&model, Patience::Endless).is_none());
        let waited_for = closer.join().expect("no panic");
        first.join().expect("no panic");
        let [run, cancelled, refused] = model.ends();
        assert_eq!((run + refused, cancelled, waited_for), (2, 0, run));
    });
}

/// Two jobs are queued at the close, of which one must run. The thread that was busy runs that one and
/// cancels the other; a caller that waits for the thread has waited for both.
#[test]
fn what_is_queued_at_the_close_is_cancelled_by_a_thread() {
    loom::model(|| {
        let model = Model::with(1, usize::MAX, false);
        let first = submit(&model, Patience::Endless).expect("the first job starts a thread");
        for must_run in [true, false] {
            assert!(submit_one(&model, Patience::Endless, must_run).is_none());
        }
        model.locked.close();
        let [run, cancelled, refused] = model.ends();
        assert!(run >= 1, "the job that must run");
        assert_eq!((run + cancelled, refused), (3, 0));
        first.join().expect("no panic");
    });
}

/// The only thread dies at the close, with jobs that were left for it, one of which must run: all are
/// cancelled.
#[test]
fn a_thread_that_dies_at_the_close_leaves_no_job() {
    loom::model(|| {
        let model = Model::with(1, usize::MAX, true);
        let mut state = model.locked.state.lock();
        let started = state.submit(Counted { model: model.clone(), must_run: true });
        assert!(matches!(started, Submitted::Start(_)));
        drop(state);
        assert!(submit_one(&model, Patience::Endless, false).is_none());
        let dying = {
            let model = model.clone();
            thread::spawn(move || model.locked.abandon())
        };
        model.locked.close();
        dying.join().expect("no panic");
        assert_eq!(model.ends(), [0, 2, 0]);
    });
}

/// The only thread dies before it takes a job (a callback of the user's panicked) while another job is queued
/// in trust of it: that job is cancelled, or gets a thread of its own.
#[test]
fn a_dying_thread_takes_no_job_along() {
    both_ways(|way| {
        let model = Model::new(1, usize::MAX);
        let mut state = model.locked.state.lock();
        let started = state.submit(Counted { model: model.clone(), must_run: false });
        assert!(matches!(started, Submitted::Start(_)));
        drop(state);
        let dying = {
            let model = model.clone();
            thread::spawn(move || model.locked.abandon())
        };
        way.here();
        let second = submit(&model, Patience::None);
        dying.join().expect("no panic");
        if let Some(second) = second {
            second.join().expect("no panic");
        }
        assert_eq!(model.ends().iter().sum::<usize>(), 2);
    });
}

/// Two threads end at once, and a third one waits for both: it sees the later one go.
#[test]
fn a_wait_for_the_threads_ends_with_the_last_one() {
    loom::model(|| {
        let model = Model::new(2, usize::MAX);
        let threads = [(); 2].map(|()| submit(&model, Patience::None));
        assert!(model.locked.wait_for_threads(0, None));
        for thread in threads.into_iter().flatten() {
            thread.join().expect("no panic");
        }
        assert_eq!(model.ends(), [2, 0, 0]);
    });
}
