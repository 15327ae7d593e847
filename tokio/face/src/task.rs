//! Tasks: liten's.

pub mod coop;

cfg_rt! {
    #[cfg(not(tokio_unstable))]
    mod join_set;
    #[cfg(tokio_unstable)]
    pub mod join_set;
    mod local_set;
    mod task_local;

    #[doc(hidden)]
    #[deprecated = "Moved to tokio::task::coop"]
    pub use coop::{consume_budget, unconstrained, Unconstrained};
    pub use self::join_set::JoinSet;
    pub use self::local_set::{LocalEnterGuard, LocalSet};
    pub use self::task_local::LocalKey;
    pub use liten::task::{
        id, try_id, AbortHandle, JoinError, JoinHandle, TaskId as Id,
    };

    use crate::runtime::context;
    #[cfg(tokio_unstable)]
    use crate::runtime::unstable::owner;
    use crate::spawning::spawned;
    use liten::runtime::door::boxed_if_large;
    use std::future::Future;
    use std::panic::Location;

    /// The futures of this module that can be named.
    pub mod futures {
        pub use super::task_local::TaskLocalFuture;
    }

    /// Spawns `future` as a task of the current runtime.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        context::assert_inside();
        let place = Location::caller();
        let origin = place;
        spawned!("task", None, crate::runtime::unstable::Extras::rare_current(), future: F, place, origin =>
            liten::task::spawn_from(future, origin))
    }

    /// Spawns `future`, which may be `!Send`, on the current thread.
    ///
    /// # Panics
    ///
    /// Panics where no `LocalSet` and no `LocalRuntime` runs or has been entered.
    #[track_caller]
    pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        let place = Location::caller();
        let origin = place;
        spawned!("local", None, owner::of_spawn_local(), future: F, place, origin =>
            liten::task::spawn_local_from(future, origin))
    }

    /// Spawns `future`, which may be `!Send`, on the current thread as a task with a name.
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    #[track_caller]
    fn spawn_local_named<F>(future: F, name: Option<&str>) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        let Some(name) = name else { return spawn_local(future) };
        let place = Location::caller();
        let origin = (place, std::sync::Arc::<str>::from(name));
        spawned!("local", Some(name), owner::of_spawn_local(), future: F, place, origin =>
            liten::task::spawn_local_from(future, origin))
    }

    pub use crate::blocking::spawn_blocking;

    cfg_taskdump! {
        mod yield_now;
        pub use self::yield_now::yield_now;
    }
    cfg_not_taskdump! {
        pub use liten::task::yield_now;
    }

    #[cfg(all(tokio_unstable, feature = "tracing"))]
    mod builder;
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    pub use self::builder::Builder;

    cfg_rt_multi_thread! {
        /// Runs `f`, which may block, here, and lets another thread do this worker's work.
        ///
        /// # Panics
        ///
        /// Panics in a current-thread runtime.
        #[track_caller]
        pub fn block_in_place<F, R>(f: F) -> R
        where
            F: FnOnce() -> R,
        {
            boxed_if_large!(function f: F => liten::task::block_in_place(f))
        }
    }
}
