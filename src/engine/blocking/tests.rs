use super::{AroundThread, Config, Job, Pool, SpawnError};
use crate::engine::thread_name::ThreadName;
use std::fmt;
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any test: a thread that waits this long ends only by the close.
const FOREVER: Duration = Duration::from_secs(3_600);

/// A closure as a job; its argument says whether it is run (true) or cancelled.
struct Call {
    f: Box<dyn FnOnce(bool) + Send>,
    must_run: bool,
}

impl Job for Call {
    fn run(self) {
        (self.f)(true);
    }

    fn cancel(self) {
        (self.f)(false);
    }

    fn must_run(&self) -> bool {
        self.must_run
    }
}

fn call(f: impl FnOnce(bool) + Send + 'static) -> Call {
    Call { f: Box::new(f), must_run: false }
}

impl<J> fmt::Debug for SpawnError<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed(_) => "Closed",
            Self::NoThread(..) => "NoThread",
        })
    }
}

impl<J: Job> Pool<J> {
    fn threads(&self) -> usize {
        self.counts(|_| ()).threads
    }

    fn idle_threads(&self) -> usize {
        self.counts(|_| ()).idle_threads
    }

    fn queued(&self) -> usize {
        self.counts(|_| ()).queued
    }
}

fn config(max_threads: usize, keep_alive: Duration) -> Config {
    let around: AroundThread = Arc::new(|work| work());
    let (thread_name, kind) = (ThreadName::Prefix("test".into()), "blocking");
    let on_idle = Box::new(|| {});
    Config { max_threads, keep_alive, thread_name, kind, stack_size: None, around, on_idle }
}

fn pool(max_threads: usize, keep_alive: Duration) -> Arc<Pool<Call>> {
    Pool::new(config(max_threads, keep_alive))
}

fn spawn(pool: &Arc<Pool<Call>>, f: impl FnOnce(bool) + Send + 'static) {
    pool.spawn(call(f)).expect("the pool is open");
}

/// A job that runs until the sender is dropped.
fn occupy(pool: &Arc<Pool<Call>>) -> Sender<()> {
    let (release, wait) = channel::<()>();
    let (began, begin) = channel();
    spawn(pool, move |run| {
        assert!(run);
        began.send(()).expect("the test waits for the beginning");
        let _ = wait.recv();
    });
    begin.recv().expect("the job begins");
    release
}

fn until(what: &str, done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it never happened: {what}");
        thread::yield_now();
    }
}

fn soon<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(Duration::from_secs(30)).expect("it never came")
}

