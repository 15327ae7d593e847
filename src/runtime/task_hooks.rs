//! The part of the builder that is about what is called for each task.

use super::{Builder, TaskMeta};
use crate::impls::setters;
use std::sync::Arc;

impl Builder {
    setters! {
        |this|
        /// Calls `f` for each task that is spawned, on the thread that spawns it, before it can run.
        ///
        /// The tasks are those of [`spawn`](crate::spawn), and in a [`LocalRuntime`](super::LocalRuntime)
        /// also those of [`spawn_local`](crate::task::spawn_local). Blocking work, what `spawn_pinned` has
        /// put on a thread of its own, and tasks of a [`LocalSet`](super::LocalSet) or a
        /// [`LocalExecutor`](super::LocalExecutor) are not among them, nor is the future given to `block_on`.
        ///
        /// For each task `f` is called first, once; then [`Builder::on_before_task_poll`] and
        /// [`Builder::on_after_task_poll`] around each poll; at last, once, [`Builder::on_task_terminate`]. A
        /// second call of one of the four replaces the function of the first. A runtime without any of them
        /// pays nothing per poll.
        ///
        /// A panic of `f` is reported by the panic hook and has no other consequence. If `f` owns a
        /// [`Handle`](super::Handle) to this runtime, the memory of the runtime is never freed, although it
        /// ends. If `f` spawns, it is called for that task, too.
        ///
        /// # Examples
        ///
        /// ```
        /// use std::sync::Arc;
        /// use std::sync::atomic::{AtomicUsize, Ordering};
        ///
        /// let spawned = Arc::new(AtomicUsize::new(0));
        /// let counted = spawned.clone();
        /// let runtime = liten::runtime::Builder::new_current_thread()
        ///     .on_task_spawn(move |task| {
        ///         println!("{}, spawned at {}", task.id(), task.spawned_at());
        ///         counted.fetch_add(1, Ordering::Relaxed);
        ///     })
        ///     .build_local()
        ///     .unwrap();
        /// runtime.block_on(async { liten::task::spawn_local(async {}).await.unwrap() });
        /// assert_eq!(spawned.load(Ordering::Relaxed), 1);
        /// ```
        on_task_spawn(f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) =>
            this.task_functions.spawn = Some(Arc::new(f));

        /// Calls `f` before each poll of a task, on the thread that polls it; as for
        /// [`Builder::on_task_spawn`].
        ///
        /// It is a part of the time that the task holds up its worker, so `f` should be short.
        on_before_task_poll(f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) =>
            this.task_functions.before_poll = Some(Arc::new(f));

        /// Calls `f` after each poll of a task, also one that has panicked, on the thread that has polled it;
        /// as for [`Builder::on_before_task_poll`].
        on_after_task_poll(f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) =>
            this.task_functions.after_poll = Some(Arc::new(f));

        /// Calls `f` once for each task that has ended, whether it has returned, panicked or was cancelled;
        /// as for [`Builder::on_task_spawn`].
        ///
        /// The task's future is dropped then, and its [`JoinHandle`](crate::task::JoinHandle) does not know
        /// yet. `f` is called on the thread that has polled the task last or has cancelled it, at the end of
        /// the runtime perhaps one that the runtime does not know.
        ///
        /// If `f` spawns for each task that ends, also for those that it has spawned itself, the runtime
        /// never ends: tasks that are spawned then are cancelled, and `f` is called for each of them.
        on_task_terminate(f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) =>
            this.task_functions.terminate = Some(Arc::new(f));
    }
}
