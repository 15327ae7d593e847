//! How worker threads start, rest and end, and how the runtime drops what is left.
//!
//! # Resizing
//!
//! `WorkerCount::regular` says how many workers there should be. A worker whose index is not below it leaves
//! when it notices: it moves what it has queued to the queues that all share, and its thread rests. Workers
//! above `regular` that are to stay for a while are *spares* (watchdog.rs); `staying` counts them in. The
//! slots, the idle word and `staying` know no difference between a spare and a worker that
//! `set_worker_threads` has added.
//!
//! # Threads that rest
//!
//! A task may do something to its thread that lasts as long as the thread: it starts a child that is to die
//! with it (`PR_SET_PDEATHSIG`), traces another process, enters a namespace, pins the thread to a core, or
//! leaves a value with a destructor in a thread-local. Programs that were written for a fixed number of
//! threads count on it that this is until the end of the runtime. So each slot has one thread, from the
//! first time that it needs one until the runtime ends. While its worker is surplus, the thread *rests*: it
//! is no worker, keeps no memory for tasks, and sleeps in its parker. There are never more threads than
//! slots, and a spare is always the first worker above those that stay, so its thread is mostly there.
//!
//! | the thread of a slot | `occupied` | `workers` has it | `alive` counts it | it |
//! |---|---|---|---|---|
//! | is missing | no | no | no | |
//! | works | yes | yes | yes | runs tasks, or is about to |
//! | rests | no | yes | no | sleeps until it is called back, or the runtime is closed |
//! | ends | as it was | until it is joined, or given up | no | has done its part of the end, if it had one |
//!
//! | from | to | by | when |
//! |---|---|---|---|
//! | missing | works | `occupy`, in any thread | the slot is below `staying` |
//! | works | rests | `rest`, in the thread itself | it is not below `staying`, and the runtime is open |
//! | rests | works | `occupy`, in any thread | the slot is below `staying` |
//! | works | its end | `worker_ends`, in the thread itself | the runtime is closed; it drains |
//! | rests | its end | `rest`, in the thread itself | the runtime is closed; there is nothing for it to do |
//!
//! All these steps are made under the lock of the threads, which the close takes, too. So a worker that was
//! asked to leave and then to stay either stays, or rests and is called back. Two threads that need a spare
//! at the same time come one after the other, and the second one sees that the slot is occupied. A close
//! comes before or after each step: a thread that was called back before it counts as alive and has its part
//! in the end, also if it has not woken up until then.
//!
//! No thread rests for ever. The thread that calls it back, or closes, changes the state under the lock and
//! leaves a token in its parker afterwards. The thread that rests looks at the state under the lock each time
//! before it sleeps. If the change came first, it sees the change. If not, the token comes after its look,
//! and ends its sleep or keeps it from falling asleep (park.rs). The token cannot go to the parker of an
//! earlier or a later worker of the slot: the slot has that of the last one, which is the one that rests.
//!
//! Rejected: a thread that ends when it has rested for some time, as those of the blocking pool do, which
//! breaks the promise after that time; and a list of threads that rest from which each slot is served, so
//! that there are fewer of them. Then a thread would have to change its name and its number, for nothing: a
//! spare is needed in the lowest free slot anyway.
//!
//! Models `a_worker_that_is_asked_to_stay_rests_and_is_called_back_or_stays`,
//! `a_thread_that_rests_ends_with_the_runtime`, `a_thread_that_is_called_back_has_its_part_in_the_end`,
//! `two_that_need_a_spare_call_one_thread_back_once`,
//! `a_wake_beside_a_leaving_worker_is_not_left_in_its_channel`.
//!
//! # The end
//!
//! 1. `close` sets `closed`, fences, and wakes all workers. From here on a worker starts one more task at
//!    most. A thread that spawns from outside counts the task, fences, sees `closed` and cancels the task
//!    itself. A wake from outside only queues: only the workers run destructors of tasks that they have not
//!    spawned themselves.
//! 2. Each worker drains: it cancels all cold tasks (their registries are closed: later ones are cancelled on
//!    the way in) and everything in every queue. It holds one task at a time, and ends when it finds no
//!    other: a destructor may wait for that of another task, so the thread must not hold that one. So what
//!    can only be taken as a whole, the cold tasks and the wake channels, goes to the injector first, under a
//!    lock that every worker takes: none may miss it while it is on its way.
//! 3. The last worker drains until no task is alive. What it may have to wait for is a wake or a spawn that
//!    another thread is in the middle of: that thread has set SCHEDULED, or counted the spawn, and is a few
//!    instructions from the push. No user code runs in between.
//! 4. So when the last worker thread ends, every task is complete, and late wakes stop at the task's word.
//!
//! Models of steps 1 to 3: `a_task_spawned_beside_the_end_is_cancelled`,
//! `a_wake_beside_the_end_is_waited_for`, `the_last_of_two_workers_ends_the_wait`,
//! `destructors_may_wait_for_each_other`.
//!
//! The thread that closes drains in place of a worker only if there is none: it may be a worker of another
//! runtime, and destructors may take long. It asks under the lock of the threads, before `closed` is set:
//! until then a worker that is counted leaves under that lock only, and from then on it drains before it is
//! counted out, or rests. Model `a_close_leaves_the_destructors_to_the_workers`.
//!
//! A worker that is stuck in a poll holds up step 3 but not step 2: all other tasks are dropped by its peers,
//! or, if no worker moves, by a thread that the watchdog starts (`start_drainer`), because the poll may wait
//! for one of them. All workers and all spares may block in place, for one; on tokio another thread takes
//! over from each worker that does, and drops the tasks. `wait_for_tasks` can give up on it; it finishes
//! steps 2 and 3 whenever it comes back.

