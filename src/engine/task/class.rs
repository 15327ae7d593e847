//! The class of a task: what a program says of its work.

/// How urgent the work of a task is, beside the other tasks of its runtime.
///
/// A class says which tasks run first while several are ready. It takes no thread away: a `Bulk` task that is
/// being polled is not interrupted.
///
/// # Shares
///
/// | class | while other tasks are ready |
/// |---|---|
/// | `Latency` | its turn comes in the order in which tasks became ready, also if its polls are long |
/// | `Normal` | the same while its polls are short; a task whose polls are long is treated as `Bulk` |
/// | `Bulk` | it waits until nothing else is ready on its worker, but for a share that it always gets |
///
/// A task of any class that [yields](crate::task::yield_now) lets ready tasks go first, too. The bound on the
/// polls between two polls of a task, which the [module](crate::task#fairness) names, is true of all classes:
/// that is the share of `Bulk` tasks.
///
/// While all workers are in long polls, another thread helps with the tasks that are ready, and leaves `Bulk`
/// ones to the workers for tens of milliseconds and more. So do not block a worker's thread until a `Bulk`
/// task has run. With a CPU quota, `Bulk` tasks are among those that wait when it is nearly used up.
///
/// # Which tasks have a class
///
/// A task has the class that [`Builder::class`](crate::task::Builder::class) or
/// [`spawn_bulk`](crate::task::spawn_bulk) gives it, for good. A task that a worker polls passes its class on
/// to the tasks that it spawns, unless these are given one. All other tasks are `Normal`.
///
/// Classes mean nothing in a runtime without workers, for blocking work, and for tasks that stay on one
/// thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Class {
    /// Work that others wait for at once, even where it takes long.
    Latency,
    /// Work of which the runtime finds out whether its polls are long.
    #[default]
    Normal,
    /// Work that may wait, such as what computes.
    Bulk,
}
