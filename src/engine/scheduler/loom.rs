//! Models of "no wake is lost" (scheduler.rs): the production idle word, park word and wake channel,
//! with workers whose loops are cut down to the steps of the proof.

use super::idle::Idle;
use super::shared::Shared;
use super::worker::Worker;
use crate::engine::driver::Driver;
use crate::engine::park::{Parker, Unpark, Unparker};
use crate::engine::queue::local::Injector;
use crate::engine::queue::wake_channel::{Link, Linked, Pushed, WakeChannel};
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering, fence};
use crate::engine::sync_shim::{Arc, Condvar, Mutex, Way, thread};
use std::future::Future;
use std::ptr::NonNull;

/// A production scheduler without threads of its own, and a driver with the system's poller: the models bring
/// the threads.
///
/// No thread plays a role in them, because loom's threads share their thread-locals: each thread is an
/// outsider to `Shared`, and what a worker does for itself is called on it directly.
pub(crate) fn scheduler(workers: usize) -> Arc<Shared> {
    let shared = Shared::new(workers, Driver::new(1).expect("a selector"));
    shared.size.set_regular(workers);
    shared
}

/// A worker as `worker_thread` makes it, for a thread of the model to be; call it there.
pub(crate) fn worker(shared: &Arc<Shared>, index: usize) -> Worker {
    let worker = Worker::new(shared.clone(), index);
    shared.slots.get(index).activate(worker.parker().unparker());
    shared.slots.raise(index);
    worker
}

/// Sends the workers home, as a resize to zero does.
pub(super) fn go_home(shared: &Shared) {
    let workers = shared.size.regular();
    shared.size.set_regular(0);
    (0..workers).for_each(|worker| shared.unpark(worker));
}

/// Counts these workers as alive, and closes.
pub(crate) fn close(shared: &Arc<Shared>, workers: usize) {
    (0..workers).for_each(|_| shared.size.count_in());
    shared.close();
}

/// A task that counts its polls, and sends the workers home with the last one that `left` waits for.
pub(super) fn last_of(
    shared: &Arc<Shared>,
    left: &Arc<AtomicUsize>,
) -> impl Future<Output = ()> + Send + 'static {
    let (shared, left) = (shared.clone(), left.clone());
    async move {
        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
            go_home(&shared);
        }
    }
}

/// The production workers take long for more: each look of theirs is many steps. Three preemptions put any
/// step of one thread between any two of another, and once more; with four these models need ten times as
/// long and see nothing else.
pub(crate) fn bounded(f: impl Fn(Way) + Copy + Sync + Send + 'static) {
    for way in Way::BOTH {
        up_to(3, move || f(way));
    }
}

/// Explores every order with at most `preemptions` preemptions.
pub(crate) fn up_to(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // The default counts the steps of a lone worker's first round as a loop without an end.
    builder.max_branches = 10_000;
    builder.check(f);
}

struct House {
    idle: Idle,
    injector: Injector<()>,
    /// The wake channel of worker 0.
    channel: WakeChannel<Box<Item>>,
    unparkers: Mutex<Vec<Option<Unparker>>>,
    done: AtomicUsize,
    total: usize,
    /// If the tasks wait for each other, blocking their workers: how many have been started.
    started: Option<Mutex<usize>>,
    all_started: Condvar,
}

#[repr(C)]
struct Item {
    link: Link,
}

// SAFETY: leaked by `into_link`, made again by `from_link`; the link is the first field of a repr(C) struct.
#[allow(unsafe_code)]
unsafe impl Linked for Box<Item> {
    fn into_link(self) -> NonNull<Link> {
        NonNull::from(Box::leak(self)).cast()
    }

    unsafe fn from_link(link: NonNull<Link>) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Box::from_raw(link.cast::<Item>().as_ptr()) }
    }
}

impl House {
    fn new(workers: usize, total: usize) -> Arc<Self> {
        Self::build(workers, total, false)
    }

    /// Tasks that end only when all of them have been started.
    fn of_blocking_tasks(total: usize) -> Arc<Self> {
        Self::build(total, total, true)
    }

