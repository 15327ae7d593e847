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
//! | `seek` | free thread | queued > 0 | queued − 1, free − 1 | `Run` |
//! |  |  | queued = 0, timed out or closed | free − 1, threads − 1 | `End` |
//! |  |  | queued = 0 otherwise | same | `Wait` |
//! | `finished` | busy thread | | free + 1 | `seek` follows |
//! | `close` | owner | | queued = those that must run | the others |
//! | `abandon` | dying free thread | | free − 1, threads − 1 | all jobs, if it was the last thread |
//!
//! Kept true: `free ≤ threads ≤ max`; no threads, no jobs (unless `abandon` hands them out).

use std::collections::VecDeque;

pub(super) struct Roster<J> {
    queue: VecDeque<J>,
    /// Threads that have been started, or are about to be, and have not been let go.
    threads: usize,
    /// Those of them without a job.
    free: usize,
    max: usize,
    /// How many threads have been started so far; numbers the next one.
    started: usize,
    closed: bool,
}

/// What the caller of [`Roster::submit`] has to do, before it gives up the lock.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Submitted<J> {
    /// Wake one waiting thread.
    Signal,
    /// Start a thread with this number, and call [`Roster::not_started`] if that fails.
    Start(usize),
    /// Nothing: a busy thread will come for the job.
    Queued,
    /// Give the job back.
    Closed(J),
}

/// What a free thread has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seek<J> {
    /// Run the job, then call [`Roster::finished`].
    Run(J),
    /// Wait for a signal or for the end of the idle time.
    Wait,
    /// End. The roster does not count on the thread any more.
    End,
}

impl<J> Roster<J> {
    pub(super) fn new(max: usize) -> Self {
        Self { queue: VecDeque::new(), threads: 0, free: 0, max, started: 0, closed: false }
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

    /// The thread asked for by the last [`submit`](Self::submit) could not be started. Returns its job if
    /// nobody is left to run it.
    #[must_use]
    ///
    /// `waits`: whether the job may wait for another thread.
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
    pub(super) fn seek(&mut self, timed_out: bool) -> Seek<J> {
        if let Some(job) = self.queue.pop_front() {
            self.free -= 1;
            Seek::Run(job)
        } else if timed_out || self.closed {
            self.free -= 1;
            self.threads -= 1;
            Seek::End
        } else {
            Seek::Wait
        }
    }

    pub(super) fn finished(&mut self) {
        self.free += 1;
    }

    /// From here on nothing is queued. Jobs that `must_run` stay for the threads that are there (there is
    /// one, if there are jobs), which end only when the queue is empty. The caller wakes all waiting
    /// threads and cancels the jobs returned.
    #[must_use]
    pub(super) fn close(&mut self, must_run: impl Fn(&J) -> bool) -> VecDeque<J> {
        self.closed = true;
        let (keep, cancel) = std::mem::take(&mut self.queue).into_iter().partition(must_run);
        self.queue = keep;
        cancel
    }

    /// A free thread goes without having asked. Returns the jobs that nobody is left to run.
    #[must_use]
    pub(super) fn abandon(&mut self) -> VecDeque<J> {
        self.free -= 1;
        self.threads -= 1;
        if self.threads == 0 { std::mem::take(&mut self.queue) } else { VecDeque::new() }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Free threads that no queued job is waiting for.
    pub(super) fn idle(&self) -> usize {
        self.free.saturating_sub(self.queue.len())
    }

    /// Whether no job is queued or being done.
    pub(super) fn is_at_rest(&self) -> bool {
        self.queue.is_empty() && self.free == self.threads
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Roster, Seek, Submitted};

    #[test]
    fn threads_are_started_up_to_the_maximum_and_then_jobs_wait() {
        let mut roster = Roster::new(2);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.submit('b'), Submitted::Start(1));
        assert_eq!(roster.submit('c'), Submitted::Queued);
        assert_eq!((roster.threads(), roster.idle(), roster.queued()), (2, 0, 3));
        assert_eq!(roster.seek(false), Seek::Run('a'));
        assert_eq!(roster.seek(false), Seek::Run('b'));
        roster.finished();
        assert_eq!(roster.seek(false), Seek::Run('c'));
        assert_eq!(roster.queued(), 0);
    }

    #[test]
    fn a_free_thread_is_signalled_once_per_job() {
        let mut roster = Roster::new(3);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.seek(false), Seek::Run('a'));
        roster.finished();
        assert_eq!(roster.seek(false), Seek::Wait);
        assert_eq!(roster.idle(), 1);
        assert_eq!(roster.submit('b'), Submitted::Signal);
        assert_eq!(roster.idle(), 0);
        assert_eq!(roster.submit('c'), Submitted::Start(1), "the one free thread is for b");
    }

