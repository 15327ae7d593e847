//! Tokio's context: with the feature `tokio-context` a thread that is in a runtime of liten is in one of
//! tokio too, so that crates that know tokio only (reqwest, `axum::serve`, sqlx, async-nats) find what they
//! look for. Without the feature everything here is empty.
//!
//! # The helper
//!
//! One tokio runtime for the process, made with the first runtime of liten that wants it. It stays: tasks,
//! sockets and pools of those crates do not say whose they are, and outlive a runtime of liten without harm.
//! So a thousand runtimes cost no more than one, and there is no order in which things have to be dropped.
//!
//! It has one worker of tokio's *multithreaded* flavor, which is one thread, as the other flavor would need
//! to be driven. Crates ask for the flavor before they call `block_in_place`, and tasks that `tokio::spawn`
//! has started may call it only there. Rejected: the current-thread flavor, which builds a little faster; a
//! helper per runtime (threads, descriptors and an order of ends for each); several workers (a
//! program that wants throughput serves with liten's own sockets).
//!
//! A forked child that goes on gets a helper of its own with its first runtime: the thread of the parent's
//! is not there. What is left of that one is never dropped, because its end would be waited for.
//!
//! A thread of the helper that runs tasks must not block: it is the only one that turns tokio's sockets and
//! timers, so a root that waits for them there waits for ever. tokio itself knows where it may be blocked (in
//! its pool, in `block_in_place`), so it is asked, and panics as for a `block_on` of its own. It is asked on
//! the helper's threads only: a thread of another runtime of tokio's may block, at that runtime's cost.
//!
//! # Where threads enter
//!
//! In `Handle::enter`, which every thread of a runtime goes through once, on the stack of its main function
//! (workers, spares, the blocking pool), as `block_on` and `LocalRuntime` do around each call. So guards are
//! left in the reverse order, which tokio insists on. It is the innermost context that counts: inside a
//! thread of a tokio runtime liten's helper hides that runtime, because `block_on` keeps the thread from
//! driving it, and a runtime that the user enters inside hides the helper.

pub(super) use switched::{Door, Guard, Setting, refuse_in_task, without_budget};

