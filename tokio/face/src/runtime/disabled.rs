//! Runtimes that were built without I/O or without timers.
//!
//! liten always has both. A program that has forgotten `enable_io` is told so all the same, as by tokio: it
//! would not run there. Such runtimes are few, so they are listed, and as long as there is none a look is one
//! load.

use super::{Handle, Id};
use crate::LITEN;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Disabled {
    pub(super) io: bool,
    pub(super) time: bool,
}

static COUNT: AtomicUsize = AtomicUsize::new(0);
static LIST: Mutex<Option<HashMap<Id, Disabled>>> = Mutex::new(None);

/// Keeps a runtime in the list.
#[derive(Debug)]
pub(super) struct Entry(Option<Id>);

impl Entry {
    pub(super) fn new(id: Id, disabled: Disabled) -> Self {
        if !disabled.io && !disabled.time {
            return Self(None);
        }
        with_list(|list| list.insert(id, disabled));
        // Ordering: Relaxed, here and below. A thread that uses the runtime has got it from its builder, by a
        // way that makes this visible; other threads need not see it.
        COUNT.fetch_add(1, Ordering::Relaxed);
        Self(Some(id))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            COUNT.fetch_sub(1, Ordering::Relaxed);
            with_list(|list| list.remove(&id));
        }
    }
}

fn with_list<R>(f: impl FnOnce(&mut HashMap<Id, Disabled>) -> R) -> R {
    f(LIST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(HashMap::new))
}

fn of(handle: &Handle) -> Disabled {
    with_list(|list| list.get(&handle.id()).copied()).unwrap_or_default()
}

/// Panics at the caller if the runtime of `handle` was built without I/O.
#[track_caller]
#[inline]
pub(super) fn assert_io(handle: &Handle) {
    if COUNT.load(Ordering::Relaxed) > 0 && of(handle).io {
        panic!(
            "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to \
             enable IO. ({LITEN})"
        );
    }
}

/// Panics at the caller if the current runtime was built without timers.
#[track_caller]
#[inline]
pub(super) fn assert_timers() {
    if COUNT.load(Ordering::Relaxed) > 0 && Handle::try_current().is_ok_and(|handle| of(&handle).time) {
        panic!(
            "A Tokio 1.x context was found, but timers are disabled. Call `enable_time` on the runtime \
             builder to enable timers. ({LITEN})"
        );
    }
}