use super::enqueue::{Notice, Role, play};
use super::shared::Shared;
use super::slots::{NO_THREAD, RESTING_THREAD, SleepHooks, thread_number};
use super::threads::{ThreadList, ThreadSetup};
use super::watchdog;
use super::worker::Worker;
use crate::engine::abort::AbortOnUnwind;
use crate::engine::ended::ended;
use crate::engine::park::Parker;
use crate::engine::recycler;
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::thread::{self, JoinHandle};
use crate::engine::sync_shim::{Arc, MutexGuard, clock, pause};
use crate::engine::task::current::Running;
use crate::engine::task::header::Hot;
use std::io;
use std::iter;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How often a thread that drains yields while it waits for a waker that has set SCHEDULED and has not pushed
/// the task yet. After that it takes the waker's thread for preempted.
const YIELDS: u32 = 64;

/// How long it pauses each time from then on.
const PAUSE: Duration = Duration::from_micros(100);

impl Shared {
    /// From here on the driver thread and spare workers are started with `setup`.
    pub(crate) fn set_thread_setup(&self, setup: ThreadSetup) {
        assert!(self.threads.setup.set(setup).is_ok(), "called once");
    }

    /// Starts the driver thread, unless it is there or the runtime is closed.
    #[cold]
    pub(crate) fn start_watchdog(self: &Arc<Self>) -> io::Result<()> {
        let mut threads = self.threads.list.lock();
        if self.shutdown.is_closed() {
            return Ok(());
        }
        self.start_watchdog_once(&mut threads)
    }

    /// As [`Shared::start_watchdog`] with the lock held.
    fn start_watchdog_once(self: &Arc<Self>, threads: &mut ThreadList) -> io::Result<()> {
        let Some(setup) = self.threads.setup.get().filter(|_| threads.watchdog.is_none()) else {
            return Ok(());
        };
        threads.watchdog = Some(self.start_aside(threads, setup, "driver", watchdog::run)?);
        Ok(())
    }

