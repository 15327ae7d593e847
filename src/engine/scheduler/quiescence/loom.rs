//! Models of a clock that stands still: it jumps only when all lie down and nothing is queued, and then
//! it does.
//!
//! A thread that waits for the jump has no other thread to wake it. So a jump that does not come shows as
//! threads that wait for ever; one that comes too early, by what is still to be done then.

use super::*;
use crate::engine::driver::readiness::Direction;
use crate::engine::driver::timers::TimerEntry;
use crate::engine::park::{Unpark, Unparker};
use crate::engine::scheduler::enqueue::Notice;
use crate::engine::scheduler::loom::{go_home, scheduler, up_to, worker};
use crate::engine::scheduler::worker::Worker;
use crate::engine::sync_shim::{ProcessFlag, Way, thread};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Runner};
use mio::Interest;
use mio::net::UnixStream;
use std::future::poll_fn;
use std::io::Write;
use std::panic::Location;
use std::sync::OnceLock;
// Not loom's, as for all that the models say about themselves: the moment counts, and not what a thread knows
// of it.
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll, Wake};

const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Explores `model` with at most `preemptions` preemptions.
fn standing(preemptions: usize, model: impl Fn(Way) + Copy + Send + Sync + 'static) {
    ProcessFlag::while_set(|| {
        for way in Way::BOTH {
            up_to(preemptions, move || model(way));
        }
    });
}

/// A scheduler whose clock stands still.
fn still(workers: usize, no_work: impl Fn() -> bool + Send + Sync + 'static) -> Arc<Shared> {
    let shared = scheduler(workers);
    shared.count_threads(no_work);
    shared.driver.stop_clock().expect("it goes");
    shared
}

/// How much of what has been begun is not done.
#[derive(Default)]
struct Pending(AtomicUsize);

impl Pending {
    fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn done(&self) {
        assert_ne!(self.0.fetch_sub(1, Ordering::Relaxed), 0);
    }
}

/// A root that sleeps until the clock has jumped, and the waker of its timer. It is awake from its making on.
struct Root {
    presence: Arc<Presence>,
    unparker: OnceLock<Unparker>,
    pending: Arc<Pending>,
    /// The clock has jumped.
    has_jumped: AtomicBool,
    /// Another thread has woken it, and waits for what it does then.
    is_nudged: AtomicBool,
}

impl Root {
    /// The root, and its timer.
    fn begin(shared: &Arc<Shared>, pending: &Arc<Pending>) -> (Arc<Self>, TimerEntry) {
        let root = Arc::new(Self {
            presence: Presence::begin(shared).expect("a count is taken"),
            unparker: OnceLock::new(),
            pending: pending.clone(),
            has_jumped: AtomicBool::new(false),
            is_nudged: AtomicBool::new(false),
        });
        let shard = shared.driver.timers().shard(0).clone();
        let mut timer = TimerEntry::new(shard, shared.driver.clock().now() + YEAR);
        let waker = Waker::from(root.clone());
        assert!(timer.poll(&mut Context::from_waker(&waker)).is_pending());
        (root, timer)
    }

    /// A parker for the calling thread, which is to call `sleep`.
    fn parker(&self) -> Parker {
        let parker = Parker::new();
        assert!(self.unparker.set(parker.unparker()).is_ok(), "called once");
        parker
    }

    /// To the end of the root.
    fn sleep(&self, parker: &Parker) {
        while !self.has_jumped.load(Ordering::Relaxed) {
            self.presence.park(parker);
            if self.is_nudged.swap(false, Ordering::Relaxed) {
                self.pending.done();
            }
        }
        self.presence.end();
    }

    fn rouse(&self) {
        self.presence.wake(|| {
            let unparker = self.unparker.get().expect("it cannot be asleep before it has one");
            assert_eq!(unparker.unpark(), Unpark::Done);
        });
    }

    fn nudge(&self) {
        self.pending.begin();
        self.is_nudged.store(true, Ordering::Relaxed);
        self.rouse();
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        assert_eq!(self.pending.0.load(Ordering::Relaxed), 0, "the clock has jumped too early");
        self.has_jumped.store(true, Ordering::Relaxed);
        self.rouse();
    }
}

/// As a worker's thread; its starter has counted it.
fn serve(shared: &Arc<Shared>) {
    worker(shared, 0).work();
    shared.remove_awake();
}

