//! The pollables that are waited for, and the one place that asks the host about them.
//!
//! The host speaks of positions in the list that it was given; a future that waits needs a name that lasts
//! longer than one call. So each pollable gets a key, and [`Poller::block_until`] translates. A key is not
//! used again within 2^32 inserts (slab.rs), so that a late one finds nothing instead of another pollable.
//!
//! # No borrow is held while anything foreign runs
//!
//! The host, and the destructor of a pollable, are not ours: a host in a test may call a waker in the middle
//! of `poll`, whose task then drops a pollable of this very poller. So what the host is asked about is a
//! snapshot of shared pointers, taken under a short borrow; and what comes out of the slab is dropped after
//! the borrow has ended. A pollable that is removed while the host has it in its list lives until the host
//! returns, and is not reported. The snapshot is dropped before any caller sees the result: WASI traps when a
//! resource is dropped before the pollables made from it, so nothing here may keep one alive.
//!
//! Rejected: `&mut self` for `insert` and `remove`. The compiler would then forbid to change the poller
//! during `poll`, which is right, and a reactor would have to hold its `RefCell` for as long as the host
//! blocks, which turns the same mistake into a panic.

use super::contract::Host;
use crate::engine::slab::{Key, Slab};
use crate::engine::sync_shim::Used;
use crate::impls::impl_debug;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

/// Noted when a pollable is added: until then every poller is empty.
static POLLABLES: Used = Used::new();

/// Up to this many pollables are asked about one by one rather than in a list.
const FEW_POLLABLES: usize = 2;

/// Names one pollable in a [`Poller`]: eight bytes, and not used again for another one within 2^32 inserts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventKey(Key);

impl EventKey {
    /// The slot: no two pollables that are in the poller at one time share it.
    pub(super) fn slot(self) -> usize {
        self.0.index() as usize
    }
}

impl fmt::Debug for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventKey").field(&self.0.index()).finish()
    }
}

/// A set of pollables under keys, and a call that blocks until one of them is ready.
///
/// The lowest of the building blocks, for programs that have an event loop of their own;
/// [`Reactor`](super::Reactor) adds wakers.
///
/// # Examples
///
/// ```
/// use liten::wasi::{Host, Poller, SystemHost};
/// use std::time::Duration;
///
/// let poller = Poller::new(SystemHost::new());
/// let late = poller.insert(poller.host().clock(Duration::from_secs(60)));
/// let soon = poller.insert(poller.host().clock(Duration::from_millis(1)));
/// assert_eq!(poller.block_until(), [soon]);
/// assert!(poller.remove(soon).is_some() && poller.remove(late).is_some());
/// assert!(poller.is_empty());
/// ```
pub struct Poller<H: Host> {
    host: H,
    /// The host's. With one, it may return without anything being ready.
    interrupter: Option<Waker>,
    pollables: RefCell<Slab<Rc<H::Pollable>>>,
    /// The memory of the last snapshot, empty.
    spare: Cell<Vec<Asked<H::Pollable>>>,
    /// A clock that has run out, while looks may need it again.
    now: Cell<Option<H::Pollable>>,
}

/// What the host was asked about, at its position.
struct Asked<P> {
    key: EventKey,
    pollable: Rc<P>,
    told: bool,
}

impl<H: Host> Poller<H> {
    /// Returns a poller without pollables.
    pub fn new(host: H) -> Self {
        Self {
            interrupter: host.interrupter(),
            host,
            pollables: RefCell::new(Slab::new()),
            spare: Cell::default(),
            now: Cell::new(None),
        }
    }

    /// The host that is asked.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// What ends a call of the host from another thread.
    pub(super) fn interrupter(&self) -> Option<&Waker> {
        self.interrupter.as_ref()
    }

    /// Adds a pollable, which may be shared, and returns its key.
    pub fn insert(&self, pollable: impl Into<Rc<H::Pollable>>) -> EventKey {
        POLLABLES.note();
        let pollable = pollable.into();
        EventKey(self.pollables.borrow_mut().insert(pollable))
    }

