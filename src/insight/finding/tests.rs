//! The table of `finding.rs`, row by row.

use super::*;
use crate::engine::blocking::PoolCounts;
use crate::engine::sync_shim::Mutex;
use crate::engine::task::registry::ListEntry;
use crate::engine::task::{Mark, TaskId};
use crate::insight::deadlocks::Deadlocks;
use crate::insight::pool_info::{JobInfo, PoolInfo};
use crate::insight::slow_poll_info::SlowPollInfo;
use crate::insight::sockets::Targets;
use crate::insight::task_group::TaskGroup;
use crate::insight::task_info::TaskInfo;
use crate::insight::wait::Wait;
use crate::insight::worker_info::WorkerInfo;
use crate::observe::thread_activity::SystemCall;
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::{CpuLimits, RuntimeFlavor, SlowPoll};
use std::panic::AssertUnwindSafe;

const MS: Duration = Duration::from_millis(1);

fn task() -> RunningTask {
    RunningTask::new(TaskId::next(), Location::caller())
}

pub(super) fn worker(index: usize, state: WorkerState, poll_duration: Duration) -> WorkerInfo {
    WorkerInfo {
        index,
        state,
        polls: 7,
        task: Some(task()),
        task_name: None,
        poll_duration,
        activity: None,
        stack: Vec::new(),
    }
}

fn job(name: Option<&str>, age: Duration) -> JobInfo {
    let name = name.map(Into::into);
    JobInfo { task: task(), name, age, activity: None, stack: Vec::new() }
}

/// `tasks` tasks of one place, each of `size` bytes.
fn group(tasks: usize, future_size: usize, is_hot: bool) -> TaskGroup {
    group_of(tasks, ListEntry { future_size, wakers: (!is_hot).then_some(1), ..entry() })
}

/// A waiting task.
pub(in crate::insight) fn entry() -> ListEntry {
    let (task, type_name) = (task(), "a::type");
    let (name, note, mark, is_note_reliable) = (None, None, Mark::New, false);
    let (future_size, wakers) = (10, Some(1));
    ListEntry { wakers, task, name, type_name, future_size, note, mark, is_note_reliable }
}

pub(super) fn group_of(tasks: usize, entry: ListEntry) -> TaskGroup {
    let info = TaskInfo::listed(entry, false, true);
    let mut group = TaskGroup::of(&info);
    (0..tasks).for_each(|_| group.add(&info));
    group
}

/// With two workers that have nothing to do.
pub(super) fn healthy() -> Dump {
    let parked = |index| worker(index, WorkerState::Parked, Duration::ZERO);
    Dump {
        name: Some("billing".into()),
        flavor: RuntimeFlavor::MultiThread,
        workers: vec![parked(0), parked(1)],
        sockets: Vec::new(),
        sockets_trouble: None,
        polled_elsewhere: Vec::new(),
        slow_after: 100 * MS,
        alive_tasks: 0,
        ready_for_workers: 0,
        tasks: Vec::new(),
        groups: Vec::new(),
        deadlocks: Deadlocks::default(),
        pool: PoolInfo {
            counts: PoolCounts {
                max_threads: 2,
                threads: 2,
                idle_threads: 2,
                queued: 0,
                first: None,
            },
            jobs: Vec::new(),
        },
        queues: Vec::new(),
        timers: 0,
        sources: 0,
        slow_polls: 0,
        last_slow_polls: Vec::new(),
        blocked_polls: 0,
        spares_used_up: None,
        limits: CpuLimits::read(None, 2),
        trees: Vec::new(),
        panics: Vec::new(),
        busy_places: Vec::new(),
        notable: Vec::new(),
        over_time: Vec::new(),
        is_followed: false,
        times: None,
        targets: Arc::new(AssertUnwindSafe(Mutex::new(Targets::default()))),
    }
}

/// The sentences about a healthy runtime that `change` makes sick.
fn said(change: impl FnOnce(&mut Dump)) -> Vec<String> {
    let mut dump = healthy();
    change(&mut dump);
    dump.findings().iter().map(Finding::to_string).collect()
}