    /// Starts a thread that drops the tasks of the closed runtime, unless there is one, or nothing to drop.
    /// For the watchdog, which orders it when no worker does that; itself it has to fetch events, for which
    /// the polls that are not over, and destructors, may wait.
    pub(super) fn start_drainer(self: &Arc<Self>) {
        let Some(mut threads) = self.threads.list.try_lock() else {
            return;
        };
        let is_left_over = || !*self.shutdown.moved_to_injector.lock() || self.has_work();
        let Some(setup) = self.threads.setup.get().filter(|_| !threads.drains && is_left_over())
        else {
            return;
        };
        self.add_awake();
        let life = |shared: &Arc<Self>| {
            play(&Role::Drainer, || shared.drain(Some(&shared.shutdown.drainer)));
            shared.threads.list.lock().drains = false;
            shared.remove_awake();
        };
        match self.start_aside(&mut threads, setup, "drainer", life) {
            Ok(thread) => {
                threads.drains = true;
                threads.drainers.push(thread);
            }
            Err(_) => self.remove_awake(),
        }
    }

    /// Starts a thread of the runtime that runs no tasks; fails at once if none could be made a short time
    /// ago.
    fn start_aside(
        self: &Arc<Self>,
        threads: &mut ThreadList,
        setup: &ThreadSetup,
        suffix: &str,
        life: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let now = clock::now();
        if threads.has_just_failed(now) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (shared, inside, mut life) = (self.clone(), setup.inside.clone(), Some(life));
        self.threads.begins();
        let started = setup.config.spawn(suffix, move || {
            // Without this thread the seat may stay empty, or tasks undropped: better to end loudly.
            let abort = AbortOnUnwind;
            inside(&mut || life.take().into_iter().for_each(|life| life(&shared)));
            abort.forget();
            drop(inside);
            shared.threads.ends();
        });
        if started.is_err() {
            threads.failed = Some(now);
            self.threads.ends();
        }
        started
    }

    /// Makes the number of workers `count`: starts missing ones and asks surplus ones to leave.
    pub(crate) fn resize(self: &Arc<Self>, count: usize) -> io::Result<()> {
        let threads = self.threads.list.lock();
        if self.shutdown.is_closed() {
            return Err(ended("the runtime has been shut down"));
        }
        self.resize_locked(threads, count)
    }

    /// As [`Shared::resize`], of a runtime that is open, with the lock held.
    fn resize_locked(
        self: &Arc<Self>,
        mut threads: MutexGuard<'_, ThreadList>,
        count: usize,
    ) -> io::Result<()> {
        let (before, stayed) = (self.size.regular(), self.size.staying());
        // Spares count as regular from here on, or leave.
        self.size.set_regular(count);
        let failed = (0..count).find_map(|index| {
            let error = self.occupy(&mut threads, index).err()?;
            // Keep what runs; the caller learns that there are fewer than asked for.
            self.size.set_regular(before.max(index));
            Some(error)
        });
        drop(threads);
        self.unpark_surplus(stayed);
        failed.map_or(Ok(()), Err)
    }

    /// As [`Shared::resize`] for the driver thread, which must not wait: does nothing while another thread
    /// starts or ends some. `is_wanted` is asked under the lock, so that a call of `resize` that comes later
    /// has the last word.
    pub(crate) fn try_resize(self: &Arc<Self>, count: usize, is_wanted: impl FnOnce() -> bool) {
        let Some(threads) = self.threads.list.try_lock() else {
            return;
        };
        if !self.shutdown.is_closed() && is_wanted() {
            // Without a thread to spare there are fewer of them, and the next attempt is made later.
            let _ = self.resize_locked(threads, count);
        }
    }

    /// After `staying` was lowered, and the lock left: wakes the workers below `stayed` that have to leave.
    pub(super) fn unpark_surplus(&self, stayed: usize) {
        for index in self.size.staying()..stayed {
            self.unpark(index);
        }
    }

