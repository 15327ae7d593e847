//! `epoll`, level- and edge-triggered.
//!
//! A registration is *pending* from the moment at which something happens to its object until a
//! wait finds that nothing of interest is left, or, where it is edge-triggered, until a wait has
//! reported it.
//!
//! | event | before | after |
//! |---|---|---|
//! | added or changed, and the object is ready for it | any | pending |
//! | the object is touched, by a bit of interest | any but disabled | pending |
//! | a wait, object not ready any more | pending | idle |
//! | a wait reports it, edge-triggered | pending | idle |
//! | a wait reports it, level-triggered | pending | pending, behind the others |
//! | a wait reports it, one-shot | pending | disabled until it is changed |

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;

use libc::{EPOLLET, EPOLLONESHOT, epoll_event};

use super::{ERR, HUP, IN, ObjectId};

const EDGE: u32 = EPOLLET as u32;
const ONE_SHOT: u32 = EPOLLONESHOT as u32;
/// A one-shot registration that has been reported. No program asks for this: both bits exclude each
/// other.
const DISABLED: u32 = ONE_SHOT | libc::EPOLLEXCLUSIVE as u32;
/// The bits that say how, and not for what.
const MODES: u32 = EDGE | ONE_SHOT | libc::EPOLLWAKEUP as u32 | libc::EPOLLEXCLUSIVE as u32;

#[derive(Default)]
pub(crate) struct Epoll {
    registrations: BTreeMap<(c_int, ObjectId), Registration>,
    /// Pending registrations, in the order in which they became so.
    pending: VecDeque<(c_int, ObjectId)>,
}

struct Registration {
    events: u32,
    data: u64,
    is_pending: bool,
}

impl Registration {
    /// For what it waits; 0 when it is disabled.
    fn interest(&self) -> u32 {
        if self.events == DISABLED { 0 } else { (self.events & !MODES) | ERR | HUP }
    }
}

impl Epoll {
    /// Adds a registration or changes it. `ready` is what the object is ready for.
    ///
    /// A number can stand for several objects here: an object that still has another descriptor
    /// stays when the one by which it was added is closed and given to something else.
    pub(crate) fn set(&mut self, fd: c_int, object: ObjectId, events: u32, data: u64, ready: u32) {
        let key = (fd, object);
        let was_pending = self.registrations.get(&key).is_some_and(|known| known.is_pending);
        let mut registration = Registration { events, data, is_pending: was_pending };
        if registration.interest() & ready != 0 && !was_pending {
            registration.is_pending = true;
            self.pending.push_back(key);
        }
        self.registrations.insert(key, registration);
    }

    pub(crate) fn remove(&mut self, fd: c_int, object: ObjectId) {
        self.pending.retain(|pending| *pending != (fd, object));
        self.registrations.remove(&(fd, object));
    }

    pub(crate) fn has(&self, fd: c_int, object: ObjectId) -> bool {
        self.registrations.contains_key(&(fd, object))
    }

    /// The descriptors and objects that it watches.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (c_int, ObjectId)> + '_ {
        self.registrations.keys().copied()
    }

    /// Something happened to an object. Returns whether that is of interest.
    pub(crate) fn note(&mut self, fd: c_int, object: ObjectId, bits: u32) -> bool {
        let key = (fd, object);
        let Some(registration) = self.registrations.get_mut(&key) else { return false };
        let concerned = registration.interest() & bits != 0;
        if concerned && !registration.is_pending {
            registration.is_pending = true;
            self.pending.push_back(key);
        }
        concerned
    }

    pub(crate) fn readiness(&self, ready: impl Fn(ObjectId) -> u32) -> u32 {
        let any = self.pending.iter().any(|key| {
            self.registrations.get(key).is_some_and(|it| it.interest() & ready(key.1) != 0)
        });
        if any { IN } else { 0 }
    }

    /// Reports events, as many as there is room for, and returns how many. `ready` says what an
    /// object is ready for.
    pub(crate) fn wait(
        &mut self,
        room: &mut [epoll_event],
        ready: impl Fn(ObjectId) -> u32,
    ) -> usize {
        let mut found = 0;
        let mut again = Vec::new();
        for _ in 0..self.pending.len() {
            if found == room.len() {
                break;
            }
            let Some(key) = self.pending.pop_front() else { break };
            let Some(registration) = self.registrations.get_mut(&key) else { continue };
            let bits = registration.interest() & ready(key.1);
            if bits == 0 {
                registration.is_pending = false;
                continue;
            }
            room[found] = epoll_event { events: bits, u64: registration.data };
            found += 1;
            if registration.events & ONE_SHOT != 0 {
                registration.events = DISABLED;
                registration.is_pending = false;
            } else if registration.events & EDGE != 0 {
                registration.is_pending = false;
            } else {
                again.push(key);
            }
        }
        self.pending.extend(again);
        found
    }
}
