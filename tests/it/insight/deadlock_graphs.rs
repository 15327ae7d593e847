//! Random graphs of tasks that lock, join, sleep, send, notify and hand things to each other: whatever is
//! said to be proven is true.

use crate::support::guard::{within, workers};
use liten::runtime::Runtime;
use liten::sync::{Mutex, MutexGuard, Notify, OwnedMutexGuard};
use liten::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
use liten::task::{AbortHandle, JoinHandle, TaskId, yield_now};
use liten::time::{Duration, Instant, sleep, timeout};
use std::collections::HashSet;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::task::Poll;
use std::thread;

/// How many graphs are made; without it, as many as fit in [`TIME`].
const GRAPHS: &str = "LITEN_TEST_DEADLOCK_GRAPHS";
const TIME: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(3600);

/// How many runtimes there are at a time. A graph mostly waits for its sleeps to end.
const RUNTIMES: usize = 8;

const LOCKS: usize = 3;

/// What the tasks of one graph share.
struct Shared {
    sender: mpsc::Sender<()>,
    /// Empty while a task receives.
    receivers: std::sync::Mutex<Vec<mpsc::Receiver<()>>>,
    notify: Notify,
    mutexes: [Arc<Mutex<()>>; LOCKS],
    locks: [RwLock<()>; LOCKS],
    /// The handles of the tasks, in the order of their spawns, until others take them.
    handles: std::sync::Mutex<Vec<(u64, JoinHandle<()>)>>,
    aborts: std::sync::Mutex<Vec<AbortHandle>>,
    guards: std::sync::Mutex<Vec<OwnedMutexGuard<()>>>,
    futures: std::sync::Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

impl Shared {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel(1);
        Self {
            sender,
            receivers: std::sync::Mutex::new(vec![receiver]),
            notify: Notify::new(),
            mutexes: Default::default(),
            locks: Default::default(),
            handles: Default::default(),
            aborts: Default::default(),
            guards: Default::default(),
            futures: Default::default(),
        }
    }
}

