//! Descriptors that are no sockets of a network: pipes, socket pairs, `eventfd` and `timerfd`.

use std::ffi::{c_int, c_uint};

use libc::{
    AF_UNIX, EAFNOSUPPORT, EFD_SEMAPHORE, EINVAL, SOCK_CLOEXEC, SOCK_NONBLOCK, TFD_TIMER_ABSTIME,
    itimerspec,
};

use super::clock::{as_timespec, nanos, when_shown};
use super::descriptor::{made, object};
use super::{answer, fail};
use crate::network::Errno;
use crate::objects::event::Event;
use crate::objects::timer::Timer;
use crate::objects::unix::UnixSocket;
use crate::objects::{Kind, ObjectId};
use crate::real;
use crate::world::{lock, turn};

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(fds: *mut c_int) -> c_int {
    // SAFETY: the caller's contract is the C library's, in which this is the other without flags.
    unsafe { pipe2(fds, 0) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pipe2(fds: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        // Also in the making of statics, which a crash would leave half made.
        let me = turn::step_anywhere();
        let result = real::pipe2(fds, flags);
        if me.is_some() && result == 0 {
            let mut world = lock();
            let pipe = world.add_pipe();
            let reader = world.add_object(*fds, Kind::PipeReader(pipe));
            let writer = world.add_object(*fds.add(1), Kind::PipeWriter(pipe));
            world.objects.pipes[pipe.0].readers = vec![reader];
            world.objects.pipes[pipe.0].writers = vec![writer];
        }
        result
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    fds: *mut c_int,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        // Also in the making of statics, which a crash would leave half made.
        let me = turn::step_anywhere();
        let kind_alone = kind & !(SOCK_CLOEXEC | SOCK_NONBLOCK);
        let is_known = UnixSocket::of_type(kind_alone).is_some();
        if me.is_some() && (domain != AF_UNIX || !is_known) {
            return fail(EAFNOSUPPORT);
        }
        let result = real::socketpair(domain, kind, protocol, fds);
        if me.is_some() && result == 0 {
            let mut world = lock();
            let fresh = || Kind::Unix(UnixSocket::of_type(kind_alone).unwrap_or_default());
            let one = world.add_object(*fds, fresh());
            let other = world.add_object(*fds.add(1), fresh());
            world.pair_unix(one, other);
        }
        result
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    let takes_one = flags & EFD_SEMAPHORE != 0;
    // SAFETY: the call takes no pointers.
    made(
        || unsafe { real::eventfd(count, flags) },
        || Kind::Event(Event::new(count.into(), takes_one)),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    // SAFETY: the call takes no pointers.
    made(|| unsafe { real::timerfd_create(clock, flags) }, || Kind::Timer(Timer::new(clock)))
}

/// # Safety
///
/// `into` is null or a place for it.
unsafe fn tell_left(id: ObjectId, into: *mut itimerspec) -> Result<(), Errno> {
    if into.is_null() {
        return Ok(());
    }
    let mut world = lock();
    let now = world.clock_of(id).ok_or(EINVAL)?.shows(world.now);
    let Kind::Timer(timer) = world.kind_mut(id)? else { return Err(EINVAL) };
    let (left, interval) = timer.left(now);
    // SAFETY: as above.
    unsafe {
        into.write(itimerspec { it_value: as_timespec(left), it_interval: as_timespec(interval) })
    };
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_gettime(fd: c_int, into: *mut itimerspec) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(fd) else { return real::timerfd_gettime(fd, into) };
        answer(tell_left(id, into).map(|()| 0))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(fd) else { return real::timerfd_settime(fd, flags, new, old) };
        answer(set_timer(id, flags, new, old).map(|()| 0))
    }
}

/// # Safety
///
/// `new` is valid, and `old` is null or a place for it.
unsafe fn set_timer(
    id: ObjectId,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> Result<(), Errno> {
    // SAFETY: as above.
    let (value, interval) = unsafe {
        let times = (nanos(&raw const (*new).it_value)?, nanos(&raw const (*new).it_interval)?);
        tell_left(id, old)?;
        times
    };
    let mut world = lock();
    let Kind::Timer(timer) = world.kind_mut(id)? else { return Err(EINVAL) };
    let clock = timer.clock();
    let now = world.clock_of(id).ok_or(EINVAL)?.shows(world.now);
    let host = world.objects.get(id).map(|object| &world.hosts[object.host]).ok_or(EINVAL)?;
    let next = match value {
        0 => None,
        value if flags & TFD_TIMER_ABSTIME != 0 => Some(when_shown(host, clock, value)),
        value => Some(now.saturating_add(value)),
    };
    world.set_timer(id, next, interval);
    Ok(())
}
