//! The picture of a runtime, and what it says is wrong.

use crate::support::guard::{exactly, guarded, until, workers};
use crate::support::probe::Bell;
use crate::support::waiting::until_waiting;
use liten::insight::{Dump, Finding, TaskState, WorkerState};
use liten::net::TcpListener;
use liten::runtime::{Builder, Runtime};
use liten::sync::oneshot;
use liten::task;
use liten::time::sleep;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Waits until a dump shows what is looked for.
fn dumped<T>(runtime: &Runtime, look: impl Fn(&Dump) -> Option<T>) -> (T, String) {
    let mut found = None;
    until(|| {
        let dump = runtime.handle().dump();
        found = look(&dump).map(|it| (it, dump.to_string()));
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_healthy_runtime_is_shown_with_all_parts() {
    guarded(|| {
        let runtime = exactly(2).name("billing").build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        for _ in 0..5 {
            drop(runtime.spawn(sleep(Duration::from_secs(1_000))));
        }
        let builder = task::Builder::new().name("accepts");
        let accepts = async move { _ = listener.accept().await };
        drop(builder.spawn_on(accepts, runtime.handle()).unwrap());
        until_waiting(&runtime, 6);
        // A worker that the system does not let run looks blocked for as long.
        let healthy = |dump: &Dump| dump.findings().is_empty().then(|| dump.clone());
        let (dump, text) = dumped(&runtime, healthy);
        assert_eq!((dump.alive_tasks(), dump.timers(), dump.sources()), (6, 5, 1));
        assert_eq!(dump.tasks().len(), 6);
        let [sleeps, accepts] = dump.groups() else { panic!("{dump}") };
        assert_eq!((sleeps.tasks(), sleeps.count(TaskState::Waiting)), (5, 5));
        assert_eq!(accepts.spawned_at().file(), file!());
        // Or "no finding", after a poll that took long because of that.
        assert!(text.starts_with("nothing is wrong") || text.starts_with("no finding"), "{text}");
        assert!(text.contains("runtime \"billing\" with workers, 5 timers, 1 sources"), "{text}");
        assert!(text.contains("\"accepts\", waiting for readable"), "{text}");
    });
}

#[test]
fn a_blocked_worker_is_named_with_its_task_while_another_is_idle() {
    guarded(|| {
        let runtime = workers(2);
        let (release, held) = mpsc::channel::<()>();
        let task = runtime.spawn(async move { _ = held.recv() });
        let (seen, text) = dumped(&runtime, |dump| match &dump.findings()[..] {
            [Finding::BlockedWorker { task, duration, .. }] => task.map(|task| (task, *duration)),
            _ => None,
        });
        assert_eq!(seen.0.id(), task.id());
        assert!(seen.1 >= 100 * MS);
        assert!(text.starts_with("! worker "), "{text}");
        drop(release);
        runtime.block_on(task).unwrap();
        dumped(&runtime, |dump| dump.findings().is_empty().then_some(()));
    });
}

/// The observer needs no worker.
#[test]
fn a_dump_is_quick_while_every_worker_is_blocked() {
    guarded(|| {
        let runtime = workers(2);
        let release = crate::scheduler::steal::occupy(&runtime, 2);
        drop(runtime.spawn(async {}));
        // They are blocked until the end of this test.
        let (seen, _) = dumped(&runtime, |dump| match &dump.findings()[..] {
            [Finding::AllWorkersBlocked { workers, ready_tasks, .. }, ..] => {
                Some((*workers, *ready_tasks))
            }
            _ => None,
        });
        assert_eq!(seen, (2, 1));
        drop(release);
    });
}

#[test]
fn a_full_pool_is_found_and_its_jobs_are_shown_with_their_age() {
    guarded(|| {
        let runtime = exactly(1).max_blocking_threads(1).build().unwrap();
        let (release, held) = mpsc::channel::<()>();
        let name = task::Builder::new().name("holds");
        let job = name.spawn_blocking_on(move || _ = held.recv(), runtime.handle()).unwrap();
        let waits = runtime.spawn_blocking(|| {});
        let (queued, text) = dumped(&runtime, |dump| match &dump.findings()[..] {
            [Finding::PoolFull { queued, .. }] => Some(*queued),
            _ => None,
        });
        assert_eq!(queued, 1);
        assert!(text.contains("\"holds\", spawned at"), "{text}");
        // The job may have begun after the other one was queued, so it is younger than that one's wait.
        until(|| {
            let dump = runtime.handle().dump();
            let [seen] = dump.pool().jobs() else { panic!("{dump}") };
            assert_eq!((seen.task().id(), seen.name()), (job.id(), Some("holds")));
            seen.age() >= 100 * MS
        });
        drop(release);
        runtime.block_on(waits).unwrap();
    });
}

#[test]
fn a_runtime_without_workers_is_shown_too() {
    guarded(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime.spawn(pending::<()>()));
        let dump = runtime.block_on(runtime.spawn(async move { handle.dump() })).unwrap();
        assert_eq!((dump.workers().len(), dump.polled_elsewhere().len()), (0, 1));
        assert!(dump.to_string().contains("without workers"), "{dump}");
        let handle = runtime.handle().clone();
        drop(runtime);
        assert_eq!(handle.dump().alive_tasks(), 0);
    });
}

#[test]
fn a_worker_that_blocks_in_place_says_so() {
    guarded(|| {
        let runtime = workers(1);
        let (release, held) = mpsc::channel::<()>();
        let task = runtime.spawn(async move { task::block_in_place(|| _ = held.recv()) });
        let blocked = |dump: &Dump| {
            let worker = dump.workers().first()?;
            (worker.state() == WorkerState::BlockedInPlace).then(|| worker.task())?
        };
        let (seen, _) = dumped(&runtime, blocked);
        assert_eq!(seen.id(), task.id());
        assert_eq!(runtime.handle().dump().findings(), []);
        drop(release);
    });
}

/// They wait for their own thread, and no worker would run them.
#[test]
fn pinned_tasks_that_are_ready_do_not_wait_for_a_worker() {
    guarded(|| {
        let runtime = workers(1);
        let (release, held) = mpsc::channel::<()>();
        let bell = Bell::default();
        let rung = bell.clone();
        drop(runtime.spawn_pinned(move || async move { rung.wait().await }));
        until(|| bell.waiting() == 1);
        drop(runtime.spawn_pinned(move || async move { _ = held.recv() }));
        until(|| runtime.metrics().running_tasks().len() == 1);
        bell.ring();
        drop(runtime.spawn_pinned(|| async {}));
        let worker = crate::scheduler::steal::occupy(&runtime, 1);
        let blocked = |dump: &Dump| (!dump.findings().is_empty()).then(|| dump.findings());
        let (findings, text) = dumped(&runtime, blocked);
        assert!(matches!(findings[..], [Finding::BlockedWorker { .. }]), "{text}");
        drop((release, worker));
    });
}

#[test]
fn workers_that_have_ended_are_not_shown_at_work() {
    guarded(|| {
        let runtime = workers(2);
        let (handle, observed) = (runtime.handle().clone(), runtime.handle().clone());
        let (release, held) = mpsc::channel::<()>();
        let task = runtime.spawn(async move { _ = held.recv() });
        until(|| !handle.metrics().running_tasks().is_empty());
        let ends = thread::spawn(move || drop(runtime));
        let states =
            || -> Vec<_> { observed.dump().workers().iter().map(|it| it.state()).collect() };
        until(|| {
            let mut states = states();
            states.sort_by_key(|&state| state == WorkerState::Absent);
            states == [WorkerState::Working, WorkerState::Absent]
        });
        let dump = handle.dump();
        let working = dump.workers().iter().find(|it| it.state() == WorkerState::Working).unwrap();
        assert_eq!(working.task().map(|task| task.id()), Some(task.id()));
        // Long enough for the ended one to look like a slow one.
        thread::sleep(200 * MS);
        assert!(handle.dump().findings().len() < 2, "{}", handle.dump());
        drop(release);
        ends.join().unwrap();
        assert_eq!(states(), [WorkerState::Absent; 2]);
        assert_eq!(handle.dump().findings(), []);
    });
}

#[test]
fn a_finding_names_a_task_that_has_a_name() {
    guarded(|| {
        let runtime = exactly(1).max_blocking_threads(1).build().unwrap();
        let (release, held) = mpsc::channel::<()>();
        let (go, gone) = oneshot::channel::<()>();
        let holds = async move {
            // A name is found after the first wait.
            gone.await.unwrap();
            _ = held.recv();
        };
        let builder = task::Builder::new().name("holds");
        drop(builder.spawn_on(holds, runtime.handle()).unwrap());
        until_waiting(&runtime, 1);
        go.send(()).unwrap();
        let is_it = |finding: &Finding| finding.to_string().contains("holds");
        let (finding, text) =
            dumped(&runtime, |dump| dump.findings().iter().find(|found| is_it(found)).cloned());
        assert!(finding.to_string().contains(" \"holds\", spawned at"), "{text}");
        drop(release);
    });
}

/// What belongs together is read in one look.
#[test]
fn the_numbers_of_the_pool_fit_together() {
    guarded(|| {
        let runtime = exactly(1).max_blocking_threads(2).build().unwrap();
        let (over, handle) = (AtomicBool::new(false), runtime.handle());
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let jobs: Vec<_> = (0..3).map(|_| handle.spawn_blocking(|| {})).collect();
                    jobs.into_iter().for_each(|job| runtime.block_on(job).unwrap());
                }
            });
            let begin = Instant::now();
            let fits = |dump: Dump| {
                let pool = dump.pool();
                (pool.queued() > 0) == pool.longest_wait().is_some()
                    && pool.idle_threads() <= pool.threads()
            };
            let mut all = true;
            while all && begin.elapsed() < 300 * MS {
                all = fits(handle.dump());
            }
            over.store(true, Ordering::Relaxed);
            assert!(all);
        });
    });
}
