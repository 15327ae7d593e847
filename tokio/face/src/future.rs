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
        crate::runtime::context::assert_may_block();
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