/// Plays the driver thread, which the caller has counted: sits until the clock has jumped.
fn hold(shared: &Shared, mut seat: SeatGuard<'_>) {
    let mut wakes = Vec::new();
    while wakes.is_empty() {
        shared.turn(&mut seat, None, &mut wakes);
    }
    drop(seat);
    wakes.into_iter().for_each(Waker::wake);
    shared.remove_awake();
}

/// A root spawns a task and lies down, while the only worker goes to sleep in the seat: the clock jumps, once
/// the task has been run.
#[test]
fn the_clock_waits_for_what_a_root_has_spawned() {
    standing(2, |way| {
        let shared = still(1, || true);
        let pending = Arc::<Pending>::default();
        let (root, _timer) = Root::begin(&shared, &pending);
        shared.add_awake();
        let other = thread::spawn({
            let shared = shared.clone();
            move || serve(&shared)
        });
        pending.begin();
        let task = async move { pending.done() };
        way.here();
        drop(shared.spawn(task, Location::caller()));
        root.sleep(&root.parker());
        go_home(&shared);
        other.join().expect("no panic");
    });
}

/// A root wakes a task and lies down, while the task's home worker goes to sleep on its own and the driver
/// thread sits: the clock jumps, once the worker, which may be slow to come, has run the task.
#[test]
fn the_clock_waits_for_a_worker_that_has_been_woken() {
    standing(2, |way| {
        let shared = still(1, || true);
        let pending = Arc::<Pending>::default();
        let (root, _timer) = Root::begin(&shared, &pending);
        let waker = cold(&shared, &pending);
        let seat = shared.driver.try_seat().expect("the seat is free");
        (0..2).for_each(|_| shared.add_awake());
        let server = thread::spawn({
            let shared = shared.clone();
            move || serve(&shared)
        });
        let other = thread::spawn(move || {
            let parker = root.parker();
            root.pending.begin();
            waker.wake();
            root.sleep(&parker);
        });
        way.here();
        hold(&shared, seat);
        other.join().expect("no panic");
        go_home(&shared);
        server.join().expect("no panic");
    });
}

/// A task that waits, whose home is worker 0, and whose next poll is the last thing that is pending.
fn cold(shared: &Arc<Shared>, pending: &Arc<Pending>) -> Waker {
    let slot = Arc::new(Mutex::new(None::<Waker>));
    let (theirs, pending) = (slot.clone(), pending.clone());
    let mut polled = false;
    let future = poll_fn(move |cx| {
        if std::mem::replace(&mut polled, true) {
            pending.done();
            return Poll::Ready(());
        }
        *theirs.lock() = Some(cx.waker().clone());
        Poll::Pending
    });
    let walker = worker(shared, 0);
    new_send_task(future, shared, Location::caller()).0.run(&walker);
    walker.leave();
    slot.lock().take().expect("polled once")
}

/// A root wakes another one and lies down: the other one counts before its thread has come, and not for
/// longer than it is awake.
#[test]
fn the_clock_waits_for_a_root_that_has_been_woken() {
    standing(2, |way| {
        let shared = still(1, || true);
        let pending = Arc::<Pending>::default();
        let [(one, _first), (other, _second)] = [(); 2].map(|()| Root::begin(&shared, &pending));
        shared.add_awake();
        let parker = one.parker();
        let holder = thread::spawn({
            let shared = shared.clone();
            move || hold(&shared, shared.driver.try_seat().expect("the seat is free"))
        });
        let waker = thread::spawn({
            let one = one.clone();
            move || {
                one.nudge();
                other.sleep(&other.parker());
            }
        });
        way.here();
        one.sleep(&parker);
        holder.join().expect("no panic");
        waker.join().expect("no panic");
    });
}

/// A root ends while another one lies down: the clock jumps, whichever of the two was the last.
#[test]
fn the_clock_does_not_wait_for_a_root_that_has_ended() {
    standing(2, |way| {
        let shared = still(1, || true);
        let [(one, unused), (other, _timer)] =
            [(); 2].map(|()| Root::begin(&shared, &Arc::default()));
        drop(unused);
        shared.add_awake();
        let sleeper = thread::spawn(move || other.sleep(&other.parker()));
        let ender = thread::spawn(move || one.presence.end());
        way.here();
        hold(&shared, shared.driver.try_seat().expect("the seat is free"));
        sleeper.join().expect("no panic");
        ender.join().expect("no panic");
    });
}

