//! What is done with descriptors as such: closing, copying, their flags.

use std::ffi::{c_int, c_long, c_ulong, c_void};

use libc::{
    EINVAL, F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFL, FIONBIO, FIONREAD, O_NONBLOCK,
};

use super::fail;
use crate::network::Nanos;
use crate::objects::fifo::Fifo;
use crate::objects::{Kind, ObjectId};
use crate::real;
use crate::world::actor::{ActorId, Waits, Wake, current};
use crate::world::{Guard, Inside, World, lock, turn};

/// The object of `fd`, if the calling thread is one of the run and the descriptor too. Such a call
/// is a step.
pub(super) fn object(fd: c_int) -> Option<(ActorId, ObjectId)> {
    object_locked(fd).map(|(_, me, id)| (me, id))
}

/// As [`object`], for what goes on with the lock.
pub(super) fn object_locked(fd: c_int) -> Option<(Guard, ActorId, ObjectId)> {
    let me = current()?;
    let world = lock();
    let id = world.objects.of_descriptor(fd);
    // The descriptors of a host that has crashed are closed already, and may be another's. The
    // standard streams are all hosts' own, and are written to under a lock of the process.
    let is_over = world.actors[me.0].is_doomed && !(0..=2).contains(&fd);
    if id.is_none() && !is_over {
        return None;
    }
    let world = turn::step_with(world, me);
    id.map(|id| (world, me, id))
}

/// Makes a descriptor of the kernel's and, in a run, the object that it stands for.
///
/// Programs also do this in the making of statics, which a crash would leave half made.
pub(super) fn made(make: impl FnOnce() -> c_int, kind: impl FnOnce() -> Kind) -> c_int {
    let me = turn::step_anywhere();
    let fd = make();
    if me.is_some() && fd >= 0 {
        lock().add_object(fd, kind());
    }
    fd
}

/// Whether the kernel has this descriptor.
pub(super) fn is_open(fd: c_int) -> bool {
    // SAFETY: the command takes no argument.
    unsafe { real::fcntl(fd, F_GETFD, 0) >= 0 }
}

/// Whether calls on `fd`, which stands for `id`, return at once. The kernel keeps the flag, and is
/// asked once.
pub(super) fn is_nonblocking(world: &mut World, fd: c_int, id: ObjectId) -> bool {
    if let Some(known) = world.objects.get(id).and_then(|object| object.is_nonblocking) {
        return known;
    }
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(fd, F_GETFL, 0) };
    let found = flags >= 0 && flags & O_NONBLOCK != 0;
    if let Some(object) = world.objects.get_mut(id) {
        object.is_nonblocking = Some(found);
    }
    found
}

/// The flags of `fd` may have changed.
fn forget_flags(fd: c_int) {
    if current().is_some() {
        let mut world = lock();
        if let Some(id) = world.objects.of_descriptor(fd)
            && let Some(object) = world.objects.get_mut(id)
        {
            object.is_nonblocking = None;
        }
    }
}

/// Waits for something to happen to one of the objects. Returns `None` when the own clock of the
/// running host has come to the deadline first.
pub(super) fn wait_for(
    mut world: Guard,
    me: ActorId,
    objects: &[ObjectId],
    deadline: Option<Nanos>,
) -> (Guard, Option<()>) {
    let deadline = deadline.map(|deadline| world.when(deadline));
    world.add_waiter(objects, me);
    let (mut world, wake) = turn::sleep(world, me, Waits::Objects(objects.to_vec()), deadline);
    world.remove_waiter(objects, me);
    (world, (wake == Wake::Ready).then_some(()))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn close(fd: c_int) -> c_int {
    if object(fd).is_some() {
        lock().forget_descriptor(fd);
    } else if current().is_some() {
        lock().locked_files.retain(|(_, locked)| *locked != fd);
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::close(fd) }
}

/// After the kernel has made `copy` of `fd`.
fn copied(fd: c_int, copy: c_int) -> c_int {
    if copy >= 0 && current().is_some() {
        lock().copy_descriptor(fd, copy);
    }
    copy
}

/// Closes what `to` stands for, before the kernel lets it stand for what `fd` does.
fn replace(fd: c_int, to: c_int) {
    if is_open(fd) && current().is_some() {
        lock().forget_descriptor(to);
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup(fd: c_int) -> c_int {
    turn::end_if_doomed();
    // SAFETY: the caller's contract is the C library's.
    copied(fd, unsafe { real::dup(fd) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    if fd == to {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::dup2(fd, to) };
    }
    turn::end_if_doomed();
    replace(fd, to);
    // SAFETY: the caller's contract is the C library's.
    copied(fd, unsafe { real::dup2(fd, to) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    turn::end_if_doomed();
    if fd != to {
        replace(fd, to);
    }
    // SAFETY: the caller's contract is the C library's.
    copied(fd, unsafe { real::dup3(fd, to, flags) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    turn::end_if_doomed();
    // SAFETY: the caller's contract is the C library's. A command without argument ignores what
    // stands there.
    let result = unsafe { real::fcntl(fd, command, argument) };
    match command {
        F_DUPFD | F_DUPFD_CLOEXEC => copied(fd, result),
        F_SETFL => {
            forget_flags(fd);
            result
        }
        _ => result,
    }
}

/// The same function, under the name that programs with large files use.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller's contract is the same.
    unsafe { fcntl(fd, command, argument) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    turn::end_if_doomed();
    if request == FIONREAD
        && let Some((_, id)) = object(fd)
    {
        let world = lock();
        let unread = match world.objects.get(id).map(|object| &object.kind) {
            Some(Kind::Socket(socket)) if world.network.is_listening(*socket) => {
                return fail(EINVAL);
            }
            Some(Kind::Socket(socket)) => world.network.unread(*socket),
            Some(Kind::PipeReader(pipe) | Kind::Fifo(Fifo { pipe, .. })) => {
                world.objects.pipes[pipe.0].unread()
            }
            Some(Kind::Unix(socket)) => world.unix_unread(socket),
            _ => 0,
        };
        // SAFETY: this request has a place for a number.
        unsafe { argument.cast::<c_int>().write(unread as c_int) };
        return 0;
    }
    if request == FIONBIO {
        forget_flags(fd);
    }
    let _inside = Inside::new();
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::ioctl(fd, request, argument) }
}
