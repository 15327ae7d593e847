//! How the cost of one operation grows with the number of tasks that live, and with the number of
//! workers: liten and tokio.

use crate::contest::{Contest, Figure, Lane, SLICE, Start, lane};
use crate::families::Native;
use crate::report::number;
use crate::rows::of_row;
use crate::runtimes::{Join, Liten, Runtime, Spawner, Tokio};
use crate::tasks;
use crate::yields::Yield;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const TASKS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
pub(crate) const WORKERS: [usize; 4] = [1, 2, 4, 8];
/// In one measurement, at least.
const OPERATIONS: usize = 1_000_000;
/// These take longer, one by one.
const SPAWNS: usize = 50_000;
const YIELDS: usize = 4 * OPERATIONS;
/// So many wakes, then the waking task lets the woken ones run.
const WAKES_AT_ONCE: usize = 32;
/// No divisor of the numbers of tasks, so that each task gets its turn, and not in the order in which
/// they lie in memory.
const STRIDE: usize = 611_953;
const PATIENCE: Duration = Duration::from_secs(60);

/// One row of the table: the operation at each size.
pub(crate) struct Growth {
    pub(crate) name: &'static str,
    pub(crate) contests: Vec<Contest>,
}

pub(crate) fn with_tasks(workers: usize) -> Vec<Growth> {
    let growth = |name, contest: fn(usize, usize) -> Contest| Growth {
        name,
        contests: TASKS.into_iter().map(|tasks| contest(tasks, workers)).collect(),
    };
    vec![
        growth("spawn_join", |tasks, workers| {
            contest(
                format!("growth_spawn_join_{tasks}"),
                lane::<Liten, _>(move || Crowd::spawning(Liten::start(workers), tasks)),
                lane::<Tokio, _>(move || Crowd::spawning(Tokio::start(workers), tasks)),
            )
        }),
        growth("yield", |tasks, workers| {
            contest(
                format!("growth_yield_{tasks}"),
                lane::<Liten, _>(move || Crowd::yielding(Liten::start(workers), tasks)),
                lane::<Tokio, _>(move || Crowd::yielding(Tokio::start(workers), tasks)),
            )
        }),
        growth("wake", |tasks, workers| {
            contest(
                format!("growth_wake_{tasks}"),
                lane::<Liten, _>(move || Crowd::waking(Liten::start(workers), tasks)),
                lane::<Tokio, _>(move || Crowd::waking(Tokio::start(workers), tasks)),
            )
        }),
    ]
}

pub(crate) fn with_workers() -> Vec<Growth> {
    let of = |workers, name| {
        contest(
            format!("growth_{name}_{workers}_workers"),
            body::<Liten>(workers, name),
            body::<Tokio>(workers, name),
        )
    };
    let growth = |name| Growth {
        name,
        contests: WORKERS.into_iter().map(|workers| of(workers, name)).collect(),
    };
    ["spawn_many_in_task", "yield_many", "ping_pong"].map(growth).into()
}

fn body<R: Native + Yield>(workers: usize, name: &str) -> (&'static str, Start) {
    let rows = tasks::rows::<R>(workers);
    of_row(rows.into_iter().find(|row| row.name == name).expect("a row of that name"), workers)
}

fn contest(name: String, liten: (&'static str, Start), tokio: (&'static str, Start)) -> Contest {
    let figures = vec![Figure { suffix: "", unit: "ns", goal: None }];
    Contest { name, figures, lanes: vec![liten, tokio], slice: 5 * SLICE, rounds: 5 }
}

/// The head of a table whose columns are these sizes.
pub(crate) fn head(of: &str, sizes: &[usize]) -> String {
    let columns = |name: &str| {
        let sizes: String = sizes.iter().map(|size| format!(" {name} {size} |")).collect();
        format!("{sizes} growth |")
    };
    let rule = "---|".repeat(2 * (sizes.len() + 1));
    format!("| {of} |{}{}\n|---|{rule}", columns(Liten::NAME), columns(Tokio::NAME))
}

/// A row of that table, from the medians of both runtimes at each size.
pub(crate) fn row(name: &str, medians: &[Vec<f64>]) -> String {
    let columns = |lane: usize| {
        let costs = medians.iter().map(|lanes| lanes[lane]);
        let factor = medians[medians.len() - 1][lane] / medians[0][lane];
        let costs: String = costs.map(|cost| format!(" {} |", number(cost))).collect();
        format!("{costs} x {factor:.2} |")
    };
    format!("| {name} |{}{}", columns(0), columns(1))
}

/// A runtime with many tasks, and what is done with them.
struct Crowd<R> {
    /// Goes first: its tasks hold the other ends of what follows.
    runtime: R,
    tasks: usize,
    operation: fn(&Self, shortest: bool) -> f64,
    bells: Arc<Vec<Bell>>,
    /// Tasks that have not been polled since they were last woken.
    silent: Arc<AtomicUsize>,
}

