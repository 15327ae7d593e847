//! `poll`.

use std::ffi::{c_int, c_short};
use std::slice;

use libc::{POLLERR, POLLHUP, POLLNVAL, nfds_t, pollfd, sigset_t, timespec};

use super::clock::{as_millis, span, span_of_millis};
use super::descriptor::wait_for;
use super::fail;
use crate::network::Nanos;
use crate::objects::ObjectId;
use crate::real;
use crate::world::actor::ActorId;
use crate::world::{lock, turn};

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some(me) = turn::step() else { return real::poll(fds, count, timeout) };
        poll_for(me, list(fds, count), span_of_millis(timeout))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    _mask: *const sigset_t,
) -> c_int {
    // SAFETY: the caller's contract is the C library's. No signal interrupts a thread of the run.
    unsafe {
        let span = match span(timeout) {
            Ok(span) => span,
            Err(errno) => return fail(errno),
        };
        match turn::step() {
            Some(me) => poll_for(me, list(fds, count), span),
            None => real::poll(fds, count, as_millis(span)),
        }
    }
}

/// # Safety
///
/// `fds` has `count` valid entries.
unsafe fn list<'a>(fds: *mut pollfd, count: nfds_t) -> &'a mut [pollfd] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: as above.
    unsafe { slice::from_raw_parts_mut(fds, count as usize) }
}

fn poll_for(me: ActorId, fds: &mut [pollfd], span: Option<Nanos>) -> c_int {
    let mut world = lock();
    let deadline = span.map(|span| world.local_after(span));
    loop {
        let mut objects: Vec<ObjectId> = Vec::new();
        let mut found = 0;
        for asked in fds.iter_mut() {
            asked.revents = 0;
            if asked.fd < 0 {
                continue;
            }
            match world.objects.of_descriptor(asked.fd) {
                Some(id) => {
                    objects.push(id);
                    let ready = world.readiness(id) as c_short;
                    asked.revents = ready & (asked.events | POLLERR | POLLHUP);
                }
                None => asked.revents = of_kernel(asked),
            }
            found += c_int::from(asked.revents != 0);
        }
        if found > 0 || span == Some(0) {
            return found;
        }
        if deadline.is_some_and(|deadline| deadline <= world.local_now()) {
            return 0;
        }
        (world, _) = wait_for(world, me, &objects, deadline);
    }
}

/// What the kernel says of a descriptor that is not the run's: a file, which is always ready.
fn of_kernel(asked: &pollfd) -> c_short {
    let mut own = pollfd { fd: asked.fd, events: asked.events, revents: 0 };
    // SAFETY: the entry is ours.
    let result = unsafe { real::poll(&raw mut own, 1, 0) };
    if result < 0 {
        fail(0);
        return POLLNVAL;
    }
    own.revents
}