    fn build(workers: usize, total: usize, blocking: bool) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(workers),
            injector: Injector::new(),
            channel: WakeChannel::new(),
            unparkers: Mutex::new((0..workers).map(|_| None).collect()),
            done: AtomicUsize::new(0),
            total,
            started: blocking.then(|| Mutex::new(0)),
            all_started: Condvar::new(),
        })
    }

    /// Runs `tasks` tasks, one after the other.
    fn run(&self, tasks: usize) {
        if let Some(started) = &self.started {
            let mut started = started.lock();
            *started += tasks;
            self.all_started.notify_all();
            while *started < self.total {
                self.all_started.wait(&mut started);
            }
        }
        self.finish(tasks);
    }

    fn unpark(&self, worker: usize) {
        let unparker = self.unparkers.lock()[worker].clone();
        if let Some(unparker) = unparker {
            assert_eq!(unparker.unpark(), Unpark::Done);
        }
    }

    fn wake_one(&self) {
        if let Some(worker) = self.idle.pick(0, None, usize::MAX) {
            self.unpark(worker);
        }
    }

    /// `Shared::enqueue`, to the injector.
    fn inject(&self) {
        self.injector.push(());
        fence(Ordering::SeqCst);
        self.wake_one();
    }

    /// `Shared::enqueue`, to the channel of worker 0.
    fn send(&self) {
        if self.channel.push(Box::new(Item { link: Link::new() })) == Pushed::First {
            fence(Ordering::SeqCst);
            if self.idle.claim(0) {
                self.unpark(0);
            } else {
                self.wake_one();
            }
        }
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst) == self.total
    }

    /// Takes what there is: one injected task, or the whole channel. Returns how many.
    fn take(&self) -> usize {
        match self.injector.pop() {
            Some(()) => 1,
            None => self.channel.take_all().count(),
        }
    }

    /// A worker's thread: `Worker::work` until the model's tasks are all done.
    fn work(&self, index: usize) {
        let parker = Parker::new();
        self.unparkers.lock()[index] = Some(parker.unparker());
        let mut searching = false;
        while !self.is_done() {
            let mut taken = self.take();
            if taken == 0 && !searching {
                searching = self.idle.start_search(index);
                taken = if searching { self.take() } else { 0 };
            }
            if taken == 0 {
                let looks_everywhere =
                    self.idle.announce_park(index, std::mem::take(&mut searching));
                fence(Ordering::SeqCst);
                // One queue stands for "own and injected" and for "everywhere": a worker that was not
                // the last searcher looks there too, as `last_look` does.
                taken = self.take();
                if taken == 0 && !self.is_done() {
                    parker.park();
                }
                searching = self.idle.unpark_self(index);
                if looks_everywhere && taken != 0 {
                    self.end_search(index, &mut searching);
                    self.pass_on();
                }
            }
            if taken != 0 {
                self.end_search(index, &mut searching);
                self.run(taken);
            }
        }
    }

    fn end_search(&self, index: usize, searching: &mut bool) {
        if std::mem::take(searching) && self.idle.stop_search(index) {
            self.pass_on();
        }
    }

    fn pass_on(&self) {
        fence(Ordering::SeqCst);
        if !self.injector.is_empty() || !self.channel.is_empty() {
            self.wake_one();
        }
    }

    fn finish(&self, tasks: usize) {
        if self.done.fetch_add(tasks, Ordering::SeqCst) + tasks == self.total {
            // The model ends: every worker may go home.
            let workers = self.unparkers.lock().len();
            for worker in 0..workers {
                self.unpark(worker);
            }
        }
    }
}

fn model(f: impl Fn() + Sync + Send + 'static) {
    // Three preemptions find every bug that was put in on purpose; without a bound two workers take hours.
    up_to(3, f);
}

/// A push from outside and a worker that parks at the same time: the task is run.
#[test]
fn an_injected_task_is_not_left_to_a_parked_worker() {
    model(|| {
        let house = House::new(1, 1);
        let pusher = {
            let house = house.clone();
            thread::spawn(move || house.inject())
        };
        house.work(0);
        pusher.join().expect("no panic");
    });
}

/// Two pushes to a wake channel, one of them not an edge, and a worker that parks: both are run.
#[test]
fn a_wake_channel_is_not_left_to_a_parked_worker() {
    model(|| {
        let house = House::new(1, 2);
        let pushers: Vec<_> = (0..2)
            .map(|_| {
                let house = house.clone();
                thread::spawn(move || house.send())
            })
            .collect();
        house.work(0);
        for pusher in pushers {
            pusher.join().expect("no panic");
        }
    });
}

/// Two workers, and a thread that is none of them and pushes.
fn two_workers(house: Arc<House>, push: impl FnOnce(&House) + Send + 'static) {
    let other = {
        let house = house.clone();
        thread::spawn(move || house.work(1))
    };
    let pusher = {
        let house = house.clone();
        thread::spawn(move || push(&house))
    };
    house.work(0);
    pusher.join().expect("no panic");
    other.join().expect("no panic");
}

/// Two workers, and a second push that wakes no worker because one searches: both tasks are run.
#[test]
fn a_push_that_relies_on_a_searcher_is_not_lost() {
    model(|| {
        two_workers(House::new(2, 2), |house| {
            house.inject();
            house.inject();
        });
    });
}

/// As above, but the worker that takes the first task is stuck in it until the second one has started: the
/// last searcher that finds a task in its last look has to wake a successor, too.
#[test]
fn a_task_behind_one_that_waits_for_it_is_taken_by_a_peer() {
    model(|| {
        two_workers(House::of_blocking_tasks(2), |house| {
            house.inject();
            house.inject();
        });
    });
}

/// The home worker of a channel is parked or not: with a peer around, its tasks are run.
#[test]
fn a_channel_is_emptied_by_its_worker_or_by_a_peer() {
    model(|| two_workers(House::new(2, 1), House::send));
}
