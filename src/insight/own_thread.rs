//! A thread of insight's own. It waits by a runtime of its own, so it needs no worker of those that are
//! looked at. std's thread: no model follows it.

use crate::runtime::{self, LocalRuntime};
use std::io;
use std::sync::mpsc;
use std::thread;

/// To be [joined](OwnThread::join) by its owner.
pub(super) struct OwnThread {
    /// `None` only when it was joined.
    thread: Option<thread::JoinHandle<()>>,
}

impl OwnThread {
    /// Starts the thread, and waits until `open` has returned there, in the thread's runtime. Then `live`
    /// is what the thread does.
    pub(super) fn start<T: 'static>(
        name: &'static str,
        open: impl FnOnce() -> io::Result<T> + Send + 'static,
        live: impl FnOnce(&LocalRuntime, T) + Send + 'static,
    ) -> io::Result<Self> {
        let (ready, opened) = mpsc::channel();
        let body = move || match enter(open) {
            Ok((runtime, open)) => {
                _ = ready.send(Ok(()));
                live(&runtime, open);
            }
            Err(error) => _ = ready.send(Err(error)),
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(body)?;
        let panicked = || io::Error::other(format!("insight: the thread {name} has panicked"));
        opened.recv().map_err(|_| panicked())??;
        Ok(Self { thread: Some(thread) })
    }

    /// Waits until the thread has ended, unless it is the calling one: a thread does not wait for itself.
    pub(super) fn join(&mut self) {
        let others =
            |thread: &thread::JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = self.thread.take().filter(others) {
            // It has told of a panic itself.
            _ = thread.join();
        }
    }
}

fn enter<T>(open: impl FnOnce() -> io::Result<T>) -> io::Result<(LocalRuntime, T)> {
    let runtime = runtime::Builder::new_current_thread().without_tokio().make_local()?;
    let entered = runtime.enter();
    let open = open()?;
    drop(entered);
    Ok((runtime, open))
}