#[allow(dead_code, reason = "held, not read")]
enum Held<'a> {
    Mutex(MutexGuard<'a, ()>),
    Write(RwLockWriteGuard<'a, ()>),
    Read(RwLockReadGuard<'a, ()>),
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn index(&mut self) -> usize {
        usize::try_from(self.below(LOCKS as u64)).unwrap()
    }

    fn pause(&mut self) -> Duration {
        Duration::from_micros(self.below(300))
    }
}

fn take<T>(things: &std::sync::Mutex<Vec<T>>, random: &mut Random) -> Option<T> {
    let mut things = things.lock().unwrap();
    let count = things.len() as u64;
    (count > 0).then(|| things.swap_remove(usize::try_from(random.below(count)).unwrap()))
}

/// The handle of a task, or of one that was spawned later than the task `after`.
fn take_handle(shared: &Shared, after: Option<u64>, random: &mut Random) -> Option<JoinHandle<()>> {
    let handle = take(&shared.handles, random)?;
    if after.is_some_and(|after| handle.0 <= after) {
        shared.handles.lock().unwrap().push(handle);
        return None;
    }
    Some(handle.1)
}

/// Polls `future` once.
async fn poll_once(future: &mut Pin<Box<dyn Future<Output = ()> + Send>>) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// One step that sends, receives, notifies or waits for that. Few of them are ever proven to wait for ever.
async fn message(shared: &Shared, random: &mut Random) {
    let (index, pause) = (random.index(), random.pause());
    match random.below(16) {
        0 | 1 => _ = shared.sender.send(()).await,
        2 | 3 => {
            if let Some(mut receiver) = take(&shared.receivers, random) {
                _ = receiver.recv().await;
                shared.receivers.lock().unwrap().push(receiver);
            }
        }
        4 => shared.notify.notified().await,
        5 | 6 => _ = timeout(pause, shared.notify.notified()).await,
        7..=10 => shared.notify.notify_one(),
        11 | 12 => shared.notify.notify_waiters(),
        13 | 14 => liten::select! {
            _ = shared.mutexes[index].lock() => {}
            () = shared.notify.notified() => {}
        },
        // Of these it is proven at once.
        _ if random.below(4) == 0 => pending().await,
        _ => {}
    }
}

/// One task: some steps, of which each may wait for another task. Of three locks it keeps about `kept`. It
/// joins tasks that were spawned later than the task `after`.
async fn life(shared: Arc<Shared>, mut random: Random, kept: u64, after: Option<u64>) {
    let mut held = Vec::new();
    for _ in 0..2 + random.below(5) {
        let (index, pause) = (random.index(), random.pause());
        match random.below(20) {
            0..=3 => held.push(Held::Mutex(shared.mutexes[index].lock().await)),
            4 => held.push(Held::Write(shared.locks[index].write().await)),
            5 => held.push(Held::Read(shared.locks[index].read().await)),
            6 => drop(held.pop()),
            7 => yield_now().await,
            8 => sleep(pause).await,
            9 | 10 => {
                let handle = take_handle(&shared, after, &mut random);
                if let Some(handle) = handle {
                    // Nothing to be said of tasks that were aborted.
                    _ = handle.await;
                }
            }
            11 => {
                if let Ok(guard) = timeout(pause, shared.mutexes[index].lock()).await {
                    held.push(Held::Mutex(guard));
                }
            }
            12 => {
                // A guard is left for another task, or for the end of all.
                let guard = shared.mutexes[index].clone().lock_owned().await;
                shared.guards.lock().unwrap().push(guard);
            }
            13 => drop(take(&shared.guards, &mut random)),
            14 => {
                // A future that waits is left to another task, or is dropped at the end.
                let (of_future, seed) = (shared.clone(), random.below(u64::MAX >> 33));
                let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
                    let index = Random(seed).index();
                    if let Some(handle) = take_handle(&of_future, after, &mut Random(seed)) {
                        _ = handle.await;
                    }
                    drop(of_future.mutexes[index].lock().await);
                });
                if poll_once(&mut future).await.is_pending() {
                    shared.futures.lock().unwrap().push(future);
                }
            }
            15 => {
                let future = take(&shared.futures, &mut random);
                if let Some(future) = future {
                    future.await;
                }
            }
            _ => message(&shared, &mut random).await,
        }
        if random.below(3) >= kept && !held.is_empty() {
            sleep(random.pause()).await;
            held.clear();
        }
    }
}

/// The tasks of `graph` that wait for ever, as a dump says; and whether all tasks wait, for no timer.
fn proven(runtime: &Runtime, graph: &HashSet<TaskId>) -> (HashSet<TaskId>, bool) {
    let dump = runtime.handle().dump();
    let mut proven: HashSet<_> = HashSet::new();
    for finding in dump.findings() {
        if let liten::insight::Finding::Deadlock { tasks, .. } = finding {
            proven.extend(tasks.iter().map(|task| task.id()));
        }
    }
    let for_ever = dump.tasks().iter().filter(|task| task.is_deadlocked() || task.is_stuck());
    proven.extend(for_ever.map(|task| task.id()).filter(|id| graph.contains(id)));
    let waiting =
        |task: &liten::insight::TaskInfo| task.state() == liten::insight::TaskState::Waiting;
    let is_quiet = dump.timers() == 0
        && dump.alive_tasks() == dump.tasks().len()
        && dump.tasks().iter().all(waiting);
    (proven, is_quiet)
}

