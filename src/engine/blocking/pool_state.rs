//! The queue and the counts of the pool: pure, so every decision can be tested without a thread.
//!
//! A thread of the pool is *busy* with one job or *free*. Free are also the threads that are on their way:
//! started but not yet here, or woken but not yet in possession of the lock. Each queued job needs one free
//! thread, or else a new one; which job goes to which thread is left open, so a thread that becomes free
//! takes the oldest job at once and a thread that was woken for it finds nothing and waits again.
//!
//! | transition | by | when | counts after | answer |
//! |---|---|---|---|---|
//! | `submit` | caller | closed | same | `Closed` |
//! |  |  | free > queued | queued + 1 | `Signal` |
//! |  |  | free ≤ queued, threads < max | queued + 1, free + 1, threads + 1 | `Start` |
//! |  |  | free ≤ queued, threads = max | queued + 1 | `Queued` |
//! | `not_started` | caller | after `Start` | free − 1, threads − 1 | the job, if alone or unable to wait |
//! | `next_step` | free thread | queued > 0 | queued − 1, free − 1 | `Run` |
//! |  |  | queued = 0, cancelled > 0 | cancelled − 1, free − 1 | `Cancel` |
//! |  |  | both 0, timed out or closed | free − 1, threads − 1 | `End` |
//! |  |  | both 0 otherwise | same | `Wait` |
//! | `finished` | busy thread | | free + 1 | one of the above follows |
//! | `close` | owner | closed | same | |
//! |  |  | otherwise | queued = the `free` oldest and what must run, cancelled = the others | |
//! | `take_cancelled` | busy thread | closed | cancelled = 0 | these jobs |
//! | `abandon` | dying free thread | | free − 1, threads − 1 | all jobs, if it was the last thread |
//!
//! Kept true: `free ≤ threads ≤ max`; no threads, no jobs (unless `abandon` hands them out).

use std::collections::VecDeque;

/// How many places for jobs stay when none waits.
const MOST_PLACES: usize = 64;

/// Work for one thread. Exactly one of the two methods is called, once.
///
/// Neither should panic: something waits for its outcome, which only the job knows. If one
/// does, the panic is caught and its payload lost, and the pool goes on.
pub(crate) trait Job: Send + 'static {
    /// Does the work, on a thread of the pool.
    fn run(self);

    /// Says that the work will never be done: on a thread of the pool, or on that of a caller whose job was
    /// not taken.
    fn cancel(self);

    /// Whether the job, once queued, is run even if the pool is closed before a thread takes it.
    fn must_run(&self) -> bool {
        false
    }

    /// Whether waiting for a thread that has another job would be waiting for ever.
    fn needs_a_thread(&self) -> bool {
        false
    }
}

pub(super) struct PoolState<J> {
    queue: VecDeque<J>,
    /// Jobs that were queued at the close and have yet to be cancelled.
    cancelled: VecDeque<J>,
    /// Threads that have been started, or are about to be, and have not been let go.
    threads: usize,
    /// Threads among these that have no job.
    free: usize,
    max: usize,
    /// How many threads have been started so far; numbers the next one.
    started: usize,
    closed: bool,
}

/// The next step of the caller of [`PoolState::submit`], before it gives up the lock.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Submitted<J> {
    /// Wake one waiting thread.
    Signal,
    /// Start a thread with this number, and call [`PoolState::not_started`] if that fails.
    Start(usize),
    /// Nothing: a busy thread will come for the job.
    Queued,
    /// Give the job back.
    Closed(J),
}

/// The next step of a free thread.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextStep<J> {
    /// Run the job, then call [`PoolState::finished`].
    Run(J),
    /// Cancel the job, then call [`PoolState::finished`].
    Cancel(J),
    /// Wait for a signal or for the end of the idle time.
    Wait,
    /// End. `PoolState` does not count on the thread any more.
    End,
}

/// All that the pool says of itself, in one look.
#[derive(Debug, Clone)]
pub(crate) struct PoolCounts<R> {
    /// The most threads that there may be.
    pub(crate) max_threads: usize,
    pub(crate) threads: usize,
    /// Those that have no job, and none coming.
    pub(crate) idle_threads: usize,
    /// Jobs that no thread has begun.
    pub(crate) queued: usize,
    /// Said of the job that has waited longest; `None` if none waits.
    pub(crate) first: Option<R>,
}

