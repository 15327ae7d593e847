//! The recorder's thread: it waits for requests and signals, makes snapshots and keeps them.
//!
//! It has a runtime of its own to wait with, which knows signals. What is kept is kept between two waits, so
//! that the program's function may do what a thread may do, such as to wait for a future.

use super::date::date;
use super::folder::Folder;
use super::mailbox::{Mailbox, Request};
use super::signals::{Kinds, Signals};
use super::snapshot::{Snapshot, SnapshotReason};
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::wakers;
use crate::insight::own_thread::OwnThread;
use crate::insight::recording::Recording;
use crate::insight::server::say;
use crate::insight::trace::{Mark, Trace};
use crate::runtime::LocalRuntime;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::SystemTime;

/// What the program wants to be called with each snapshot.
pub(super) type OnSnapshot = Arc<dyn Fn(&Snapshot) + Send + Sync>;

/// What has become of the requests that were taken.
#[derive(Default)]
pub(super) struct Counts {
    kept: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    pub(super) fn kept(&self) -> u64 {
        // Ordering: Acquire pairs with `add`: what was kept is there.
        self.kept.load(Ordering::Acquire)
    }

    pub(super) fn failed(&self) -> u64 {
        // Ordering: Acquire pairs with `add`: what the failed request has written is there.
        self.failed.load(Ordering::Acquire)
    }

    fn add(&self, failed: Option<io::Error>) {
        // Ordering: Release pairs with the Acquire in `kept` and in `failed`.
        let Some(error) = failed else {
            self.kept.fetch_add(1, Ordering::Release);
            return;
        };
        if self.failed.fetch_add(1, Ordering::Release) == 0 {
            say(format_args!("insight: a snapshot was not kept: {error}"));
        }
    }
}

pub(super) struct Observer {
    pub(super) recording: Arc<Recording>,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) counts: Arc<Counts>,
    pub(super) folder: Option<Folder>,
    pub(super) told: Option<OnSnapshot>,
}

impl Observer {
    /// Starts the thread, and waits until it listens.
    pub(super) fn start(self, kinds: &Kinds) -> io::Result<OwnThread> {
        let kinds = kinds.clone();
        OwnThread::start(
            "liten-recorder",
            move || kinds.listen(),
            move |runtime, signals| self.live(runtime, signals),
        )
    }

    fn live(&self, runtime: &LocalRuntime, mut signals: Signals) {
        let mut next = || runtime.block_on(poll_fn(|cx| self.poll_next(&mut signals, cx)));
        while let Some(request) = next() {
            let mut result = None;
            wakers::guard(|| result = Some(self.keep(request)));
            let panicked = || Err(io::Error::other("the function has panicked"));
            self.counts.add(result.unwrap_or_else(panicked).err());
        }
    }

    fn poll_next(&self, signals: &mut Signals, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        signals.poll(cx, |number| _ = self.mailbox.offer(SnapshotReason::Signal(number)));
        self.mailbox.poll_next(cx)
    }

    fn keep(&self, request: Request) -> io::Result<()> {
        let at = SystemTime::now();
        let mut trace = self.trace(&request);
        let Request { reason, skipped, .. } = request;
        trace.mark = Some(Mark { reason: reason.to_string(), at: date(at), skipped });
        let written = self.folder.as_ref().map(|folder| folder.keep(&trace, reason.kind(), at));
        let (path, error) = match written {
            Some(Ok(path)) => (Some(path), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        if let Some(told) = &self.told {
            told(&Snapshot { trace, reason, at, skipped, path });
        }
        error.map_or(Ok(()), Err)
    }

    /// With the poll in which it has happened: see [`Trace::has_poll`].
    fn trace(&self, request: &Request) -> Trace {
        let trace = self.recording.snapshot();
        match request.reason.task() {
            Some(task) if !trace.has_poll(task.id(), trace.time(request.at)) => {
                self.recording.snapshot()
            }
            _ => trace,
        }
    }
}
