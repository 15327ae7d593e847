//! A stand-in for liten that writes down what the expansion of an attribute asks of it.

use std::cell::RefCell;

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn record(call: impl Into<String>) {
    CALLS.with_borrow_mut(|calls| calls.push(call.into()));
}

/// What was called on this thread since the last time.
pub(super) fn calls() -> Vec<String> {
    CALLS.take()
}

pub(super) mod runtime {
    use std::io;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::record;

    pub(in super::super) struct Builder;

    impl Builder {
        pub(in super::super) fn new_multi_thread() -> Self {
            record("new_multi_thread");
            Builder
        }

        pub(in super::super) fn new_current_thread() -> Self {
            record("new_current_thread");
            Builder
        }

        pub(in super::super) fn worker_threads(&mut self, count: usize) -> &mut Self {
            record(format!("worker_threads {count}"));
            self
        }

        pub(in super::super) fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
            record(format!("thread_name {}", name.into()));
            self
        }

        pub(in super::super) fn start_paused(&mut self, yes: bool) -> &mut Self {
            record(format!("start_paused {yes}"));
            self
        }

        pub(in super::super) fn build(&mut self) -> io::Result<Runtime> {
            record("build");
            Ok(Runtime)
        }

        pub(in super::super) fn build_local(&mut self) -> io::Result<Runtime> {
            record("build_local");
            Ok(Runtime)
        }
    }

    pub(in super::super) struct Runtime;

    impl Runtime {
        /// Only for futures that never wait.
        pub(in super::super) fn block_on<F: Future>(&self, future: F) -> F::Output {
            record("block_on");
            let mut context = Context::from_waker(Waker::noop());
            match pin!(future).poll(&mut context) {
                Poll::Ready(output) => output,
                Poll::Pending => panic!("the stand-in for liten cannot wait"),
            }
        }
    }

    impl Drop for Runtime {
        fn drop(&mut self) {
            record("drop");
        }
    }
}
