//! How a program gets a runtime: the last step of a builder, and the calls that make a runtime with the
//! default settings.
//!
//! They stand above `runtime`, because a runtime that a program makes shows itself on insight's page if the
//! environment asks for that, and keeps sockets ready for signals; insight and signals use runtimes.

#[cfg(feature = "insight")]
use crate::insight::variable::show;
use crate::runtime::block_on::refuse_in_task;
use crate::runtime::door::boxed_if_large;
use crate::runtime::{Builder, Handle, LocalRuntime, Runtime};
#[cfg(all(unix, feature = "signal"))]
use crate::signal::unix::keep_pair;
use std::future::Future;
use std::io;

#[cfg(not(feature = "insight"))]
fn show(_: &Handle) {}
#[cfg(not(all(unix, feature = "signal")))]
fn keep_pair() {}

impl Builder {
    /// Makes the runtime and starts its threads; none after [`Builder::new_current_thread`].
    ///
    /// # Errors
    ///
    /// `InvalidInput` naming the option if a number is 0 or beyond its bound, or a name is empty, or
    /// `LITEN_WORKER_THREADS` or `LITEN_MAX_SPARE_WORKERS` is not a number; or if [`Builder::worker_threads`]
    /// is set for a runtime without workers. The operating system's error if the poller or a thread cannot be
    /// made.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::thread;
    ///
    /// let runtime = liten::runtime::Builder::new_current_thread().build().unwrap();
    /// let task = runtime.spawn(async { thread::current().id() });
    /// // From here on it runs.
    /// assert_eq!(runtime.block_on(task).unwrap(), thread::current().id());
    /// ```
    pub fn build(&mut self) -> io::Result<Runtime> {
        let runtime = self.make()?;
        show(runtime.handle());
        keep_pair();
        Ok(runtime)
    }

    /// Makes a runtime without workers that stays on the calling thread and runs `!Send` tasks, too.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`] after [`Builder::new_current_thread`].
    pub fn build_local(&mut self) -> io::Result<LocalRuntime> {
        let runtime = self.make_local()?;
        show(runtime.handle());
        keep_pair();
        Ok(runtime)
    }
}

impl Runtime {
    /// Returns a runtime with the default settings: one worker per CPU, or `LITEN_WORKER_THREADS` of them.
    ///
    /// # Errors
    ///
    /// See [`Builder::build`].
    pub fn new() -> io::Result<Self> {
        Builder::new_multi_thread().build()
    }
}

impl LocalRuntime {
    /// Returns a runtime with the default settings.
    ///
    /// # Errors
    ///
    /// See [`Builder::build_local`].
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread().build_local()
    }
}

/// Runs `future` in a runtime that exists for this call, or in the one that the calling thread has
/// entered; returns its output.
///
/// Without a runtime it makes one with the default settings, and drops it (with the tasks that are left)
/// when the future is done. The future may borrow and need not be `Send`. In a runtime without workers this
/// polls the future alone, as [`Handle::block_on`] does.
///
/// # Panics
///
/// If called inside a task, if `future` panics, or if the runtime cannot be made.
///
/// # Examples
///
/// ```
/// let words = vec!["borrowed"];
/// let count = liten::block_on(async { words.len() });
/// assert_eq!(count, 1);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    boxed_if_large!(root future: F => run(future))
}

#[track_caller]
fn run<F: Future>(future: F) -> F::Output {
    refuse_in_task("block_on");
    match Handle::try_current() {
        Ok(handle) => handle.block_on(future),
        Err(_) => match Runtime::new() {
            Ok(runtime) => runtime.block_on(future),
            Err(error) => panic!("block_on cannot make a runtime: {error}"),
        },
    }
}
