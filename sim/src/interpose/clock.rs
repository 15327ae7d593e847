//! Clocks and sleeping.

use std::ffi::{c_int, c_uint, c_void};

use libc::{
    CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME, CLOCK_REALTIME_COARSE, EINVAL, TIMER_ABSTIME,
    clockid_t, time_t, timespec, timeval, useconds_t,
};

use crate::network::{Errno, MILLISECOND, Nanos, SECOND};
use crate::real;
use crate::world::actor::{ActorId, Waits};
use crate::world::hosts::Host;
use crate::world::{World, lock, turn};

/// What the monotonic clock shows when a run begins: a machine that has been up for a while.
const UP: Nanos = 1_000 * SECOND;
/// What the wall clock shows then: the first second of 2026, UTC.
const DATE: Nanos = 1_767_225_600 * SECOND;
/// The steps of the coarse clocks: a tick of a kernel with 250 of them in a second.
const TICK: Nanos = 4_000_000;

/// What `clock` shows on `host` when its own clock counts `now`.
fn shown(host: &Host, clock: clockid_t, now: Nanos) -> Nanos {
    let ahead = host.clock_ahead;
    let date = (DATE + now).saturating_add_signed(ahead);
    match clock {
        CLOCK_REALTIME => date,
        CLOCK_REALTIME_COARSE => date / TICK * TICK,
        CLOCK_MONOTONIC_COARSE => (UP + now) / TICK * TICK,
        _ => UP + now,
    }
}

/// What `clock` shows on the running host.
fn shown_now(world: &World, clock: clockid_t) -> Nanos {
    shown(&world.hosts[world.running_host()], clock, world.local_now())
}

/// What the own clock of `host` counts when `clock` shows `time`.
pub(super) fn when_shown(host: &Host, clock: clockid_t, time: Nanos) -> Nanos {
    time.saturating_sub(shown(host, clock, 0))
}

/// Nanoseconds of a span or a point in time that the program gives.
///
/// # Safety
///
/// `time` points to a valid `timespec`.
pub(super) unsafe fn nanos(time: *const timespec) -> Result<Nanos, Errno> {
    // SAFETY: as above.
    let time = unsafe { time.read() };
    let (Ok(seconds), Ok(rest)) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_nsec)) else {
        return Err(EINVAL);
    };
    if rest >= SECOND {
        return Err(EINVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(rest))
}

/// The time that a call may wait, for ever with a null pointer.
///
/// # Safety
///
/// `time` is null or points to a valid `timespec`.
pub(super) unsafe fn span(time: *const timespec) -> Result<Option<Nanos>, Errno> {
    // SAFETY: as above.
    if time.is_null() { Ok(None) } else { unsafe { nanos(time) }.map(Some) }
}

/// The time that a call may wait, for ever with a negative number.
pub(super) fn span_of_millis(millis: c_int) -> Option<Nanos> {
    u64::try_from(millis).ok().map(|millis| millis * MILLISECOND)
}

/// As [`span_of_millis`] takes it. A part of a millisecond is a whole one, so that no wait is
/// shorter than asked for.
pub(super) fn as_millis(span: Option<Nanos>) -> c_int {
    span.map_or(-1, |span| span.div_ceil(MILLISECOND) as c_int)
}

pub(super) fn as_timespec(time: Nanos) -> timespec {
    timespec { tv_sec: (time / SECOND) as time_t, tv_nsec: (time % SECOND) as i64 }
}

/// Sleeps until the own clock of the running host counts `until`.
fn sleep_until(me: ActorId, until: Nanos) {
    let mut world = lock();
    loop {
        let when = world.when(until);
        (world, _) = turn::sleep(world, me, Waits::Sleep, Some(when));
        // A signal ends a wait for the time of its handler.
        if world.local_now() >= until {
            break;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, into: *mut timespec) -> c_int {
    let Some(world) = turn::step_anywhere_locked() else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::clock_gettime(clock, into) };
    };
    let time = shown_now(&world, clock);
    // SAFETY: the caller gave a place for it.
    unsafe { into.write(as_timespec(time)) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(into: *mut timeval, zone: *mut c_void) -> c_int {
    let Some(world) = turn::step_anywhere_locked() else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::gettimeofday(into, zone) };
    };
    let time = shown_now(&world, CLOCK_REALTIME);
    let value =
        timeval { tv_sec: (time / SECOND) as time_t, tv_usec: (time % SECOND / 1_000) as i64 };
    // SAFETY: the caller gave a place for it.
    unsafe { into.write(value) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(into: *mut time_t) -> time_t {
    let Some(world) = turn::step_anywhere_locked() else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::time(into) };
    };
    let seconds = (shown_now(&world, CLOCK_REALTIME) / SECOND) as time_t;
    if !into.is_null() {
        // SAFETY: the caller gave a place for it.
        unsafe { into.write(seconds) };
    }
    seconds
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(span: *const timespec, left: *mut timespec) -> c_int {
    let Some(me) = turn::step() else {
        // SAFETY: the caller's contract is the C library's, and this is what `nanosleep` is.
        let error = unsafe { real::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, span, left) };
        return if error == 0 { 0 } else { super::fail(error) };
    };
    // SAFETY: the caller gave a valid span.
    let span = match unsafe { nanos(span) } {
        Ok(span) => span,
        Err(errno) => return super::fail(errno),
    };
    let until = lock().local_after(span);
    sleep_until(me, until);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    let Some(me) = turn::step() else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::clock_nanosleep(clock, flags, time, left) };
    };
    // SAFETY: the caller gave a valid time.
    let time = match unsafe { nanos(time) } {
        Ok(time) => time,
        // This one returns its error.
        Err(errno) => return errno,
    };
    let until = {
        let world = lock();
        if flags & TIMER_ABSTIME == 0 {
            world.local_after(time)
        } else {
            when_shown(&world.hosts[world.running_host()], clock, time)
        }
    };
    sleep_until(me, until);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(micros: useconds_t) -> c_int {
    let span = as_timespec(u64::from(micros) * 1_000);
    // SAFETY: the span is ours.
    unsafe { nanosleep(&raw const span, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let span = as_timespec(u64::from(seconds) * SECOND);
    // SAFETY: the span is ours.
    unsafe { nanosleep(&raw const span, std::ptr::null_mut()) };
    0
}