    /// Sees to it that a thread works in slot `index`, which the caller has counted in: the one that rests
    /// there, or a new one.
    pub(super) fn occupy(
        self: &Arc<Self>,
        threads: &mut ThreadList,
        index: usize,
    ) -> io::Result<()> {
        if !threads.is_vacant(index) {
            return Ok(());
        }
        if threads.has_thread(index) {
            self.size.count_in();
            threads.occupied[index] = true;
            self.unpark(index);
            return Ok(());
        }
        threads.make_room(index);
        // The slot is made while the runtime is open: its registry is there when the end closes all of them.
        let _ = self.slots.get(index);
        threads.workers[index] = Some(self.start_worker(index)?);
        threads.occupied[index] = true;
        Ok(())
    }

    fn start_worker(self: &Arc<Self>, index: usize) -> io::Result<JoinHandle<()>> {
        let setup = self.threads.setup.get().expect("set before the first thread starts");
        let (shared, around) = (self.clone(), setup.around.clone());
        self.threads.begins();
        self.size.count_in();
        self.add_awake();
        let started = setup.config.spawn(&index.to_string(), move || {
            // A panic of the runtime's own code would leave queues without an owner. Panics of tasks are
            // caught in the task's cell.
            let abort = AbortOnUnwind;
            around(&mut || worker_thread(&shared, index));
            abort.forget();
            shared.remove_awake();
            shared.threads.ends();
        });
        if started.is_err() {
            // Whether others are left does not matter here: this one has run nothing.
            let _ = self.size.count_out();
            self.remove_awake();
            self.threads.ends();
        }
        started
    }

    /// Whether the calling thread is a worker or the driver thread; also in the destructors of its
    /// thread-locals, where it does not know itself any more.
    pub(crate) fn is_own_thread(&self) -> bool {
        let (threads, current) = (self.threads.list.lock(), thread::current().id());
        let all =
            threads.workers.iter().flatten().chain(&threads.drainers).chain(&threads.watchdog);
        all.into_iter().any(|thread| thread.thread().id() == current)
    }

    /// Begins the end: no task starts any more.
    pub(crate) fn close(self: &Arc<Self>) {
        // Under the lock: no worker starts afterwards.
        let mut threads = self.threads.list.lock();
        let was_open = !self.shutdown.is_closed();
        // Counted under the lock as long as the runtime is open. No worker was ever started, or all have
        // left.
        let is_deserted = was_open && self.size.alive() == 0;
        self.shutdown.close();
        // Before the fence, for a worker that parks.
        self.size.end();
        fence(Ordering::SeqCst);
        if was_open && !is_deserted && self.alive_tasks() != 0 {
            // Tasks that no worker has run yet: a destructor may wait for another one. Without a thread to
            // spare the workers drain alone.
            let _ = self.start_watchdog_once(&mut threads);
        }
        let slots = threads.workers.len();
        drop(threads);
        for index in 0..slots {
            self.unpark(index);
        }
        self.watchdog.wake(&self.driver);
        self.driver.wake();
        if is_deserted {
            self.drain_to_the_end(None);
        }
    }

    /// After `close`: waits until every task is complete. `false`: `deadline` came first. For foreign threads
    /// only.
    pub(crate) fn wait_for_tasks(&self, deadline: Option<Instant>) -> bool {
        self.threads.wait_until(deadline, |_| self.shutdown.is_drained())
    }

    /// After `wait_for_tasks`: waits until all threads have finished, with the user's stop hooks; until
    /// `deadline` at the latest. `false`: the deadline came first. For foreign threads only.
    pub(crate) fn wait_for_workers(&self, deadline: Option<Instant>) -> bool {
        let ended = self.threads.wait_until(deadline, |working| working == 0);
        let workers = self.threads.list.lock().take_workers();
        if ended {
            // No task's panic ends a thread, and a panic of the runtime's own code aborts the process.
            workers.for_each(|thread| drop(thread.join()));
        }
        ended
    }

