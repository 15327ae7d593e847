//! A root beside the tasks of an executor.

use super::LocalExecutor;
use super::queue::{TASKS, Visit};
use super::root::Root;
use pin_project_lite::pin_project;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// The future of [`LocalExecutor::run`]: one poll of it is one function, whatever it runs.
    #[project = RunProjection]
    pub(super) enum Run<'e, 'a, F> {
        Running {
            executor: &'e LocalExecutor<'a>,
            // Dropped before the visit, which sees what its destructor spawns.
            #[pin]
            future: F,
            // Made with the first task.
            root: Option<Root>,
            #[pin]
            visit: Visit<'e>,
        },
        // The future is ready, or has panicked.
        Over,
    }
}

impl<'e, 'a, F> Run<'e, 'a, F> {
    pub(super) fn new(executor: &'e LocalExecutor<'a>, future: F) -> Self {
        Self::Running { executor, future, root: None, visit: Visit::new(executor.home()) }
    }
}

impl<F: Future> Future for Run<'_, '_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut end = End(self);
        let RunProjection::Running { executor, future, root, visit } = end.0.as_mut().project()
        else {
            panic!("a future that is ready is not polled again");
        };
        let visit = visit.into_ref();
        let _polling = executor.polling();
        // What others have sent comes before what the root spawns.
        visit.begin();
        let polled = if TASKS.is_noted() {
            let root = root.get_or_insert_with(|| {
                executor.list();
                Root::new()
            });
            if root.is_woken() {
                executor.home().note_news();
            }
            // The budget is the outer poll's.
            match root.begin_poll(cx) {
                Some(mut cx) => future.poll(&mut cx),
                None => Poll::Pending,
            }
        } else {
            // A wake of this one is a wake of the root. Once there are tasks it is polled again, with a waker
            // of its own.
            future.poll(cx)
        };
        if polled.is_ready() {
            return polled;
        }
        let is_awaited = executor.waiting.get() != 0 && executor.shared.alive_tasks() != 0;
        // A root without a waker of its own may have been woken.
        executor.turn(visit, cx, || root.as_ref().is_none_or(Root::is_woken));
        if is_awaited {
            executor.tell_completion();
        }
        mem::forget(end);
        Poll::Pending
    }
}

/// Drops the future and then the visit, with the poll that ends them and not with the [`Run`]: the caller may
/// keep that, and a visit that is not dropped does not tell the idle ones what it has left to them.
struct End<'p, 'e, 'a, F>(Pin<&'p mut Run<'e, 'a, F>>);

impl<F> Drop for End<'_, '_, '_, F> {
    fn drop(&mut self) {
        self.0.set(Run::Over);
    }
}