/// While the holder looks at one queue after the other, a worker comes, moves a task from one that has not
/// been looked at to one that has, and lies down: the clock stands. `queue`: how the worker had queued it.
fn a_task_moves_behind_a_look(queue: fn(&Worker, Hot)) {
    standing(3, move |way| {
        let shared = still(1, || true);
        let (root, _timer) = Root::begin(&shared, &Arc::default());
        root.presence.end();
        let walker = worker(&shared, 0);
        queue(&walker, new_send_task(async {}, &shared, Location::caller()).0);
        shared.add_awake();
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                shared.add_awake();
                walker.end_park();
                assert!(matches!(walker.hand_over(), Notice::Outside));
                shared.remove_awake();
            }
        });
        way.here();
        look_once(&shared);
        other.join().expect("no panic");
        let task = shared.queues.injector.pop().or_else(|| shared.queues.yielded.pop());
        shared.cancel(task.expect("no other thread takes it"));
    });
}

#[test]
fn the_clock_waits_for_what_is_queued_behind_a_look() {
    a_task_moves_behind_a_look(Worker::spawned);
}

/// The same for a task that has yielded.
#[test]
fn the_clock_waits_for_what_has_yielded_behind_a_look() {
    a_task_moves_behind_a_look(Runner::yielded);
}

/// Plays the driver thread for one turn, in which something is queued or awake all the time.
fn look_once(shared: &Shared) {
    let mut seat = shared.driver.try_seat().expect("the seat is free");
    let mut wakes = Vec::new();
    shared.turn(&mut seat, Some(Duration::ZERO), &mut wakes);
    assert!(wakes.is_empty(), "the clock has jumped too early");
}

/// A blocking job ends while the holder of the seat looks around, and has queued a task before: the clock
/// stands, for the one reason or the other.
#[test]
fn the_clock_waits_for_what_a_blocking_job_has_queued() {
    standing(2, |way| {
        let busy = Arc::new(Mutex::new(true));
        let shared = still(1, {
            let busy = busy.clone();
            move || !*busy.lock()
        });
        let (root, _timer) = Root::begin(&shared, &Arc::default());
        // Nothing but the job is awake, and then the task.
        root.presence.end();
        shared.add_awake();
        let job = thread::spawn({
            let shared = shared.clone();
            move || {
                drop(shared.spawn(async {}, Location::caller()));
                *busy.lock() = false;
            }
        });
        way.here();
        look_once(&shared);
        job.join().expect("no panic");
        shared.cancel(shared.queues.injector.pop().expect("no other thread takes it"));
    });
}

/// A thread writes to a socket and lies down while the holder of the seat looks around: the clock jumps, if
/// at all, after the event.
#[test]
fn the_clock_waits_for_an_event_that_the_last_one_awake_has_caused() {
    standing(2, |way| {
        let shared = still(1, || true);
        let pending = Arc::<Pending>::default();
        let (root, _timer) = Root::begin(&shared, &pending);
        root.presence.end();
        // Of Unix: TCP would use up its ports, one per execution.
        let (mut ours, mut theirs) = UnixStream::pair().expect("two descriptors");
        let registration = shared.driver.register(&mut ours, Interest::READABLE).expect("room");
        let readiness = registration.readiness();
        readiness.clear_would_block(readiness.current(Interest::READABLE), Direction::Read);
        let reader = Waker::from(Arc::new(Reader(pending.clone())));
        assert!(
            readiness.poll_ready(&mut Context::from_waker(&reader), Direction::Read).is_pending()
        );
        (0..2).for_each(|_| shared.add_awake());
        pending.begin();
        let writer = thread::spawn({
            let shared = shared.clone();
            move || {
                theirs.write_all(b"x").expect("room for a byte");
                shared.remove_awake();
                theirs
            }
        });
        way.here();
        hold(&shared, shared.driver.try_seat().expect("the seat is free"));
        drop(writer.join().expect("no panic"));
    });
}

/// Is woken by the event that is pending.
struct Reader(Arc<Pending>);

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        self.0.done();
    }
}