    /// Joins the driver thread, which is in its last steps. For foreign threads only.
    pub(crate) fn join_watchdog(&self) {
        let watchdog = self.threads.list.lock().watchdog.take();
        // As in `wait_for_workers`, the result says nothing.
        watchdog.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// One pass over everything that may hold a task: cancels what it finds. `true`: it found something.
    ///
    /// `running`: where the calling thread publishes the task whose destructor it runs, if other threads read
    /// that.
    pub(super) fn drain(&self, running: Option<&Running>) -> bool {
        self.move_to_injector();
        let mut found = false;
        let mut cancel = |task: Hot| {
            found = true;
            self.cancel_noted(task, running);
        };
        while let Some(task) = self.queues.injector.pop().or_else(|| self.queues.yielded.pop()) {
            cancel(task);
        }
        for slot in self.slots.iter() {
            while let Some(task) = slot.steal_one() {
                cancel(task);
            }
            slot.next.take().into_iter().for_each(&mut cancel);
        }
        found
    }

    /// Moves the tasks that can only be taken all at once to the injector, from which each thread that drains
    /// takes one at a time.
    ///
    /// All registries are closed, and all their tasks are aborted by that, before the first destructor runs:
    /// what a destructor wakes then ends with the others and is not polled.
    fn move_to_injector(&self) {
        // A thread that comes second must not find the registries closed and the injector still empty: it
        // would end, and leave the first one alone with tasks that may wait for each other.
        let mut moved_to_injector = self.shutdown.moved_to_injector.lock();
        *moved_to_injector = true;
        for slot in self.slots.iter() {
            // No worker is told: each one drains on its way out.
            let tasks = slot.registry.close().into_iter().chain(slot.channel.take_all());
            let _ = self.abandon(tasks, iter::empty());
        }
    }

    /// A worker thread ends because the runtime does.
    fn worker_ends(&self, index: usize) {
        let running = Some(&self.slots.get(index).running);
        // Ordering: SeqCst fence, Dekker with `spawned_outside`: here, read `closed`, fence, look for tasks
        // and at the counts; there, count the task, fence, read `closed`.
        fence(Ordering::SeqCst);
        self.drain(running);
        if self.size.count_out() {
            self.drain_to_the_end(running);
        }
        self.slots.get(index).set_thread(NO_THREAD);
    }

    fn drain_to_the_end(&self, running: Option<&Running>) {
        let mut rounds = 0u32;
        while self.alive_tasks() != 0 {
            if self.drain(running) {
                rounds = 0;
            } else if rounds < YIELDS {
                // Another thread is between setting SCHEDULED and its push.
                rounds += 1;
                thread::yield_now();
            } else {
                // It has been preempted there. Nothing to wait on exists for this rare case.
                pause(PAUSE);
            }
        }
        self.check_quiet();
        let working = self.threads.working.lock();
        self.shutdown.set_drained();
        drop(working);
        self.threads.working_changed.notify_all();
        // Ordering: SeqCst fence, Dekker with a watchdog that is just starting: here, store `drained`, fence,
        // read its unparker; there, set the unparker, fence (`announce_sleep`), read `drained`.
        fence(Ordering::SeqCst);
        self.watchdog.wake(&self.driver);
    }
}

impl Shared {
    /// Starts one spare worker, unless there may be none more, or another thread is starting or ending some
    /// at the moment; the next look will see what came of it.
    pub(super) fn start_spare(self: &Arc<Self>) -> io::Result<()> {
        self.threads.list.try_lock().map_or(Ok(()), |threads| self.add_spare(threads))
    }

    /// As [`Shared::start_spare`], with the lock held.
    pub(super) fn add_spare(
        self: &Arc<Self>,
        mut threads: MutexGuard<'_, ThreadList>,
    ) -> io::Result<()> {
        let Some(setup) = self.threads.setup.get().filter(|_| !self.shutdown.is_closed()) else {
            return Ok(());
        };
        let staying = self.size.staying();
        let end = self.most_workers(setup);
        // A worker that was let go and is still stuck has kept its slot: it counts as a spare again.
        let Some(index) = (staying..end).find(|&index| threads.is_vacant(index)) else {
            return Ok(());
        };
        self.size.set_staying(index + 1);
        let started = self.occupy(&mut threads, index);
        if started.is_err() {
            self.size.set_staying(staying);
        }
        drop(threads);
        // After a failure: one that was counted in again may have parked meanwhile.
        self.unpark_surplus(index + 1);
        started
    }