impl<J> PoolState<J> {
    pub(super) fn new(max: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            cancelled: VecDeque::new(),
            threads: 0,
            free: 0,
            max,
            started: 0,
            closed: false,
        }
    }

    pub(super) fn submit(&mut self, job: J) -> Submitted<J> {
        if self.closed {
            return Submitted::Closed(job);
        }
        self.queue.push_back(job);
        if self.free >= self.queue.len() {
            Submitted::Signal
        } else if self.threads < self.max {
            self.threads += 1;
            self.free += 1;
            self.started += 1;
            Submitted::Start(self.started - 1)
        } else {
            Submitted::Queued
        }
    }

    /// The thread asked for by the last [`submit`](Self::submit) could not be started. Returns its job if no
    /// thread is left to run it.
    ///
    /// `waits`: whether the job may wait for another thread.
    #[must_use]
    pub(super) fn not_started(&mut self, waits: bool) -> Option<J> {
        self.threads -= 1;
        self.free -= 1;
        self.started -= 1;
        if self.threads > 0 && waits {
            return None;
        }
        let job = self.queue.pop_back();
        debug_assert!(job.is_some(), "a thread is started for a job");
        debug_assert!(
            self.threads > 0 || self.queue.is_empty(),
            "jobs were queued without a thread"
        );
        job
    }

    /// A job comes before an end: a thread whose idle time is over, or that is told to end, looks at the
    /// queue first.
    pub(super) fn next_step(&mut self, timed_out: bool) -> NextStep<J> {
        if let Some(job) = self.queue.pop_front() {
            self.free -= 1;
            NextStep::Run(job)
        } else if let Some(job) = self.cancelled.pop_front() {
            self.free -= 1;
            NextStep::Cancel(job)
        } else {
            // A burst of jobs is over.
            self.queue.shrink_to(MOST_PLACES);
            if !timed_out && !self.closed {
                return NextStep::Wait;
            }
            self.free -= 1;
            self.threads -= 1;
            NextStep::End
        }
    }

    pub(super) fn finished(&mut self) {
        self.free += 1;
    }

    /// From here on nothing is queued. A job already assigned to a free thread counts as started and is kept:
    /// whether its thread had begun it by now was only a matter of speed. Jobs that `must_run` stay too, for
    /// the threads that are there (there is one, if there are jobs). The others are cancelled by threads that
    /// find nothing else, all of which end when there is nothing left. The caller wakes all waiting threads.
    pub(super) fn close(&mut self, must_run: impl Fn(&J) -> bool) {
        if self.closed {
            return;
        }
        self.closed = true;
        let waiting = self.queue.split_off(self.free.min(self.queue.len()));
        let (must, need_not): (VecDeque<J>, VecDeque<J>) = waiting.into_iter().partition(must_run);
        self.queue.extend(must);
        self.cancelled = need_not;
    }

    /// The jobs that are left to be cancelled, for a busy thread that does so in the place of its own end.
    pub(super) fn take_cancelled(&mut self) -> VecDeque<J> {
        std::mem::take(&mut self.cancelled)
    }

    /// A free thread exits early: it panicked, or ended without permission. Returns the jobs that no thread
    /// is left to run.
    #[must_use]
    pub(super) fn abandon(&mut self) -> VecDeque<J> {
        self.free -= 1;
        self.threads -= 1;
        if self.threads > 0 {
            return VecDeque::new();
        }
        let mut jobs = std::mem::take(&mut self.queue);
        jobs.append(&mut self.cancelled);
        jobs
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether no job is queued, being done or being cancelled.
    pub(super) fn has_no_job(&self) -> bool {
        self.queue.is_empty() && self.cancelled.is_empty() && self.free == self.threads
    }

    /// `first` is called with the job that has waited longest for a thread.
    pub(super) fn counts<R>(&self, first: impl FnOnce(&J) -> R) -> PoolCounts<R> {
        PoolCounts {
            max_threads: self.max,
            threads: self.threads,
            idle_threads: self.free.saturating_sub(self.queue.len()),
            queued: self.queue.len(),
            first: self.queue.front().map(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NextStep, PoolState, Submitted};

    #[test]
    fn threads_are_started_up_to_the_maximum_and_then_jobs_wait() {
        let mut state = PoolState::new(2);
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.submit('b'), Submitted::Start(1));
        assert_eq!(state.submit('c'), Submitted::Queued);
        let counts = state.counts(|_| ());
        assert_eq!((counts.threads, counts.idle_threads, counts.queued), (2, 0, 3));
        assert_eq!(state.next_step(false), NextStep::Run('a'));
        assert_eq!(state.next_step(false), NextStep::Run('b'));
        state.finished();
        assert_eq!(state.next_step(false), NextStep::Run('c'));
        assert_eq!(state.counts(|_| ()).queued, 0);
    }

    #[test]
    fn a_free_thread_is_signalled_once_per_job() {
        let mut state = PoolState::new(3);
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.next_step(false), NextStep::Run('a'));
        state.finished();
        assert_eq!(state.next_step(false), NextStep::Wait);
        assert_eq!(state.counts(|_| ()).idle_threads, 1);
        assert_eq!(state.submit('b'), Submitted::Signal);
        assert_eq!(state.counts(|_| ()).idle_threads, 0);
        assert_eq!(state.submit('c'), Submitted::Start(1), "the one free thread is for b");
    }

    #[test]
    fn a_job_comes_before_the_end_of_the_idle_time_and_before_the_close() {
        let mut state = PoolState::new(1);
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.next_step(true), NextStep::Run('a'));
        state.finished();
        assert_eq!(state.next_step(false), NextStep::Wait);
        assert_eq!(state.submit('b'), Submitted::Signal);
        assert_eq!(state.next_step(true), NextStep::Run('b'));
        state.finished();
        assert_eq!(state.next_step(true), NextStep::End);
        assert_eq!(state.threads(), 0);
        assert_eq!(state.submit('c'), Submitted::Start(1), "an ended thread is not counted on");
    }

    #[test]
    fn a_failed_start_gives_the_job_back_only_if_no_other_thread_is_there() {
        let mut state = PoolState::new(2);
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.not_started(true), Some('a'));
        assert_eq!((state.threads(), state.counts(|_| ()).queued), (0, 0));
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.submit('b'), Submitted::Start(1));
        assert_eq!(state.not_started(true), None);
        assert_eq!((state.threads(), state.counts(|_| ()).queued), (1, 2));
        assert_eq!(state.submit('c'), Submitted::Start(1), "every job tries again");
        assert_eq!(state.not_started(true), None);
        assert_eq!(state.submit('d'), Submitted::Start(1));
        assert_eq!(state.not_started(false), Some('d'), "it has to have a thread of its own");
        for job in ['a', 'b', 'c'] {
            assert_eq!(state.next_step(false), NextStep::Run(job));
            state.finished();
        }
        assert_eq!(state.next_step(false), NextStep::Wait);
    }

    /// A state with one thread, which is busy.
    fn busy(max: usize) -> PoolState<char> {
        let mut state = PoolState::new(max);
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.next_step(false), NextStep::Run('a'));
        state
    }

    #[test]
    fn closing_leaves_what_is_queued_to_busy_threads_to_cancel_and_takes_no_more_jobs() {
        let mut state = busy(1);
        assert_eq!(state.submit('b'), Submitted::Queued);
        assert_eq!(state.submit('c'), Submitted::Queued);
        state.close(|_| false);
        assert_eq!(state.submit('d'), Submitted::Closed('d'));
        state.close(|_| true);
        assert_eq!((state.threads(), state.counts(|_| ()).queued), (1, 0));
        for job in ['b', 'c'] {
            state.finished();
            assert!(!state.has_no_job());
            assert_eq!(state.next_step(false), NextStep::Cancel(job));
        }
        state.finished();
        assert_eq!(state.next_step(false), NextStep::End);
        assert_eq!((state.threads(), state.has_no_job()), (0, true));
    }

    #[test]
    fn what_a_free_thread_comes_for_is_run_and_not_cancelled() {
        for jobs in [['b', 'c'], ['b', 'C'], ['B', 'C']] {
            let mut state = busy(2);
            state.finished();
            assert_eq!(state.submit(jobs[0]), Submitted::Signal);
            assert_eq!(state.submit(jobs[1]), Submitted::Start(1));
            state.close(|job| job.is_uppercase());
            for job in jobs {
                assert_eq!(state.next_step(false), NextStep::Run(job));
                state.finished();
            }
            assert_eq!(state.next_step(false), NextStep::End);
        }
        // The one free thread is for the oldest job, whatever the others are.
        let mut state = busy(1);
        state.finished();
        assert_eq!(state.submit('b'), Submitted::Signal);
        assert_eq!(state.submit('C'), Submitted::Queued);
        assert_eq!(state.submit('d'), Submitted::Queued);
        state.close(|job| job.is_uppercase());
        for end in [NextStep::Run('b'), NextStep::Run('C'), NextStep::Cancel('d')] {
            assert_eq!(state.next_step(false), end);
            state.finished();
        }
        assert_eq!(state.next_step(false), NextStep::End);
    }

    #[test]
    fn jobs_that_must_run_outlive_the_close_and_keep_their_order() {
        let mut state = busy(1);
        for job in ['B', 'c', 'D'] {
            assert_eq!(state.submit(job), Submitted::Queued);
        }
        state.close(|job| job.is_uppercase());
        assert_eq!(state.counts(|_| ()).queued, 2);
        for end in [NextStep::Run('B'), NextStep::Run('D'), NextStep::Cancel('c'), NextStep::End] {
            state.finished();
            assert_eq!(state.next_step(false), end);
        }
        assert_eq!((state.threads(), state.has_no_job()), (0, true));
    }

    #[test]
    fn the_last_thread_that_dies_hands_out_the_queue() {
        let mut state = PoolState::new(2);
        assert_eq!(state.submit('a'), Submitted::Start(0));
        assert_eq!(state.submit('b'), Submitted::Start(1));
        assert!(state.abandon().is_empty());
        assert_eq!(state.abandon(), ['a', 'b']);
        assert_eq!((state.threads(), state.counts(|_| ()).queued), (0, 0));

        let mut state = PoolState::new(1);
        assert_eq!(state.submit('A'), Submitted::Start(0));
        assert_eq!(state.submit('b'), Submitted::Queued);
        state.close(|job| job.is_uppercase());
        assert_eq!(state.abandon(), ['A', 'b']);
    }
}
