//! A runtime's executor on its own thread, before it runs.
#![allow(unsafe_code)]

use super::{LocalExecutor, LocalShared, Refused};
use crate::engine::sync_shim::Arc;
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_task;
use crate::engine::task::origin::Origin;
use std::future::Future;
use std::thread::{self, ThreadId};

/// The tasks of an executor that never leaves its thread, for all threads.
#[derive(Clone)]
pub(crate) struct Settled {
    shared: Arc<LocalShared>,
    thread: ThreadId,
}

impl Settled {
    /// The tasks of `executor`, on whose thread this is called.
    pub(crate) fn of(executor: &LocalExecutor<'static>) -> Self {
        Self { shared: executor.shared.clone(), thread: thread::current().id() }
    }

    pub(crate) fn shared(&self) -> &Arc<LocalShared> {
        &self.shared
    }

    pub(crate) fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    /// Starts a task, on the executor's thread. It is cancelled at once if the executor is gone.
    ///
    /// # Panics
    ///
    /// On another thread.
    pub(crate) fn spawn_at<F>(&self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        assert!(self.is_here(), "the caller has asked");
        // SAFETY: as in `LocalExecutor::spawn_at`. This is the executor's thread, which it cannot leave:
        // `of` was called here with a reference to it, and it is not Send. All of the future is 'static.
        let (hot, join) = unsafe { new_task(future, &self.shared, origin) };
        if self.shared.queue.is_closed() {
            Refused(hot).cancel();
        } else {
            // SAFETY: as above.
            self.shared.push_new(unsafe { self.shared.queue.home() }, hot);
        }
        join
    }
}