#[test]
fn jobs_run_on_named_threads() {
    let pool = pool(2, FOREVER);
    let (send, names) = channel();
    let barrier = Arc::new(Barrier::new(2));
    for _ in 0..2 {
        let (send, barrier) = (send.clone(), barrier.clone());
        spawn(&pool, move |run| {
            assert!(run);
            barrier.wait();
            send.send(thread::current().name().map(str::to_owned)).expect("the test waits");
        });
    }
    let mut names: Vec<_> = (0..2).map(|_| soon(&names).expect("named")).collect();
    names.sort_unstable();
    assert_eq!(names, ["test-blocking-0", "test-blocking-1"]);
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn a_name_with_a_nul_is_no_reason_to_panic() {
    let pool =
        Pool::new(Config { thread_name: ThreadName::Prefix("a\0b".into()), ..config(1, FOREVER) });
    let (send, name) = channel();
    spawn(&pool, move |_| drop(send.send(thread::current().name().map(str::to_owned))));
    assert_eq!(soon(&name).as_deref(), Some("ab-blocking-0"));
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn one_thread_runs_jobs_in_order() {
    // Zero counts as one.
    let pool = pool(0, FOREVER);
    let (send, order) = channel();
    let release = occupy(&pool);
    for n in 0..100 {
        let send = send.clone();
        spawn(&pool, move |run| send.send((n, run)).expect("the test waits"));
    }
    assert_eq!((pool.threads(), pool.idle_threads(), pool.queued()), (1, 0, 100));
    drop(release);
    for n in 0..100 {
        assert_eq!(soon(&order), (n, true));
    }
    until("the thread is idle", || pool.idle_threads() == 1);
    assert_eq!((pool.threads(), pool.queued()), (1, 0));
    pool.close();
    assert!(pool.wait(None));
    assert_eq!(pool.threads(), 0);
}

#[test]
fn there_are_never_more_threads_than_the_maximum() {
    let pool = pool(4, FOREVER);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (send, done) = channel();
    for _ in 0..200 {
        let (now, most, send) = (now.clone(), most.clone(), send.clone());
        spawn(&pool, move |_| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            send.send(()).expect("the test waits");
        });
        assert!(pool.threads() <= 4);
    }
    for _ in 0..200 {
        soon(&done);
    }
    assert!(most.load(Ordering::SeqCst) <= 4);
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn an_idle_thread_is_used_before_a_new_one() {
    let pool = pool(8, FOREVER);
    let (send, ids) = channel();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..100 {
        let send = send.clone();
        spawn(&pool, move |_| send.send(thread::current().id()).expect("the test waits"));
        seen.insert(soon(&ids));
        until("the thread is idle", || pool.idle_threads() == 1);
    }
    assert_eq!(seen.len(), 1);
    assert_eq!(pool.threads(), 1);
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn idle_threads_end_after_their_time_and_not_before() {
    let keep_alive = Duration::from_millis(50);
    let pool = pool(4, keep_alive);
    let releases: Vec<_> = (0..4).map(|_| occupy(&pool)).collect();
    assert_eq!(pool.threads(), 4);
    let begin = Instant::now();
    drop(releases);
    until("all threads have ended", || pool.threads() == 0);
    assert!(begin.elapsed() >= keep_alive);
    drop(occupy(&pool));
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn jobs_that_come_while_threads_time_out_are_all_run() {
    let pool = pool(3, Duration::from_micros(1));
    let (send, done) = channel();
    for n in 0..2_000 {
        let send = send.clone();
        spawn(&pool, move |run| send.send((n, run)).expect("the test waits"));
        if n % 3 == 0 {
            soon(&done);
        }
    }
    drop(send);
    assert_eq!(done.iter().filter(|(_, run)| *run).count(), 2_000 - 2_000_usize.div_ceil(3));
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn closing_cancels_what_is_queued_and_lets_running_jobs_end() {
    let pool = pool(1, FOREVER);
    let release = occupy(&pool);
    let (send, ends) = channel();
    for _ in 0..3 {
        let send = send.clone();
        spawn(&pool, move |run| {
            let _ = send.send((run, thread::current().name().map(str::to_owned)));
        });
    }
    pool.close();
    assert_eq!(pool.queued(), 0);
    match pool.spawn(call(move |run| {
        let _ = send.send((run, None));
    })) {
        Err(SpawnError::Closed(job)) => job.cancel(),
        other => panic!("a closed pool takes nothing: {other:?}"),
    }
    assert_eq!(soon(&ends), (false, None), "cancelled by the caller");

    let deadline = Instant::now() + Duration::from_millis(20);
    assert!(!pool.wait(Some(deadline)), "the job is still running");
    assert!(Instant::now() >= deadline);
    drop(release);
    // Not by this thread.
    for _ in 0..3 {
        assert_eq!(soon(&ends), (false, Some("test-blocking-0".to_owned())));
    }
    assert!(pool.wait(Some(Instant::now() + FOREVER)));
    assert_eq!(pool.threads(), 0);
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn closing_leaves_what_must_run_to_the_threads() {
    let pool = pool(1, FOREVER);
    let release = occupy(&pool);
    let (send, ends) = channel();
    for must_run in [true, false, true] {
        let send = send.clone();
        let end = move |run| send.send((must_run, run)).expect("the test waits");
        pool.spawn(Call { must_run, ..call(end) }).expect("the pool is open");
    }
    pool.close();
    assert_eq!(pool.queued(), 2);
    pool.close();
    assert_eq!(pool.queued(), 2, "closing again cancels no more");
    assert!(!pool.wait(Some(Instant::now())), "they are waited for");
    drop(release);
    assert!(pool.wait(None));
    let ends: Vec<_> = ends.try_iter().collect();
    assert_eq!(ends, [(true, true), (true, true), (false, false)]);
    assert_eq!((pool.threads(), pool.queued()), (0, 0));
}

/// No other thread may be there to do it.
#[test]
fn a_job_that_closes_the_pool_can_cancel_what_is_queued() {
    let pool = pool(1, FOREVER);
    let (go_on, wait) = channel::<()>();
    let (send, ends) = channel();
    let (own, closes) = (pool.clone(), send.clone());
    spawn(&pool, move |_| {
        wait.recv().expect("the test sends");
        own.close();
        own.cancel_left_in_job();
        assert!(own.wait(None));
        closes.send((true, true)).expect("the test waits");
    });
    spawn(&pool, move |run| send.send((false, run)).expect("the test waits"));
    go_on.send(()).expect("the job waits");
    assert_eq!([soon(&ends), soon(&ends)], [(false, false), (true, true)]);
    assert!(pool.wait(None));
}

#[test]
fn a_cancelled_job_may_come_back_to_the_pool() {
    let pool = pool(1, FOREVER);
    let release = occupy(&pool);
    let (send, refused) = channel();
    let back = pool.clone();
    spawn(&pool, move |run| {
        assert!(!run);
        let again = back.spawn(call(|_| ()));
        send.send(matches!(again, Err(SpawnError::Closed(_)))).expect("the test waits");
    });
    pool.close();
    drop(release);
    assert!(soon(&refused));
    assert!(pool.wait(None));
}

#[test]
fn closing_ends_idle_threads_at_once() {
    let pool = pool(4, FOREVER);
    drop([(); 4].map(|()| occupy(&pool)));
    until("all threads are idle", || pool.idle_threads() == 4);
    pool.close();
    assert!(pool.wait(Some(Instant::now() + Duration::from_secs(30))));
    assert_eq!(Arc::strong_count(&pool), 1, "a joined thread has let go of the pool");
}

#[test]
fn a_panicking_job_harms_no_other_job() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("a payload's destructor, on purpose");
        }
    }
    let pool = pool(1, FOREVER);
    let (send, done) = channel();
    spawn(&pool, |_| panic!("a job, on purpose"));
    spawn(&pool, |_| panic_any(PanicsOnDrop));
    let end = send.clone();
    spawn(&pool, move |run| end.send(run).expect("the test waits"));
    assert!(soon(&done));
    until("the thread is idle", || pool.idle_threads() == 1);
    assert_eq!(pool.threads(), 1);

    let release = occupy(&pool);
    spawn(&pool, |_| panic!("a cancelled job, on purpose"));
    spawn(&pool, move |run| send.send(run).expect("the test waits"));
    pool.close();
    drop(release);
    assert!(!soon(&done), "the panic of one job must not hide the next");
    assert!(pool.wait(None));
}

#[test]
fn the_function_around_a_thread_encloses_everything() {
    thread_local!(static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
    let (lives, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begin, end) = (lives.clone(), ended.clone());
    let around: AroundThread = Arc::new(move |work| {
        begin.fetch_add(1, Ordering::SeqCst);
        INSIDE.set(true);
        work();
        // Once more does nothing.
        work();
        end.fetch_add(1, Ordering::SeqCst);
    });
    let pool = Pool::new(Config { around, ..config(1, FOREVER) });
    let (send, seen) = channel();
    for _ in 0..3 {
        let send = send.clone();
        spawn(&pool, move |_| send.send(INSIDE.get()).expect("the test waits"));
        assert!(soon(&seen));
    }
    pool.close();
    assert!(pool.wait(None));
    assert_eq!((lives.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (1, 1));
}

#[test]
fn a_thread_that_dies_before_its_work_cancels_what_waits_for_it() {
    let around: AroundThread = Arc::new(|_| panic!("a thread, on purpose"));
    let pool = Pool::new(Config { around, ..config(1, FOREVER) });
    let (send, ends) = channel();
    for _ in 0..10 {
        let send = send.clone();
        spawn(&pool, move |run| send.send(run).expect("the test waits"));
    }
    for _ in 0..10 {
        assert!(!soon(&ends));
    }
    pool.close();
    assert!(pool.wait(None));
    assert_eq!((pool.threads(), pool.queued()), (0, 0));
}

#[test]
fn a_job_may_close_and_wait_for_its_own_pool() {
    let pool = pool(2, FOREVER);
    drop(occupy(&pool));
    let (send, done) = channel();
    let own = pool.clone();
    spawn(&pool, move |_| {
        own.close();
        assert!(own.wait(None));
        send.send(own.threads()).expect("the test waits");
    });
    assert_eq!(soon(&done), 1);
    until("the last thread has ended", || pool.threads() == 0);
}

/// Calls its content when the thread ends.
struct AtTheEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        self.0.take().expect("dropped once")();
    }
}

thread_local!(static AT_THE_END: std::cell::Cell<Option<AtTheEnd>> = const { std::cell::Cell::new(None) });

fn at_the_end(f: impl FnOnce() + 'static) {
    AT_THE_END.set(Some(AtTheEnd(Some(Box::new(f)))));
}

/// Fails if `f` hangs.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, end) = channel();
    thread::spawn(move || send.send(f()));
    soon(&end)
}

#[test]
fn threads_end_side_by_side_and_are_waited_for() {
    for keep_alive in [Duration::ZERO, FOREVER] {
        let pool = pool(4, keep_alive);
        let (all_run, all_end) = (Arc::new(Barrier::new(4)), Arc::new(Barrier::new(4)));
        let over = Arc::new(AtomicUsize::new(0));
        for _ in 0..4 {
            let (all_run, all_end, over) = (all_run.clone(), all_end.clone(), over.clone());
            spawn(&pool, move |_| {
                at_the_end(move || {
                    // None of them gets any further before the others are here.
                    all_end.wait();
                    over.fetch_add(1, Ordering::SeqCst);
                });
                all_run.wait();
            });
        }
        let ends = over.clone();
        in_time(move || {
            if keep_alive.is_zero() {
                until("all threads have ended", || pool.threads() == 0);
                // Their destructors run one way or the other; here most of the time before the close.
            }
            pool.close();
            assert!(pool.wait(None));
            assert_eq!(ends.load(Ordering::SeqCst), 4, "a thread is still in its destructors");
        });
    }
}

#[test]
fn a_thread_that_has_ended_leaves_no_handle_behind() {
    let pool = pool(4, Duration::ZERO);
    for _ in 0..20 {
        drop(occupy(&pool));
        until("the thread has ended", || pool.threads() == 0);
    }
    until("all handles are gone", || pool.threads.lock().alive.is_empty());
    pool.close();
    assert!(pool.wait(None));
}

/// Like a runtime that is kept in a thread-local of one of its own threads.
#[test]
fn a_destructor_of_a_thread_local_may_close_and_wait_for_its_own_pool() {
    for keep_alive in [Duration::ZERO, FOREVER] {
        let pool = pool(2, keep_alive);
        let (over, ended) = channel();
        let other = occupy(&pool);
        let own = pool.clone();
        spawn(&pool, move |_| {
            let pool = own.clone();
            at_the_end(move || {
                if keep_alive.is_zero() {
                    drop(other);
                    until("the other thread has ended", || pool.threads() == 0);
                } else {
                    thread::spawn(move || drop(other));
                }
                pool.close();
                assert!(pool.wait(None));
                over.send(pool.threads()).expect("the test waits");
            });
            if !keep_alive.is_zero() {
                own.close();
            }
        });
        assert_eq!(soon(&ended), 0);
    }
}

/// It may have said how long it waits.
#[test]
fn destructors_of_cancelled_jobs_do_not_keep_the_closing_thread() {
    let pool = pool(1, FOREVER);
    let release = occupy(&pool);
    let (go_on, wait) = channel::<()>();
    let (send, end) = channel();
    spawn(&pool, move |run| {
        let _ = wait.recv_timeout(Duration::from_secs(30));
        send.send(run).expect("the test waits");
    });
    pool.close();
    assert!(!pool.wait(Some(Instant::now())));
    assert!(end.try_recv().is_err(), "the closing thread has run the destructor");
    drop(release);
    drop(go_on);
    assert!(!soon(&end));
    assert!(pool.wait(None));
}

/// No address space holds such a stack, so the system refuses the thread.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_thread_that_cannot_be_started_gives_the_job_back() {
    let pool = Pool::new(Config { stack_size: Some(1 << 60), ..config(4, FOREVER) });
    for _ in 0..3 {
        let (send, ends) = channel();
        match pool.spawn(call(move |run| send.send(run).expect("the test waits"))) {
            Err(SpawnError::NoThread(job, _)) => job.cancel(),
            other => panic!("a thread with such a stack: {other:?}"),
        }
        assert_eq!(ends.try_recv(), Ok(false));
        assert_eq!((pool.threads(), pool.queued()), (0, 0));
    }
    pool.close();
    assert!(pool.wait(None));
}

#[test]
fn pools_come_and_go_without_a_trace() {
    for round in 0..100 {
        let pool = pool(2, FOREVER);
        for _ in 0..round % 4 {
            spawn(&pool, |_| ());
        }
        pool.close();
        assert!(pool.wait(None));
        assert_eq!(Arc::strong_count(&pool), 1);
    }
}
