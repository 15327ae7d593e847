//! `epoll`.

use std::ffi::c_int;
use std::slice;

use libc::{
    EBADF, EEXIST, EINVAL, ENOENT, EPERM, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, S_IFCHR,
    S_IFDIR, S_IFMT, S_IFREG, epoll_event, sigset_t, timespec,
};

use super::clock::{as_millis, span, span_of_millis};
use super::descriptor::{is_open, made, object, object_locked, wait_for};
use super::process::refuse_locked;
use super::{answer, fail};
use crate::network::{Errno, Nanos};
use crate::objects::epoll::Epoll;
use crate::objects::{IN, Kind, ObjectId};
use crate::real;
use crate::world::actor::ActorId;
use crate::world::{Guard, World, lock};

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    // SAFETY: the call takes no pointers.
    made(|| unsafe { real::epoll_create1(flags) }, || Kind::Epoll(Epoll::default()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    if size <= 0 {
        return fail(EINVAL);
    }
    // SAFETY: the call takes no pointers.
    unsafe { epoll_create1(0) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(epoll) else {
            return real::epoll_ctl(epoll, operation, fd, event);
        };
        let event = if operation == EPOLL_CTL_DEL {
            epoll_event { events: 0, u64: 0 }
        } else {
            event.read()
        };
        answer(lock().change_epoll(id, operation, fd, event).map(|()| 0))
    }
}

/// Whether the kernel could watch this descriptor, which stands for nothing in the run: a socket or
/// a pipe that was made past the C library or before the run, a terminal, an `inotify`.
fn is_from_outside(fd: c_int) -> bool {
    // SAFETY: zeroes are a value of the type, which has integers only.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` can be written to during the call.
    if unsafe { libc::fstat(fd, &raw mut status) } != 0 {
        return false;
    }
    match status.st_mode & S_IFMT {
        S_IFREG | S_IFDIR => false,
        // SAFETY: the call has no conditions.
        S_IFCHR => unsafe { libc::isatty(fd) == 1 },
        _ => true,
    }
}

impl World {
    fn change_epoll(
        &mut self,
        id: ObjectId,
        operation: c_int,
        fd: c_int,
        event: epoll_event,
    ) -> Result<(), Errno> {
        let Some(watched) = self.objects.of_descriptor(fd) else {
            if is_open(fd) && is_from_outside(fd) {
                refuse_locked(self, "to wait for a descriptor that was not made in it");
            }
            // The kernel cannot watch a file either.
            return Err(if is_open(fd) { EPERM } else { EBADF });
        };
        let known = self.epoll_mut(id).ok_or(EINVAL)?.has(fd, watched);
        match operation {
            _ if watched == id => return Err(EINVAL),
            EPOLL_CTL_ADD if known => return Err(EEXIST),
            EPOLL_CTL_MOD | EPOLL_CTL_DEL if !known => return Err(ENOENT),
            EPOLL_CTL_ADD => self.watch(watched, id, fd),
            EPOLL_CTL_DEL => {
                self.unwatch(watched, id, fd);
                if let Some(epoll) = self.epoll_mut(id) {
                    epoll.remove(fd, watched);
                }
                return Ok(());
            }
            EPOLL_CTL_MOD => {}
            _ => return Err(EINVAL),
        }
        let ready = self.readiness(watched);
        if let Some(epoll) = self.epoll_mut(id) {
            epoll.set(fd, watched, event.events, event.u64, ready);
        }
        if self.readiness(id) != 0 {
            self.touch(id, IN);
        }
        Ok(())
    }

    /// Writes events into the room for them, and returns how many.
    fn epoll_events(&mut self, id: ObjectId, room: &mut [epoll_event]) -> usize {
        let Some(epoll) = self.epoll_mut(id) else { return 0 };
        // What it watches is asked meanwhile, and is never the epoll itself.
        let mut epoll = std::mem::take(epoll);
        let found = epoll.wait(room, |object| self.readiness(object));
        if let Some(place) = self.epoll_mut(id) {
            *place = epoll;
        }
        found
    }
}

fn wait(
    mut world: Guard,
    me: ActorId,
    id: ObjectId,
    events: &mut [epoll_event],
    span: Option<Nanos>,
) -> c_int {
    let deadline = span.map(|span| world.local_after(span));
    loop {
        let found = world.epoll_events(id, events);
        let is_over = |deadline| deadline <= world.local_now();
        if found > 0 || span == Some(0) || deadline.is_some_and(is_over) {
            return found as c_int;
        }
        (world, _) = wait_for(world, me, &[id], deadline);
    }
}

/// # Safety
///
/// `events` has room for `room` of them.
unsafe fn wait_call(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    span: Option<Nanos>,
) -> Option<c_int> {
    let (mut world, me, id) = object_locked(epoll)?;
    if room <= 0 || world.epoll_mut(id).is_none() {
        return Some(fail(EINVAL));
    }
    // SAFETY: as above. Events are plain numbers, and only written.
    let events = unsafe { slice::from_raw_parts_mut(events, room as usize) };
    Some(wait(world, me, id, events, span))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        wait_call(epoll, events, room, span_of_millis(timeout))
            .unwrap_or_else(|| real::epoll_wait(epoll, events, room, timeout))
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: c_int,
    _mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's contract is the C library's. No signal interrupts a thread of the run.
    unsafe { epoll_wait(epoll, events, room, timeout) }
}

/// The call with a timeout in nanoseconds.
///
/// # Safety
///
/// `events` has room for `room` of them, and `timeout` is null or valid.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: *const timespec,
    _mask: *const sigset_t,
) -> c_int {
    // SAFETY: as above.
    unsafe { pwait2(epoll, events, room, timeout) }
}

/// # Safety
///
/// As for [`epoll_pwait2`].
pub(super) unsafe fn pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    room: c_int,
    timeout: *const timespec,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let span = match span(timeout) {
            Ok(span) => span,
            Err(errno) => return fail(errno),
        };
        wait_call(epoll, events, room, span)
            .unwrap_or_else(|| real::epoll_wait(epoll, events, room, as_millis(span)))
    }
}
