//! How tasks come in: those that are spawned, and those that are woken.
#![allow(unsafe_code)]

use super::reason::{OutsideReason, Pusher};
use super::role::{self, Role};
use super::shared::Shared;
use crate::engine::recorder::Event;
use crate::engine::sync_shim::Arc;
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Schedule};
use crate::engine::task::hooks::TaskHooks;
use crate::engine::task::origin::Origin;
use std::future::Future;

impl Shared {
    /// Starts a task. On a worker it goes to that worker's queue, elsewhere to the injector.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        origin: impl Origin,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, origin);
        role::with(|role| match role {
            Some(Role::Worker(worker)) if worker.address() == Arc::as_ptr(self) => {
                worker.spawned(hot)
            }
            _ => self.spawned_outside(hot),
        });
        join
    }
}

// SAFETY: the last worker thread, which holds an `Arc<Shared>`, ends only when no task is alive
// (lifecycle.rs, "The end"); a task spawned later is cancelled by its spawner, which holds an `Arc` too,
// before `spawn` returns.
unsafe impl Schedule for Shared {
    #[inline]
    fn task_hooks(&self) -> Option<&TaskHooks> {
        self.task_hooks.get()
    }

    fn schedule_here(address: *const Self, task: Hot) -> Result<(), Hot> {
        role::with(|role| match role {
            Some(Role::Worker(worker)) if worker.address() == address => {
                worker.woken(task);
                Ok(())
            }
            Some(Role::Dispatcher(batch)) if batch.address() == address => {
                batch.woken(task);
                Ok(())
            }
            _ => Err(task),
        })
    }

    fn schedule(self: Arc<Self>, task: Hot) {
        self.recorder.note(|| Event::Wake(task.identity()));
        self.enqueue(Pusher::Other(OutsideReason::Woken), task);
    }
}
