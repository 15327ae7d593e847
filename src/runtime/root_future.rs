//! The future that is given to `block_on`, for functions that do not know its type.
//!
//! What polls it, and runs tasks meanwhile, is compiled once with this crate, and not again in each program
//! and for each type of root. So a program that is built in debug, with optimised dependencies, polls its
//! root by optimised code; and a large output is moved from here to the caller of `block_on`, and nowhere
//! else. The price is one call through a pointer per poll.

use super::tokio_context;
use super::watched::Listed;
use crate::engine::task::budget;
use pin_project_lite::pin_project;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A root without its type, in the frame of `block_on`.
pub(super) type AnyRoot<'a> = Pin<&'a mut (dyn Future<Output = ()> + 'a)>;

pin_project! {
    /// Polls a root, and puts its output into the frame of `block_on`.
    ///
    /// The root is dropped by the poll that ends it, also by one that panics: its destructor belongs to the
    /// runtime as all of it does, which the thread has left when `block_on` returns. It has no budget: what
    /// it drains must not find refused what the last poll has left none for.
    struct RootFuture<'a, F: Future> {
        #[pin]
        root: Option<F>,
        output: &'a mut Poll<F::Output>,
        listed: Listed,
    }
}

impl<F: Future> Future for RootFuture<'_, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let mut over = Over(this.root);
        let root = over.0.as_mut().as_pin_mut().expect("a root that is ready is not polled again");
        let polled = this.listed.polled();
        **this.output = root.poll(cx);
        drop(polled);
        if this.output.is_pending() {
            mem::forget(over);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// Drops the root.
struct Over<'a, F>(Pin<&'a mut Option<F>>);

impl<F> Drop for Over<'_, F> {
    fn drop(&mut self) {
        budget::unlimited(|| self.0.set(None));
    }
}

/// The root of `future`, which leaves its output in `output`. If a task of tokio blocks on it, it has no
/// budget of that task. `listed`: where its polls are counted.
pub(super) fn root<'a, F: Future>(
    future: F,
    output: &'a mut Poll<F::Output>,
    listed: Listed,
) -> impl Future<Output = ()> + use<'a, F> {
    RootFuture { root: Some(tokio_context::without_budget(future)), output, listed }
}

/// Evaluates `$poll`, which polls the root `$root` of the future, in that runtime, until it is ready, and
/// gives the output of the future. No function, because a panic of `$poll` points at the caller of the
/// function that this stands in.
macro_rules! block_on {
    ($future:ident: $F:ty, $runtime:expr, |$root:ident| $poll:expr) => {{
        let called_at = ::std::panic::Location::caller();
        $crate::runtime::door::boxed_if_large!(root $future: $F => {
            let mut output = ::std::task::Poll::Pending;
            {
                let root = $crate::runtime::root_future::root(
                    $future,
                    &mut output,
                    $crate::runtime::watched::Listed::new($runtime, called_at),
                );
                let $root = ::std::pin::pin!(root);
                $poll;
            }
            match output {
                ::std::task::Poll::Ready(output) => output,
                ::std::task::Poll::Pending => unreachable!("the root is ready"),
            }
        })
    }};
}
pub(super) use block_on;