#[track_caller]
fn assert_says(said: &[String], expected: &[&str]) {
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said:?} does not say {expected:?}");
    }
}

#[test]
fn of_a_healthy_runtime_nothing_is_said() {
    assert_says(&said(|_| {}), &[]);
    let busy = said(|dump| {
        dump.workers[0] = worker(0, WorkerState::Working, 99 * MS);
        dump.workers[1] = worker(1, WorkerState::Working, Duration::ZERO);
        dump.alive_tasks = 99_999;
        dump.groups = vec![group(9_999, 16_383, true)];
        dump.pool.counts.idle_threads = 0;
        dump.pool.counts.queued = 5;
        dump.pool.counts.first = Some(99 * MS);
        dump.pool.jobs = vec![job(None, 9_999 * MS)];
    });
    assert_says(&busy, &[]);
}

#[test]
fn a_worker_in_a_slow_poll_is_named() {
    let one = said(|dump| {
        dump.workers[1] = worker(1, WorkerState::Working, 3_200 * MS);
        dump.workers[1].activity = Some(ThreadActivity::Computes);
        dump.alive_tasks = 1;
    });
    assert_says(&one, &["worker 1 has been in one poll for 3200 ms: task "]);
    assert!(one[0].contains(", computes; use spawn_blocking"), "{one:?}");
    let named = said(|dump| {
        dump.workers[0] = worker(0, WorkerState::Working, 100 * MS);
        dump.workers[0].task_name = Some("parses".into());
    });
    assert!(named[0].contains(" \"parses\", spawned at "), "{named:?}");
    let waker = said(|dump| {
        dump.workers[0] = WorkerInfo { task: None, ..worker(0, WorkerState::Working, 100 * MS) };
    });
    assert_says(&waker, &["worker 0 has been in something other than a task for 100 ms"]);
}

#[test]
fn of_workers_that_are_blocked_alike_the_longest_is_named() {
    let (here, elsewhere) = (task(), RunningTask::new(TaskId::next(), Location::caller()));
    let slow = |index, task, poll_duration, activity: ThreadActivity| WorkerInfo {
        task: Some(task),
        activity: Some(activity),
        ..worker(index, WorkerState::Working, poll_duration)
    };
    let all = said(|dump| {
        dump.workers = vec![
            slow(0, here, 200 * MS, ThreadActivity::Computes),
            slow(1, elsewhere, 250 * MS, ThreadActivity::Computes),
            slow(2, here, 300 * MS, ThreadActivity::Computes),
            slow(3, here, 400 * MS, ThreadActivity::Sleeps),
            slow(4, here, 100 * MS, ThreadActivity::Computes),
        ];
    });
    assert_says(&all, &["worker 3 has", "worker 2 has", "worker 1 has"]);
    assert!(all[1].ends_with("; so do 2 other workers with tasks from there"), "{all:?}");
    assert!(!all[0].contains("; so do") && !all[2].contains("; so do"), "{all:?}");
}

#[test]
fn it_is_worse_if_no_worker_is_free_and_tasks_wait() {
    let block = |dump: &mut Dump| {
        dump.workers = vec![
            worker(0, WorkerState::Working, 200 * MS),
            worker(1, WorkerState::BlockedInPlace, Duration::ZERO),
            worker(2, WorkerState::Resting, Duration::ZERO),
            worker(3, WorkerState::Absent, Duration::ZERO),
        ];
    };
    let idle = said(block);
    assert_says(&idle, &["worker 0 has been in one poll"]);
    let waits = said(|dump| {
        block(dump);
        dump.ready_for_workers = 5;
    });
    assert_says(&waits, &["none of 2 workers is free, and 5 tasks wait", "worker 0 has"]);
    assert!(waits[0].ends_with(" wait for one"), "{waits:?}");
    let limited = said(|dump| {
        block(dump);
        dump.ready_for_workers = 5;
        dump.spares_used_up = Some(1);
    });
    assert!(limited[0].contains("; at most 1 spare workers may run"), "{limited:?}");
    assert!(limited[0].contains(" max_spare_workers and LITEN_MAX_SPARE_WORKERS"), "{limited:?}");
    let pinned = said(|dump| {
        block(dump);
        dump.groups = vec![group(3, 10, true), group(9, 10, false)];
        dump.alive_tasks = 14;
    });
    assert_says(&pinned, &["worker 0 has been in one poll"]);
    assert_says(&said(|dump| dump.workers.clear()), &[]);
}

