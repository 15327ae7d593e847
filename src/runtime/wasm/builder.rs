//! Settings of a runtime, and making one.

use super::local_runtime::LocalRuntime;
use super::task_functions::TaskFunctions;
use crate::impls::setters;
use std::io;

/// Builds a [`LocalRuntime`].
///
/// It has the settings of the native builder that are not about threads.
#[derive(Debug, Clone)]
pub struct Builder {
    start_paused: bool,
    pub(super) task_functions: TaskFunctions,
}

impl Builder {
    /// Returns the default settings.
    pub fn new_current_thread() -> Self {
        Self { start_paused: false, task_functions: TaskFunctions::default() }
    }

    /// Sets how the names of the runtime's threads begin: without effect on wasm, where it makes none.
    pub fn thread_name(&mut self, _name: impl Into<String>) -> &mut Self {
        self
    }

    setters! {
        |this|
        /// Sets whether the runtime's clock stands still from the start, as after
        /// [`time::pause`](crate::time::pause). Default: no. For tests: see
        /// [Testing with paused time](crate::time#testing-with-paused-time).
        start_paused(yes: bool) => this.start_paused = yes;
    }

    /// Makes the runtime.
    ///
    /// # Errors
    ///
    /// None on wasm.
    pub fn build_local(&mut self) -> io::Result<LocalRuntime> {
        let runtime = LocalRuntime::new()?;
        let hooks = self.task_functions.if_any();
        if let (Some(hooks), Some(local)) = (hooks, runtime.handle().settled()) {
            local.shared().set_task_hooks(hooks);
        }
        if self.start_paused {
            // No code has had the clock yet, so it runs.
            let _ = runtime.handle().driver().stop_clock();
        }
        Ok(runtime)
    }
}
