//! tokio's small futures, under the names that its files know.

#[cfg(any(feature = "macros", feature = "process"))]
pub(crate) mod maybe_done;
pub(crate) use std::future::Future;

cfg_process! {
    mod try_join;
    pub(crate) use try_join::try_join3;
}

cfg_trace! {
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake};
    use std::thread::{self, Thread};

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// Waits for what a channel or a lock does, on a thread that runs no tasks.
    #[track_caller]
    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        assert!(
            liten::task::may_block(),
            "Cannot block the current thread from within a runtime. This happens because a function \
             attempted to block the current thread while the thread is being used to drive asynchronous \
             tasks. ({})",
            crate::LITEN
        );
        let waker = Arc::new(Unpark(thread::current())).into();
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }
}