#[test]
fn a_full_pool_is_said_with_what_waits() {
    let full = |dump: &mut Dump| {
        dump.pool.counts.idle_threads = 0;
        dump.pool.counts.queued = 3;
        dump.pool.counts.first = Some(150 * MS);
    };
    let one = said(full);
    assert_says(
        &one,
        &["all 2 threads of the blocking pool are busy, and 3 jobs wait, the first for 150 ms"],
    );
    assert!(!one[0].contains("oldest"), "{one:?}");
    let named = said(|dump| {
        full(dump);
        let job = |age| job(Some("sorts"), age);
        dump.pool.jobs = vec![job(4_000 * MS), job(9 * MS)];
    });
    let oldest = "150 ms; the oldest of what they do: task ";
    assert_says(&named, &[oldest]);
    assert!(named[0].contains(" \"sorts\", spawned at "), "{named:?}");
    assert!(named[0].ends_with(", for 4000 ms"), "{named:?}");
    let grows = said(|dump| {
        full(dump);
        dump.pool.counts.max_threads = 3;
    });
    assert_says(&grows, &[]);
}

#[test]
fn the_oldest_of_old_jobs_is_named() {
    let said = said(|dump| {
        let job = |age| job(Some("sorts"), age);
        dump.pool.jobs = vec![job(90_000 * MS), job(10_000 * MS), job(9_000 * MS)];
        dump.pool.counts.first = Some(100 * MS);
    });
    assert_says(&said, &["blocking work has been under way for 90 s: task "]);
    assert!(said[0].contains(" \"sorts\", spawned at "), "{said:?}");
    assert!(said[0].contains("2 jobs are that old"), "{said:?}");
}

#[test]
fn a_worker_that_perhaps_waits_for_a_processor_is_told_late() {
    use ThreadActivity::{Computes, Runs, WaitsForProcessor};
    let told = |activity: ThreadActivity, millis, has_task| {
        let said = said(|dump| {
            let task = Some(task()).filter(|_| has_task);
            let activity = Some(activity.clone());
            let worker = worker(0, WorkerState::Working, millis * MS);
            dump.workers = vec![WorkerInfo { task, activity, ..worker }];
            dump.ready_for_workers = 5;
        });
        let is_told = |begin| said.iter().any(|sentence: &String| sentence.starts_with(begin));
        assert_eq!(is_told("worker 0 has been in "), is_told("none of 1 worker"), "{said:?}");
        is_told("worker 0 has been in ")
    };
    for activity in [Runs, WaitsForProcessor] {
        assert!(!told(activity.clone(), 900, true) && told(activity.clone(), 1_100, true));
        assert!(!told(activity.clone(), 9_000, false) && told(activity, 11_000, false));
    }
    assert!(told(Computes, 200, true) && told(Computes, 200, false));
}

#[test]
fn old_jobs_that_nothing_waits_for_are_in_order() {
    let blocked = || ThreadActivity::Calls(SystemCall::of_name("futex"));
    let lasts = JobInfo { activity: Some(blocked()), ..job(None, 90_000 * MS) };
    let computes = JobInfo { activity: Some(ThreadActivity::Computes), ..lasts.clone() };
    let sleep = ThreadActivity::Calls(SystemCall::of_name("clock_nanosleep"));
    let sleeps = JobInfo { activity: Some(sleep), ..lasts.clone() };
    let awaited = |lasts: &JobInfo, task: TaskId| {
        said(|dump| {
            let wait = Wait::BlockingWork { id: task };
            let mut waiting = TaskInfo::listed(entry(), false, true);
            waiting.waits_mut().push(wait);
            dump.tasks = vec![waiting];
            dump.pool.jobs = vec![lasts.clone()];
        })
    };
    let id = lasts.task().id();
    assert_says(&awaited(&lasts, TaskId::next()), &[]);
    assert_says(&awaited(&lasts, id), &["blocking work has been under way for 90 s: task "]);
    assert_says(&awaited(&computes, id), &[]);
    assert_says(&awaited(&sleeps, id), &[]);
}