    /// The pollable under `key`, or `None` if it has been removed.
    pub fn get(&self, key: EventKey) -> Option<Rc<H::Pollable>> {
        self.pollables.borrow().get(key.0).cloned()
    }

    /// Takes out the pollable under `key`; returns `None` if that has been done before.
    pub fn remove(&self, key: EventKey) -> Option<Rc<H::Pollable>> {
        if !POLLABLES.is_noted() {
            return None;
        }
        let removed = self.pollables.borrow_mut().remove(key.0);
        if self.is_empty() {
            // After the borrow: its destructor is the host's.
            drop(self.now.take());
        }
        removed
    }

    /// Whether the pollable of `key` has not been removed.
    pub(super) fn contains(&self, key: EventKey) -> bool {
        POLLABLES.is_noted() && self.pollables.borrow().get(key.0).is_some()
    }

    /// How many pollables there are.
    pub fn len(&self) -> usize {
        self.pollables.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Blocks until at least one pollable is ready, and returns the keys of all that are; they stay in the
    /// poller.
    ///
    /// Returns an empty list at once if there are no pollables, and an empty list when the host has been
    /// [interrupted](Host::interrupter).
    ///
    /// # Panics
    ///
    /// If a host that cannot be interrupted names no pollable of its list, because nothing could wait for it
    /// then.
    #[track_caller]
    pub fn block_until(&self) -> Vec<EventKey> {
        self.ask(None)
    }

    /// As [`Poller::block_until`], with one more pollable, of which nothing is reported.
    #[track_caller]
    pub(super) fn ask(&self, extra: Option<&H::Pollable>) -> Vec<EventKey> {
        let mut asked = self.snapshot();
        let list: Vec<_> = asked.iter().map(|a| &*a.pollable).chain(extra).collect();
        if list.is_empty() {
            return Vec::new();
        }
        let answer = self.host.poll(&list);
        if self.interrupter.is_none()
            && answer.iter().all(|&position| position as usize >= list.len())
        {
            lied();
        }
        drop(list);
        let mut ready = Vec::with_capacity(answer.len());
        for position in answer {
            let Some(found) = asked.get_mut(position as usize) else { continue };
            if !mem::replace(&mut found.told, true) && self.contains(found.key) {
                ready.push(found.key);
            }
        }
        self.put_back(asked);
        ready
    }

    /// The keys of all that are ready now; does not block.
    ///
    /// Many are put before the host in one call, beside a clock that is due. On wasmtime that was up to twice
    /// as fast at ten and at a hundred, and no clear difference between three and five.
    #[track_caller]
    pub(super) fn look(&self) -> Vec<EventKey> {
        if !POLLABLES.is_noted() {
            return Vec::new();
        }
        if self.len() > FEW_POLLABLES {
            let now = self.now.take().unwrap_or_else(|| self.host.clock(Duration::ZERO));
            let ready = self.ask(Some(&now));
            self.now.set(Some(now));
            return ready;
        }
        let asked = self.snapshot();
        let mut ready = Vec::new();
        for Asked { key, pollable, .. } in &asked {
            if self.host.ready(pollable) && self.contains(*key) {
                ready.push(*key);
            }
        }
        self.put_back(asked);
        ready
    }

    fn snapshot(&self) -> Vec<Asked<H::Pollable>> {
        let mut asked = self.spare.take();
        if !POLLABLES.is_noted() {
            return asked;
        }
        let pollables = self.pollables.borrow();
        asked.extend(pollables.entries().map(|(key, pollable)| Asked {
            key: EventKey(key),
            pollable: pollable.clone(),
            told: false,
        }));
        asked
    }

    fn put_back(&self, mut asked: Vec<Asked<H::Pollable>>) {
        asked.clear();
        self.spare.set(asked);
    }
}

/// To ask such a host again would be to ask it for ever.
#[cold]
#[track_caller]
fn lied() -> ! {
    panic!(
        "the host returned from poll although nothing is ready: a host whose interrupter is None must \
         name at least one pollable of the list"
    );
}

impl_debug!([H: Host] Poller<H>, this => "Poller" { len: this.len(), .. });
