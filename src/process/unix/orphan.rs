//! Children that no task waits for: reaped all the same, or they would stay in the system's table.
//!
//! An [`Orphan`] is a process and a waker in one: the thread that dispatches the event of its end calls
//! the waker, and that reaps it, there and then, with one system call that does not block. So it needs
//! the runtime's driver and nothing else. A task was rejected, because `block_until_completion` would wait
//! for it, and children are also dropped where nothing can be spawned; so was a thread, of which there would
//! have to be one in every program that drops a child.
//!
//! When the driver closes it wakes all waiting futures, with an error. The orphan then goes to the rest
//! ([`reaper`]).
//!
//! # Looks
//!
//! A waker may be called by several threads at once, and by the poll that it leads to. Only the call that
//! raises the number of looks from 0 looks; it looks again until the number has not changed meanwhile. So no
//! wake is lost, the lock is never waited for, and a look never meets itself.

use super::{Process, reaper};
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::task::budget;
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Orphan {
    looks: AtomicUsize,
    /// `None` when it has ended.
    process: Mutex<Option<Process>>,
}

/// Reaps the process when it ends.
pub(super) fn adopt(process: Process) {
    Arc::new(Orphan { looks: AtomicUsize::new(0), process: Mutex::new(Some(process)) }).look();
}

impl Orphan {
    fn look(self: &Arc<Self>) {
        // Ordering: AcqRel; the look that follows sees what the caller saw, also if it is another thread's,
        // which takes it over by the subtraction.
        if self.looks.fetch_add(1, Ordering::AcqRel) != 0 {
            return;
        }
        let mut seen = 1;
        while seen > 0 {
            self.look_once();
            // Ordering: AcqRel. Acquire pairs with the addition by a thread whose look this one takes over,
            // Release with the addition by the thread that looks next.
            seen = self.looks.fetch_sub(seen, Ordering::AcqRel) - seen;
        }
    }

    fn look_once(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        let mut process = self.process.lock();
        let polled = process.as_mut().map(|process| {
            // Not as part of any task's turn: without this it would be charged to a task that happens to drop
            // a child.
            budget::unlimited(|| process.poll_here(&mut Context::from_waker(&waker)))
        });
        let ended = match polled {
            Some(Poll::Ready(result)) => process.take().map(|process| (process, result)),
            Some(Poll::Pending) | None => None,
        };
        drop(process);
        if let Some((process, Err(_))) = ended {
            reaper::leave(process);
        }
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        self.look();
    }
}
