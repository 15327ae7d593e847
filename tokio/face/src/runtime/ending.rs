//! `Ending`: a runtime whose end, which waits for its threads, must not block async code.

use super::Extras;
use std::ops::Deref;
use std::thread;
use std::time::Duration;

/// A runtime of liten's that can end without waiting for its threads.
pub(super) trait Runtime {
    fn shutdown_timeout(self, timeout: Duration);
    fn shutdown_background(self);
}

macro_rules! runtimes {
    ($($runtime:ident),*) => {$(
        impl Runtime for liten::runtime::$runtime {
            fn shutdown_timeout(self, timeout: Duration) {
                Self::shutdown_timeout(self, timeout);
            }

            fn shutdown_background(self) {
                Self::shutdown_background(self);
            }
        }
    )*};
}

runtimes!(Runtime, LocalRuntime);

/// Waits for the threads of the runtime when it is dropped. In async code it panics instead, and the runtime
/// ends without being waited for: what its threads wait for may be dropped later in the same unwinding.
#[derive(Debug)]
pub(super) struct Ending<R: Runtime> {
    /// `None`: it has been taken, to end in another way.
    runtime: Option<R>,
    #[cfg(tokio_unstable)]
    extras: std::sync::Arc<super::unstable::Extras>,
}

impl<R: Runtime> Ending<R> {
    pub(super) fn new(runtime: R, _extras: &Extras) -> Self {
        Self {
            runtime: Some(runtime),
            #[cfg(tokio_unstable)]
            extras: _extras.extras().clone(),
        }
    }

    /// Ends the runtime, and waits so long for its threads; as [`Ending`] says where it must not wait.
    pub(super) fn end_within(mut self, duration: Duration) {
        if duration.is_zero() || liten::task::may_block() {
            let runtime = self.runtime.take();
            drop(self);
            runtime.into_iter().for_each(|runtime| runtime.shutdown_timeout(duration));
        }
    }

    /// Ends the runtime. Nothing is waited for, so it may be called anywhere.
    pub(super) fn end_in_background(mut self) {
        let runtime = self.runtime.take();
        drop(self);
        runtime.into_iter().for_each(R::shutdown_background);
    }
}

impl<R: Runtime> Deref for Ending<R> {
    type Target = R;

    fn deref(&self) -> &R {
        self.runtime.as_ref().expect("only what consumes this takes it")
    }
}

impl<R: Runtime> Drop for Ending<R> {
    fn drop(&mut self) {
        // The runtime begins to end.
        #[cfg(tokio_unstable)]
        self.extras.end();
        let Some(runtime) = self.runtime.take().filter(|_| !liten::task::may_block()) else {
            return;
        };
        runtime.shutdown_background();
        if !thread::panicking() {
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed. This happens when a \
                 runtime is dropped from within an asynchronous context. (this `tokio` is liten's)"
            );
        }
    }
}