#[test]
fn many_tasks_are_most_of_very_many() {
    let most = said(|dump| dump.groups = vec![group(10_000, 10, false), group(9_999, 10, false)]);
    assert_says(&most, &["10000 tasks have been spawned at "]);
    let half = said(|dump| dump.groups = vec![group(10_000, 10, false), group(10_000, 10, false)]);
    assert_says(&half, &[]);
    // What becomes more is told then.
    let followed = said(|dump| {
        dump.groups = vec![group(10_000, 10, false)];
        dump.is_followed = true;
    });
    assert_says(&followed, &[]);
}

#[test]
fn tasks_that_are_stuck_are_said_by_place() {
    let stuck = ListEntry { wakers: Some(0), ..entry() };
    let said = said(|dump| dump.groups = vec![group_of(3, stuck), group(9, 10, false)]);
    assert_says(&said, &["3 tasks spawned at "]);
    let stuck =
        " are stuck, proven: no waker of theirs exists, so only an abort can end them (a::type)";
    assert!(said[0].contains(stuck));
}

/// A Mutex, held by that task.
pub(super) fn mutex(number: u32, holder: Option<TaskId>) -> Wait {
    primitive(PrimitiveKind::Mutex, number, holder)
}

/// Something of that kind, held by that task.
pub(super) fn primitive(kind: PrimitiveKind, number: u32, holder: Option<TaskId>) -> Wait {
    Wait::Primitive {
        kind,
        number,
        made_at: None,
        awaited_at: None,
        holder,
        permits: None,
        forgotten: 0,
    }
}

/// Tasks that wait for a lock of the next one each.
fn circle(count: usize, others: usize) -> Circle {
    let waits = |number| DeadlockedTask {
        task: task(),
        name: Some(format!("clerk {number}").into()),
        waits_for: mutex(number, None),
    };
    Circle { tasks: (0..count as u32).map(waits).collect(), others }
}

#[test]
#[cfg(not(any(liten_loom, liten_shuttle)))]
fn a_suspected_deadlock_says_why_it_is_not_proven() {
    check_suspected_deadlocks();
}

/// Also a model, for the mutations.
pub(super) fn check_suspected_deadlocks() {
    let reason = "suspected deadlock, not proven because a guard that owns its lock may have been given to \
                  another task: task ";
    let suspected = said(|dump| dump.deadlocks.suspected = vec![circle(2, 0), circle(10, 3)]);
    let begins = [2, 10].map(|count| format!("{count} tasks wait for each other: {reason}"));
    assert_says(&suspected, &[&begins[0], &begins[1]]);
    assert!(
        suspected[0].contains(" \"clerk 1\", spawned at ")
            && !suspected[0].contains("other task w")
    );
    assert!(suspected[1].ends_with("; and 2 more; 3 other tasks wait for them"), "{suspected:?}");
    assert!(suspected.iter().all(|said| !said.contains(", proven")), "{suspected:?}");
    let both = said(|dump| {
        dump.deadlocks.suspected = vec![circle(2, 1)];
        dump.deadlocks.circles = vec![circle(3, 0)];
    });
    let proven =
        "3 tasks wait for each other: deadlock, proven unless a guard was given to another task: ";
    assert_says(&both, &[proven, &begins[0]]);
    assert!(both[1].ends_with("; 1 other task waits for them"), "{both:?}");
    let mut dump = healthy();
    dump.deadlocks.suspected = vec![circle(2, 1)];
    assert_eq!(dump.findings()[0].kind(), "suspected_deadlock");
}

#[test]
fn a_large_future_is_named_with_its_type() {
    let said = said(|dump| dump.groups = vec![group(2, 16_384, false), group(1, 20_000, false)]);
    assert_says(&said, &["2 tasks spawned at ", "takes 20000 bytes each (a::type)"]);
}