/// Where a cold task has left its waker.
type Bell = Mutex<Option<Waker>>;

impl<R: Yield> Crowd<R> {
    fn new(runtime: R, tasks: usize, operation: fn(&Self, bool) -> f64) -> Self {
        let bells = Arc::default();
        Self { runtime, tasks, operation, bells, silent: Arc::new(AtomicUsize::new(tasks)) }
    }

    fn yielding(runtime: R, tasks: usize) -> Self {
        Self::new(runtime, tasks, Self::yields)
    }

    fn spawning(runtime: R, tasks: usize) -> Self {
        let mut crowd = Self::new(runtime, tasks, Self::spawns);
        crowd.settle();
        crowd
    }

    fn waking(runtime: R, tasks: usize) -> Self {
        let mut crowd = Self::new(runtime, tasks, Self::wakes);
        crowd.settle();
        crowd
    }

    /// Spawns the tasks, and returns when all of them are cold.
    fn settle(&mut self) {
        self.bells = Arc::new((0..self.tasks).map(|_| Bell::default()).collect());
        let (spawner, tasks) = (self.runtime.spawner(), self.tasks);
        let (bells, silent) = (self.bells.clone(), self.silent.clone());
        let parent = self.runtime.spawn(async move {
            for index in 0..tasks {
                let (bells, silent) = (bells.clone(), silent.clone());
                let task = spawner.spawn(poll_fn(move |cx| {
                    *bells[index].lock().expect("no holder of this lock panics") =
                        Some(cx.waker().clone());
                    silent.fetch_sub(1, Ordering::AcqRel);
                    Poll::<()>::Pending
                }));
                task.detach();
            }
        });
        parent.detach();
        let start = Instant::now();
        while self.silent.load(Ordering::Acquire) > 0 {
            assert!(start.elapsed() < PATIENCE, "the tasks are not polled");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Spawns one more task and joins it, over and over.
    fn spawns(&self, shortest: bool) -> f64 {
        let spawns = if shortest { 1 } else { SPAWNS };
        let spawner = self.runtime.spawner();
        let taken = self.runtime.block_on(self.runtime.spawn(async move {
            let start = Instant::now();
            for _ in 0..spawns {
                spawner.spawn(async {}).await;
            }
            start.elapsed()
        }));
        taken.as_nanos() as f64 / spawns as f64
    }

    /// All tasks yield. They do so from the first poll, and count when the last one is there.
    fn yields(&self, shortest: bool) -> f64 {
        let yields = if shortest { 1 } else { YIELDS / self.tasks };
        let (spawner, tasks) = (self.runtime.spawner(), self.tasks);
        let go = Arc::new(AtomicBool::new(false));
        let left = Arc::new(AtomicUsize::new(tasks));
        let (done, all) = mpsc::sync_channel(1);
        let parent = self.runtime.spawn(async move {
            for _ in 0..tasks {
                let (go, left, done) = (go.clone(), left.clone(), done.clone());
                let task = spawner.spawn(async move {
                    while !go.load(Ordering::Acquire) {
                        R::yield_now().await;
                    }
                    for _ in 0..yields {
                        R::yield_now().await;
                    }
                    if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        done.send(Instant::now()).expect("the bench waits");
                    }
                });
                task.detach();
            }
            go.store(true, Ordering::Release);
            Instant::now()
        });
        let start = self.runtime.block_on(parent);
        let end = all.recv_timeout(PATIENCE).expect("the tasks end");
        (end - start).as_nanos() as f64 / (tasks * yields) as f64
    }

    /// One task wakes all others, each in turn.
    fn wakes(&self, shortest: bool) -> f64 {
        let tasks = self.tasks;
        let passes = if shortest { 1 } else { OPERATIONS / tasks };
        let (bells, silent) = (self.bells.clone(), self.silent.clone());
        let taken = self.runtime.block_on(self.runtime.spawn(async move {
            let start = Instant::now();
            for _ in 0..passes {
                silent.store(tasks, Ordering::Release);
                for index in 0..tasks {
                    let bell = &bells[index * STRIDE % tasks];
                    let waker = bell.lock().expect("no holder of this lock panics").take();
                    waker.expect("the task is cold").wake();
                    if index % WAKES_AT_ONCE == WAKES_AT_ONCE - 1 {
                        R::yield_now().await;
                    }
                }
                while silent.load(Ordering::Acquire) > 0 {
                    R::yield_now().await;
                }
            }
            start.elapsed()
        }));
        taken.as_nanos() as f64 / (tasks * passes) as f64
    }
}

impl<R: Yield> Lane for Crowd<R> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        vec![(self.operation)(self, slice.is_zero())]
    }
}
