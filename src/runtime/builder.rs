//! Settings of a runtime, and making one.

use super::Runtime;
use super::blocking_task::BlockingTasks;
use super::current_thread::CurrentThread;
use super::handle::{
    self, Flavor, Handle, Hooks, RuntimeFlavor, RuntimeState, check_workers, invalid,
};
use super::id::Id;
use super::latch::Latch;
use super::local::{LocalExecutor, Settled};
use super::local_runtime::LocalRuntime;
use super::panics;
use super::pinned::Pinned;
use super::task_functions::TaskFunctions;
use super::tokio_context;
use crate::engine::driver::Driver;
use crate::engine::scheduler::{
    MAX_SLOTS, MAX_WORKERS, SPARES_VARIABLE, Shared, Sleeps, ThreadConfig, ThreadSetup,
};
use crate::engine::sync_shim::{Arc, cpus};
use crate::engine::thread_name::ThreadName;
use crate::engine::{blocking, recycler};
use crate::impls::{impl_debug, impl_unwind_safe, setters};
use crate::observe::slow_polls::{OnSlowPoll, SlowPolls};
use crate::observe::{FirstLimits, LimitsWatch, Observer, SlowPoll};
use std::io;
use std::sync::{OnceLock, Weak};
use std::time::Duration;

/// The environment variable that sets the default number of workers.
const WORKERS_VARIABLE: &str = "LITEN_WORKER_THREADS";

/// Default bound of the blocking pool, as in tokio: enough for every file operation in flight, and a
/// bound on memory.
const MAX_BLOCKING: usize = 512;

/// The most spare workers by default on a large machine, where there is one for each worker whose task
/// blocks, and one for what waits beside them. Some tasks that block are a mistake to live with, more are a
/// pool for blocking work, and there is one.
const SPARES: usize = 16;

/// The least of them. How many places of a program block does not depend on the processors: in a container
/// with one, three exporters that are flushed at the end may each wait for a task of this runtime. A thread
/// that blocks costs some memory and no processor. Rejected: [`SPARES`] for all. Tasks that compute in polls
/// of 20 ms and more get as many spares as there may be, and then so many have their memory at the same time.
const LEAST_SPARES: usize = 4;

/// How many workers one word of the scheduler's holds (idle.rs). The workers and the spares that there may be
/// without those that replace others fill it on all but large machines.
const WORD: usize = 48;

/// How many workers that block in place may be replaced at a time, if the program has not set the number of
/// spares; more if it lets the blocking pool have more threads. As many as on tokio. The words for them are
/// looked at once they are used. Rejected: no room but what is left in the first word. A 49th task that
/// blocked until another one ran then blocked all.
const REPLACEMENTS: usize = 512;

/// Polls that last this long are reported by default: a request that waits for such a poll is late.
const SLOW_POLL: Duration = Duration::from_millis(100);

/// How long an idle thread of the blocking pool stays by default, as in tokio.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Builds a [`Runtime`] or a [`LocalRuntime`].
///
/// Everything is on by default: there is nothing to enable.
///
/// # Examples
///
/// ```
/// let runtime = liten::runtime::Builder::new_multi_thread()
///     .worker_threads(2)
///     .thread_name("my-service")
///     .build()
///     .unwrap();
/// runtime.block_on(async { /* … */ });
/// ```
#[derive(Clone)]
pub struct Builder {
    flavor: RuntimeFlavor,
    name: Option<String>,
    worker_threads: Option<usize>,
    max_worker_threads: Option<usize>,
    max_spare_workers: Option<usize>,
    max_blocking_threads: usize,
    thread_name: ThreadName,
    thread_stack_size: Option<usize>,
    thread_keep_alive: Duration,
    slow_poll_threshold: Duration,
    start_paused: bool,
    hooks: Hooks,
    pub(super) task_functions: TaskFunctions,
    on_slow_poll: Option<OnSlowPoll>,
    pub(super) tokio: tokio_context::Setting,
}

impl Builder {
    /// Returns the default settings of a runtime with workers.
    pub fn new_multi_thread() -> Self {
        Self::new(RuntimeFlavor::MultiThread)
    }

    /// Returns the default settings of a runtime without workers: its tasks run on the thread that calls
    /// [`Runtime::block_on`]. See [`Builder::build`] and [`Builder::build_local`].
    pub fn new_current_thread() -> Self {
        Self::new(RuntimeFlavor::CurrentThread)
    }

