//! Blocking the thread of a worker, after the runtime was told.

use crate::engine::scheduler;
use crate::engine::task::current;
use crate::runtime::block_on::outside_root;
use crate::runtime::door::boxed_if_large;
use crate::runtime::local_thread::refuse_in_local;

/// Runs `f`, which may block, on this thread, and lets other threads do its work meanwhile.
///
/// For a call that blocks or computes for long and cannot be moved to
/// [`spawn_blocking`](crate::spawn_blocking), because it borrows. On a worker everything that is queued there
/// is given to the others at once. If none of them is idle, a spare worker is started, so that as many
/// workers as there should be are at work; no more than
/// [`Builder::max_spare_workers`](crate::runtime::Builder::max_spare_workers) of them: when there are as
/// many, `f` runs all the same, and what is queued waits for a worker that comes back. By default each worker
/// that blocks in place may have a spare beside those, at the time of writing up to 512 of them.
///
/// What the task itself does beside this call (the other branches of a `join!` or `select!`) waits until `f`
/// returns. `f` is in the runtime: it may spawn, and it may call [`Handle::block_on`], which a task otherwise
/// must not. It has no budget to use up.
///
/// On a thread that is no worker (in the root future of a multi-thread runtime's `block_on`, in
/// `spawn_blocking`, outside a runtime) this just calls `f`.
///
/// [`Handle::block_on`]: crate::runtime::Handle::block_on
///
/// # Panics
///
/// In a task or a root of a current-thread runtime or a [`LocalRuntime`](crate::runtime::LocalRuntime), and
/// wherever else the thread runs tasks that no other thread could run meanwhile. If `f` panics.
///
/// # Examples
///
/// ```
/// use liten::runtime::Handle;
/// use liten::task::block_in_place;
///
/// # liten::block_on(async {
/// let task = liten::spawn(async {
///     let numbers = vec![1, 2, 3];
///     // Borrows, and waits for another task without `.await`.
///     block_in_place(|| {
///         let more = liten::spawn(async { 4 });
///         numbers.iter().sum::<i32>() + Handle::current().block_on(more).unwrap()
///     })
/// });
/// assert_eq!(task.await.unwrap(), 10);
/// # });
/// ```
#[track_caller]
pub fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    refuse_in_local("block_in_place");
    run(f)
}

fn run<F: FnOnce() -> R, R>(f: F) -> R {
    boxed_if_large!(function f: F => {
        scheduler::block_in_place(|| outside_root(|| current::outside(f)))
    })
}
