//! How tasks come in: those that are spawned, and those that are woken.
#![allow(unsafe_code)]

use super::origin::{Origin, Pusher};
use super::role::{self, Role};
use super::shared::Shared;
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Schedule};
use std::future::Future;
use std::panic::Location;

impl Shared {
    /// Starts a task. On a worker it goes to that worker's queue, in `block_on` to that thread's,
    /// elsewhere to the injector.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, spawned_at);
        role::with(|role| match role {
            Some(role) if role.spawns_into(self) => role.spawned(hot),
            _ => {
                // Ordering: Relaxed, the fence in `spawned` publishes it.
                self.foreign.spawned.fetch_add(1, Ordering::Relaxed);
                self.spawned(Pusher::Other, hot);
            }
        });
        join
    }
}

// SAFETY: the last worker thread, which holds an `Arc<Shared>`, ends only when no task is alive
// (lifecycle.rs, "The end"); a task spawned later is cancelled by its spawner, which holds an `Arc` too,
// before `spawn` returns.
unsafe impl Schedule for Shared {
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
        self.enqueue(Pusher::Other, task, Origin::Woken);
    }
}
