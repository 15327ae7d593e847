//! Where futures say that they wait, if a program asks them: `runtime::dump::trace_with`. tokio's files do it
//! by themselves, and what is liten's by its budget. The wakes that this makes up for come after the poll.

cfg_taskdump! {
    pub(crate) use crate::runtime::task::trace::trace_leaf;

    use std::cell::RefCell;
    use std::task::Waker;

    thread_local! {
        /// `None` outside of polls: nothing would come after that.
        static DEFERRED: RefCell<Option<Vec<Waker>>> = const { RefCell::new(None) };
    }

    /// Wakes after the poll that this thread is in.
    pub(crate) fn defer(waker: &Waker) {
        let waker = waker.clone();
        DEFERRED.with_borrow_mut(|deferred| deferred.iter_mut().for_each(|list| list.push(waker.clone())));
    }

    /// Held during a poll: what is deferred in it is woken when this is dropped.
    pub(crate) struct Deferring(Option<Vec<Waker>>);

    pub(crate) fn deferring() -> Deferring {
        Deferring(DEFERRED.replace(Some(Vec::new())))
    }

    impl Drop for Deferring {
        fn drop(&mut self) {
            let deferred = DEFERRED.replace(self.0.take());
            deferred.into_iter().flatten().for_each(Waker::wake);
        }
    }
}

cfg_not_taskdump! {
    use std::task::{Context, Poll};

    #[inline(always)]
    pub(crate) fn trace_leaf(_: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    pub(crate) fn deferring() -> impl Sized {}
}

pub(crate) async fn async_trace_leaf() {
    std::future::poll_fn(trace_leaf).await
}