    #[test]
    fn a_job_comes_before_the_end_of_the_idle_time_and_before_the_close() {
        let mut roster = Roster::new(1);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.seek(true), Seek::Run('a'));
        roster.finished();
        assert_eq!(roster.seek(false), Seek::Wait);
        assert_eq!(roster.submit('b'), Submitted::Signal);
        assert_eq!(roster.seek(true), Seek::Run('b'));
        roster.finished();
        assert_eq!(roster.seek(true), Seek::End);
        assert_eq!(roster.threads(), 0);
        assert_eq!(roster.submit('c'), Submitted::Start(1), "an ended thread is not counted on");
    }

    #[test]
    fn a_failed_start_gives_the_job_back_only_if_nobody_else_is_there() {
        let mut roster = Roster::new(2);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.not_started(true), Some('a'));
        assert_eq!((roster.threads(), roster.queued()), (0, 0));
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.submit('b'), Submitted::Start(1));
        assert_eq!(roster.not_started(true), None);
        assert_eq!((roster.threads(), roster.queued()), (1, 2));
        assert_eq!(roster.submit('c'), Submitted::Start(1), "every job tries again");
        assert_eq!(roster.not_started(true), None);
        assert_eq!(roster.submit('d'), Submitted::Start(1));
        assert_eq!(roster.not_started(false), Some('d'), "it has to have a thread of its own");
        for job in ['a', 'b', 'c'] {
            assert_eq!(roster.seek(false), Seek::Run(job));
            roster.finished();
        }
        assert_eq!(roster.seek(false), Seek::Wait);
    }

    #[test]
    fn closing_hands_out_the_queue_and_refuses_what_comes_later() {
        let mut roster = Roster::new(1);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.seek(false), Seek::Run('a'));
        assert_eq!(roster.submit('b'), Submitted::Queued);
        assert_eq!(roster.submit('c'), Submitted::Queued);
        assert_eq!(roster.close(|_| false), ['b', 'c']);
        assert_eq!(roster.submit('d'), Submitted::Closed('d'));
        assert!(roster.close(|_| false).is_empty());
        roster.finished();
        assert_eq!(roster.seek(false), Seek::End);
    }

    #[test]
    fn jobs_that_must_run_outlive_the_close_and_keep_their_order() {
        let mut roster = Roster::new(1);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.seek(false), Seek::Run('a'));
        for job in ['B', 'c', 'D'] {
            assert_eq!(roster.submit(job), Submitted::Queued);
        }
        assert_eq!(roster.close(|job| job.is_uppercase()), ['c']);
        assert!(
            roster.close(|job| job.is_uppercase()).is_empty(),
            "what stays is not handed out later"
        );
        for job in ['B', 'D'] {
            roster.finished();
            assert_eq!(roster.seek(false), Seek::Run(job));
        }
        roster.finished();
        assert_eq!(roster.seek(false), Seek::End);
    }

    #[test]
    fn the_last_thread_that_dies_hands_out_the_queue() {
        let mut roster = Roster::new(2);
        assert_eq!(roster.submit('a'), Submitted::Start(0));
        assert_eq!(roster.submit('b'), Submitted::Start(1));
        assert!(roster.abandon().is_empty());
        assert_eq!(roster.abandon(), ['a', 'b']);
        assert_eq!((roster.threads(), roster.queued()), (0, 0));
    }
}
