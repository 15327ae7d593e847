//! Tasks of a class: `Bulk` ones are always long, and `Latency` ones never (lengths.rs).
//!
//! A class is a part of the task's home. With it the home never equals the plain index of a worker. So a
//! worker that is about to poll such a task notices it without another comparison. From then on it asks for
//! the class at each poll, wake and spawn. The other workers do so from their next fair turn or sleep on;
//! until then they take a `Bulk` task that they wake for a short one. Programs without classes pay nothing.
//!
//! A task has the class of the task that spawns it, if a worker polls that one. What is spawned by other
//! threads, between two polls, or while a worker blocks in place, has none.
//!
//! Rejected: named groups with weights. A weight promises shares of time, and there is one deque for all
//! `Bulk` tasks. Each group would need its own, and each worker an account of the time that its polls take.
//! And: a queue for `Latency` tasks in front of the ready ones. What they wait for would wait behind them.

use super::Worker;
use crate::engine::scheduler::enqueue::{Pusher, Role, with_role};
use crate::engine::scheduler::shared::Shared;
use crate::engine::sync_shim::Arc;
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::class::Class;
use crate::engine::task::header::Hot;
use crate::engine::task::home::Home;
use crate::engine::task::origin::Origin;
use std::future::Future;

impl Shared {
    /// As [`Shared::spawn`], with a class for the task.
    pub(crate) fn spawn_in_class<F>(
        self: &Arc<Self>,
        future: F,
        origin: impl Origin,
        class: Class,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, origin);
        hot.set_home(Home::of_class(class));
        self.note_classes();
        with_role(|role| match role {
            Some(Role::Worker(worker)) if worker.address() == Arc::as_ptr(self) => {
                worker.spawned_in_class(hot)
            }
            // As a wake, which asks whether the task is long.
            _ => self.spawned_outside_as(hot, Pusher::Waker),
        });
        join
    }
}

impl Worker {
    /// A task that was given a class was spawned on this thread.
    fn spawned_in_class(&self, task: Hot) {
        let number = self.own.slot.stats.spawned.add(1);
        self.report_spawn(&task, number);
        self.note_classes();
        self.queue_spawned(task);
    }
}
