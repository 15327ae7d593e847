//! The spans and events for the crate `tracing` that a `Sleep` sends: a resource, which one operation after
//! the other uses, the first from the time when it is made and others from each reset on. Their names are
//! those that `console-subscriber` looks for. Those of timeouts and intervals are not sent.

use super::Instant;
use std::panic::Location;
use std::task::Poll;
use tracing::Span;

/// What the spans of tokio's file are known by.
const TARGET: &str = "tokio::time::sleep";

/// Dropped in this order.
#[derive(Debug)]
pub(super) struct SleepSpan {
    operation: Span,
    polls: Span,
    resource: Span,
}

impl SleepSpan {
    #[track_caller]
    pub(super) fn new() -> Self {
        let place = Location::caller();
        let resource = tracing::trace_span!(
            target: TARGET,
            parent: None,
            "runtime.resource",
            concrete_type = "Sleep",
            kind = "timer",
            loc.file = place.file(),
            loc.line = place.line(),
            loc.col = place.column(),
        );
        let operation = tracing::trace_span!(
            target: TARGET,
            parent: &resource,
            "runtime.resource.async_op",
            source = "Sleep::new_timeout",
        );
        let polls =
            tracing::trace_span!(target: TARGET, parent: &operation, "runtime.resource.async_op.poll");
        Self { operation, polls, resource }
    }

    /// It has got another deadline.
    pub(super) fn reset(&mut self, deadline: Instant) {
        if self.resource.is_disabled() {
            return;
        }
        let _resource = self.resource.enter();
        self.operation = tracing::trace_span!(
            target: TARGET,
            "runtime.resource.async_op",
            source = "Sleep::reset",
        );
        let _operation = self.operation.enter();
        self.polls = tracing::trace_span!(target: TARGET, "runtime.resource.async_op.poll");
        tell_of_deadline(deadline);
    }

    /// Around a poll; the first one has the deadline.
    pub(super) fn poll<T>(
        &self,
        deadline: Option<Instant>,
        poll: impl FnOnce() -> Poll<T>,
    ) -> Poll<T> {
        if self.resource.is_disabled() {
            return poll();
        }
        let _resource = self.resource.enter();
        let _operation = self.operation.enter();
        let _polls = self.polls.enter();
        // tokio tells of its budget in this way.
        tell_of_poll(true);
        deadline.into_iter().for_each(tell_of_deadline);
        let result = poll();
        tell_of_poll(result.is_ready());
        result
    }
}

fn tell_of_deadline(deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    tracing::trace!(
        target: "runtime::resource::state_update",
        duration = u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        duration.unit = "ms",
        duration.op = "override",
    );
}

fn tell_of_poll(is_ready: bool) {
    tracing::trace!(target: "runtime::resource::poll_op", op_name = "poll_elapsed", is_ready);
}
