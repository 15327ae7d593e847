//! Windows: a process, and what tells of its end.
//!
//! A thread waits for the process's handle, from the first wait that has to wait until the end of the
//! process. Not one of the blocking pool: there is no way to interrupt it, so a child that goes on would hold
//! up the shutdown of the runtime. The system's own pool (`RegisterWaitForSingleObject`) would save the
//! threads, at the price of a callback across the language border.

#![allow(unsafe_code)]

mod pipe;

pub(super) use self::pipe::{Input, Output};

use futures_util::task::AtomicWaker;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use windows_sys::Win32::System::Threading::{INFINITE, WaitForSingleObject};

/// A process whose end has not been seen.
pub(super) struct Process {
    child: Child,
    /// Woken by the thread that waits, once there is one.
    waker: Option<Arc<AtomicWaker>>,
}

impl Process {
    pub(super) fn new(child: Child) -> io::Result<Self> {
        Ok(Self { child, waker: None })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        match self.child.kill() {
            // It has ended already.
            Err(_) if matches!(self.child.try_wait(), Ok(Some(_))) => Ok(()),
            result => result,
        }
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// The waker is there before the question: an end after the question finds it.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        if let Some(waker) = &self.waker {
            waker.register(cx.waker());
        }
        if let Some(status) = self.child.try_wait()? {
            return Poll::Ready(Ok(status));
        }
        if self.waker.is_none() {
            self.waker = Some(watch(&self.child, cx)?);
        }
        Poll::Pending
    }

    /// The system forgets a process when its last handle is closed.
    pub(super) fn abandon(self) {}
}

/// Starts the thread that waits for the child's end.
fn watch(child: &Child, cx: &Context<'_>) -> io::Result<Arc<AtomicWaker>> {
    let handle = child.as_handle().try_clone_to_owned()?;
    let waker = Arc::new(AtomicWaker::new());
    waker.register(cx.waker());
    let woken = Arc::clone(&waker);
    let wait = move || {
        // SAFETY: the handle is open until the closure ends, and that of a process may be waited for.
        unsafe { WaitForSingleObject(handle.as_raw_handle(), INFINITE) };
        woken.wake();
    };
    thread::Builder::new().name("liten-child".into()).spawn(wait)?;
    Ok(waker)
}
