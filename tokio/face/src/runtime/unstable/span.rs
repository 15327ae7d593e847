//! The spans and events for the crate `tracing` that tasks send: what `console-subscriber` makes its list of
//! tasks of. Without the feature `tracing` there are none.
//!
//! A span is made by the thread that spawns, or by the first poll if that comes earlier: it names the task's
//! id, which the spawn returns. Sent are the spans of tasks and of blocking work, the wakes, and the spans of
//! `Sleep` (time/span.rs); locks and `oneshot` channels are tokio's own then, and send theirs. Not sent are
//! those of `block_on`, other timers and other channels. tokio tells of each clone of a waker; here one
//! stands for all, and is told of after the poll in which the first was made.

#[cfg(feature = "tracing")]
pub(crate) use self::sent::blocking;
#[cfg(feature = "tracing")]
pub(super) use self::sent::{Spanned, TaskSpan};
#[cfg(not(feature = "tracing"))]
pub(super) use self::silent::{Spanned, TaskSpan};

#[cfg(feature = "tracing")]
mod sent {
    use super::super::spawned::twice_if_traced;
    use liten::task::TaskId;
    use pin_project_lite::pin_project;
    use std::convert::Infallible;
    use std::future::Future;
    use std::panic::Location;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, OnceLock};
    use std::task::{Context, Poll, Wake, Waker};
    use tracing::Span;

    #[derive(Clone)]
    pub(in super::super) struct TaskSpan(Arc<Facts>);

    struct Facts {
        kind: &'static str,
        name: Option<Box<str>>,
        origin: &'static Location<'static>,
        size: usize,
        is_boxed: bool,
        span: OnceLock<Span>,
    }

    impl TaskSpan {
        pub(in super::super) fn new<F>(
            kind: &'static str,
            name: Option<&str>,
            origin: &'static Location<'static>,
        ) -> Self {
            let (name, span) = (name.map(Into::into), OnceLock::new());
            let (size, is_boxed) = (size_of::<F>(), liten::runtime::door::is_large::<F>());
            Self(Arc::new(Facts { kind, name, origin, size, is_boxed, span }))
        }

        /// Makes the span, if that has not been done.
        pub(in super::super) fn begin(&self, id: TaskId) -> &Span {
            let Facts { kind, name, origin, size, is_boxed, span } = &*self.0;
            span.get_or_init(|| {
                tracing::trace_span!(
                    target: "tokio::task",
                    parent: None,
                    "runtime.spawn",
                    %kind,
                    task.name = %name.as_deref().unwrap_or_default(),
                    task.id = u64::from(id),
                    original_size.bytes = is_boxed.then_some(*size),
                    size.bytes = if *is_boxed { size_of::<Box<()>>() } else { *size },
                    loc.file = origin.file(),
                    loc.line = origin.line(),
                    loc.col = origin.column(),
                )
            })
        }
    }

    pin_project! {
        pub(in super::super) struct Spanned<F> {
            // `None` when it is dropped.
            #[pin]
            future: Option<F>,
            span: TaskSpan,
            waker: Option<Arc<ToldWaker>>,
        }

        impl<F> PinnedDrop for Spanned<F> {
            fn drop(this: Pin<&mut Self>) {
                let mut this = this.project();
                let _entered = this.span.0.span.get().map(Span::enter);
                this.future.set(None);
            }
        }
    }

    impl<F> Spanned<F> {
        pub(in super::super) fn new(future: F, span: TaskSpan) -> Self {
            Self { future: Some(future), span, waker: None }
        }
    }

    impl<F: Future> Future for Spanned<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            let this = self.project();
            let span = match this.span.0.span.get() {
                Some(span) => span,
                None => this.span.begin(liten::task::id()),
            };
            let mut future = this.future.as_pin_mut().expect("it is there until this is dropped");
            let Some(id) = span.id() else { return future.poll(cx) };
            let entered = span.enter();
            let new = || ToldWaker::new(id.into_u64(), cx.waker().clone());
            let told = this.waker.get_or_insert_with(new);
            let own = Waker::from(told.clone());
            let Ok(poll) = twice_if_traced(cx, &told.waker, &own, |cx| {
                Ok::<_, Infallible>(future.as_mut().poll(cx))
            });
            drop((own, entered));
            told.tell_of_clones();
            poll
        }
    }

    /// A waker that tells of its use.
    struct ToldWaker {
        span: u64,
        waker: Waker,
        /// Whether a clone was told of.
        is_cloned: AtomicBool,
    }

    impl ToldWaker {
        fn new(span: u64, waker: Waker) -> Arc<Self> {
            Arc::new(Self { span, waker, is_cloned: AtomicBool::new(false) })
        }

        /// After a poll: says whether the task has left a waker somewhere.
        fn tell_of_clones(self: &Arc<Self>) {
            let is_cloned = Arc::strong_count(self) > 1;
            // Ordering: Relaxed, the task's polls come one after the other, and nothing else sets it.
            if self.is_cloned.swap(is_cloned, Ordering::Relaxed) != is_cloned {
                tell(self.span, if is_cloned { "waker.clone" } else { "waker.drop" });
            }
        }
    }

    impl Wake for ToldWaker {
        fn wake(self: Arc<Self>) {
            self.wake_by_ref();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            tell(self.span, "waker.wake_by_ref");
            self.waker.wake_by_ref();
        }
    }

    impl Drop for ToldWaker {
        fn drop(&mut self) {
            // Ordering: Relaxed, the last owner has synchronised with all others.
            if self.is_cloned.load(Ordering::Relaxed) {
                tell(self.span, "waker.drop");
            }
        }
    }

    /// Runs `f`, which is an `Original` or lies in a box, in a span for blocking work.
    #[track_caller]
    pub(crate) fn blocking<Original, F, R>(
        name: Option<&str>,
        f: F,
    ) -> impl FnOnce() -> R + use<Original, F, R>
    where
        F: FnOnce() -> R,
    {
        let size = size_of::<Original>();
        let is_boxed = liten::runtime::door::is_large::<Original>();
        let place = Location::caller();
        let span = tracing::trace_span!(
            target: "tokio::task::blocking",
            "runtime.spawn",
            kind = %"blocking",
            task.name = %name.unwrap_or_default(),
            task.id = tracing::field::Empty,
            "fn" = %std::any::type_name::<Original>(),
            original_size.bytes = is_boxed.then_some(size),
            size.bytes = size_of::<F>(),
            loc.file = place.file(),
            loc.line = place.line(),
            loc.col = place.column(),
        );
        move || span.in_scope(f)
    }

    fn tell(span: u64, what: &'static str) {
        tracing::trace!(target: "tokio::task::waker", op = what, task.id = span);
    }
}

#[cfg(not(feature = "tracing"))]
mod silent {
    use liten::task::TaskId;
    use pin_project_lite::pin_project;
    use std::future::Future;
    use std::panic::Location;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    #[derive(Clone)]
    pub(in super::super) struct TaskSpan;

    impl TaskSpan {
        pub(in super::super) fn new<F>(
            _kind: &'static str,
            _name: Option<&str>,
            _origin: &'static Location<'static>,
        ) -> Self {
            Self
        }

        pub(in super::super) fn begin(&self, _id: TaskId) {}
    }

    pin_project! {
        /// The future itself.
        pub(in super::super) struct Spanned<F> {
            #[pin]
            future: F,
        }
    }

    impl<F> Spanned<F> {
        pub(in super::super) fn new(future: F, _span: TaskSpan) -> Self {
            Self { future }
        }
    }

    impl<F: Future> Future for Spanned<F> {
        type Output = F::Output;

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
            self.project().future.poll(cx)
        }
    }
}
