//! Runtimes on wasm: one thread, which polls a future, the tasks, and the host in turn.
//!
//! Most programs need only `#[liten::main]`, or [`wasi::block_on`](crate::wasi::block_on). A [`LocalRuntime`]
//! is what both make: tasks, timers and pollables make progress while its `block_on` runs.
//!
//! There are no other threads, so what needs them is not here: `Runtime`, the blocking pool, scopes, metrics.

#[path = "wasm/block_on.rs"]
pub(crate) mod block_on;
#[path = "wasm/builder.rs"]
mod builder;
pub(crate) mod context;
#[doc(hidden)]
pub mod door;
#[allow(dead_code, reason = "only insight reads them")]
pub(crate) mod gauges;
#[path = "wasm/handle.rs"]
mod handle;
mod id;
#[path = "wasm/incidents.rs"]
pub(crate) mod incidents;
pub(crate) mod latch;
mod local;
#[path = "wasm/local_runtime.rs"]
mod local_runtime;
mod local_set;
pub(crate) mod local_thread;
mod lost_lock;
mod panics;
mod task_functions;
mod task_hooks;
#[path = "wasm/timekeeper.rs"]
mod timekeeper;
pub(crate) mod tokio_words;

pub use crate::engine::ended::is_rt_shutdown_err;
pub use builder::Builder;
pub use context::{EnterGuard, TryCurrentError};
pub use handle::Handle;
pub use id::Id;
pub use local::LocalExecutor;
pub use local_runtime::LocalRuntime;
pub use local_set::{LocalEnterGuard, LocalSet};
pub use task_functions::TaskMeta;
