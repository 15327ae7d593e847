//! The reactor of the `block_on` that the thread is in.
//!
//! The closure's argument is the way to a reactor that can be seen in a signature; this is the other one,
//! for what has no room for an argument, such as a socket's constructor. Both lead to the same reactor.
//! Rejected: to pass it in the `Context`, which every combinator would have to hand through, and none does.

use super::SystemHost;
use super::reactor::Reactor;
use crate::engine::sync_shim::thread_local;
use std::cell::RefCell;

thread_local! {
    static CURRENT: RefCell<Option<Reactor>> = const { RefCell::new(None) };
}

impl Reactor<SystemHost> {
    /// The reactor of the [`block_on`](fn@crate::wasi::block_on) that the calling thread is in, or `None`
    /// outside of one.
    pub fn try_current() -> Option<Self> {
        // A destructor of the thread's other values may ask when this one is gone.
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// The reactor of the [`block_on`](fn@crate::wasi::block_on) that the calling thread is in.
    ///
    /// # Panics
    ///
    /// Outside of one.
    #[track_caller]
    pub fn current() -> Self {
        Self::try_current().expect(
            "there is no reactor on this thread: call this inside liten::wasi::block_on, or make a \
             Reactor and use that",
        )
    }
}

/// Makes `reactor` the thread's current one until the guard is dropped.
pub(crate) fn enter(reactor: Reactor) -> Entered {
    Entered(CURRENT.with(|current| current.replace(Some(reactor))))
}

/// Puts back what was before.
pub(crate) struct Entered(Option<Reactor>);

impl Drop for Entered {
    fn drop(&mut self) {
        // The last owner of a reactor drops what was left in it, which is foreign code: after the borrow.
        let ended = CURRENT.with(|current| current.replace(self.0.take()));
        drop(ended);
    }
}
