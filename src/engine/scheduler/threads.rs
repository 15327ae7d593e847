//! The threads of the scheduler: how they are made, their handles, how many are at work, and how far the end
//! of the runtime has come.

use super::slots::SleepHooks;
use crate::engine::blocking::AroundThread;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::thread::{self, JoinHandle};
use crate::engine::sync_shim::{Condvar, Mutex, MutexGuard};
use crate::engine::task::current::Running;
use crate::engine::thread_name::ThreadName;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The environment variable that sets the default bound of the spares. It is named where the bound is what
/// keeps tasks waiting.
pub(crate) const SPARES_VARIABLE: &str = "LITEN_MAX_SPARE_WORKERS";

/// How threads are made.
#[derive(Debug, Clone)]
pub(crate) struct ThreadConfig {
    pub(crate) name: ThreadName,
    pub(crate) stack_size: Option<usize>,
}

/// The settings that it takes to start the driver thread, and a spare worker.
pub(crate) struct ThreadSetup {
    pub(crate) config: ThreadConfig,
    /// Around the life of a worker.
    pub(crate) around: AroundThread,
    /// Around that of the driver thread and of one that drains: in the runtime, because wakers may spawn, but
    /// without the hooks, which are for threads that run tasks.
    pub(crate) inside: AroundThread,
    /// Around each sleep of a worker; `None` if there are no such hooks.
    pub(crate) sleep_hooks: Option<SleepHooks>,
    /// How many spares there may be at a time. Tasks that block one after the other would otherwise get a
    /// thread each, and the answer to that is `spawn_blocking`.
    pub(crate) max_spares: usize,
    /// There may be one more for each worker that blocks in place, as far as there are slots.
    pub(crate) replaces_blocked: bool,
}

/// The threads, and what it takes to start them.
pub(super) struct Threads {
    /// Serialises starting, retiring and joining of threads.
    list: Mutex<ThreadList>,
    /// The settings for a new thread. Set once, before the first one starts.
    pub(super) setup: OnceLock<ThreadSetup>,
    /// Threads, the driver thread among them, that are not through with all that is to be done on them.
    pub(super) working: Mutex<usize>,
    /// `working`, or whether the runtime is drained, has changed.
    pub(super) working_changed: Condvar,
}

impl Threads {
    pub(super) fn new() -> Self {
        Self {
            list: Mutex::new(ThreadList::default()),
            setup: OnceLock::new(),
            working: Mutex::new(0),
            working_changed: Condvar::new(),
        }
    }

    /// Returns the functions to be called around each sleep of a worker.
    pub(super) fn sleep_hooks(&self) -> Option<&SleepHooks> {
        self.setup.get()?.sleep_hooks.as_ref()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ThreadList> {
        self.list.lock()
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, ThreadList>> {
        self.list.try_lock()
    }

    /// A thread is about to be started.
    pub(super) fn begins(&self) {
        *self.working.lock() += 1;
    }

    /// It is through with all that is to be done on it, or could not be started.
    pub(super) fn ends(&self) {
        *self.working.lock() -= 1;
        self.working_changed.notify_all();
    }

    /// Waits until `done`, given how many threads are at work. `false`: `deadline` came first.
    pub(super) fn wait_until(
        &self,
        deadline: Option<Instant>,
        done: impl Fn(usize) -> bool,
    ) -> bool {
        let mut working = self.working.lock();
        while !done(*working) {
            match deadline {
                None => self.working_changed.wait(&mut working),
                Some(deadline) => {
                    let late = self.working_changed.wait_until(&mut working, deadline).timed_out();
                    if late && !done(*working) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

#[derive(Default)]
pub(super) struct ThreadList {
    /// By slot; each has one thread, from the first worker there until the runtime ends.
    pub(super) workers: Vec<Option<JoinHandle<()>>>,
    /// Whether the thread of the slot works. If not, it rests, or is missing.
    pub(super) occupied: Vec<bool>,
    pub(super) watchdog: Option<JoinHandle<()>>,
    /// A thread drains the closed runtime.
    pub(super) drains: bool,
    /// That one, and those that have done so before.
    pub(super) drainers: Vec<JoinHandle<()>>,
    /// When the system last had no thread to give for the driver thread, or one that drains.
    pub(super) failed: Option<Instant>,
}

/// How long after a failed start of a thread the next attempt is made. Without a pause each worker that
/// leaves its park would try, and so would each look of the watchdog.
pub(super) const RETRY_AFTER: Duration = Duration::from_millis(100);

impl ThreadList {
    /// Whether another attempt to start a thread would come too early.
    pub(super) fn has_just_failed(&self, now: Instant) -> bool {
        self.failed.is_some_and(|failed| now.saturating_duration_since(failed) < RETRY_AFTER)
    }

    /// All threads but the driver's.
    pub(super) fn take_workers(&mut self) -> impl Iterator<Item = JoinHandle<()>> + use<> {
        std::mem::take(&mut self.workers)
            .into_iter()
            .flatten()
            .chain(std::mem::take(&mut self.drainers))
    }

    /// Whether no thread works in the slot.
    pub(super) fn is_vacant(&self, index: usize) -> bool {
        !self.occupied.get(index).is_some_and(|&occupied| occupied)
    }

    /// Whether the slot has a thread, which may rest.
    pub(super) fn has_thread(&self, index: usize) -> bool {
        self.workers.get(index).is_some_and(Option::is_some)
    }

    /// Makes room for a thread in slot `index`.
    pub(super) fn make_room(&mut self, index: usize) {
        let slots = self.workers.len().max(index + 1);
        self.workers.resize_with(slots, || None);
        self.occupied.resize(slots, false);
    }
}

impl ThreadConfig {
    pub(super) fn spawn(
        &self,
        suffix: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let mut builder = thread::Builder::new().name(self.name.of(&suffix));
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder.spawn(f)
    }
}

pub(super) fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        // No task's panic ends the thread, and a panic of the runtime's own code aborts the process.
        let _ = thread.join();
    }
}

/// How far the end of the runtime has come.
pub(super) struct Shutdown {
    closed: AtomicBool,
    /// Held by a thread that moves tasks to the injector for the end; whether one has begun to.
    pub(super) moved_to_injector: Mutex<bool>,
    /// Whose destructor runs on the thread that drains the runtime in the place of the workers.
    pub(super) drainer: Running,
    /// The last worker has drained everything. Set under `Threads::working`.
    drained: AtomicBool,
}

impl Shutdown {
    pub(super) fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            moved_to_injector: Mutex::new(false),
            drainer: Running::new(),
            drained: AtomicBool::new(false),
        }
    }

    /// By the thread that closes the runtime, under the lock of the threads. A SeqCst fence follows.
    pub(super) fn close(&self) {
        // Ordering: SeqCst with that fence: close, fence, drain (by the workers); push, fence, look at
        // `closed` (by the others).
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        // Ordering: Relaxed. Callers that must not miss it have executed a SeqCst fence
        // (`Shared::spawned_outside`), hold the lock of the threads, or have seen that they are surplus.
        self.closed.load(Ordering::Relaxed)
    }

    /// By the thread that has drained everything.
    pub(super) fn set_drained(&self) {
        // Ordering: Release pairs with `is_drained`.
        self.drained.store(true, Ordering::Release);
    }

    /// Whether the runtime is closed and no task is alive any more.
    pub(super) fn is_drained(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `set_drained`.
        self.drained.load(Ordering::Acquire)
    }
}