    fn new(flavor: RuntimeFlavor) -> Self {
        Self {
            flavor,
            name: None,
            worker_threads: None,
            max_worker_threads: None,
            max_spare_workers: None,
            max_blocking_threads: MAX_BLOCKING,
            thread_name: ThreadName::Prefix("liten-worker".to_owned()),
            thread_stack_size: None,
            thread_keep_alive: KEEP_ALIVE,
            slow_poll_threshold: SLOW_POLL,
            start_paused: false,
            hooks: Hooks::default(),
            task_functions: TaskFunctions::default(),
            on_slow_poll: None,
            tokio: tokio_context::Setting::default(),
        }
    }

    setters! {
        |this|
        /// Sets the number of workers. Default: `LITEN_WORKER_THREADS` if it is set, else one per CPU that
        /// the process may use, by its affinity, its cpuset and its CPU quota.
        ///
        /// The default follows these limits while the runtime has work: see [in a
        /// container](crate::guide::container).
        ///
        /// A runtime without workers cannot be built with it.
        worker_threads(count: usize) => this.worker_threads = Some(count);

        /// Sets how many workers [`Handle::set_worker_threads`] may ask for. Default: twice the number of
        /// workers, and 32 at least; at most 4096. Without meaning for a runtime without workers.
        max_worker_threads(count: usize) => this.max_worker_threads = Some(count);

        /// Sets how many spare workers may run at a time. 0: none, ever. Default: `LITEN_MAX_SPARE_WORKERS`
        /// if it is set, else one more than there are workers, but 4 at least and 16 at most; never more than
        /// 4096. Unless this is called or the variable is 0, there may be one more for each worker that
        /// [blocks in place](crate::task::block_in_place), at the time of writing for 512 of them. Without
        /// meaning for a runtime without workers.
        ///
        /// When all workers are busy with long polls (at the time of writing, of 150 µs and more) while other
        /// tasks are ready, the runtime starts a spare worker for those. It leaves tasks that compute and
        /// [yield](crate::task::yield_now) to the workers, and the operating system shares the cores. When
        /// it is stuck as well, another one starts after some milliseconds, and the next after a longer time.
        /// [`block_in_place`](crate::task::block_in_place) starts one at once if no worker is idle. The
        /// spares leave when a regular worker has been free of long polls for a while.
        ///
        /// If as many tasks block as there are workers and spares, no task runs until one of them goes on: if
        /// they wait for other tasks, for ever. A dump says so
        /// ([`Finding::AllWorkersBlocked`](crate::insight::Finding::AllWorkersBlocked)), and names this
        /// limit.
        ///
        /// What a task does to its thread lasts until the runtime ends. So the thread of a spare that has
        /// left does not end: it [rests](super::RuntimeMetrics::num_resting_workers), and is the next spare.
        max_spare_workers(count: usize) => this.max_spare_workers = Some(count);

        /// Sets the most threads of the blocking pool. Default: 512. They are made when needed.
        ///
        /// At the end of the runtime, if all of them are busy, there is one more to run the destructors of
        /// the work that is queued.
        max_blocking_threads(count: usize) => this.max_blocking_threads = count;

        /// Sets the name of the runtime, which its [`Handle`] and the runtime's `Debug` show. Default: none.
        ///
        /// It must not be empty, nor white space only.
        ///
        /// # Examples
        ///
        /// ```
        /// let runtime = liten::runtime::Builder::new_current_thread().name("billing").build().unwrap();
        /// assert_eq!(runtime.handle().name(), Some("billing"));
        /// ```
        name(name: impl Into<String>) => this.name = Some(name.into());

        /// Sets the beginning of the threads' names: workers are `NAME-0`, `NAME-1`, …; there are
        /// `NAME-driver`, `NAME-blocking-0`, … and `NAME-pinned-0`, … too. Default: `liten-worker`.
        thread_name(name: impl Into<String>) => this.thread_name = ThreadName::Prefix(name.into());

        /// Sets a function that names each thread when it is made, in the place of [`Builder::thread_name`].
        ///
        /// The runtime may hold a lock meanwhile: `f` must not use the runtime, nor wait for a lock that a
        /// task may hold. After a panic of `f`, which the panic hook reports, the thread has an empty name.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::sync::atomic::{AtomicUsize, Ordering};
        /// use std::thread;
        ///
        /// let next = AtomicUsize::new(0);
        /// let runtime = liten::runtime::Builder::new_multi_thread()
        ///     .worker_threads(1)
        ///     .thread_name_fn(move || format!("my-pool-{}", next.fetch_add(1, Ordering::Relaxed)))
        ///     .build()
        ///     .unwrap();
        /// let name = runtime.spawn(async { thread::current().name().map(str::to_owned) });
        /// assert!(runtime.block_on(name).unwrap().unwrap().starts_with("my-pool-"));
        /// ```
        thread_name_fn(f: impl Fn() -> String + Send + Sync + 'static) =>
            this.thread_name = ThreadName::Made(std::sync::Arc::new(f));

        /// Sets the stack size of the threads in bytes. Default: std's, which is 2 MiB.
        thread_stack_size(bytes: usize) => this.thread_stack_size = Some(bytes);

        /// Sets how long an idle thread of the blocking pool stays. Default: 10 s.
        thread_keep_alive(duration: Duration) => this.thread_keep_alive = duration;

        /// Calls `f` on each worker and each blocking thread when it starts, in the runtime's context; not on
        /// a thread that calls `block_on`.
        ///
        /// A panic of `f` is reported by the panic hook and has no other consequence.
        on_thread_start(f: impl Fn() + Send + Sync + 'static) => this.hooks.start = Some(Arc::new(f));

        /// Calls `f` on each worker and each blocking thread before it ends; as for
        /// [`Builder::on_thread_start`]. Workers, spare ones included, end with the runtime.
        ///
        /// Dropping the runtime waits for it.
        on_thread_stop(f: impl Fn() + Send + Sync + 'static) => this.hooks.stop = Some(Arc::new(f));

        /// Calls `f` on each worker when it runs out of tasks and is about to sleep, and, in a runtime
        /// without workers, on the thread in `block_on`; in the runtime's context. What `f` spawns runs
        /// before the sleep. Also on a worker that [rests](super::RuntimeMetrics::num_resting_workers) from
        /// then on: what `f` spawns there is run by others.
        ///
        /// Meanwhile the thread runs nothing else, so `f` should be short. A panic of `f` is reported by the
        /// panic hook and has no other consequence. If `f` owns a [`Handle`] to this runtime, the memory of
        /// the runtime is never freed, although it ends.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::sync::Arc;
        /// use std::sync::atomic::{AtomicUsize, Ordering};
        ///
        /// let sleeps = Arc::new(AtomicUsize::new(0));
        /// let counted = sleeps.clone();
        /// let runtime = liten::runtime::Builder::new_current_thread()
        ///     .on_thread_park(move || {
        ///         counted.fetch_add(1, Ordering::Relaxed);
        ///     })
        ///     .build()
        ///     .unwrap();
        /// runtime.block_on(liten::time::sleep(std::time::Duration::from_millis(1)));
        /// assert!(sleeps.load(Ordering::Relaxed) > 0);
        /// ```
        on_thread_park(f: impl Fn() + Send + Sync + 'static) => this.hooks.sleep.park = Some(Arc::new(f));

        /// Calls `f` on the thread that has called the function of [`Builder::on_thread_park`], or would
        /// have, when its sleep is over and before it runs a task; as for that one.
        on_thread_unpark(f: impl Fn() + Send + Sync + 'static) => this.hooks.sleep.unpark = Some(Arc::new(f));

        /// Sets how long a poll lasts that is *slow*. Default: 100 ms. With [`Duration::MAX`] no poll is.
        ///
        /// A slow poll holds up its worker, whether or not other workers are free. It is
        /// [counted](super::RuntimeMetrics::slow_poll_count), the feature `tracing` warns of it (target
        /// `liten::slow`), and the function of [`Builder::on_slow_poll`] is called; all that while it lasts,
        /// and once. The last 16 are kept, also when they are over: see
        /// [`Dump::slow_polls`](crate::insight::Dump::slow_polls). A worker that
        /// [blocks in place](crate::task::block_in_place) has said so, and is not slow.
        ///
        /// Without meaning for a runtime without workers: it has no thread that could look. The look is one
        /// that is made anyway while a worker is busy, every 0.5 to 4 milliseconds. So this costs the tasks
        /// nothing, and a threshold of less than some ten milliseconds is not met exactly.
        slow_poll_threshold(duration: Duration) => this.slow_poll_threshold = duration;

        /// Calls `f` once for each slow poll: see [`Builder::slow_poll_threshold`]. The driver thread calls
        /// it. While `f` runs, that thread fetches no events, and other threads may be unable to do so in its
        /// place. So `f` should be short, and must not wait for this runtime, for instance by
        /// [`Handle::block_on`](super::Handle::block_on).
        ///
        /// A panic of `f` is reported by the panic hook and has no other consequence. The runtime gives `f`
        /// up when it begins to shut down, so `f` may own a [`Handle`] to it.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::sync::mpsc;
        /// use std::time::Duration;
        ///
        /// let (sender, told) = mpsc::channel();
        /// let runtime = liten::runtime::Builder::new_multi_thread()
        ///     .slow_poll_threshold(Duration::from_millis(20))
        ///     .on_slow_poll(move |slow| drop(sender.send(slow.clone())))
        ///     .build()
        ///     .unwrap();
        /// let task = runtime.spawn(async { std::thread::sleep(Duration::from_millis(200)) });
        /// let slow = told.recv().unwrap();
        /// assert_eq!(slow.task().unwrap().id(), task.id());
        /// // Says for instance: task 1, spawned at src/main.rs:10:20, has held up worker 0 for 21 ms: in
        /// // clock_nanosleep
        /// println!("{slow}");
        /// ```
        on_slow_poll(f: impl Fn(&SlowPoll) + Send + Sync + 'static) => this.on_slow_poll = Some(Arc::new(f));

        /// Sets whether the runtime's clock stands still from the start, as after
        /// [`time::pause`](crate::time::pause). Default: no. For tests: see
        /// [Testing with paused time](crate::time#testing-with-paused-time).
        ///
        /// A multithreaded runtime that is built with this counts which threads are awake, as long as it
        /// lives. That slows down every sleep and wake of its threads a little. Without this its clock cannot
        /// be stopped.
        start_paused(yes: bool) => this.start_paused = yes;

        /// Sets whether the threads of the runtime are in tokio's context, for crates that need one. Default:
        /// they are.
        ///
        /// See [Crates that need tokio](crate::runtime#crates-that-need-tokio).
        ///
        /// # Examples
        ///
        /// ```
        /// let runtime = liten::runtime::Runtime::new().unwrap();
        /// let task = runtime.spawn(async { tokio::time::sleep(std::time::Duration::ZERO).await });
        /// assert!(runtime.block_on(task).is_ok());
        ///
        /// let without = liten::runtime::Builder::new_multi_thread()
        ///     .tokio_context(false)
        ///     .build()
        ///     .unwrap();
        /// let none = without.spawn(async { tokio::runtime::Handle::try_current().is_err() });
        /// assert!(without.block_on(none).unwrap());
        /// ```
        #[cfg(feature = "tokio-context")]
        #[cfg_attr(docsrs, doc(cfg(feature = "tokio-context")))]
        tokio_context(on: bool) => this.tokio = tokio_context::Setting::new(on);
    }

    /// The runtime knows nothing of tokio, whatever the default is.
    pub(crate) fn without_tokio(&mut self) -> &mut Self {
        self.tokio = tokio_context::Setting::new(false);
        self
    }

    /// [`Builder::build`], but for what the environment asks for.
    pub(crate) fn make(&self) -> io::Result<Runtime> {
        if self.flavor == RuntimeFlavor::MultiThread {
            return self.make_with_workers();
        }
        self.refuse_workers()?;
        let driver = Driver::new(1)?;
        let flavor = Flavor::CurrentThread(CurrentThread::new(driver.clone()));
        Ok(Runtime::from_handle(self.handle(flavor, driver)?))
    }

    fn make_with_workers(&self) -> io::Result<Runtime> {
        let fixed = self.fixed_workers()?;
        // Read only where they are needed: that takes longer than all else here.
        let limits = if fixed.is_none() { Some(FirstLimits::read()) } else { None };
        let (likely, cpus) = limits.as_ref().map_or((1, 1), |it| (it.workers(), it.cpus));
        let workers = fixed.unwrap_or(likely.min(MAX_WORKERS));
        let max_workers = self.max_workers(workers, cpus)?;
        check_workers(workers, max_workers)?;
        self.check_thread_name()?;
        // One shard per worker or processor, and one for all other threads.
        let driver = Driver::new(workers.max(likely_workers()) + 1)?;
        let set = self.max_spares()?;
        let max_spares = set.unwrap_or((workers + 1).clamp(LEAST_SPARES, SPARES));
        // A number from the environment is one for tasks that block by mistake. What blocks in place goes on
        // beside those, or else a larger number would leave less room for it.
        let replaces_blocked = self.max_spare_workers.is_none() && set != Some(0);
        let replacements = match replaces_blocked {
            true => self.max_blocking_threads.clamp(REPLACEMENTS, MAX_WORKERS),
            false => 0,
        };
        let slots = (max_workers + max_spares + replacements).min(MAX_SLOTS);
        let scheduler = Shared::new(slots, driver.clone());
        let limits = LimitsWatch::new(limits, max_workers);
        let observer = std::sync::Arc::new(Observer::new(self.new_slow_polls(), limits));
        scheduler.set_probe(observer.clone());
        observer.begin(&scheduler);
        let flavor = Flavor::MultiThread { scheduler, observer, max_workers };
        // From here on an error drops the runtime, which ends the threads that are there.
        let runtime = Runtime::from_handle(self.handle(flavor, driver)?);
        if let Flavor::MultiThread { scheduler, .. } = &runtime.handle.inner.flavor {
            let inner = Arc::downgrade(&runtime.handle.inner);
            let (name, stack_size) = (self.thread_name.clone(), self.thread_stack_size);
            scheduler.set_thread_setup(ThreadSetup {
                config: ThreadConfig { name, stack_size },
                around: handle::around(inner.clone()),
                inside: handle::inside(inner),
                sleep_hooks: self.hooks.around_sleeps().cloned(),
                max_spares,
                replaces_blocked,
            });
            if self.start_paused {
                let blocking = runtime.handle.inner.blocking.clone();
                scheduler.count_threads(move || blocking.has_no_job());
            }
            // Mostly it is made later, when a worker needs it. But a root may be the first to wait for a
            // moment at which everything waits; and a hook may keep the workers from fetching events, and pin
            // them to a core or give them another priority, which the threads that they start would inherit.
            if self.start_paused || self.hooks.start.is_some() {
                scheduler.start_watchdog()?;
            }
            scheduler.resize(workers)?;
        }
        Ok(runtime)
    }

    fn new_slow_polls(&self) -> Arc<SlowPolls> {
        Arc::new(SlowPolls::new(self.slow_poll_threshold, self.on_slow_poll.clone()))
    }

    /// [`Builder::build_local`], but for what the environment asks for.
    pub(crate) fn make_local(&self) -> io::Result<LocalRuntime> {
        self.refuse_workers()?;
        let executor = LocalExecutor::of_runtime();
        let handle = self.handle(Flavor::Local(Settled::of(&executor)), Driver::new(1)?)?;
        Ok(LocalRuntime::from_parts(handle, executor))
    }

    fn refuse_workers(&self) -> io::Result<()> {
        if self.worker_threads.is_some() {
            return Err(invalid(
                "worker_threads is set, but a current-thread runtime has no workers",
            ));
        }
        self.check_thread_name()
    }

    fn handle(&self, flavor: Flavor, driver: Arc<Driver>) -> io::Result<Handle> {
        if self.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(invalid("name must not be empty"));
        }
        if self.max_blocking_threads == 0 {
            return Err(invalid("max_blocking_threads must not be 0"));
        }
        if self.slow_poll_threshold.is_zero() {
            return Err(invalid("slow_poll_threshold must not be 0"));
        }
        panics::watch();
        let tokio = self.tokio.open()?;
        if let Some(hooks) = self.task_functions.if_any() {
            flavor.set_task_hooks(hooks);
        }
        if self.start_paused {
            driver.stop_clock().expect("a new clock, which runs");
        }
        let tells_driver = on_idle(driver.clone(), &flavor);
        let pool = |kind, max_threads, inner: &Weak<RuntimeState>, on_idle| blocking::Config {
            max_threads,
            keep_alive: self.thread_keep_alive,
            thread_name: self.thread_name.clone(),
            kind,
            stack_size: self.thread_stack_size,
            around: handle::around(inner.clone()),
            on_idle,
        };
        let slow_polls = match &flavor {
            Flavor::MultiThread { observer, .. } => observer.slow_polls().clone(),
            Flavor::CurrentThread(_) | Flavor::Local(_) => self.new_slow_polls(),
        };
        let inner = Arc::new_cyclic(|inner| RuntimeState {
            id: Id::next(),
            name: self.name.clone(),
            flavor,
            driver,
            blocking: blocking::Pool::new(pool(
                "blocking",
                self.max_blocking_threads,
                inner,
                tells_driver,
            )),
            // Its threads count as roots, asleep or awake: no thread asks whether it is idle.
            pinned: Pinned::new(pool("pinned", MAX_WORKERS, inner, Box::new(|| {}))),
            hooks: self.hooks.clone(),
            sleeps: Sleeps::default(),
            slow_polls,
            ending: Arc::new(Latch::new(false)),
            blocking_tasks: BlockingTasks::new(),
            memory: recycler::User::new(),
            tokio,
        });
        Ok(Handle { inner })
    }

    /// The number of workers, if the program or the environment says it.
    fn fixed_workers(&self) -> io::Result<Option<usize>> {
        match self.worker_threads {
            Some(count) => Ok(Some(count)),
            None => variable(WORKERS_VARIABLE, "above 0", |count| count != 0),
        }
    }

    /// `cpus`: how many there may be if a quota is raised.
    fn max_workers(&self, workers: usize, cpus: usize) -> io::Result<usize> {
        match self.max_worker_threads {
            // With the spares they fill one word of the scheduler's (idle.rs) on all but large machines.
            None => Ok(workers.saturating_mul(2).max(cpus).clamp(WORD - SPARES, MAX_WORKERS)),
            Some(0) => Err(invalid("max_worker_threads must not be 0")),
            Some(max) if max > MAX_WORKERS => {
                Err(invalid(format!("max_worker_threads is {max}, but at most {MAX_WORKERS}")))
            }
            Some(max) => Ok(max),
        }
    }

    /// The number that the program or its environment has set.
    fn max_spares(&self) -> io::Result<Option<usize>> {
        match self.max_spare_workers {
            None => {
                let bound = format!("of at most {MAX_WORKERS}");
                variable(SPARES_VARIABLE, &bound, |max| max <= MAX_WORKERS)
            }
            Some(max) if max > MAX_WORKERS => {
                Err(invalid(format!("max_spare_workers is {max}, but at most {MAX_WORKERS}")))
            }
            set => Ok(set),
        }
    }

    fn check_thread_name(&self) -> io::Result<()> {
        match &self.thread_name {
            ThreadName::Prefix(prefix) if prefix.contains('\0') => {
                Err(invalid("thread_name must not contain a zero byte"))
            }
            _ => Ok(()),
        }
    }
}

/// The number in an environment variable, if it is set. `bound`: what `is_valid` asks for, in words.
fn variable(
    name: &str,
    bound: &str,
    is_valid: impl Fn(usize) -> bool,
) -> io::Result<Option<usize>> {
    match std::env::var(name) {
        Ok(value) => {
            let number = value.trim().parse().ok().filter(|&number| is_valid(number));
            let error = || invalid(format!("{name} must be a number {bound}, but is {value:?}"));
            number.map(Some).ok_or_else(error)
        }
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(invalid(format!("{name}: {error}"))),
    }
}

/// How many workers there may be later. Asked of the system once: an answer that has changed since is good
/// enough, and to ask took a quarter of the instructions of [`Builder::build`].
fn likely_workers() -> usize {
    static CPUS: OnceLock<usize> = OnceLock::new();
    *CPUS.get_or_init(cpus)
}

/// Blocking work holds up a clock that stands still: when there is none any more, the thread in
/// the driver's seat looks whether everything else waits. And what the work has left is given back.
fn on_idle(driver: Arc<Driver>, flavor: &Flavor) -> Box<dyn Fn() + Send + Sync> {
    // The scheduler has the pool, where it asks it whether there is work: it must not be kept by it in turn.
    let scheduler = match flavor {
        Flavor::MultiThread { scheduler, .. } => Some(Arc::downgrade(scheduler)),
        Flavor::CurrentThread(_) | Flavor::Local(_) => None,
    };
    Box::new(move || {
        if driver.clock().is_stopped() {
            driver.wake();
        }
        if let Some(scheduler) = scheduler.as_ref().and_then(Weak::upgrade) {
            scheduler.rouse_to_trim();
        }
    })
}

// The hooks are called by others, later, and under a guard; a panic beside a builder leaves it as it was.
impl_unwind_safe!([] Builder);

impl_debug!([] Builder, this => "Builder" {
    flavor: this.flavor,
    name: this.name,
    worker_threads: this.worker_threads,
    max_worker_threads: this.max_worker_threads,
    max_spare_workers: this.max_spare_workers,
    max_blocking_threads: this.max_blocking_threads,
    thread_name: this.thread_name,
    thread_stack_size: this.thread_stack_size,
    thread_keep_alive: this.thread_keep_alive,
    slow_poll_threshold: this.slow_poll_threshold,
    start_paused: this.start_paused,
    ..
});

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
