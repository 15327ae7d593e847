//! What `--cfg tokio_unstable` adds to the runtime.
//!
//! What liten has, a program gets. What tunes a part of tokio's scheduler is taken and has no effect. What a
//! program would count on and liten does not have is not there, so that the compiler names it:
//! `enable_io_uring`.

pub(crate) mod extras;
pub(crate) mod fate;
pub(crate) mod owner;
mod random;
mod settings;
pub(crate) mod span;
pub(crate) mod spawned;
mod task_meta;
mod times;

pub(crate) use self::extras::Extras;
pub(crate) use self::random::below;
pub use self::random::RngSeed;
pub(super) use self::settings::Settings;
pub use self::task_meta::TaskMeta;

/// What happens when a task panics and nothing joins it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// Nothing: the error is in the task's `JoinHandle`.
    Ignore,
    /// The other tasks are aborted, later ones do not run, and `block_on` panics. For runtimes without
    /// workers, and for `LocalSet`.
    ShutdownRuntime,
}
