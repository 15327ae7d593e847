//! Children whose runtime has ended before them: one thread for the whole program waits for those.
//!
//! A runtime that ends drops its tasks, and with them children that are killed thereby. `SIGKILL` takes
//! effect some time later, and then there is no driver any more that tells of it. So the first child that
//! is left starts this thread, which ends with the last one. It sleeps until a child ends; a program that
//! leaves none never has it. If the system gives no thread, the child stays in the system's table until
//! the program starts another one, or sees the end of one ([`look_after_the_rest`]).
//!
//! Rejected: to wait a little while the runtime ends. A process in an uninterruptible call lives on for as
//! long as that lasts, so the wait needs a limit, after which the zombie stays; and a runtime with many such
//! children would take that time for each of them.
//!
//! Where the system gives no pidfd, nothing tells of the end of one child alone. A listener for `SIGCHLD`
//! needs a driver. So the thread looks every now and then, soon after the child was left and then each
//! second.
//!
//! # Whether there is a thread
//!
//! | `reaper` | thread | children | one more is left |
//! |---|---|---|---|
//! | `None` | none | none; or those for which the system gave no thread | starts a thread |
//! | `Some`, of this process | there | those that it waits for | wakes the thread |
//! | `Some`, of the parent of a fork | none here | its, which the next look forgets | starts a thread |
//!
//! The thread ends when it finds no child, and then writes `None` under the same lock. So a child that is
//! left beside that comes before it, and the thread stays, or after it, and starts another one. A child that
//! is left while the thread sleeps is in the list before the thread is woken, and a wake that comes before
//! the sleep ends it at once.
//!
//! `is_registered` is true of a child whose descriptor the thread's poller knows, and becomes true once. The
//! poller goes with its thread, which leaves no child behind, so the next thread finds none that is
//! registered with another poller. Where it stays false, because there is no descriptor or the poller refuses
//! it, the thread looks every now and then.

use super::{Process, try_wait_through};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use parking_lot::Mutex;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{self, Child, ExitStatus};
use std::thread;
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Of the calls that wake the thread.
const LEFT: Token = Token(0);
/// Of the children's pidfds, all of which are looked at.
const ENDED: Token = Token(1);

/// A child that no runtime waits for.
struct Left {
    child: Child,
    /// Readable when the child has ended.
    descriptor: Option<OwnedFd>,
    is_registered: bool,
}

struct Rest {
    children: Vec<Left>,
    /// The process that has started the thread, and what wakes it. A forked child has no such thread.
    reaper: Option<(u32, Waker)>,
}

static REST: Mutex<Rest> = Mutex::new(Rest { children: Vec::new(), reaper: None });

/// Reaps the process some time after it has ended.
pub(super) fn leave(process: Process) {
    let Process { child, exit, .. } = process;
    add(child, exit.into_descriptor());
}

/// As [`leave`], for a child whose end nothing tells.
pub(super) fn leave_child(child: Child) {
    add(child, None);
}

/// Reaps those that have ended.
pub(super) fn look_after_the_rest() {
    REST.lock().look();
}

fn add(child: Child, descriptor: Option<OwnedFd>) {
    let mut rest = REST.lock();
    rest.children.push(Left { child, descriptor, is_registered: false });
    match &rest.reaper {
        Some((home, waker)) if *home == process::id() => drop(waker.wake()),
        // Without a thread it stays for the next look.
        _ => rest.reaper = start().ok(),
    }
}

fn start() -> io::Result<(u32, Waker)> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), LEFT)?;
    thread::Builder::new().name("liten-reaper".to_owned()).spawn(|| reap(poll))?;
    Ok((process::id(), waker))
}

fn reap(mut poll: Poll) {
    let mut events = Events::with_capacity(16);
    let mut pause = FIRST_PAUSE;
    while let Some(all_tell) = look_and_register(poll.registry()) {
        let limit = (!all_tell).then_some(pause);
        let polled = poll.poll(&mut events, limit);
        // A poller that is broken tells nothing, and must not turn either.
        if polled.is_err() {
            thread::sleep(pause);
        }
        let has_new = events.iter().any(|event| event.token() == LEFT);
        pause = if has_new { FIRST_PAUSE } else { (2 * pause).min(LONGEST_PAUSE) };
    }
}

/// Returns whether each child that is left tells of its end. `None`: there is none, and the thread ends.
fn look_and_register(registry: &Registry) -> Option<bool> {
    let mut rest = REST.lock();
    rest.look();
    if rest.children.is_empty() {
        // Under the lock: the next child that is left starts another thread.
        rest.reaper = None;
        return None;
    }
    let mut all = true;
    for left in &mut rest.children {
        all &= left.register(registry);
    }
    Some(all)
}

impl Rest {
    fn look(&mut self) {
        // An error means that the system knows nothing of it any more.
        self.children.retain_mut(|left| matches!(left.try_wait(), Ok(None)));
    }
}

impl Left {
    /// Through the descriptor, if there is one: see `pidfd.rs`.
    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match &self.descriptor {
            Some(descriptor) => try_wait_through(descriptor.as_fd(), &mut self.child),
            None => self.child.try_wait(),
        }
    }

    /// Returns whether its end is an event.
    fn register(&mut self, registry: &Registry) -> bool {
        if let (Some(descriptor), false) = (&self.descriptor, self.is_registered) {
            let number = descriptor.as_raw_fd();
            let registered = registry.register(&mut SourceFd(&number), ENDED, Interest::READABLE);
            self.is_registered = registered.is_ok();
        }
        self.is_registered
    }
}
