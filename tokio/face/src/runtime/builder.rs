//! `Builder`: liten's, with tokio's signatures.

use super::disabled::Disabled;
use super::{LocalOptions, LocalRuntime, Runtime, RuntimeFlavor};
use crate::LITEN;
use std::env::{self, VarError};
use std::fmt;
use std::io;
use std::time::Duration;

const WORKERS_VARIABLE: &str = "TOKIO_WORKER_THREADS";

/// Builds a runtime.
pub struct Builder {
    pub(super) inner: liten::runtime::Builder,
    pub(super) flavor: RuntimeFlavor,
    #[cfg(tokio_unstable)]
    pub(super) unstable: super::unstable::Settings,
    worker_threads: Option<usize>,
    starts_paused: bool,
    disabled: Disabled,
}

/// Settings that liten's builder has under the same name.
macro_rules! passed_on {
    ($(
        $(#[$doc:meta])*
        $name:ident $([$($generics:tt)*])? ($argument:ident: $type:ty);
    )*) => {$(
        $(#[$doc])*
        pub fn $name $(<$($generics)*>)? (&mut self, $argument: $type) -> &mut Self {
            self.inner.$name($argument);
            self
        }
    )*};
}

impl Builder {
    /// Starts with a runtime whose tasks run on the thread that is in `block_on`.
    pub fn new_current_thread() -> Self {
        Self::new(RuntimeFlavor::CurrentThread, liten::runtime::Builder::new_current_thread())
    }

    /// Starts with a runtime that has workers.
    #[cfg(feature = "rt-multi-thread")]
    pub fn new_multi_thread() -> Self {
        Self::new(RuntimeFlavor::MultiThread, liten::runtime::Builder::new_multi_thread())
    }

    fn new(flavor: RuntimeFlavor, inner: liten::runtime::Builder) -> Self {
        let disabled = Disabled { io: true, time: true };
        Self {
            inner,
            flavor,
            #[cfg(tokio_unstable)]
            unstable: Default::default(),
            worker_threads: None,
            starts_paused: false,
            disabled,
        }
    }

    /// Allows I/O and timers. Both are always there, but without this their use panics.
    pub fn enable_all(&mut self) -> &mut Self {
        self.disabled = Disabled::default();
        self
    }

    /// Allows I/O. It is always there, but without this its use panics.
    #[cfg(any(feature = "net", all(unix, any(feature = "process", feature = "signal"))))]
    pub fn enable_io(&mut self) -> &mut Self {
        self.disabled.io = false;
        self
    }

    /// Allows timers. They are always there, but without this their use panics.
    #[cfg(feature = "time")]
    pub fn enable_time(&mut self) -> &mut Self {
        self.disabled.time = false;
        self
    }

    /// Sets the number of workers. Without it `TOKIO_WORKER_THREADS` says it, and without that variable there
    /// is one per processor. A current-thread runtime has none, whatever is said here.
    ///
    /// # Panics
    ///
    /// Panics if `count` is 0.
    #[track_caller]
    pub fn worker_threads(&mut self, count: usize) -> &mut Self {
        assert!(count > 0, "Worker threads cannot be set to 0 ({LITEN})");
        self.worker_threads = Some(count);
        self
    }

    /// Sets the most threads of the pool for blocking work.
    ///
    /// # Panics
    ///
    /// Panics if `count` is 0.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, count: usize) -> &mut Self {
        assert!(count > 0, "Max blocking threads cannot be set to 0 ({LITEN})");
        self.inner.max_blocking_threads(count);
        self
    }

    /// Sets the name of the runtime's threads. As in tokio all have this one, without a number.
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        self.inner.thread_name_fn(move || name.clone());
        self
    }

    passed_on! {
        /// Sets the function that names each of the runtime's threads.
        thread_name_fn[F: Fn() -> String + Send + Sync + 'static](f: F);
    }

    /// Names the runtime.
    ///
    /// # Panics
    ///
    /// Panics if the name is empty.
    #[track_caller]
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        let name = name.into();
        assert!(!name.trim().is_empty(), "runtime name shouldn't be empty ({LITEN})");
        self.inner.name(name);
        self
    }

    passed_on! {
        /// Sets the size of the stacks of the runtime's threads, in bytes.
        thread_stack_size(bytes: usize);
        /// Sets how long an idle thread for blocking work stays.
        thread_keep_alive(duration: Duration);
        /// Runs `f` on each thread of the runtime when it starts.
        on_thread_start[F: Fn() + Send + Sync + 'static](f: F);
        /// Runs `f` on each thread of the runtime when it ends.
        on_thread_stop[F: Fn() + Send + Sync + 'static](f: F);
        /// Runs `f` each time that a thread of the runtime goes to sleep.
        on_thread_park[F: Fn() + Send + Sync + 'static](f: F);
        /// Runs `f` each time that a thread of the runtime wakes up.
        on_thread_unpark[F: Fn() + Send + Sync + 'static](f: F);
    }

    /// Without effect: liten bounds the time that a task waits, not the number of polls.
    ///
    /// # Panics
    ///
    /// Panics if `interval` is 0.
    #[track_caller]
    pub fn global_queue_interval(&mut self, interval: u32) -> &mut Self {
        assert!(interval > 0, "global_queue_interval must be greater than 0 ({LITEN})");
        self
    }

    /// Without effect: liten bounds the time that an event waits, not the number of polls.
    ///
    /// # Panics
    ///
    /// Panics if `interval` is 0.
    #[track_caller]
    pub fn event_interval(&mut self, interval: u32) -> &mut Self {
        assert!(interval > 0, "event_interval must be greater than 0 ({LITEN})");
        self
    }

    /// Without effect: liten sizes its list of events itself.
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is 0.
    #[track_caller]
    #[cfg(any(feature = "net", all(unix, any(feature = "process", feature = "signal"))))]
    pub fn max_io_events_per_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_tick must be non-zero ({LITEN})");
        self
    }

    /// Without effect: liten fetches events of a busy runtime by time.
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is 0.
    #[track_caller]
    #[cfg(any(feature = "net", all(unix, any(feature = "process", feature = "signal"))))]
    pub fn max_io_events_per_busy_tick(&mut self, capacity: usize) -> &mut Self {
        assert!(capacity > 0, "max_io_events_per_busy_tick must be non-zero ({LITEN})");
        self
    }

    /// Lets the clock of the runtime stand still from the start. With workers it cannot be built then.
    #[cfg(feature = "test-util")]
    pub fn start_paused(&mut self, yes: bool) -> &mut Self {
        self.starts_paused = yes;
        self.inner.start_paused(yes);
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    ///
    /// # Panics
    ///
    /// Panics if `TOKIO_WORKER_THREADS` counts and is not a number above 0, and if a runtime with workers is
    /// to start with its clock paused.
    #[track_caller]
    pub fn build(&mut self) -> io::Result<Runtime> {
        if self.flavor == RuntimeFlavor::MultiThread {
            // liten can, but a program that does so would not run on tokio.
            assert!(
                !self.starts_paused,
                "`time::pause()` requires the `current_thread` Tokio runtime. This is the default Runtime \
                 used by `#[tokio::test]. ({LITEN})"
            );
            if let Some(count) = self.worker_threads.or_else(workers_of_environment) {
                self.inner.worker_threads(count);
            }
        }
        let disabled = self.disabled;
        let (runtime, extras) =
            self.build_with_extras(|inner| inner.build(), liten::runtime::Runtime::handle)?;
        Ok(Runtime::from_inner(runtime, disabled, extras))
    }

    /// Builds a runtime that stays on this thread, with tasks that may be `!Send`.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    ///
    /// # Panics
    ///
    /// Panics if the builder was made by `new_multi_thread`.
    pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
        assert!(
            self.flavor == RuntimeFlavor::CurrentThread,
            "multi_thread is not supported for LocalRuntime ({LITEN})"
        );
        let disabled = self.disabled;
        let (runtime, extras) =
            self.build_with_extras(|inner| inner.build_local(), liten::runtime::LocalRuntime::handle)?;
        Ok(LocalRuntime::from_inner(runtime, disabled, extras))
    }

    /// Builds a runtime of liten's, and enters what it has beside that into the list.
    #[cfg(tokio_unstable)]
    fn build_with_extras<R>(
        &mut self,
        build: impl FnOnce(&mut liten::runtime::Builder) -> io::Result<R>,
        handle: impl FnOnce(&R) -> &liten::runtime::Handle,
    ) -> io::Result<(R, super::Extras)> {
        let extras = self.unstable.prepare(&mut self.inner);
        let runtime = build(&mut self.inner)?;
        let extras = super::Extras::new(extras, handle(&runtime));
        Ok((runtime, extras))
    }

    /// Builds a runtime of liten's. Without the flag it has nothing beside that.
    #[cfg(not(tokio_unstable))]
    fn build_with_extras<R>(
        &mut self,
        build: impl FnOnce(&mut liten::runtime::Builder) -> io::Result<R>,
        _: impl FnOnce(&R) -> &liten::runtime::Handle,
    ) -> io::Result<(R, super::Extras)> {
        Ok((build(&mut self.inner)?, ()))
    }
}

/// Panics with tokio's words over a value that is none.
fn workers_of_environment() -> Option<usize> {
    let text = match env::var(WORKERS_VARIABLE) {
        Ok(text) => text,
        Err(VarError::NotPresent) => return None,
        Err(VarError::NotUnicode(text)) => {
            panic!("\"{WORKERS_VARIABLE}\" must be valid unicode, error: {text:?} ({LITEN})")
        }
    };
    match text.parse() {
        Ok(0) => panic!("\"{WORKERS_VARIABLE}\" cannot be set to 0 ({LITEN})"),
        Ok(count) => Some(count),
        Err(error) => {
            panic!("\"{WORKERS_VARIABLE}\" must be usize, error: {error}, value: {text} ({LITEN})")
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