#[cfg(feature = "tokio-context")]
mod switched {
    use crate::engine::sync_shim::thread_local;
    use crate::runtime::tokio_words;
    use liten_tokio::runtime::{self, EnterGuard, Handle, Runtime, TryCurrentError};
    use liten_tokio::task::unconstrained;
    use parking_lot::Mutex;
    use std::cell::Cell;
    use std::fmt::Display;
    use std::future::Future;
    use std::io;
    use std::mem;
    use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};
    use std::{process, thread};

    /// Lock and thread are not the shim's: neither loom nor shuttle has a lock that lives in a static, and
    /// there is nothing to explore here.
    static HELPER: Mutex<Option<Helper>> = Mutex::new(None);

    struct Helper {
        /// The process that started its thread.
        process: u32,
        /// Leaked: it is never dropped, and guards that name no lifetime refer to it.
        runtime: &'static Runtime,
    }

    thread_local! {
        static IS_HELPER: Cell<bool> = const { Cell::new(false) };
    }

    /// Panics, at the caller, on a thread of the helper that runs tasks.
    #[track_caller]
    pub(in crate::runtime) fn refuse_in_task() {
        if IS_HELPER.get() {
            if let Ok(current) = Handle::try_current() {
                current.block_on(async {});
            }
        }
    }

    /// Whether a runtime's threads are to be in tokio's context.
    #[derive(Clone)]
    pub(in crate::runtime) struct Setting(bool);

    impl Default for Setting {
        fn default() -> Self {
            Self(true)
        }
    }

    impl Setting {
        pub(in crate::runtime) fn new(is_on: bool) -> Self {
            Self(is_on)
        }

        /// Starts the helper if it is wanted and not there.
        pub(in crate::runtime) fn open(&self) -> io::Result<Door> {
            Ok(Door(if self.0 { Some(helper()?) } else { None }))
        }
    }

    /// Where the threads of a runtime go in.
    pub(in crate::runtime) struct Door(Option<&'static Handle>);

    impl Door {
        pub(in crate::runtime) fn enter(&self) -> Guard {
            Guard(self.0.filter(|helper| may_enter(helper)).map(Handle::enter))
        }
    }

    /// Keeps the calling thread in the context.
    #[derive(Debug)]
    pub(in crate::runtime) struct Guard(Option<EnterGuard<'static>>);

    // A feature takes no trait away from `runtime::EnterGuard`. A panic leaves the guard as it was.
    impl UnwindSafe for Guard {}
    impl RefUnwindSafe for Guard {}

    impl Drop for Guard {
        fn drop(&mut self) {
            if self.0.is_some() && is_context_destroyed(&Handle::try_current()) {
                mem::forget(self.0.take());
            }
        }
    }

    /// tokio panics where liten does not: when its thread-local has gone before a runtime or a guard that
    /// another thread-local keeps, and when guards are left in the order of their making. So the context
    /// is not entered in these cases, nor twice.
    fn may_enter(helper: &Handle) -> bool {
        let current = Handle::try_current();
        let is_helper = current.as_ref().is_ok_and(|current| current.id() == helper.id());
        !is_helper && !is_context_destroyed(&current)
    }

    /// Whether the thread ends, and tokio's thread-local has gone.
    fn is_context_destroyed(current: &Result<Handle, TryCurrentError>) -> bool {
        current.as_ref().err().is_some_and(TryCurrentError::is_thread_local_destroyed)
    }

    fn helper() -> io::Result<&'static Handle> {
        let (mut helper, process) = (HELPER.lock(), process::id());
        if let Some(helper) = helper.as_ref().filter(|helper| helper.process == process) {
            return Ok(helper.runtime.handle());
        }
        let runtime: &'static Runtime = Box::leak(Box::new(start()?));
        *helper = Some(Helper { process, runtime });
        Ok(runtime.handle())
    }

    fn start() -> io::Result<Runtime> {
        let failed = |kind, reason: &dyn Display| {
            let message =
                format!("the helper of the feature `tokio-context` cannot be made: {reason}");
            io::Error::new(kind, message)
        };
        // tokio panics when the system gives it no thread, and leaks its poller. So one of our own is tried
        // first; what is left is that the system changes its mind in between.
        match thread::Builder::new().spawn(|| ()) {
            Ok(trial) => drop(trial.join()),
            Err(error) => return Err(failed(error.kind(), &error)),
        }
        let build = || {
            let mut builder = runtime::Builder::new_multi_thread();
            builder.on_thread_start(|| IS_HELPER.set(true));
            builder.worker_threads(1).thread_name("liten-tokio").enable_all().build()
        };
        catch_unwind(build).unwrap_or_else(|payload| {
            let reason = tokio_words::message(&*payload).unwrap_or("tokio has panicked");
            Err(failed(io::ErrorKind::Other, &reason))
        })
    }

    /// A root that `block_on` polls, for the case that a task of tokio has called it: that task's budget is
    /// refilled by a scheduler that does not get the thread back before the root is done.
    pub(in crate::runtime) fn without_budget<F: Future>(
        root: F,
    ) -> impl Future<Output = F::Output> {
        unconstrained(root)
    }
}

#[cfg(not(feature = "tokio-context"))]
mod switched {
    use std::future::Future;
    use std::io;

    pub(in crate::runtime) fn refuse_in_task() {}

    #[derive(Clone, Default)]
    pub(in crate::runtime) struct Setting {}

    impl Setting {
        pub(in crate::runtime) fn new(_is_on: bool) -> Self {
            Self {}
        }

        pub(in crate::runtime) fn open(&self) -> io::Result<Door> {
            Ok(Door)
        }
    }

    pub(in crate::runtime) struct Door;

    impl Door {
        pub(in crate::runtime) fn enter(&self) -> Guard {
            Guard
        }
    }

    #[derive(Debug)]
    pub(in crate::runtime) struct Guard;

    pub(in crate::runtime) fn without_budget<F: Future>(
        root: F,
    ) -> impl Future<Output = F::Output> {
        root
    }
}