    /// Asks all workers but the first `needed` and the regular ones to leave. Their threads rest then.
    pub(super) fn retire_spares(&self, needed: usize) {
        let Some(threads) = self.threads.list.try_lock() else {
            return;
        };
        if self.shutdown.is_closed() {
            return;
        }
        let stayed = self.size.staying();
        self.size.set_staying(self.size.regular().max(needed.min(stayed)));
        drop(threads);
        self.unpark_surplus(stayed);
    }

    /// Whether one more spare may be started.
    pub(super) fn may_add_spare(&self) -> bool {
        let staying = self.size.staying();
        self.threads.setup.get().is_some_and(|setup| staying < self.most_workers(setup))
    }
}

/// A worker thread's whole life.
fn worker_thread(shared: &Arc<Shared>, index: usize) {
    loop {
        shared.slots.get(index).set_thread(thread_number());
        let worker = Worker::new(shared.clone(), index);
        shared.slots.get(index).activate(worker.parker().unparker());
        shared.slots.raise(index);
        let role = Role::Worker(worker);
        let Role::Worker(worker) = &role else { unreachable!("just made") };
        let after = play(&role, || work_until_surplus(shared, worker, index));
        let Role::Worker(worker) = role else { unreachable!("a role does not change") };
        let parker = worker.leave();
        if after.is_break() || rest(shared, index, &parker).is_break() {
            return;
        }
    }
}

/// Runs tasks until the worker is surplus, and gives away those that are left; or until the runtime is
/// closed, and does the worker's part of the end. After that, `Break`, the thread ends.
fn work_until_surplus(shared: &Arc<Shared>, worker: &Worker, index: usize) -> ControlFlow<()> {
    worker.work();
    if shared.shutdown.is_closed() {
        shared.worker_ends(index);
        return ControlFlow::Break(());
    }
    // Whatever was handed over: pushes may have relied on this worker, which was awake.
    let _ = worker.hand_over();
    shared.tell(Notice::Outside);
    ControlFlow::Continue(())
}

/// The thread of a surplus worker rests, if the worker still is one: it may have been asked to stay, or the
/// runtime closed, in between. Returns when the thread is to work again, or, `Break`, to end.
fn rest(shared: &Arc<Shared>, index: usize, parker: &Parker) -> ControlFlow<()> {
    let mut threads = shared.threads.list.lock();
    if shared.shutdown.is_closed() {
        drop(threads);
        // In the role of one that drains: a destructor that would block the thread is refused, as it is by
        // the other workers.
        play(&Role::Drainer, || shared.worker_ends(index));
        return ControlFlow::Break(());
    }
    if index < shared.size.staying() {
        return ControlFlow::Continue(());
    }
    threads.occupied[index] = false;
    // The worker has given up its queues, and empties its channel no more: a thread that queues a task there
    // from now on moves it on.
    shared.slots.lower(threads.occupied_slots());
    shared.slots.get(index).set_thread(RESTING_THREAD);
    // The runtime is open: if it was the last one, there is nothing to drain.
    let _ = shared.size.count_out();
    drop(threads);
    // It may be long until the next task.
    recycler::trim_here();
    let hooks = shared.threads.sleep_hooks();
    hooks.into_iter().for_each(SleepHooks::before);
    let after = rest_until_called(shared, index, parker);
    hooks.into_iter().for_each(SleepHooks::after);
    after
}

fn rest_until_called(shared: &Shared, index: usize, parker: &Parker) -> ControlFlow<()> {
    loop {
        shared.remove_awake();
        parker.park();
        shared.add_awake();
        let threads = shared.threads.list.lock();
        // Asked first: once it is called back it counts as alive, so that the end waits for its part.
        if threads.occupied[index] {
            return ControlFlow::Continue(());
        }
        if shared.shutdown.is_closed() {
            shared.slots.get(index).set_thread(NO_THREAD);
            return ControlFlow::Break(());
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