#[test]
fn the_text_begins_with_what_is_wrong() {
    let mut dump = healthy();
    assert!(
        dump.to_string().starts_with("nothing is wrong that a dump shows; not looked at: threads ")
    );
    dump.workers[1] = worker(1, WorkerState::Working, 200 * MS);
    dump.groups = vec![group(5, 40, false)];
    dump.alive_tasks = 7;
    let text = dump.to_string();
    assert!(text.starts_with("! worker 1 has been in one poll for 200 ms"), "{text}");
    let tasks = "7 tasks alive: 0 running, 0 ready, 5 waiting, 2 in a queue that have never waited";
    assert!(text.contains(tasks), "{text}");
    assert!(text.contains("0 running, 0 ready, 5 waiting, a::type, 40 bytes"), "{text}");
}

#[test]
fn slow_polls_of_the_last_minute_are_said_after_what_is_wrong() {
    let of = |duration, ended: Option<Duration>, activity| {
        let (task, name) = (Some(task()), Some("sorts".into()));
        let slow = SlowPoll { worker: 1, task, name, duration, activity };
        SlowPollInfo { slow, position: 7, ended, stack: Vec::new(), holder: None }
    };
    let (short, long) = (120 * MS, 450 * MS);
    let mut dump = healthy();
    let text = |dump: &Dump, slow: &[SlowPollInfo]| {
        let text = Dump { last_slow_polls: slow.to_vec(), ..dump.clone() }.to_string();
        text.split_once("\n\n").unwrap().0.to_owned()
    };
    let calm = format!("nothing is wrong that a dump shows; {}", dump.not_looked_at());
    let under_way = of(long, None, ThreadActivity::Computes);
    let old = of(long, Some(60_000 * MS), ThreadActivity::Computes);
    assert_eq!(text(&dump, &[under_way.clone(), old.clone()]), calm);
    let calm = format!("no finding; {}", dump.not_looked_at());
    let new = of(short, Some(5_900 * MS), ThreadActivity::Computes);
    let one = text(&dump, &[under_way.clone(), new.clone(), old.clone()]);
    let begin = format!(
        "{calm}\nin the last minute 1 slow poll has ended: worker 1 was held up for 120 ms until 5 s ago: \
         task {} \"sorts\", spawned at ",
        new.task().unwrap().id()
    );
    assert!(one.starts_with(&begin), "{one}");
    assert!(one.ends_with(", computes; use spawn_blocking, or yield more often"), "{one}");
    let longest = of(long, Some(59_999 * MS), ThreadActivity::WaitsForProcessor);
    let findings = text(&dump, &[new.clone(), longest.clone(), old.clone()]);
    let begin =
        format!("{calm}\nin the last minute 2 slow polls have ended; the longest: {longest}; ");
    assert_eq!(findings, format!("{begin}other threads have the processors"));
    // What most of them are like comes before the longest one, and more than are kept are not counted.
    let mut many = vec![new.clone(); 15];
    let elsewhere = RunningTask::new(TaskId::next(), Location::caller());
    many.push(SlowPollInfo {
        slow: SlowPoll { task: Some(elsewhere), ..longest.slow },
        ..new.clone()
    });
    let many = text(&dump, &many);
    let begin = format!(
        "{calm}\nin the last minute at least 16 slow polls have ended, 15 of them of tasks from one place; \
         the longest took 450 ms; one of them: {new}; "
    );
    assert!(many.starts_with(&begin), "{many}");
    let like = SlowPollInfo { ended: Some(70_000 * MS), ..old.clone() };
    dump.last_slow_polls = vec![under_way, old, like];
    let all = dump.to_string();
    let rows: Vec<_> = all.lines().filter(|line| line.contains("held up for")).collect();
    assert!(rows[0].starts_with("  worker 1 has been held up for 450 ms: task "), "{all}");
    assert!(
        rows[1].starts_with("  worker 1 was held up for 450 ms until 60 s ago: task "),
        "{all}"
    );
    assert!(rows[1].ends_with("; 1 more like it, 450 ms") && rows.len() == 2, "{all}");
}