/// Makes one graph, and looks at it until nothing moves any more; returns how many tasks are proven to wait
/// for ever.
fn graph(runtime: &Runtime, seed: u64) -> usize {
    let shared = Arc::new(Shared::new());
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut ids = HashSet::new();
    let kept = random.below(4);
    let in_order = random.below(4) > 0;
    for index in 0..3 + random.below(5) {
        let after = in_order.then_some(index);
        let own = Random(random.below(u64::MAX >> 33) << 20 ^ seed);
        let task = runtime.spawn(life(shared.clone(), own, kept, after));
        ids.insert(task.id());
        match random.below(8) {
            0 => shared.aborts.lock().unwrap().push(task.abort_handle()),
            1 => drop(task),
            _ => shared.handles.lock().unwrap().push((index, task)),
        }
    }
    let mut ever = HashSet::new();
    let mut looks_of_quiet = 0;
    while looks_of_quiet < 2 {
        let (proven, is_quiet) = proven(runtime, &ids);
        ever.extend(proven);
        looks_of_quiet = if is_quiet { looks_of_quiet + 1 } else { 0 };
        thread::yield_now();
    }
    let alive: HashSet<_> = runtime.handle().tasks().map(|task| task.id()).collect();
    assert!(ever.is_subset(&alive), "seed {seed}: {ever:?} proven, {alive:?} alive");
    // What was left over may free others: not those that are proven to wait for ever.
    drop(std::mem::take(&mut *shared.guards.lock().unwrap()));
    drop(std::mem::take(&mut *shared.futures.lock().unwrap()));
    drop(std::mem::take(&mut *shared.receivers.lock().unwrap()));
    shared.notify.notify_waiters();
    let mut looks_of_quiet = 0;
    while looks_of_quiet < 2 {
        looks_of_quiet = if proven(runtime, &ids).1 { looks_of_quiet + 1 } else { 0 };
        thread::yield_now();
    }
    let alive: HashSet<_> = runtime.handle().tasks().map(|task| task.id()).collect();
    assert!(ever.is_subset(&alive), "seed {seed}: {ever:?} proven, {alive:?} alive at last");
    ever.intersection(&ids).count()
}

/// Which graph is next, and what has come of those before.
struct Graphs {
    /// How many are made; `None`: as many as fit in [`TIME`].
    wanted: Option<u64>,
    begun: Instant,
    next: AtomicU64,
    proven: AtomicU64,
    /// One of the threads has found something wrong.
    is_over: AtomicBool,
}

impl Graphs {
    fn next(&self) -> Option<u64> {
        let is_over = self.is_over.load(Relaxed)
            || match self.wanted {
                Some(_) => false,
                None => self.begun.elapsed() >= TIME,
            };
        let next = || self.next.fetch_add(1, Relaxed);
        let is_wanted = |seed: &u64| self.wanted.is_none_or(|wanted| *seed < wanted);
        if is_over { None } else { Some(next()).filter(is_wanted) }
    }

    /// Makes graph after graph. Most of the time of each is that of its sleeps.
    fn make(&self) {
        let mut seed = self.next();
        while seed.is_some() {
            // The end of a runtime ends the tasks that wait for ever.
            let runtime = workers(2);
            for _ in 0..20 {
                let Some(graph_seed) = seed else { break };
                if graph(&runtime, graph_seed) > 0 {
                    self.proven.fetch_add(1, Relaxed);
                }
                seed = self.next();
            }
        }
    }
}

/// In several runtimes at the same time, so that proofs of one come between those of another.
#[test]
fn in_random_graphs_no_task_that_goes_on_is_said_to_wait_for_ever() {
    let wanted: Option<u64> = std::env::var(GRAPHS).ok().map(|count| count.parse().unwrap());
    within(LIMIT, || {
        let graphs = Graphs {
            wanted,
            begun: Instant::now(),
            next: AtomicU64::new(0),
            proven: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            for _ in 0..RUNTIMES {
                scope.spawn(|| {
                    let made = catch_unwind(AssertUnwindSafe(|| graphs.make()));
                    graphs.is_over.fetch_or(made.is_err(), Relaxed);
                    made.unwrap_or_else(|panic| resume_unwind(panic));
                });
            }
        });
        let made = wanted.unwrap_or_else(|| graphs.next.load(Relaxed));
        let proven = graphs.proven.load(Relaxed);
        println!("{proven} of {made} graphs have tasks that are proven to wait for ever");
        assert!(made < 100 || proven > 0);
    });
}
